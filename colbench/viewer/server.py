"""The viewer's server, for this machine only: it binds 127.0.0.1 and rejects other host names.

It writes two things to a run's folder: notes, and pictures that are missing when a person views them. A note is
accepted only if its form was sent from one of the server's own pages.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from urllib.parse import quote, urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler
from msgspec.structs import replace

from colbench import event_loop
from colbench.errors import DataError, UserError
from colbench.presentation import Picture
from colbench.viewer.filters import Filters, read_filters
from colbench.viewer.index import Row, RunIndex
from colbench.viewer.listing import Listing, make_listing
from colbench.viewer.notes import make_note
from colbench.viewer.pages import (
    POLICY,
    Showing,
    Stage,
    dialogue_page,
    error_page,
    list_page,
    stage_part,
    stages,
)
from colbench.viewer.pictures import RunPictures

HOST = "127.0.0.1"
HOSTS = (HOST, "localhost")
"""Accepted host names. A foreign page could make any other name resolve to this machine (DNS rebinding)."""
MOST = 65535
LONGEST_FORM = 100_000
"""Maximum size of a form in bytes."""
HEADERS = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class ServerLinks:
    """The URLs to which the server responds."""

    live = True

    def list(self, filters: Filters) -> str:
        """Return the URL of the list of dialogues that pass these filters."""
        return f"/{filters.query}"

    def dialogue(self, row: Row, filters: Filters) -> str:
        """Return the URL of a dialogue's page, whose links to other dialogues follow the list with these filters."""
        return f"{_place(row)}{filters.query}"

    def notes(self, row: Row, filters: Filters) -> str:
        """Return the URL to which a note on a dialogue is posted."""
        return f"{_place(row)}/notes{filters.query}"

    def pictures(self, row: Row, turn: int) -> str:
        """Return the URL of the pictures of a turn."""
        return f"{_place(row)}/pictures/{turn}"

    def picture(self, row: Row, picture: Picture) -> str:
        """Return the URL of a picture."""
        return f"/runs/{quote(row.run, safe='')}/files/{picture.file}"


def _place(row: Row) -> str:
    return f"/runs/{quote(row.run, safe='')}/{quote(row.key, safe='')}"


class Viewer:
    """The handlers of requests for pages; every request sees the current content of the runs."""

    def __init__(self, runs: Sequence[RunIndex]) -> None:
        self._runs = runs
        self._pictures = {run.name: RunPictures(run) for run in runs}
        self._links = ServerLinks()
        self._token = secrets.token_urlsafe()
        self._versions: list[int] = []
        self._listing: Listing | None = None

    async def show_list(self, request: web.Request) -> web.Response:
        """Return the list of dialogues."""
        self._refresh()
        filters = read_filters(request.query)
        return _html(list_page(self._listed(filters), filters, self._links))

    async def show_dialogue(self, request: web.Request) -> web.Response:
        """Return one dialogue."""
        run, row = self._find(request)
        filters = read_filters(request.query)
        rollout, pictures = run.rollout(row), self._pictures[run.name]
        turns = pictures.turns(rollout) if run.task(rollout) else ()
        showing = Showing(
            neighbors=self._listed(filters).neighbors(row),
            filters=filters,
            stages=stages(rollout, turns),
            legend=pictures.legend(rollout),
            token=self._token,
        )
        return _html(dialogue_page(run, row, self._links, showing))

    async def show_pictures(self, request: web.Request) -> web.Response:
        """Return the pictures of a turn as a part of the dialogue's page; render them if they are missing."""
        run, row = self._find(request)
        rollout, turn = run.rollout(row), int(request.match_info["turn"])
        task = run.task(rollout)
        if task is None:
            raise UserError(
                "the run's task source no longer contains this task, or the task has changed"
            )
        stage = Stage(turn=turn)
        try:
            comparison = await self._pictures[run.name].of(task, rollout, turn)
            stage = replace(stage, comparison=comparison)
        except UserError as error:
            stage = replace(stage, lacking=str(error))
        return _html(stage_part(row, stage, self._links))

    async def send_file(self, request: web.Request) -> web.StreamResponse:
        """Send a picture."""
        run = self._run(request.match_info["run"])
        file = run.folder.path / "gallery" / request.match_info["file"]
        if not file.is_file():
            raise web.HTTPNotFound
        return web.FileResponse(file, headers={"Content-Type": "image/webp"})

    async def take_note(self, request: web.Request) -> web.Response:
        """Append a note, and show the dialogue again."""
        form = await request.post()
        sent = str(form.get("token", ""))
        own = request.headers.get("Origin") == f"http://{request.host}"
        if not own or not secrets.compare_digest(sent.encode(), self._token.encode()):
            text = "Notes are accepted only from the viewer's own pages. Reload the dialogue."
            return _error(403, "Not saved", text)
        run, row = self._find(request)
        run.add_note(
            make_note(run.rollout(row), str(form.get("labels", "")), str(form.get("text", "")))
        )
        raise web.HTTPSeeOther(self._links.dialogue(row, read_filters(request.query)))

    async def count(self, request: web.Request) -> web.Response:
        """Return the number of dialogues in all runs. An open page with a list polls this number."""
        del request
        self._refresh()
        return web.json_response({"dialogues": sum(len(run.rows) for run in self._runs)})

    async def close(self, app: web.Application) -> None:
        """Stop the processes that render pictures."""
        del app
        for pictures in self._pictures.values():
            await pictures.close()

    def _run(self, name: str) -> RunIndex:
        run = next((run for run in self._runs if run.name == name), None)
        if run is None:
            raise web.HTTPNotFound
        return run

    def _find(self, request: web.Request) -> tuple[RunIndex, Row]:
        """Return the run and the row that a request names. Raises HTTPNotFound if the run or the row does not exist."""
        self._refresh()
        run = self._run(request.match_info["run"])
        row = run.row(request.match_info["key"])
        if row is None:
            raise web.HTTPNotFound
        return run, row

    def _listed(self, filters: Filters) -> Listing:
        """Return the list for these filters; the latest list is reused until the filters or a run change."""
        filters, versions = filters.but(), [run.version for run in self._runs]
        known = self._listing
        if known is None or known.filters != filters or self._versions != versions:
            known = make_listing(self._runs, filters)
            self._listing, self._versions = known, versions
        return known

    def _refresh(self) -> None:
        for run in self._runs:
            run.refresh()


def make_app(runs: Sequence[RunIndex]) -> web.Application:
    """Return the application that shows runs."""
    viewer = Viewer(runs)
    app = web.Application(middlewares=[_guard], client_max_size=LONGEST_FORM)
    app.router.add_get("/", viewer.show_list)
    app.router.add_get("/count", viewer.count)
    app.router.add_get(r"/runs/{run}/files/gallery/{file:[0-9a-f-]+\.webp}", viewer.send_file)
    app.router.add_get("/runs/{run}/{key}", viewer.show_dialogue)
    app.router.add_get(r"/runs/{run}/{key}/pictures/{turn:\d{1,6}}", viewer.show_pictures)
    app.router.add_post("/runs/{run}/{key}/notes", viewer.take_note)
    app.on_cleanup.append(viewer.close)
    return app


def serve(runs: Sequence[RunIndex], port: int, announce: Callable[[str], object]) -> None:
    """Serve runs until interrupted; `announce` is called with the URL.

    Port 0 selects a free port. Raises UserError if the port is invalid or cannot be opened.
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
            f"--port {port}: {cause.strerror}; use another port, or 0 for any free port"
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
        response = _error(403, "Refused", f"This server responds only at {' and '.join(HOSTS)}.")
    else:
        try:
            response = await handler(request)
        except DataError as error:
            response = _error(400, "A file of the run cannot be read", str(error))
        except UserError as error:
            response = _error(400, "Not possible", str(error))
        except web.HTTPRedirection as redirection:
            response = web.Response(status=redirection.status)
            response.headers["Location"] = redirection.headers["Location"]
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
