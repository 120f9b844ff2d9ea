"""`colbench doctor --serve-faults`: a scripted model server that fails in the way that the model's name selects."""

from __future__ import annotations

import argparse
import asyncio
import errno

from colbench.errors import UserError

TRIAL = "Try it without faults: colbench eval --agent openai:ok@{url} --limit 5"
USE = """\
{trial}
colbench eval --agent openai:NAME@{url}          every request has the fault
colbench eval --agent openai:NAME/3@{url}        every third request has the fault
colbench eval --agent openai:http-429/3+truncated/5@{url}
colbench eval --human openai:NAME@{url}          the same for the human
The same models without GET /models are at {root}/no-models/v1.
Every model asks one question and then answers, wrongly on purpose. Ctrl-C ends the server."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add `--serve-faults`."""
    parser.add_argument(
        "--serve-faults",
        type=int,
        metavar="PORT",
        help="run a model server on 127.0.0.1 to test an agent or a human; the model's name selects "
        "the way in which the server fails (0: any free port)",
    )


def run(port: int) -> int:
    """List the faults, and serve until Ctrl-C; return 0.

    Raises UserError if the port is taken, needs more rights, or is not a valid port.
    """
    try:
        asyncio.run(_serve(port))
    except KeyboardInterrupt:
        return 0
    except OSError as error:
        if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
            raise
        raise UserError(f"--serve-faults {port}: {error.strerror}; use another port") from error
    except OverflowError as error:
        raise UserError(f"--serve-faults {port}: not a port; use one from 0 to 65535") from error
    return 0


async def _serve(port: int) -> None:
    from colbench.models.fault_server import FaultServer

    async with FaultServer(port=port) as server:
        _show(server.base_url)
        await asyncio.Event().wait()


def _show(url: str) -> None:
    from rich.table import Table

    from colbench.console import console
    from colbench.models.families import DOUBLES
    from colbench.models.faults import GROUPS

    trial = TRIAL.format(url=url)
    _print(f"{trial}\n")
    for title, known in {**GROUPS, "imitations of model families": DOUBLES}.items():
        table = Table(
            "name", "behavior of the server", "expected outcome", box=None, pad_edge=False
        )
        for name, each in known.items():
            table.add_row(name, each.text, each.outcome_text)
        console().print(f"[bold]{title}[/bold]", table, "", sep="\n", highlight=False)
    _print(USE.format(trial=trial, url=url, root=url.removesuffix("/v1")))


def _print(text: str) -> None:
    from colbench.console import console

    console().print(text, highlight=False, markup=False, soft_wrap=True)
