"""The command line; its exit codes are those of `colbench.command`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from colbench.cli import (
    agents,
    compare,
    doctor,
    evaluate,
    merge,
    play,
    render,
    repair,
    report,
    score,
    sweep,
    tasks,
    view,
)
from colbench.cli.moved import MOVED
from colbench.command import CommandParser, refuse_moved, run
from colbench.errors import UserError, describe_exception
from colbench.version import __version__

GROUP = "colbench.commands"
"""Entry points: modules with commands of other packages, such as the leaderboard's. `add_to` adds one to the parser;
`MOVED`, if there is any, holds its old spellings, each with the command line that replaces it."""
COMMANDS = (
    evaluate,
    sweep,
    merge,
    play,
    score,
    report,
    compare,
    repair,
    view,
    render,
    tasks,
    agents,
    doctor,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    if refused := refuse_moved("colbench", words, _moved()):
        return refused
    args = parser().parse_args(words)
    return run("colbench", lambda: int(args.run(args)))


def _moved() -> dict[str, str]:
    """Return the old spellings of all commands; a package that cannot be loaded has none."""
    found = dict(MOVED)
    for point in entry_points(group=GROUP):
        with suppress(Exception):
            found |= getattr(point.load(), "MOVED", {})
    return found


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    top = CommandParser(
        prog="colbench", description="How well does an LLM agent work with a person?"
    )
    top.add_argument("--version", action="version", version=f"colbench {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    for point in sorted(entry_points(group=GROUP)):
        _add_installed(point, commands)
    return top


def _add_installed(point: EntryPoint, commands: Any) -> None:
    """Add another package's command. One that cannot be loaded fails when it is called, and breaks no other."""
    try:
        point.load().add_to(commands)
    except Exception as cause:
        package = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        broken = UserError(
            f"{point.name}: this command of the package {package} cannot be loaded; "
            f"reinstall the package or remove it\n{describe_exception(cause)}"
        )
        parser = commands.add_parser(
            point.name, help="cannot be loaded", add_help=False, prefix_chars="\0"
        )  # without a prefix that can be typed, any flag is an argument
        parser.add_argument("arguments", nargs="*")
        parser.set_defaults(run=lambda _: _refuse(broken))


def _refuse(error: UserError) -> int:
    raise error
