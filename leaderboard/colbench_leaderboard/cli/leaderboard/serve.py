"""`colbench leaderboard serve`: build the site of a store and show it on this machine."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from colbench_leaderboard.cli.leaderboard.build import add_site_flags, build_site
from colbench_leaderboard.cli.leaderboard.output import say

PORT = 8765


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser(
        "serve", help="show the site of a store locally", description=__doc__
    )
    parser.add_argument("store", metavar="STORE")
    parser.add_argument(
        "--port", type=int, default=PORT, metavar="N", help=f"default: {PORT}; 0 takes a free one"
    )
    add_site_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Build into a temporary folder and serve until interrupted; other machines cannot reach it."""
    from colbench_leaderboard.site.serve import server

    with tempfile.TemporaryDirectory(prefix="colbench-site-") as folder:
        site = Path(folder) / "site"
        build_site(Path(args.store), site, args)
        with server(site, args.port) as running:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the folder is deleted
            say(f"http://127.0.0.1:{running.server_address[1]}/  (Ctrl-C ends it)")
            try:
                running.serve_forever()
            except KeyboardInterrupt:
                return 0
    return 0
