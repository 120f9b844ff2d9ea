"""The layout of a command's `--help`: a short usage line, readable widths, and examples."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

NARROWEST, WIDEST = 50, 100
"""Minimum and maximum width of a help text in columns, whatever the width of the terminal."""
SHOWN = 3
"""Maximum number of optional flags besides `--help` in a usage line; `[options]` replaces them if there are more."""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """A help formatter with a short usage line, a readable width, and paragraphs that keep indented lines."""

    def __init__(self, prog: str) -> None:
        columns = shutil.get_terminal_size().columns - 2
        super().__init__(prog, max_help_position=28, width=min(WIDEST, max(NARROWEST, columns)))

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[Any],
        prefix: str | None = None,
    ) -> None:
        """Add the usage line; `[options]` replaces optional flags if there are many."""
        actions = list(actions)
        optional = [each for each in actions if each.option_strings and not each.required]
        if len(optional) <= SHOWN + 1:  # with --help
            super().add_usage(usage, actions, groups, prefix)
            return
        rest = argparse.Action(["[options]"], "options", nargs=0, required=True)
        kept = [each for each in actions if each not in optional]
        super().add_usage(usage, [rest, *kept], (), prefix)

    def format_help(self) -> str:
        """Return the help text, with a left column that is wide enough for indented names of commands."""
        self._action_max_length += self._indent_increment
        return super().format_help()

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap paragraphs; leave paragraphs with indented lines, such as examples, unchanged."""
        parts = text.strip("\n").split("\n\n")
        wrap = argparse.HelpFormatter._fill_text
        return "\n\n".join(
            part if "\n " in part else wrap(self, part, width, indent) for part in parts
        )


def add_examples(parser: argparse.ArgumentParser, examples: Mapping[str, str]) -> None:
    """Add examples to the help of each command; the keys of `examples` are commands without the program's name.

    Each value has one full command line per line, the most common use first.
    """
    for each in _parsers(parser):
        lines = examples.get(each.prog.partition(" ")[2])
        if lines:
            each.epilog = "examples:\n" + "\n".join(
                f"  {line}" for line in lines.strip().splitlines()
            )


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _parsers(inner)
