"""`colbench submit push`: put a bundle on a branch of a leaderboard's repository, ready for a pull request.

Nothing leaves this machine but where --to is an address, and then only after you said so.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.errors import UserError

if TYPE_CHECKING:
    from colbench_leaderboard.push import Opened


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser(
        "push", help="put a bundle on a branch for a pull request", description=__doc__
    )
    parser.add_argument("bundle", metavar="BUNDLE", help="a folder or a .tar.gz")
    parser.add_argument(
        "--to",
        metavar="DIR|URL",
        required=True,
        help="a clone of the leaderboard's repository, or the address of one that you may push to",
    )
    parser.add_argument("--yes", action="store_true", help="push to an address without asking")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make the branch, and say or do what follows."""
    from colbench_leaderboard.archive import read_bundle
    from colbench_leaderboard.git import shown_url
    from colbench_leaderboard.push import open_entry, repository, send

    with read_bundle(Path(args.bundle)) as bundle, repository(args.to) as where:
        for _ in bundle.cells():
            pass
        opened = open_entry(bundle, where)
        _line("entry", f"{opened.folder}, commit {opened.commit[:12]}")
        _line("branch", opened.branch)
        if where == Path(args.to):
            _say_how(opened)
            return 0
        size = sum((bundle.folder / name).stat().st_size for name in bundle.files)
        if not (args.yes or _agreed(shown_url(args.to), opened.branch, size)):
            _line("", "nothing was sent")
            return 0
        send(opened, args.to)
        _line("sent", f"{shown_url(args.to)}; open a pull request from that branch")
    return 0


def _say_how(opened: Opened) -> None:
    where, branch = shlex.quote(str(opened.repository)), opened.branch
    _line("", "nothing was sent; these two do it:")
    _line("push", f"git -C {where} push -u origin {branch}")
    _line("request", f"cd {where} && gh pr create --head {branch} --fill")


def _agreed(to: str, branch: str, size: int) -> bool:
    if not sys.stdin.isatty():
        raise UserError(
            f"--to {to}: pushing needs your word, and nobody can be asked here; add --yes"
        )
    from rich.prompt import Confirm

    question = f"Push {branch} ({size / 1e6:.1f} MB, public from then on) to {to}?"
    return Confirm.ask(question.replace("[", r"\["), default=False)


def _line(name: str, value: str) -> None:
    from colbench.console import console

    console().print(f"[dim]{name:<9}[/dim]", end="", highlight=False)
    console().print(value, highlight=False, markup=False, soft_wrap=True)
