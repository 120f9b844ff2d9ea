"""The `colbench` command line; `colbench.command` lists the exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from colbench.cli.examples import EXAMPLES
from colbench.cli.moved import MOVED
from colbench.command import CommandParser, first_word, refuse_moved, run
from colbench.command_help import add_examples
from colbench.completion import complete, requested_command
from colbench.console import output
from colbench.errors import UserError, describe_exception
from colbench.version import __version__

GROUP = "colbench.commands"
"""The group of entry points for commands of other packages, such as the leaderboard's. Each entry point names a module
whose `add_to` adds the command to the parser. The module may also define two mappings: `EXAMPLES` has command lines for
the help, and `MOVED` has old spellings of commands, each with the command that replaces it."""


class Command(NamedTuple):
    """A command: the module whose `add_to` adds the command to the parser, and a line for the list of commands."""

    module: str
    summary: str


COMMANDS = {
    "eval": Command("evaluate", "run an agent on tasks and report its scores"),
    "sweep": Command("sweep", "run several agents or settings and compare them"),
    "compare": Command("compare", "compare runs on the same tasks"),
    "report": Command("report", "show the report of a run or upload its dialogues"),
    "view": Command("view", "read the dialogues of a run"),
    "score": Command("score", "score the answers of a run again"),
    "merge": Command("merge", "combine the shards of a run"),
    "repair": Command("repair", "make a damaged run folder usable again"),
    "export": Command("results", "write the results of runs in a format that other sites read"),
    "play": Command("play", "play the agent or the human yourself"),
    "tasks": Command("tasks", "list, show, validate, synthesize, export, datasheet, card"),
    "agents": Command("agents", "list or check agents, or start your own"),
    "render": Command("render", "render a web page to a picture, as a run would"),
    "doctor": Command("doctor", "check what works on this machine"),
    "completion": Command("completion", "print the completion script for your shell"),
}
"""The commands of this package. Only the module of the command that is called is imported."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    return run("colbench", lambda: _main(sys.argv[1:] if argv is None else argv))


def _main(words: Sequence[str]) -> int:
    command = requested_command() or first_word(words)
    if refused := refuse_moved("colbench", words, _moved(command)):
        return refused
    top = parser(command)
    complete(top)
    args = top.parse_args(words)
    with output(as_json=getattr(args, "json", False), quiet=getattr(args, "quiet", False)):
        return int(args.run(args))


def _moved(command: str) -> Mapping[str, str]:
    """Return the old spellings of commands, each with the command line that replaces it.

    If `command` belongs to this package, only the spellings of this package are returned. Otherwise, the spellings of
    other packages are added; packages that cannot be loaded are left out.
    """
    found = dict(MOVED)
    for point in _installed(command):
        with suppress(Exception):
            found |= getattr(point.load(), "MOVED", {})
    return found


def parser(command: str = "") -> argparse.ArgumentParser:
    """Return the command-line parser for `command`.

    The parser has the flags of `command`, but only the summaries of this package's other commands. If `command` does
    not belong to this package, the commands of other packages are added with all their flags. Otherwise, the commands
    of other packages are left out.
    """
    top = CommandParser(
        prog="colbench", description="How well does an LLM agent work with a person?"
    )
    top.add_argument("--version", action="version", version=f"colbench {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (module, summary) in COMMANDS.items():
        if name == command:
            import_module(f"colbench.cli.{module}").add_to(commands)
        else:
            commands.add_parser(name, help=summary)
    examples = dict(EXAMPLES)
    for point in _installed(command):
        examples |= _add_installed(point, commands)
    add_examples(top, examples)
    return top


def _installed(command: str) -> list[EntryPoint]:
    """Return the entry points of other packages' commands; an empty list if `command` belongs to this package."""
    return [] if command in COMMANDS else sorted(entry_points(group=GROUP))


def _add_installed(point: EntryPoint, commands: Any) -> dict[str, str]:
    """Add another package's command and return its examples.

    If the command cannot be loaded, calling it raises an error; other commands are not affected.
    """
    try:
        module = point.load()
        module.add_to(commands)
    except Exception as cause:
        package = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        broken = UserError(
            f"{point.name}: this command of the package {package} cannot be loaded; reinstall or "
            f"remove the package\n{describe_exception(cause)}"
        )
        parser = commands.add_parser(
            point.name, help="cannot be loaded", add_help=False, prefix_chars="\0"
        )  # flags begin with `prefix_chars`, and nobody can type "\0", so that all words are arguments
        parser.add_argument("arguments", nargs="*")
        parser.set_defaults(run=lambda _: _refuse(broken))
        return {}
    return dict(getattr(module, "EXAMPLES", {}))


def _refuse(error: UserError) -> int:
    raise error
