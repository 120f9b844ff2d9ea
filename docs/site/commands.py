"""The reference of the command line as Markdown, from the parsers of the programs."""

from __future__ import annotations

import argparse
import html
import re
from collections.abc import Callable, Iterator, Mapping
from textwrap import dedent

PIPE = re.compile(r"(?<!\\)\|")


ParserOf = Callable[[str], argparse.ArgumentParser]
"""A function that takes the name of a command and returns a parser of the program in which this command has its flags.

Other commands may lack their flags. For the name "", all commands may lack them.
"""


def reference(parser_of: ParserOf) -> str:
    """Return a page with every command of a program: description, usage, arguments and examples."""
    parser = parser_of("")
    sections = [f"# `{parser.prog}`\n\n{_text(parser.description)}\n"]
    sections += [_section(command) for command in leaves(parser_of)]
    return "\n".join(sections)


def leaves(parser_of: ParserOf) -> Iterator[argparse.ArgumentParser]:
    """Yield, in order, the parser of every command that has no subcommands."""
    for name in _commands(parser_of("")):
        yield from _below(_commands(parser_of(name))[name])


def _below(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    commands = _commands(parser)
    if not commands:
        yield parser
    for each in commands.values():
        yield from _below(each)


def _commands(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """Return the parsers of a parser's subcommands, by name."""
    return {
        name: command
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, command in action.choices.items()
    }


def _section(parser: argparse.ArgumentParser) -> str:
    groups = [_group(group) for group in parser._action_groups]
    texts = (
        f"## `{parser.prog}`",
        _text(parser.description),
        f"```text\n{parser.format_usage().strip()}\n```",
        *filter(None, groups),
        _examples(parser.epilog),
    )
    return "\n\n".join(filter(None, texts)) + "\n"


def _group(group: argparse._ArgumentGroup) -> str:
    """Return the table of a group of arguments; empty if all of them are hidden."""
    rows = [
        f"| {_names(action)} | {_cell(_help(action, group))} |"
        for action in group._group_actions
        if action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction)
    ]
    if not rows:
        return ""
    title = (group.title or "").capitalize()
    return "\n".join([f"| {title} | Meaning |", "|---|---|", *rows])


def _names(action: argparse.Action) -> str:
    """Return the spellings of an argument, each as code."""
    formatter = argparse.HelpFormatter("")
    if not action.option_strings:
        default = formatter._get_default_metavar_for_positional(action)
        return f"`{formatter._metavar_formatter(action, default)(1)[0]}`"
    if action.nargs == 0:
        return ", ".join(f"`{name}`" for name in action.option_strings)
    default = formatter._get_default_metavar_for_optional(action)
    value = formatter._format_args(action, default)
    return ", ".join(f"`{name} {value}`".replace("|", "\\|") for name in action.option_strings)


def _help(action: argparse.Action, group: argparse._ArgumentGroup) -> str:
    """Return the help of an argument with its placeholders, such as `%(default)s`, filled in."""
    values = {**vars(action), "prog": getattr(group, "prog", "")}
    return (action.help or "") % values


def _examples(epilog: str | None) -> str:
    """Return the examples after a command's help: the first line as a title, the other lines as code."""
    title, _, lines = (epilog or "").partition("\n")
    return f"{title.capitalize()}\n\n```text\n{dedent(lines)}\n```" if lines else _text(title)


def _text(text: str | None) -> str:
    """Return a description as Markdown, with `<`, `>` and `&` escaped, so that it has no HTML tags."""
    return html.escape((text or "").strip(), quote=False)


def _cell(text: str) -> str:
    return PIPE.sub(r"\\|", _text(" ".join(text.split())))
