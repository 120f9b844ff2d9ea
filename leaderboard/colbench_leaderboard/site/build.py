"""Building the whole site of a store.

    index.html, paper.html, log.html (and log.jsonl), about.html
    boards/KEY/            index.html (the ranking), charts.html, compare.html, tasks.html, board.json, board.csv
    boards/KEY/against/    a page for each entry: its comparison with every other entry
    boards/KEY/tasks/      a page for each task
    entries/DIGEST/        index.html, dialogues.html, dialogues-NNN.html, badge.svg, card.svg, the bundle as
                           .tar.gz, its verification
    gallery/               pictures of pages, if renders exist
    assets/                style and script, named by their hash

Paths consist of digests and fixed words, never of submitted names. Each page is a template filled with plain data; see
`layout`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from colbench.pages.store import RenderStore
from colbench.presentation import AnswerPictures, Picture
from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench.task import Task
from colbench_leaderboard.board.comparison import Comparisons
from colbench_leaderboard.board.model import Board, Entry, Row, Standings
from colbench_leaderboard.board.results import make_results
from colbench_leaderboard.bundle import archive
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.bundle.schema import LOCK, SUBMISSION
from colbench_leaderboard.site import (
    boards,
    compare,
    dialogues,
    entries,
    overview,
    pictures,
    tasks,
    tradeoff,
)
from colbench_leaderboard.site.folder import Folder
from colbench_leaderboard.site.layout import Layout, Page
from colbench_leaderboard.site.slugs import archive_name, board_folder, entry_folder
from colbench_leaderboard.store.entries import read_scores
from colbench_leaderboard.store.layout import LOG, bundle_folder, verified_folder
from colbench_leaderboard.verify.receipt import RECEIPT, SCORES, SUMMARY, CellScore

LEVEL = 2
"""Compression level of bundles. Files are a third larger than at the best level, but take an eighth of the time."""
Known = Mapping[str, Task]
"""The tasks whose references are shown, by hash."""
Scores = Sequence[tuple[Row, Sequence[CellScore]]]
"""Each row of a board, ranked or not, with its scores."""


class Built(Struct, frozen=True, kw_only=True):
    """The numbers of files, bytes, entries and dialogues of a written site."""

    files: int
    """Number of files, except pictures and the archives of bundles."""
    bytes: int
    """Total size of the counted files."""
    entries: int
    dialogues: int


def build(
    store: Path,
    standings: Standings,
    out: Path,
    tasks: Iterable[Task],
    *,
    renders: RenderStore | None = None,
    browser: str = "",
) -> Built:
    """Build the site of a store in a folder, replacing an earlier site.

    `tasks`: the tasks whose references may be shown; they are found by their hash. `renders`: the store of pictures of
    pages; None for a site without pictures. `browser`: the environment in which the shown pictures were made; if it is
    empty, pictures of each entry's own environment are shown. Raises UserError if the folder contains something other
    than a site or cannot be written, and DataError if a file does not match its hash.
    """
    known = {task.hash: task for task in tasks}
    with Folder(out) as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        builder = Builder(
            store, standings, folder, known=known, renders=renders, browser=browser, pool=pool
        )
        try:
            builder.site()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return Built(
        files=folder.files,
        bytes=folder.bytes,
        entries=len(standings.entries),
        dialogues=builder.dialogues,
    )


class Builder:
    """A writer of the pages of one store. While it writes, threads compute statistics and compress files."""

    def __init__(
        self,
        store: Path,
        standings: Standings,
        folder: Folder,
        *,
        known: Known,
        renders: RenderStore | None,
        browser: str,
        pool: ThreadPoolExecutor,
    ) -> None:
        self._store, self._standings, self._folder = store, standings, folder
        self._known, self._renders, self._browser, self._pool = known, renders, browser, pool
        self._layout = Layout()
        self._packed: list[Future[None]] = []
        self.dialogues = 0

    def site(self) -> None:
        """Write the whole site."""
        for path, content in self._layout.assets.items():
            self._folder.write(path, content)
        self._write(*overview.pages(self._standings))
        self._folder.write(LOG, (self._store / LOG).read_bytes())
        for board in self._standings.boards:
            self._board(board)
        for packed in self._packed:
            packed.result()

    def _write(self, *pages: Page) -> None:
        for page in pages:
            self._folder.write(page.path, self._layout.html(page))

    def _board(self, board: Board) -> None:
        scores = [(row, self._scores(row)) for row in board.everyone]
        compared = self._compare(board, scores)
        here = board_folder(board.key)
        self._folder.write(f"{here}/board.json", boards.as_json(board))
        self._folder.write(f"{here}/board.csv", boards.as_csv(board))
        self._write(boards.ranking(board), tradeoff.page(board))
        seen = _SeenTasks()
        for row, cells in scores:
            self._entry(row, board, cells, seen)
        self._tasks(board, scores, seen)
        for page in compared:
            self._folder.write(*page.result())

    def _scores(self, row: Row) -> list[CellScore]:
        entry = self._standings.entries[row.bundle]
        return read_scores(self._store, entry.current, entry.receipt)

    def _compare(self, board: Board, scores: Scores) -> list[Future[tuple[str, str]]]:
        """Write the page for choosing entries. Return a future for the path and HTML of each comparison page."""
        rows = {row.bundle: row for row, _ in scores}
        self._write(compare.choice(board, list(rows.values())))
        results = make_results(board.domain, ((row.bundle, cells) for row, cells in scores))
        comparisons = Comparisons(results)

        def page(row: Row) -> tuple[str, str]:
            made = compare.page(board, row, comparisons.view(row.bundle), rows, results)
            return made.path, self._layout.html(made)

        return [self._pool.submit(page, row) for row in rows.values()]

    def _tasks(self, board: Board, scores: Scores, seen: _SeenTasks) -> None:
        found = tasks.attempts(scores)
        at_hand = {id_: self._known[key] for id_, key in seen.hashes.items() if key in self._known}
        self._write(tasks.listing(board, found, seen.requests))
        for page in tasks.pages(board, found, seen.requests, at_hand):
            self._write(page)

    def _entry(self, row: Row, board: Board, scores: Sequence[CellScore], seen: _SeenTasks) -> None:
        entry = self._standings.entries[row.bundle]
        records = [each for each in self._standings.records if each.bundle == row.bundle]
        deltas = [each for each in self._standings.deltas if each.bundle == row.bundle]
        standing = self._standings.entries.keys()
        self._write(
            entries.page(entry, row, board, history=records, deltas=deltas, standing=standing),
            *pictures.pages(row, board),
        )
        answers = None
        if self._renders is not None:
            browser = self._browser or entry.lock.environment
            domain = get_domain(board.domain)
            source = domain.answer_pictures(self._folder.draft, self._renders, browser)
            answers = source and _ShownPictures(source, self._folder.pictures)
        with read_bundle(bundle_folder(self._store, entry.bundle)) as bundle:
            rollouts = (seen.note(cell.rollout) for cell in bundle.cells())
            cells = dialogues.joined(scores, rollouts)
            for page in dialogues.leaves(row, board, cells, self._known, answers):
                self._write(page)
            self._files(entry, bundle.files)
        self._write(dialogues.listing(row, board, scores, seen.requests))
        self.dialogues += len(scores)

    def _files(self, entry: Entry, names: Iterable[str]) -> None:
        """Write the downloads: the bundle, and the files of its verification."""
        here = entry_folder(entry.bundle)
        source = bundle_folder(self._store, entry.bundle)
        verified = verified_folder(self._store, entry.bundle, entry.current.receipt)
        for folder, kept in ((source, (SUBMISSION, LOCK)), (verified, (RECEIPT, SUMMARY, SCORES))):
            for name in kept:
                self._folder.write(f"{here}/{name}", (folder / name).read_bytes())
        place = self._folder.place(f"{here}/{archive_name(entry.bundle)}")
        files = [(name, source / name) for name in sorted(names)]
        self._packed.append(self._pool.submit(archive.write, place, files, LEVEL))


class _ShownPictures:
    """A source of pictures of answers that records the files of all pictures that it returns."""

    def __init__(self, source: AnswerPictures, files: set[str]) -> None:
        self.legend = source.legend
        self._source, self._files = source, files

    def of(self, task: Task, answer: str | None) -> Sequence[Picture]:
        """Return the pictures of an answer, and record their files."""
        pictures = self._source.of(task, answer)
        self._files.update(picture.file for picture in pictures)
        return pictures


class _SeenTasks:
    """The request and the hash of each task, by task ID.

    The request and the hash are taken from the first dialogue on the task, because they are the same in all entries.
    """

    def __init__(self) -> None:
        self.requests: dict[str, str] = {}
        self.hashes: dict[str, str] = {}

    def note(self, rollout: Rollout) -> Rollout:
        """Record the task of a dialogue, and return the dialogue."""
        if rollout.task_id not in self.requests:
            self.requests[rollout.task_id] = rollout.request
            self.hashes[rollout.task_id] = rollout.task_hash
        return rollout
