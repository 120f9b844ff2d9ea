"""`colbench agents list`: the agents that `--agent` knows by name."""

from __future__ import annotations

import argparse
from typing import Any

OTHER = (
    ("openai:MODEL[@URL]", "any OpenAI-compatible server"),
    ("vllm:MODEL_OR_PATH", "starts and stops its own vLLM server"),
    ("local:MODEL_OR_PATH", "a model in this process, without a server"),
    ("cmd:COMMAND", "a program in any language, over stdin and stdout"),
    ("http://HOST:PORT", "a server in any language; https:// too"),
    ("path/to/file.py:attribute", "a class of your own"),
    ("package.module:attribute", "an installed class"),
)

TAKE_MORE = {"openai", "vllm", "local", "cmd", "http", "https"}
"""Names that mean something only with what comes after them."""


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser("list", help="list the agents", description=__doc__)
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print the table of agents."""
    from rich.table import Table

    from colbench.console import console
    from colbench.plugins import location, names

    table = Table(box=None, pad_edge=False)
    table.add_column("--agent", style="bold")
    table.add_column("what it is", style="dim")
    for name in names("agent"):
        if name not in TAKE_MORE:
            table.add_row(name, location("agent", name))
    for spec, text in OTHER:
        table.add_row(spec, text)
    console().print(table)
    return 0
