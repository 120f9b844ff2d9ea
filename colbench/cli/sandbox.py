"""`colbench sandbox attack`: run the shipped exploits against the code sandbox of this machine, or the shipped hostile
pages against its browser.

Returns 1 when an attack reaches anything, or an honest answer does not score 1 (an honest page is not rendered).
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from colbench.errors import UserError

if TYPE_CHECKING:
    from colbench.sandbox.attacks import Finding, Report

HONEST_ANSWERS = "honest answers scored 1"


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("sandbox", help="attack the sandboxes", description=__doc__)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    attack = actions.add_parser(
        "attack", help="run every shipped exploit, and honest answers", description=__doc__
    )
    attack.add_argument(
        "--tier", metavar="T", help="T0, T0b, T1, T1b; default: the best that works"
    )
    attack.add_argument("--pages", action="store_true", help="hostile pages against the browser")
    attack.add_argument("--browser", metavar="PATH", help="with --pages: the browser to attack")
    attack.add_argument("--json", action="store_true", help="print JSON")
    attack.add_argument("--allow-unsafe-sandbox", action="store_true")
    attack.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print one line for each attack and control, and the totals."""
    if args.pages and (args.tier or args.allow_unsafe_sandbox):
        raise UserError(
            "--tier and --allow-unsafe-sandbox are for code; leave them out with --pages"
        )
    if args.browser and not args.pages:
        raise UserError("--browser is for pages; give --pages too")
    if args.pages:
        report = asyncio.run(_attack_browser(args.browser))
    else:
        report = asyncio.run(_attack(args.tier, args.allow_unsafe_sandbox))
    if args.json:
        _print_json(report)
    else:
        print_report(report, "honest pages were rendered" if args.pages else HONEST_ANSWERS)
    return 0 if report.sound else 1


async def _attack(tier: str | None, allow_unsafe: bool) -> Report:
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
    """Print the table, the tier or browser, and the totals; `honest` says what became of the controls."""
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
