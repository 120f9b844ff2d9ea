"""The viewer's pages as files, which need no server: lists by outcome, and every dialogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from colbench.errors import UserError
from colbench.viewer.filters import FAILED, Filters
from colbench.viewer.index import OUTCOMES, Row, RunIndex
from colbench.viewer.pages import dialogue_page, list_page, page_count

FOLDER = "dialogues"


class FileLinks:
    """Addresses of files, relative to the one that holds them."""

    live = False

    def __init__(self, numbers: Mapping[tuple[str, str], int], *, inside: bool) -> None:
        """`numbers`: those of the dialogues, by run and key. `inside`: whether the page is itself a dialogue's."""
        self._numbers = numbers
        self._inside = inside

    def list(self, filters: Filters) -> str:
        """Return the address of a list by outcome."""
        return f"{'../' if self._inside else ''}{list_file(filters)}"

    def dialogue(self, row: Row, filters: Filters) -> str:
        """Return the address of a dialogue."""
        del filters
        return f"{'' if self._inside else f'{FOLDER}/'}{self._numbers[row.run, row.key]}.html"


def list_file(filters: Filters) -> str:
    """Return the name of a list's file."""
    page = "" if filters.page == 1 else f"-{filters.page}"
    return f"{filters.outcome or 'index'}{page}.html"


def write_pages(runs: Sequence[RunIndex], target: Path) -> int:
    """Write all pages into a folder and return the number of dialogues.

    Raises UserError if the folder holds anything, or cannot be written.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"--export {target}: already exists; name a new or empty folder")
    rows = [row for run in runs for row in run.rows]
    numbers = {(row.run, row.key): n for n, row in enumerate(rows, start=1)}
    try:
        (target / FOLDER).mkdir(parents=True, exist_ok=True)
        for filters in _lists(rows):
            page = list_page(runs, filters, FileLinks(numbers, inside=False))
            (target / list_file(filters)).write_text(page, "utf-8")
        for name, page in _dialogues(runs, rows, FileLinks(numbers, inside=True)):
            (target / FOLDER / name).write_text(page, "utf-8")
    except OSError as cause:
        raise UserError(f"--export {target}: cannot be written: {cause.strerror}") from cause
    return len(rows)


def _lists(rows: Sequence[Row]) -> Iterator[Filters]:
    """Yield every page of every list that has a dialogue, and the first page of all."""
    for outcome in ("", FAILED, *OUTCOMES):
        filters = Filters(outcome=outcome)
        found = filters.select(rows)
        if found or not outcome:
            for page in range(1, page_count(found) + 1):
                yield filters.but(page=page)


def _dialogues(
    runs: Sequence[RunIndex], rows: Sequence[Row], links: FileLinks
) -> Iterator[tuple[str, str]]:
    by_name = {run.name: run for run in runs}
    around = [None, *rows, None]
    for number, ((before, row), (_, after)) in enumerate(pairwise(pairwise(around)), start=1):
        if row is not None:
            page = dialogue_page(by_name[row.run], row, (before, after), Filters(), links)
            yield f"{number}.html", page
