"""`build`: the whole site of a store.

    index.html, paper.html, log.html (and log.jsonl), about.html
    boards/KEY/            index.html (the ranking), charts.html, compare.html, tasks.html, board.json, board.csv
    boards/KEY/against/    a page for each entry: it against every other
    boards/KEY/tasks/      a page for each task
    entries/DIGEST/        index.html, dialogues.html, dialogues-NNN.html, the bundle as .tar.gz, what verified it
    gallery/               pictures of pages, where there are renders
    assets/                style and script, named by their hash

Paths are made of digests and fixed words; no name of anybody is part of one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from colbench.pages.store import RenderStore
from colbench.rollout import Rollout
from colbench.task import Task
from colbench_leaderboard.board.comparison import Comparisons
from colbench_leaderboard.board.model import Board, Entry, Row, Standings
from colbench_leaderboard.board.results import make_results
from colbench_leaderboard.bundle import archive
from colbench_leaderboard.bundle.read import Cell as BundleCell
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.bundle.schema import LOCK, SUBMISSION
from colbench_leaderboard.site import (
    against,
    boards,
    dialogues,
    downloads,
    entries,
    pages,
    proof,
    tasks,
    trade,
)
from colbench_leaderboard.site.album import Pictures
from colbench_leaderboard.site.folder import Folder
from colbench_leaderboard.site.frame import Frame, Page
from colbench_leaderboard.store.entries import read_scores
from colbench_leaderboard.store.layout import LOG, bundle_folder, verified_folder
from colbench_leaderboard.verify.receipt import RECEIPT, SCORES, SUMMARY, CellScore


class Built(Struct, frozen=True, kw_only=True):
    """What was written."""

    files: int
    bytes: int
    entries: int
    dialogues: int


LEVEL = 2
"""Of compression, of bundles: a third larger than the best, at an eighth of the time."""
Known = Mapping[str, Task]
"""Tasks by their hash: those whose references are shown."""
Scores = Sequence[tuple[Row, Sequence[CellScore]]]
"""Of a board's rows and lines."""


def build(
    store: Path,
    standings: Standings,
    out: Path,
    tasks: Iterable[Task],
    *,
    renders: RenderStore | None = None,
    browser: str = "",
) -> Built:
    """Build the site of a store in a folder, in place of an earlier site.

    `tasks`: those whose references may be shown; they are found by their hash. `renders`: where pictures of pages are,
    made in the environment `browser`, or where that is "" in the one that an entry tells of.
    Raises UserError where the folder holds something else, DataError where a file is not the one that is named.
    """
    known = {task.hash: task for task in tasks}
    with Folder(out) as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        builder = Builder(
            store, standings, folder, known=known, renders=renders, browser=browser, pool=pool
        )
        try:
            builder.whole()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return Built(
        files=folder.files,
        bytes=folder.bytes,
        entries=len(standings.entries),
        dialogues=builder.dialogues,
    )


class Builder:
    """Writes the pages of one store. What is no Python, statistics and compression, goes on beside in threads."""

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
        self._frame = Frame()
        self._packed: list[Future[None]] = []
        self.dialogues = 0

    def whole(self) -> None:
        """Everything."""
        for path, content in self._frame.assets.items():
            self._folder.write(path, content)
        names = {key: entry.submission.name for key, entry in self._standings.entries.items()}
        self._write(
            pages.front(self._standings),
            pages.paper(self._standings),
            pages.log(self._standings, names),
            pages.about(),
        )
        self._folder.write(LOG, (self._store / LOG).read_bytes())
        for board in self._standings.boards:
            self._board(board)
        for packed in self._packed:
            packed.result()

    def _write(self, *made: Page) -> None:
        for page in made:
            self._folder.write(page.path, self._frame.html(page))

    def _board(self, board: Board) -> None:
        scores = [(row, self._scores(row)) for row in (*board.rows, *board.lines)]
        compared = self._compare(board, scores)
        here = boards.folder(board)
        self._folder.write(f"{here}/board.json", downloads.as_json(board))
        self._folder.write(f"{here}/board.csv", downloads.as_csv(board))
        self._write(boards.ranking(board), trade.page(board))
        said = _Said()
        for row, cells in scores:
            self._entry(row, board, cells, said)
        self._tasks(board, scores, said)
        for page in compared:
            self._write(page.result())

    def _scores(self, row: Row) -> list[CellScore]:
        entry = self._standings.entries[row.bundle]
        return read_scores(self._store, entry.current, entry.receipt)

    def _compare(self, board: Board, scores: Scores) -> list[Future[Page]]:
        """The pages of one entry against the others, which are being made."""
        rows = {row.bundle: row for row, _ in scores}
        self._write(against.choice(board, list(rows.values())))
        results = make_results(board.domain, ((row.bundle, cells) for row, cells in scores))
        comparisons = Comparisons(results)

        def page(row: Row) -> Page:
            return against.page(board, row, comparisons.view(row.bundle), rows, results)

        return [self._pool.submit(page, row) for row in rows.values()]

    def _tasks(self, board: Board, scores: Scores, said: _Said) -> None:
        found = tasks.results(scores)
        at_hand = {id_: self._known[key] for id_, key in said.hashes.items() if key in self._known}
        self._write(tasks.listing(board, found, said.requests))
        for page in tasks.pages(board, found, said.requests, at_hand):
            self._write(page)

    def _entry(self, row: Row, board: Board, scores: Sequence[CellScore], said: _Said) -> None:
        entry = self._standings.entries[row.bundle]
        records = [each for each in self._standings.records if each.bundle == row.bundle]
        deltas = [each for each in self._standings.deltas if each.bundle == row.bundle]
        standing = self._standings.entries.keys()
        self._write(
            entries.page(entry, row, board, history=records, deltas=deltas, standing=standing)
        )
        pictures = None
        if board.domain == "frontend" and self._renders is not None:
            browser = self._browser or entry.lock.environment
            pictures = Pictures(self._folder.draft, self._renders, browser)
        with read_bundle(bundle_folder(self._store, entry.bundle)) as bundle:
            cells = joined(scores, map(said.note, bundle.cells()))
            for page in dialogues.leaves(row, board, cells, self._known, pictures):
                self._write(page)
            self._files(entry, bundle.files)
        self._write(dialogues.listing(row, board, scores, said.requests))
        self.dialogues += len(scores)

    def _files(self, entry: Entry, names: Iterable[str]) -> None:
        """What can be taken away: the bundle, and what verified it."""
        here = entries.entry_folder(entry.bundle)
        source = bundle_folder(self._store, entry.bundle)
        verified = verified_folder(self._store, entry.bundle, entry.current.receipt)
        for folder, kept in ((source, (SUBMISSION, LOCK)), (verified, (RECEIPT, SUMMARY, SCORES))):
            for name in kept:
                self._folder.write(f"{here}/{name}", (folder / name).read_bytes())
        place = self._folder.place(f"{here}/{proof.archive(entry.bundle)}")
        files = [(name, source / name) for name in sorted(names)]
        self._packed.append(self._pool.submit(archive.write, place, files, LEVEL))


class _Said:
    """What entries said of the tasks: the request, which is the same for all, and the hash."""

    def __init__(self) -> None:
        self.requests: dict[str, str] = {}
        self.hashes: dict[str, str] = {}

    def note(self, cell: BundleCell) -> Rollout:
        rollout = cell.rollout
        if rollout.task_id not in self.requests:
            self.requests[rollout.task_id] = rollout.request
            self.hashes[rollout.task_id] = rollout.task_hash
        return rollout


def joined(scores: Sequence[CellScore], rollouts: Iterator[Rollout]) -> Iterator[dialogues.Cell]:
    """Each score with its dialogue, None where the bundle has none; both come by task and trial."""
    rollout = next(rollouts, None)
    for score in scores:
        while rollout and (rollout.task_id, rollout.trial) < (score.task_id, score.trial):
            rollout = next(rollouts, None)
        same = rollout and (rollout.task_id, rollout.trial) == (score.task_id, score.trial)
        yield dialogues.Cell(rollout=rollout if same else None, score=score)
