"""`colbench doctor --attack`: run exploits against the code sandbox, or hostile pages against the browser."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from colbench.errors import UserError

if TYPE_CHECKING:
    from colbench.sandbox.attacks import Finding, Report

TARGETS = ("code", "pages")
CODE_ONLY = {"tier": "--tier", "allow_unsafe_sandbox": "--allow-unsafe-sandbox"}
PAGES_ONLY = {"browser": "--browser"}
HONEST_ANSWERS = "honest answers scored 1"
HONEST_PAGES = "honest pages were rendered"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add `--attack` and its related flags."""
    parser.add_argument(
        "--attack",
        nargs="?",
        const=TARGETS[0],
        choices=TARGETS,
        help="run ColBench's exploits against the code sandbox, or hostile pages against the "
        "browser (without a value: code)",
    )
    parser.add_argument(
        "--tier",
        metavar="T",
        help="with --attack code: the sandbox tier (T0, T0b, T1, T1b, or the unsafe T2; default: the "
        "strongest that works)",
    )
    parser.add_argument(
        "--allow-unsafe-sandbox",
        action="store_true",
        help="with --attack code: permit the tier T2, which only limits resources",
    )
    parser.add_argument(
        "--browser",
        metavar="PATH",
        help="with --attack pages: the browser (default: the first one found)",
    )


def check_flags(args: argparse.Namespace) -> None:
    """Raise UserError if a flag lacks the attack that it requires, or if two given flags exclude each other."""
    for target, flags in zip(TARGETS, (CODE_ONLY, PAGES_ONLY), strict=True):
        for name, flag in flags.items():
            if getattr(args, name) and args.attack != target:
                raise UserError(f"{flag}: requires --attack {target}; add it, or omit {flag}")
    if args.attack and args.serve_faults is not None:
        raise UserError("--serve-faults: cannot be combined with --attack; run two commands")
    if args.json and args.serve_faults is not None:
        raise UserError("--json: cannot be combined with --serve-faults; omit --json")


def run(args: argparse.Namespace) -> int:
    """Print one line for each attack and each control (an honest answer or page), and the totals.

    Return 1 if an attack succeeded or a control failed, else 0.
    """
    if args.attack == "pages":
        report, honest = asyncio.run(_attack_browser(args.browser)), HONEST_PAGES
    else:
        report = asyncio.run(_attack_sandbox(args.tier, args.allow_unsafe_sandbox))
        honest = HONEST_ANSWERS
    if args.json:
        _print_json(report)
    else:
        print_report(report, honest)
    return 0 if report.sound else 1


async def _attack_sandbox(tier: str | None, allow_unsafe: bool) -> Report:
    from colbench.domains.backend.scorer import UnitTestScorer
    from colbench.sandbox.attacks import attack_sandbox, attacks, controls

    with _progress(len(attacks()) + len(controls()) + 1) as advance:
        return await attack_sandbox(
            UnitTestScorer, tier=tier, allow_unsafe=allow_unsafe, on_found=advance
        )


async def _attack_browser(browser: str | None) -> Report:
    from colbench.sandbox.browser import Renderer
    from colbench.sandbox.browser.attacks import attack_renderer, page_attacks, page_controls

    with (
        TemporaryDirectory() as cache,
        _progress(len(page_attacks()) + len(page_controls()) + 1) as advance,
    ):
        return await attack_renderer(Renderer(browser, cache=Path(cache)), on_found=advance)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[Finding], None]]:
    from rich.progress import Progress

    from colbench.console import errors

    with Progress(console=errors(), transient=True, disable=not errors().is_terminal) as progress:
        bar = progress.add_task("attacking", total=total)
        yield lambda _found: progress.advance(bar)


def _print_json(report: Report) -> None:
    import msgspec

    totals = {
        "successes": len(report.successes),
        "failed_controls": len(report.failed_controls),
        **msgspec.to_builtins(report),
    }
    sys.stdout.write(msgspec.json.encode(totals).decode() + "\n")


def print_report(report: Report, honest: str = HONEST_ANSWERS) -> None:
    """Print the findings, what was attacked, and the totals; `honest` is the phrase for controls that passed."""
    from rich.table import Table

    from colbench.console import console

    out = console()
    table = Table("class", "attack", "outcome", box=None, pad_edge=False)
    for found in report.findings:
        table.add_row(found.kind, found.name, _outcome(found))
    out.print(table, highlight=False)
    out.print(report.environment, highlight=False)
    for line in _totals(report, honest):
        out.print(line, highlight=False)


def _outcome(found: Finding) -> str:
    from rich.markup import escape

    if found.faults:
        return f"[red]{escape('; '.join(found.faults))}[/red]"
    return found.ending if found.control else f"[green]{found.ending}[/green]"


def _totals(report: Report, words: str) -> list[str]:
    attacks: defaultdict[str, int] = defaultdict(int)
    honest = sum(found.control for found in report.findings)
    for found in report.findings:
        if not found.control:
            attacks[found.kind] += 1
    classes = ", ".join(f"{kind} {count}" for kind, count in sorted(attacks.items()))
    total = sum(attacks.values())
    return [
        f"{len(report.successes)} of {total} attacks succeeded ({classes})",
        f"{honest - len(report.failed_controls)} of {honest} {words}",
    ]
