"""The viewer's server, for this machine alone: it binds 127.0.0.1 and answers no other host's name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from urllib.parse import quote, urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from colbench import event_loop
from colbench.errors import UserError
from colbench.viewer.filters import Filters, read_filters
from colbench.viewer.index import Row, RunIndex
from colbench.viewer.pages import POLICY, dialogue_page, error_page, find_neighbors, list_page

HOST = "127.0.0.1"
HOSTS = (HOST, "localhost")
"""Names under which it answers; another one is a page of someone else that made its name point here."""
MOST = 65535
HEADERS = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class ServerLinks:
    """The addresses that the server answers."""

    live = True

    def list(self, filters: Filters) -> str:
        """Return the address of a list."""
        return f"/{filters.query}"

    def dialogue(self, row: Row, filters: Filters) -> str:
        """Return the address of a dialogue as one of a list."""
        return f"/runs/{quote(row.run, safe='')}/{quote(row.key, safe='')}{filters.query}"


class Viewer:
    """Answers requests for pages; every request sees what the runs hold by then."""

    def __init__(self, runs: Sequence[RunIndex]) -> None:
        self._runs = runs
        self._links = ServerLinks()

    async def show_list(self, request: web.Request) -> web.Response:
        """Return the list of dialogues."""
        self._refresh()
        return _html(list_page(self._runs, read_filters(request.query), self._links))

    async def show_dialogue(self, request: web.Request) -> web.Response:
        """Return one dialogue."""
        self._refresh()
        name, key = request.match_info["run"], request.match_info["key"]
        run = next((run for run in self._runs if run.name == name), None)
        row = run.row(key) if run else None
        if run is None or row is None:
            return _error(404, "No such dialogue", f"{name} has no dialogue {key}.")
        filters = read_filters(request.query)
        neighbors = find_neighbors(self._runs, row, filters)
        return _html(dialogue_page(run, row, neighbors, filters, self._links))

    async def count(self, request: web.Request) -> web.Response:
        """Return the number of dialogues of all runs; the list asks for it while a run goes on."""
        del request
        self._refresh()
        return web.json_response({"dialogues": sum(len(run.rows) for run in self._runs)})

    def _refresh(self) -> None:
        for run in self._runs:
            run.refresh()


def make_app(runs: Sequence[RunIndex]) -> web.Application:
    """Return the application that shows runs."""
    viewer = Viewer(runs)
    app = web.Application(middlewares=[_guard])
    app.router.add_get("/", viewer.show_list)
    app.router.add_get("/count", viewer.count)
    app.router.add_get("/runs/{run}/{key}", viewer.show_dialogue)
    return app


def serve(runs: Sequence[RunIndex], port: int, announce: Callable[[str], object]) -> None:
    """Serve runs until interrupted; `announce` is given the address.

    Port 0 is a free one. Raises UserError if the port is taken or none.
    """
    if not 0 <= port <= MOST:
        raise UserError(f"--port {port}: a port is a number from 0 to {MOST}")
    with suppress(KeyboardInterrupt):
        event_loop.run(_serve(runs, port, announce))


async def _serve(runs: Sequence[RunIndex], port: int, announce: Callable[[str], object]) -> None:
    runner = web.AppRunner(make_app(runs), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port).start()
    except OSError as cause:
        await runner.cleanup()
        raise UserError(
            f"--port {port}: {cause.strerror}; name another, or 0 for a free one"
        ) from cause
    announce(f"http://{HOST}:{runner.addresses[0][1]}/")
    try:
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


@web.middleware
async def _guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse foreign hosts, turn errors into pages, and set the headers of every response."""
    response: web.StreamResponse
    if not _is_local(request.host):
        response = _error(403, "Refused", f"This server answers at {HOST} only.")
    else:
        try:
            response = await handler(request)
        except UserError as error:
            response = _error(400, "That does not work", str(error))
        except web.HTTPException as error:
            response = _error(error.status, error.reason, f"{request.path}: {error.reason}")
    response.headers.update(HEADERS)
    return response


def _is_local(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in HOSTS
    except ValueError:
        return False


def _html(page: str) -> web.Response:
    return web.Response(text=page, content_type="text/html", charset="utf-8")


def _error(status: int, title: str, text: str) -> web.Response:
    response = _html(error_page(title, text))
    response.set_status(status)
    return response
