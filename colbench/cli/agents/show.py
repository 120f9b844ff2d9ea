"""`colbench agents show`: describe an agent, and list its arguments for `--agent-arg` with their defaults."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from colbench.command import describe


def add_to(actions: Any) -> None:
    """Add the command `agents show` to the parser."""
    parser = actions.add_parser(
        "show", help="describe an agent and its arguments", description=describe(__doc__)
    )
    parser.add_argument("agent", metavar="AGENT", help="the agent, as for --agent")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the description and the arguments."""
    from colbench.plugins import explain

    text, arguments = explain("agent", args.agent)
    _print_json(text, arguments) if args.json else _print(text, arguments)
    return 0


def _print_json(text: str, arguments: dict[str, str]) -> None:
    import msgspec

    content = {"description": text, "arguments": arguments}
    sys.stdout.write(msgspec.json.encode(content).decode() + "\n")


def _print(text: str, arguments: dict[str, str]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from colbench.console import console

    print(f"{text}\n")
    if not arguments:
        print("It has no arguments for --agent-arg.")
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("--agent-arg", style="bold")
    table.add_column("default", style="dim")
    for name, default in arguments.items():
        table.add_row(name, escape(default))
    console().print(table)
