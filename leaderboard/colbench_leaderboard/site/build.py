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

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from colbench.pages.store import RenderStore
from colbench.rollout import Rollout
from colbench.task import Task
from colbench_leaderboard import tarball
from colbench_leaderboard.archive import read_bundle
from colbench_leaderboard.board import Board, Entry, Row, Standings
from colbench_leaderboard.bundle import LOCK, SUBMISSION
from colbench_leaderboard.comparison import Comparisons
from colbench_leaderboard.entries import read_scores
from colbench_leaderboard.receipt import RECEIPT, SCORES, SUMMARY, CellScore
from colbench_leaderboard.results import Results
from colbench_leaderboard.site import (
    against,
    boards,
    dialogues,
    downloads,
    entries,
    pages,
    tasks,
    trade,
)
from colbench_leaderboard.site.album import Pictures
from colbench_leaderboard.site.folder import Folder
from colbench_leaderboard.site.frame import Frame, Page
from colbench_leaderboard.site.text import short
from colbench_leaderboard.store import LOG, bundle_folder, verified_folder


class Built(Struct, frozen=True, kw_only=True):
    """What was written."""

    files: int
    bytes: int
    entries: int
    dialogues: int


Known = Mapping[str, Task]
"""Tasks by their hash: those whose references are shown."""


def build(
    store: Path,
    standings: Standings,
    out: Path,
    tasks: Sequence[Task],
    renders: RenderStore | None = None,
) -> Built:
    """Build the site of a store in a folder, in place of an earlier site.

    `tasks`: those whose references may be shown; they are found by their hash. `renders`: where pictures of pages are.
    Raises UserError where the folder holds something else, DataError where a file is not the one that is named.
    """
    with Folder(out) as folder:
        known = {task.hash: task for task in tasks}
        builder = Builder(store, standings, folder, known, renders)
        builder.whole()
    return Built(
        files=folder.files,
        bytes=folder.bytes,
        entries=len(standings.entries),
        dialogues=builder.dialogues,
    )


class Builder:
    """Writes the pages of one store."""

    def __init__(
        self,
        store: Path,
        standings: Standings,
        folder: Folder,
        known: Known,
        renders: RenderStore | None,
    ) -> None:
        self._store, self._standings, self._folder = store, standings, folder
        self._known, self._renders = known, renders
        self._frame = Frame()
        self.dialogues = 0

    def whole(self) -> None:
        """Everything."""
        for path, content in self._frame.assets.items():
            self._folder.write(path, content)
        names = {bundle: entry.submission.name for bundle, entry in self._standings.entries.items()}
        self._pages(pages.front(self._standings), pages.paper(self._standings), pages.about())
        self._pages(pages.log(self._standings, names))
        self._folder.write(LOG, (self._store / LOG).read_bytes())
        for board in self._standings.boards:
            self._board(board)

    def _pages(self, *made: Page) -> None:
        for page in made:
            self._folder.write(page.path, self._frame.html(page))

    def _board(self, board: Board) -> None:
        everyone = [*board.rows, *board.lines]
        scores = [(row, self._scores(row)) for row in everyone]
        said = self._entries(board, scores)
        found = tasks.results(scores)
        at_hand = {
            id_: self._known[hash_] for id_, hash_ in said.hashes.items() if hash_ in self._known
        }
        self._pages(
            boards.ranking(board), trade.page(board), tasks.listing(board, found, said.requests)
        )
        for page in tasks.pages(board, found, said.requests, at_hand):
            self._pages(page)
        for page in against.pages(board, _comparisons(scores)):
            self._pages(page)
        here = boards.folder(board)
        self._folder.write(f"{here}/board.json", downloads.as_json(board))
        self._folder.write(f"{here}/board.csv", downloads.as_csv(board))

    def _scores(self, row: Row) -> list[CellScore]:
        entry = self._standings.entries[row.bundle]
        return read_scores(self._store, entry.current, entry.receipt)

    def _entries(self, board: Board, scores: Sequence[tuple[Row, Sequence[CellScore]]]) -> _Said:
        said = _Said()
        for row, cells in scores:
            entry = self._standings.entries[row.bundle]
            records = [each for each in self._standings.records if each.bundle == row.bundle]
            deltas = [each for each in self._standings.deltas if each.bundle == row.bundle]
            self._pages(entries.page(entry, row, board, records, deltas))
            self._dialogues(entry, row, board, cells, said)
            self._pages(dialogues.listing(row, board, cells, said.requests))
            self._files(entry)
        return said

    def _dialogues(
        self, entry: Entry, row: Row, board: Board, scores: Sequence[CellScore], said: _Said
    ) -> None:
        pictures = None
        if board.domain == "frontend" and self._renders is not None:
            pictures = Pictures(self._folder.draft, self._renders, entry.lock.browser)
        cells = joined(scores, self._rollouts(entry, said))
        for page in dialogues.leaves(row, board, cells, self._known, pictures):
            self._pages(page)
        self.dialogues += len(scores)

    def _rollouts(self, entry: Entry, said: _Said) -> Iterator[Rollout]:
        with read_bundle(bundle_folder(self._store, entry.bundle)) as bundle:
            for cell in bundle.cells():
                said.note(cell.rollout)
                yield cell.rollout

    def _files(self, entry: Entry) -> None:
        """What can be taken away: the bundle, and what verified it."""
        here = entries.entry_folder(entry.bundle)
        source = bundle_folder(self._store, entry.bundle)
        verified = verified_folder(self._store, entry.bundle, entry.current.receipt)
        for name in (SUBMISSION, LOCK):
            self._folder.write(f"{here}/{name}", (source / name).read_bytes())
        for name in (RECEIPT, SUMMARY, SCORES):
            self._folder.write(f"{here}/{name}", (verified / name).read_bytes())
        with read_bundle(source) as bundle:
            files = [(name, source / name) for name in bundle.files]
        tarball.write(self._folder.place(f"{here}/{short(entry.bundle)}.tar.gz"), files)


class _Said:
    """What entries said of the tasks: the request, which is the same for all, and the hash."""

    def __init__(self) -> None:
        self.requests: dict[str, str] = {}
        self.hashes: dict[str, str] = {}

    def note(self, rollout: Rollout) -> None:
        if rollout.task_id not in self.requests:
            self.requests[rollout.task_id] = rollout.request
            self.hashes[rollout.task_id] = rollout.task_hash


def _comparisons(scores: Sequence[tuple[Row, Sequence[CellScore]]]) -> Comparisons:
    first = scores[0][1] if scores else ()
    results = Results(tuple(dict.fromkeys(score.task_id for score in first)))
    for row, cells in scores:
        results.add(row.bundle, cells)
    return Comparisons(results)


def joined(scores: Sequence[CellScore], rollouts: Iterator[Rollout]) -> Iterator[dialogues.Cell]:
    """Each score with its dialogue, None where the bundle has none; both come by task and trial."""
    rollout = next(rollouts, None)
    for score in scores:
        while rollout and (rollout.task_id, rollout.trial) < (score.task_id, score.trial):
            rollout = next(rollouts, None)
        same = rollout and (rollout.task_id, rollout.trial) == (score.task_id, score.trial)
        yield dialogues.Cell(rollout=rollout if same else None, score=score)
    for _ in rollouts:
        pass
