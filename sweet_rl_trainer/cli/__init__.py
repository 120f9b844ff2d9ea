"""`sweet-rl`: trains agents by the stages of a recipe. Its exit codes are those of `colbench.command`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.util import find_spec

from colbench.command import run
from colbench.errors import UserError
from colbench.version import __version__
from sweet_rl_trainer.cli import commands, reproduce

LIBRARIES = "torch", "transformers"
"""Of the extra `train`; without them there is no command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = parser().parse_args(argv)

    def command() -> int:
        _check_installed()
        args.run(args)
        return 0

    return run("sweet-rl", command)


def _check_installed() -> None:
    lacking = [name for name in LIBRARIES if find_spec(name) is None]
    if lacking:
        raise UserError(f"not installed: {', '.join(lacking)}; pip install 'colbench[train]'")


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="sweet-rl", description="Train an agent to work with a person."
    )
    top.add_argument("--version", action="version", version=f"colbench {__version__}")
    actions = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    commands.add_to(actions)
    reproduce.add_to(actions)
    return top
