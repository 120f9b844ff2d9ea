"""`sweet-rl`: train agents with recipes. `colbench.command` explains the exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from colbench.command import CommandParser, refuse_moved
from colbench.command import run as run_command
from colbench.command_help import add_examples
from colbench.completion import complete
from colbench.console import output
from colbench.errors import UserError
from colbench.version import __version__
from sweet_rl_trainer.cli import creditbench, run, show, study
from sweet_rl_trainer.cli.examples import EXAMPLES
from sweet_rl_trainer.cli.moved import MOVED

LIBRARIES = "torch", "transformers"
"""Libraries that every command needs; the extra `train` installs them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    if refused := refuse_moved("sweet-rl", words, MOVED):
        return refused
    top = parser()
    complete(top)
    args = top.parse_args(words)

    def command() -> int:
        _check_installed()
        code: int = args.run(args) or 0
        return code

    with output(as_json=args.json, quiet=getattr(args, "quiet", False)):
        return run_command("sweet-rl", command)


def _check_installed() -> None:
    lacking = [name for name in LIBRARIES if find_spec(name) is None]
    if lacking:
        raise UserError(f"not installed: {', '.join(lacking)}; pip install 'colbench[train]'")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    top = CommandParser(prog="sweet-rl", description="Train an agent to work with a person.")
    top.add_argument("--version", action="version", version=f"colbench {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (run, show, study, creditbench):
        command.add_to(commands)
    add_examples(top, EXAMPLES)
    return top
