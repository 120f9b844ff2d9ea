"""The viewer's pages as files, which need no server: lists by outcome, and every dialogue with pictures and notes."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

from msgspec.structs import replace

from colbench import event_loop
from colbench.errors import UserError
from colbench.presentation import Comparison, Picture
from colbench.rollout import Rollout
from colbench.viewer.filters import FAILED, Filters
from colbench.viewer.index import OUTCOMES, Row, RunIndex
from colbench.viewer.listing import Listing, Neighbors, make_listing
from colbench.viewer.pages import Showing, Stage, dialogue_page, list_page, stages
from colbench.viewer.pictures import RunPictures

FOLDER, PICTURES = "dialogues", "pictures"


class FileLinks:
    """URLs of files, relative to the page that contains the links."""

    live = False

    def __init__(self, before: Mapping[str, int], *, inside: bool) -> None:
        """Create the links of one page.

        `before`: for each run, by its name, the total number of dialogues in all earlier runs. `inside`: True for the
        page of a dialogue, which is in a subfolder.
        """
        self._before = before
        self._inside = inside

    def list(self, filters: Filters) -> str:
        """Return the URL of the file that lists the dialogues that match these filters."""
        return f"{'../' if self._inside else ''}{list_file(filters)}"

    def dialogue(self, row: Row, filters: Filters) -> str:
        """Return the URL of a dialogue."""
        del filters
        number = self._before[row.run] + row.number + 1
        return f"{'' if self._inside else f'{FOLDER}/'}{number}.html"

    def notes(self, row: Row, filters: Filters) -> str:
        """Return an empty URL, because files cannot accept notes."""
        del row, filters
        return ""

    def pictures(self, row: Row, turn: int) -> str:
        """Return an empty URL, because the page contains the pictures."""
        del row, turn
        return ""

    def picture(self, row: Row, picture: Picture) -> str:
        """Return the URL of a picture."""
        del row
        return f"../{PICTURES}/{Path(picture.file).name}"


def list_file(filters: Filters) -> str:
    """Return the name of the file for the list of dialogues with these filters."""
    page = "" if filters.page == 1 else f"-{filters.page}"
    return f"{filters.outcome or 'index'}{page}.html"


def write_pages(runs: Sequence[RunIndex], target: Path) -> int:
    """Write all pages into a folder and return the number of dialogues.

    Raises UserError if `target` is a file or a folder that is not empty, or if it cannot be written to.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"--export {target}: already exists; use a new or empty folder")
    sizes = [len(run.rows) for run in runs]
    before = dict(zip((run.name for run in runs), accumulate(sizes, initial=0), strict=False))
    try:
        (target / FOLDER).mkdir(parents=True, exist_ok=True)
        for listing in _lists(runs):
            _write_list(listing, FileLinks(before, inside=False), target)
        event_loop.run(_write_dialogues(runs, FileLinks(before, inside=True), target))
    except OSError as cause:
        raise UserError(f"--export {target}: cannot be written: {cause.strerror}") from cause
    return sum(sizes)


def _lists(runs: Sequence[RunIndex]) -> Iterator[Listing]:
    """Yield the list of all dialogues, and a list for each outcome that at least one dialogue has."""
    for outcome in ("", FAILED, *OUTCOMES):
        listing = make_listing(runs, Filters(outcome=outcome))
        if listing.rows or not outcome:
            yield listing


def _write_list(listing: Listing, links: FileLinks, target: Path) -> None:
    for number in range(1, listing.pages + 1):
        filters = listing.filters.but(page=number)
        (target / list_file(filters)).write_text(list_page(listing, filters, links), "utf-8")


async def _write_dialogues(runs: Sequence[RunIndex], links: FileLinks, target: Path) -> None:
    rows = Filters().select(row for run in runs for row in run.rows)
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
    """Return the stages of a dialogue; copy the stages' pictures into the exported folder."""
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
