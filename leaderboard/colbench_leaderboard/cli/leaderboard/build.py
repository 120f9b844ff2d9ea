"""`colbench leaderboard build`: the site of a store, as static files that need no network and no script."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.flags import add_config_flags, read_config
from colbench_leaderboard.cli.leaderboard.output import say

if TYPE_CHECKING:
    from colbench.task import Task
    from colbench_leaderboard.board import Standings
    from colbench_leaderboard.site.build import Built


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser("build", help="build the site of a store", description=__doc__)
    parser.add_argument("store", metavar="STORE")
    parser.add_argument(
        "--out", metavar="DIR", required=True, help="the site's folder; an earlier site is replaced"
    )
    add_site_flags(parser)
    parser.set_defaults(run=run)


def add_site_flags(parser: Any) -> None:
    """Add the flags that say which references the site shows, and whose pictures of pages."""
    parser.add_argument(
        "--tasks",
        dest="sources",
        metavar="SOURCE",
        action="append",
        default=[],
        help="tasks whose references are shown beside answers, such as your own official ones; may be repeated "
        "(the bundled tasks are shown anyway)",
    )
    add_config_flags(parser, only=("browser",))


def run(args: argparse.Namespace) -> int:
    """Build the site."""
    from colbench.numbers import count

    out = Path(args.out)
    built = build_site(Path(args.store), out, args)
    shown = (
        count(built.entries, "entry", "entries"),
        count(built.dialogues, "dialogue"),
        count(built.files, "file"),
    )
    say(f"{', '.join(shown)}, {built.bytes / 1e6:,.1f} MB and the bundles")
    say(str(out / "index.html"))
    return 0


def build_site(store: Path, out: Path, args: argparse.Namespace) -> Built:
    """Build the site of a store. Raises UserError and DataError as `site.build` does."""
    from colbench.pages.store import RenderStore
    from colbench_leaderboard.site.build import build
    from colbench_leaderboard.standings import read_standings

    standings = read_standings(store)
    tasks, browser = _tasks(standings, args.sources), _browser(standings, args)
    return build(store, standings, out, tasks, renders=RenderStore(), browser=browser)


def _browser(standings: Standings, args: argparse.Namespace) -> str:
    """The environment in which this machine renders, where its verification has put pictures; "" without a browser."""
    from colbench.domains.frontend.resources import make_renderer

    if all(board.domain == "backend" for board in standings.boards):
        return ""
    config = read_config(args, base=RunConfig())
    try:
        return make_renderer(config).environment
    except UserError:
        if config.browser is not None:
            raise
        return ""


def _tasks(standings: Standings, sources: list[str]) -> list[Task]:
    """The tasks of these sources, and the bundled ones that a board is about; what else a bundle names is not read."""
    from colbench.plugins import resolve_tasks
    from colbench_leaderboard.tracks import OWN

    bundled = [board.source for board in standings.boards if board.source in OWN]
    return [
        task for source in dict.fromkeys((*bundled, *sources)) for task in resolve_tasks(source)
    ]
