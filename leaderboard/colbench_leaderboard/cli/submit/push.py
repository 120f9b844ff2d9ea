"""`colbench submit push`: put a bundle on a branch of a leaderboard's repository, ready for a pull request.

Nothing leaves this machine unless --to is an address, and then only after you have agreed.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.errors import UserError
from colbench_leaderboard.cli.output import say_field

if TYPE_CHECKING:
    from colbench_leaderboard.store.branches import Branch


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
    """Make the branch, and push it or say how to."""
    from colbench_leaderboard.bundle.read import read_bundle
    from colbench_leaderboard.store.branches import commit_entry, open_repository, push
    from colbench_leaderboard.store.git import shown_url

    with read_bundle(Path(args.bundle)) as bundle, open_repository(args.to) as where:
        bundle.check_cells()
        branch = commit_entry(bundle, where)
        say_field("entry", f"{branch.folder}, commit {branch.commit[:12]}")
        say_field("branch", branch.name)
        if where == Path(args.to):
            _say_how(branch)
            return 0
        size = sum((bundle.folder / name).stat().st_size for name in bundle.files)
        if not (args.yes or _agreed(shown_url(args.to), branch.name, size)):
            say_field("", "nothing was sent")
            return 0
        push(branch, args.to)
        say_field("sent", f"{shown_url(args.to)}; open a pull request from that branch")
    return 0


def _say_how(branch: Branch) -> None:
    where, name = shlex.quote(str(branch.repository)), branch.name
    say_field("", "nothing was sent; these two commands do it:")
    say_field("push", f"git -C {where} push -u origin {name}")
    say_field("request", f"cd {where} && gh pr create --head {name} --fill")


def _agreed(to: str, branch: str, size: int) -> bool:
    if not sys.stdin.isatty():
        raise UserError(
            f"--to {to}: pushing needs your consent, and nobody can be asked here; add --yes"
        )
    from rich.prompt import Confirm

    question = f"Push {branch} ({size / 1e6:.1f} MB, public from then on) to {to}?"
    return Confirm.ask(question.replace("[", r"\["), default=False)
