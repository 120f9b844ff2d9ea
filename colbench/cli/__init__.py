"""The command line; its exit codes are those of `colbench.command`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.metadata import entry_points

import colbench
from colbench.cli import (
    agents,
    doctor,
    evaluate,
    play,
    render,
    report,
    sandbox,
    score,
    tasks,
    validate,
    view,
)
from colbench.command import run

MORE = "colbench.commands"
"""Entry points: modules with commands of other packages, such as the leaderboard's."""
COMMANDS = (evaluate, play, score, report, view, render, validate, tasks, agents, sandbox, doctor)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = parser().parse_args(argv)
    return run("colbench", lambda: int(args.run(args)))


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="colbench", description="How well does an LLM agent work with a person?"
    )
    top.add_argument("--version", action="version", version=f"colbench {colbench.__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    for point in sorted(entry_points(group=MORE)):
        point.load().add_to(commands)
    return top
