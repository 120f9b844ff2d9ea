"""Records as text: numbers with their spread, and the tables that the commands print."""

from __future__ import annotations

from collections.abc import Mapping

from records import Measured, Move, Record, moved
from rich.table import Table

from colbench.console import console


def number(value: float) -> str:
    """Return a number with about three digits: `1.79`, `30.5`, `102`; all digits before the point, such as `1,834`.

    Numbers without a fraction have no decimals (`5`). Numbers below 1 have two digits.
    """
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    decimals = 2 if abs(value) < 10 else 1
    return f"{value:.{decimals}f}" if abs(value) >= 0.1 else f"{value:.2g}"


def with_unit(measured: Measured) -> str:
    """Return the median with its unit: `1.79 x`, `30.5 ms`."""
    return f"{number(measured.median)} {measured.unit}".rstrip()


def spread(measured: Measured) -> str:
    """Return the lowest and highest value: `1.76 to 1.83`; an empty string if both have the same digits."""
    low, high = number(measured.low), number(measured.high)
    return "" if low == high else f"{low} to {high}"


def with_spread(measured: Measured) -> str:
    """Return the median with its unit and spread: `1.79 x (1.76 to 1.83)`."""
    ends = spread(measured)
    return f"{with_unit(measured)} ({ends})" if ends else with_unit(measured)


def target(measured: Measured) -> str:
    """Return the target, such as `at most 1.15 x`, and whether it is missed; an empty string without a target."""
    if measured.wanted is None:
        return ""
    bound = "at least" if measured.better == "higher" else "at most"
    missed = "" if measured.reached else ", missed"
    return f"{bound} {number(measured.wanted)} {measured.unit}".rstrip() + missed


def show_record(name: str, record: Record, recorded: Record | None) -> None:
    """Print all results of a benchmark, and the ratios that moved since they were recorded."""
    table = Table(title=f"{name} {record.arguments}".rstrip(), title_justify="left")
    for title in ("", "median", "lowest to highest", "wanted", "recorded"):
        table.add_column(title)
    comparable = recorded is not None and recorded.arguments == record.arguments
    for kind in ("ratios", "figures"):
        known = getattr(recorded, kind) if comparable else {}
        for label, found in getattr(record, kind).items():
            before = with_spread(known[label]) if label in known else ""
            table.add_row(label, with_unit(found), spread(found), target(found), before)
        table.add_section()
    console().print(table)
    console().print(f"Other programs used {100 * record.others:.0f}% of the processor time.")
    show_moves({name: record}, {name: recorded} if recorded else {})


def show_moves(
    found: Mapping[str, Record], recorded: Mapping[str, Record], *, all_ratios: bool = False
) -> None:
    """Print the ratios that moved beyond the spread, or all ratios, and name benchmarks that cannot be compared."""
    table = Table(title="Compared with the recorded ratios", title_justify="left")
    for title in ("benchmark", "ratio", "recorded", "now", ""):
        table.add_column(title)
    compared, moves = 0, 0
    for name, record in found.items():
        before = recorded.get(name)
        if before is None or before.arguments != record.arguments:
            console().print(f"{name}: not compared, because no record has the same arguments")
            continue
        if _place(before) != _place(record):
            machine = f"{before.machine.processor}, {before.machine.cores} cores"
            console().print(f"{name}: recorded on another machine ({machine})")
        compared += 1
        moved_here = {move.name: move for move in moved(before, record)}
        moves += len(moved_here)
        for label, now in record.ratios.items():
            if label in moved_here or (all_ratios and label in before.ratios):
                cells = (with_spread(before.ratios[label]), with_spread(now))
                table.add_row(name, label, *cells, _verdict(moved_here.get(label)))
    if table.row_count:
        console().print(table)
    if compared:
        console().print(f"Ratios that moved beyond the spread of their rounds: {moves}.")


def _verdict(move: Move | None) -> str:
    if move is None:
        return ""
    return "[red]worse[/]" if move.worse else "[green]better[/]"


def _place(record: Record) -> tuple[str, int]:
    return record.machine.processor, record.machine.cores
