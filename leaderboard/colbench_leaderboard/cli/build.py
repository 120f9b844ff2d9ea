"""`colbench leaderboard build`: build the site of a store, as static files that need neither a network nor a script."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.command import describe
from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.flags import add_config_flags, read_config
from colbench_leaderboard.cli.output import say

if TYPE_CHECKING:
    from colbench.task import Task
    from colbench_leaderboard.board.model import Standings
    from colbench_leaderboard.site.build import Built

PORT = 8765


def add_to(actions: Any) -> None:
    """Add the action `build` to `actions`, the subcommands of `colbench leaderboard`."""
    parser = actions.add_parser(
        "build", help="build the site of a store", description=describe(__doc__)
    )
    parser.add_argument("store", metavar="STORE")
    parser.add_argument(
        "--out", metavar="DIR", help="the site's folder; an earlier site is replaced"
    )
    parser.add_argument(
        "--serve",
        action="store_true",
        help="serve the site on this machine until interrupted; --out is not needed",
    )
    parser.add_argument(
        "--port", type=int, metavar="N", help=f"port of --serve (default: {PORT}; 0: any free port)"
    )
    parser.add_argument(
        "--tasks",
        dest="sources",
        metavar="SOURCE",
        action="append",
        default=[],
        help="your own copy of tasks, such as official tasks, to show their references next to the answers; may be "
        "repeated (references of bundled tasks are always shown)",
    )
    add_config_flags(parser, only=("browser",))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Build the site, and serve it if requested."""
    if args.port is not None and not args.serve:
        raise UserError("--port: requires --serve; add --serve, or leave out --port")
    if args.out:
        out = Path(args.out)
        _show(_build(args, out), out)
        return _serve(out, args.port) if args.serve else 0
    if not args.serve:
        raise UserError("--out is missing: set it to the folder of the site, or add --serve")
    with tempfile.TemporaryDirectory(prefix="colbench-site-") as folder:
        site = Path(folder) / "site"
        _build(args, site)
        return _serve(site, args.port)


def _build(args: argparse.Namespace, out: Path) -> Built:
    from colbench.pages.store import RenderStore
    from colbench_leaderboard.board.standings import read_standings
    from colbench_leaderboard.site.build import build

    store = Path(args.store)
    standings = read_standings(store)
    tasks, browser = _tasks(standings, args.sources), _browser(standings, args)
    return build(store, standings, out, tasks, renders=RenderStore(), browser=browser)


def _show(built: Built, out: Path) -> None:
    from colbench.numbers import count

    shown = (
        count(built.entries, "entry", "entries"),
        count(built.dialogues, "dialogue"),
        count(built.files, "file"),
    )
    say(
        f"{', '.join(shown)}, {built.bytes / 1e6:,.1f} MB, without pictures and the archives of bundles"
    )
    say(str(out / "index.html"))


def _serve(site: Path, port: int | None) -> int:
    """Serve a site, to this machine only, until the user stops the process."""
    from colbench_leaderboard.site.serve import server

    with server(site, PORT if port is None else port) as running:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that a temporary site is deleted
        say(f"http://127.0.0.1:{running.server_address[1]}/  (Ctrl-C to stop)")
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


def _browser(standings: Standings, args: argparse.Namespace) -> str:
    """Return the versions of the tools that render pictures on this machine.

    Returns "" if no board has pictures or no browser works. Raises UserError if the browser that `--browser` names does
    not work.
    """
    from colbench.registry import get_domain

    boards = (get_domain(board.domain) for board in standings.boards)
    domain = next((domain for domain in boards if domain.pictured), None)
    if domain is None:
        return ""
    config = read_config(args, base=RunConfig())
    try:
        return domain.resources(config, ()).environment
    except UserError:
        if config.browser is not None:
            raise
        return ""


def _tasks(standings: Standings, sources: list[str]) -> list[Task]:
    """Return the tasks of the boards whose source an installed domain provides, then the tasks of `sources`.

    The sources of other boards are not read, because strangers chose these sources.
    """
    from colbench.plugins import resolve_tasks
    from colbench_leaderboard.bundle.tracks import own_sources

    own = [board.source for board in standings.boards if board.source in own_sources()]
    return [task for source in dict.fromkeys((*own, *sources)) for task in resolve_tasks(source)]
