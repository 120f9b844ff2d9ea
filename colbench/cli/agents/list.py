"""`colbench agents list`: list the values that `--agent` accepts, both installed names and other forms."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from colbench.command import describe

OTHER = (
    ("openai:MODEL[@URL]", "a model on any OpenAI-compatible server"),
    ("azure:DEPLOYMENT[@ENDPOINT]", "a model on Azure OpenAI"),
    ("vllm:MODEL_OR_PATH", "a model on a vLLM server that ColBench starts and stops"),
    ("local:MODEL_OR_PATH", "a model loaded into the run's own process, without a server"),
    ("cmd:COMMAND", "a program in any language, over stdin and stdout"),
    ("http://HOST:PORT", "a server in any language; also https://"),
    ("path/to/file.py:attribute", "your own class, function or object in a Python file"),
    ("package.module:attribute", "your own class, function or object in a Python module"),
)


def add_to(actions: Any) -> None:
    """Add the command `agents list` to the parser."""
    parser = actions.add_parser(
        "list", help="list the agents that --agent accepts", description=describe(__doc__)
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the table of agents."""
    from colbench.plugins import FORMS, explain, names

    own = [
        (name, explain("agent", name)[0].partition("\n")[0])
        for name in names("agent")
        if name not in FORMS
    ]
    _print_json([*own, *OTHER]) if args.json else _print([*own, *OTHER])
    return 0


def _print_json(rows: Sequence[tuple[str, str]]) -> None:
    import msgspec

    content = [{"agent": spec, "description": text} for spec, text in rows]
    sys.stdout.write(msgspec.json.encode(content).decode() + "\n")


def _print(rows: Sequence[tuple[str, str]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from colbench.console import console

    table = Table(box=None, pad_edge=False)
    table.add_column("--agent", style="bold")
    table.add_column("description", style="dim")
    for row in rows:
        table.add_row(*map(escape, row))
    console().print(table)
    print("\n`colbench agents show AGENT` lists the arguments of an agent.")
