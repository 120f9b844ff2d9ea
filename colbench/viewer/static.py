"""The viewer's pages as files, which need no server: lists by outcome, every dialogue with its pictures and notes."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from msgspec.structs import replace

from colbench import event_loop
from colbench.errors import UserError
from colbench.presentation import Comparison, Picture
from colbench.rollout import Rollout
from colbench.viewer.filters import FAILED, Filters
from colbench.viewer.index import OUTCOMES, Row, RunIndex
from colbench.viewer.pages import (
    Neighbors,
    Showing,
    Stage,
    dialogue_page,
    list_page,
    page_count,
    stages,
)
from colbench.viewer.pictures import RunPictures

FOLDER, PICTURES = "dialogues", "pictures"


class FileLinks:
    """Addresses of files, relative to the one that holds them."""

    live = False

    def __init__(self, numbers: Mapping[tuple[str, str], int], *, inside: bool) -> None:
        """Take the numbers of the dialogues by run and key; `inside`: True if the page is itself a dialogue's."""
        self._numbers = numbers
        self._inside = inside

    def list(self, filters: Filters) -> str:
        """Return the address of a list by outcome."""
        return f"{'../' if self._inside else ''}{list_file(filters)}"

    def dialogue(self, row: Row, filters: Filters) -> str:
        """Return the address of a dialogue."""
        del filters
        return f"{'' if self._inside else f'{FOLDER}/'}{self._numbers[row.run, row.key]}.html"

    def notes(self, row: Row, filters: Filters) -> str:
        """Return an empty address: a file takes no notes."""
        del row, filters
        return ""

    def pictures(self, row: Row, turn: int) -> str:
        """Return an empty address: the pictures are in the page."""
        del row, turn
        return ""

    def picture(self, row: Row, picture: Picture) -> str:
        """Return the address of a picture."""
        del row
        return f"../{PICTURES}/{Path(picture.file).name}"


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
        event_loop.run(_write_dialogues(runs, rows, FileLinks(numbers, inside=True), target))
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


async def _write_dialogues(
    runs: Sequence[RunIndex], rows: Sequence[Row], links: FileLinks, target: Path
) -> None:
    for run in runs:
        async for row, page in _dialogues(run, rows, links, target):
            (target / FOLDER / links.dialogue(row, Filters())).write_text(page, "utf-8")


async def _dialogues(
    run: RunIndex, rows: Sequence[Row], links: FileLinks, target: Path
) -> AsyncIterator[tuple[Row, str]]:
    """Yield the pages of a run's dialogues."""
    pictures = RunPictures(run)
    try:
        for row, neighbors in _with_neighbors(rows):
            if row.run == run.name:
                rollout = run.rollout(row)
                showing = Showing(
                    neighbors=neighbors,
                    stages=await _stages(run, rollout, pictures, target),
                    legend=pictures.legend(rollout),
                )
                yield row, dialogue_page(run, row, links, showing)
    finally:
        await pictures.close()


def _with_neighbors(rows: Sequence[Row]) -> Iterator[tuple[Row, Neighbors]]:
    around = [None, *rows, None]
    for (before, row), (_, after) in pairwise(pairwise(around)):
        if row is not None:
            yield row, (before, after)


async def _stages(
    run: RunIndex, rollout: Rollout, pictures: RunPictures, target: Path
) -> list[Stage]:
    """Return what was shown in a dialogue, with its pictures copied next to the pages."""
    task = run.task(rollout)
    if task is None:
        return []
    found = []
    for stage in stages(rollout, pictures.turns(rollout)):
        try:
            comparison = await pictures.of(task, rollout, stage.turn)
        except UserError as error:
            found.append(replace(stage, lacking=str(error)))
        else:
            _copy(run.folder.path, comparison, target / PICTURES)
            found.append(replace(stage, comparison=comparison))
    return found


def _copy(folder: Path, comparison: Comparison, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for picture in (comparison.target, comparison.shown, comparison.difference):
        if picture.file:
            shutil.copyfile(folder / picture.file, target / Path(picture.file).name)
