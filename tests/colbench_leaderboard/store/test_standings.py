from __future__ import annotations

import pytest
from msgspec.structs import replace

from colbench.errors import DataError
from colbench_leaderboard.board.costs import mean_cost, mean_tokens
from colbench_leaderboard.board.results import make_results
from colbench_leaderboard.board.standings import board_results, read_standings
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.site.boards import board_view
from colbench_leaderboard.store.decisions import accept, keep, remove, rescore
from colbench_leaderboard.store.layout import LOG, bundle_folder, verified_folder
from colbench_leaderboard.store.log import read_log
from colbench_leaderboard.verify.receipt import SCORES, SUMMARY, CellScore

GOOD = [[1.0]] * 9 + [[0.5]]
FAIR = [[1.0], [0.0]] * 5
BAD = [[0.0]] * 10


@pytest.fixture
def take(store, entrant):
    """Return a function that accepts an entry and returns its digest."""

    def taken(name, values=FAIR, *, line=False, reruns="", **about):
        one = entrant(name, values, **about)
        accept(store, one.bundle, one.verified, reference_line=line, reruns=reruns)
        return one.digest

    return taken


def test_an_empty_store_has_no_boards_but_the_papers_table(store):
    found = read_standings(store)
    assert (found.boards, found.records, found.head) == ((), (), read_log(store).head)
    sweet = next(line for line in found.reported if "SWEET" in line.model)
    assert (sweet.tests, sweet.success, sweet.cosine, sweet.win) == (56.8, 40.4, 77.7, 48.2)
    assert len(found.reported) == 11


def test_a_board_ranks_its_entries_by_their_mean(store, take):
    take("fair"), take("good", GOOD), take("bad", BAD)
    (board,) = read_standings(store).boards
    assert [row.name for row in board.rows] == ["good", "fair", "bad"]
    assert [row.rank.place for row in board.rows] == [1, 2, 3]
    assert [row.value.mean for row in board.rows] == [0.95, 0.5, 0.0]
    assert [row.success.mean for row in board.rows] == [0.9, 0.5, 0.0]
    assert (board.key, board.tasks) == ("standard-backend-cdcdcdcdcdcdcdcd", 10)
    assert board.rows[0].rank.words == "not separable from 1 other, at rank 2"
    assert (board.rows[0].rank.low, board.rows[0].rank.high) == (1, 2)
    assert board.rows[2].rank.high == 3


def test_reference_lines_have_no_rank(store, take):
    take("blank", BAD, line=True), take("good", GOOD), take("guesser", FAIR, line=True)
    (board,) = read_standings(store).boards
    assert [row.name for row in board.rows] == ["good"]
    assert [row.name for row in board.lines] == ["guesser", "blank"]
    assert [row.rank for row in board.lines] == [None, None]
    assert board.rows[0].rank.words == "the only entry"
    assert (board.ceiling.name, board.ceiling.value, board.ceiling.success) == (
        "reference",
        1.0,
        1.0,
    )


def test_a_board_may_contain_only_reference_lines(store, take):
    take("blank", BAD, line=True)
    (board,) = read_standings(store).boards
    assert (board.rows, board.least_detectable) == ((), None)


def test_each_track_domain_and_set_of_tasks_has_its_own_board(store, take):
    take("open", track="open")
    take("page", [[0.6], [0.7]], domain="frontend")
    take("other", tasks="ab" * 32)
    take("plain")
    found = read_standings(store)
    assert [board.key for board in found.boards] == [
        "standard-backend-abababababababab",
        "standard-backend-cdcdcdcdcdcdcdcd",
        "standard-frontend-cdcdcdcdcdcdcdcd",
        "open-backend-cdcdcdcdcdcdcdcd-dfc8240e",
    ]
    page = found.boards[2]
    assert (page.rows[0].success, page.rows[0].pass_k, page.ceiling.success) == (None, (), None)


def test_entries_of_the_open_track_are_ranked_apart_if_their_humans_or_turn_limits_differ(
    store, take
):
    plain = {"human": "keyless", "max_turns": 10}
    take("one", track="open")
    take("same", track="open", setting=plain)
    take("patient", track="open", setting={"max_turns": 50})
    take("talkative", track="open", setting={"human": "openai:gpt"})
    take("warm", track="open", setting={"human": "openai:gpt", "human_args": {"temperature": 1}})
    boards = {
        board.setting: [row.name for row in board.rows] for board in read_standings(store).boards
    }
    assert boards == {
        "human keyless, 10 turns": ["one", "same"],
        "human keyless, 50 turns": ["patient"],
        "human openai:gpt, 10 turns": ["talkative"],
        "human openai:gpt (temperature=1), 10 turns": ["warm"],
    }
    titles = {board_view(board).title for board in read_standings(store).boards}
    assert "Open · Backend programming · 10 tasks (cdcdcdcd) · human keyless, 50 turns" in titles


def test_a_row_contains_flags_level_disclosures_and_date(store, take):
    digest = take(
        "flagged", findings=[("b.b", "flag"), ("a.a", "flag"), ("b.b", "flag"), ("n", "note")]
    )
    found = read_standings(store)
    (row,) = found.boards[0].rows
    assert row.flags == ("b.b", "a.a")
    assert (row.level, row.organization, row.open_weights, row.trained_on_colbench) == (
        "V2",
        "Institute",
        True,
        False,
    )
    assert row.agent_process == "not stated"
    lock = replace(found.entries[digest].lock, pins={"agent": {"process": "in-process"}})
    assert lock.agent_process == "in-process"
    assert row.date == found.records[0].time[:10]
    assert found.entries[digest].submission.name == "flagged"
    assert found.entries[digest].board == found.boards[0].key


def test_tokens_and_dollars_are_shown_where_they_are_known(store, take):
    take("priced", tokens=1010, price=(2.0, 100.0))
    take("counted", tokens=500)
    take("silent", price=(2.0, 100.0))
    take("odd", tokens=10, price="much")
    rows = {row.name: row for row in read_standings(store).boards[0].rows}
    assert rows["priced"].tokens == 1010
    assert rows["priced"].cost == pytest.approx((1000 * 2 + 10 * 100) / 1e6)
    assert (rows["counted"].tokens, rows["counted"].cost) == (500, None)
    assert (rows["silent"].tokens, rows["silent"].cost) == (None, None)
    assert rows["odd"].cost is None


def test_tokens_and_dollars_count_a_missing_dialogue_as_0_and_leave_out_unjudged_tasks(entrant):
    one = entrant("one", [[1.0], [1.0]], tokens=1010, price=(2.0, 100.0))
    there = replace(absent("task-1"), turns=2, agent_tokens=1010)
    results = make_results("backend", [(one.digest, [absent("task-0a"), there])])
    with read_bundle(one.bundle) as bundle:
        cost = mean_cost(results, one.digest, one.bundle, bundle.lock)
    assert mean_tokens(results, one.digest) == 1010 / 2
    assert cost == pytest.approx((1000 * 2 + 10 * 100) / 1e6 / 2)


def absent(task):
    """Return the score of a missing dialogue."""
    counts = {"turns": 0, "agent_words": 0, "human_words": 0}
    return CellScore(task_id=task, trial=0, value=0.0, success=False, answered=False, **counts)


def test_an_entry_reaches_v3_as_long_as_a_rerun_agrees(store, take):
    digest = take("one", GOOD)
    rerun = take("one again", [[0.5], *GOOD[1:]], reruns=digest)
    standings = read_standings(store)
    (board,) = standings.boards
    (row,) = board.rows
    assert (row.bundle, row.level, row.rerun, row.flags) == (digest, "V3", rerun, ())
    (again,) = board.lines
    assert (again.bundle, again.reruns, again.rank) == (rerun, digest, None)
    assert board_results(store, standings, board).bundles == (digest, rerun)
    remove(store, rerun, "of another version")
    (row,) = read_standings(store).boards[0].rows
    assert (row.level, row.rerun) == ("V2", "")


def test_an_entry_whose_rerun_differs_has_no_rank_until_a_keeper_decides(store, take):
    digest = take("one", GOOD)
    take("one again", BAD, reruns=digest)
    (board,) = read_standings(store).boards
    (row,) = board.flagged
    assert (row.level, row.flags, row.rank) == ("V2", ("rerun.differs",), None)
    assert [flag.rule for flag in row.pending] == ["rerun.differs"]
    keep(store, digest, "the rerun had another version of the model")
    (row,) = read_standings(store).boards[0].rows
    assert (row.flags, row.pending) == (("rerun.differs",), ())


FLAGGED = [("audit.undisclosed", "flag")]


def test_an_entry_that_an_audit_flagged_has_no_rank_until_a_keeper_decides(store, take):
    digest = take("cheat", GOOD, findings=FLAGGED)
    take("fair")
    (board,) = read_standings(store).boards
    assert [(row.name, row.rank.place) for row in board.rows] == [("fair", 1)]
    (row,) = board.flagged
    assert (row.name, row.rank) == ("cheat", None)
    assert [(flag.rule, flag.message) for flag in row.pending] == [("audit.undisclosed",) * 2]
    assert [row.name for row in board.everyone] == ["fair", "cheat"]
    keep(store, digest, "the authors showed their logs")
    (board,) = read_standings(store).boards
    assert [(row.name, row.rank.place) for row in board.rows] == [("cheat", 1), ("fair", 2)]
    assert (board.flagged, board.rows[0].flags) == ((), ("audit.undisclosed",))


def test_flags_that_do_not_come_from_audits_do_not_cost_the_rank(store, take):
    take("one", findings=[("grid.missing-cell", "flag"), ("lock.version", "flag")])
    (board,) = read_standings(store).boards
    assert board.rows[0].rank.place == 1
    assert (board.flagged, board.rows[0].flags) == ((), ("grid.missing-cell", "lock.version"))


def test_a_flagged_reference_line_stays_a_reference_line(store, take):
    take("line", findings=FLAGGED, line=True)
    (board,) = read_standings(store).boards
    assert (len(board.lines), board.flagged, board.rows) == (1, (), ())


def test_a_decision_to_keep_an_entry_applies_only_to_one_receipt(store, entrant):
    one = entrant("one", FAIR, findings=FLAGGED)
    accept(store, one.bundle, one.verified)
    keep(store, one.digest, "explained")
    one.verify(GOOD, findings=[("audit.duplicates", "flag")])
    rescore(store, one.digest, one.verified, "new audits")
    found = read_standings(store)
    assert [row.name for row in found.boards[0].flagged] == ["one"]
    assert [delta.record for delta in found.deltas] == [3]


def test_a_later_rerun_that_differs_requires_a_new_decision(store, take):
    digest = take("one", GOOD, findings=FLAGGED)
    keep(store, digest, "explained")
    take("one again", BAD, reruns=digest)
    (row,) = read_standings(store).boards[0].flagged
    assert [flag.rule for flag in row.pending] == ["rerun.differs"]


def test_a_decision_about_a_rerun_holds_after_a_rescoring(store, entrant, take):
    one = entrant("one", GOOD)
    accept(store, one.bundle, one.verified)
    take("one again", BAD, reruns=one.digest)
    keep(store, one.digest, "the rerun had another version of the model")
    one.verify(GOOD, scorer="unit-tests/2")
    rescore(store, one.digest, one.verified, "new scorer")
    (row,) = read_standings(store).boards[0].rows
    assert (row.flags, row.pending) == (("rerun.differs",), ())


@pytest.mark.parametrize("order", [1, -1])
def test_every_rerun_of_an_entry_counts(store, take, order):
    digest = take("one", GOOD)
    runs = [("agrees", GOOD[::-1]), ("differs", BAD)]
    reruns = {name: take(name, values, reruns=digest) for name, values in runs[::order]}
    (row,) = read_standings(store).boards[0].flagged
    assert (row.level, row.flags, row.rerun) == ("V2", ("rerun.differs",), reruns["differs"])


def test_a_removed_entry_is_on_no_board(store, take):
    digest = take("gone", GOOD)
    take("stays")
    remove(store, digest, "asked for", delete=True)
    found = read_standings(store)
    assert [row.name for row in found.boards[0].rows] == ["stays"]
    assert digest not in found.entries
    assert [record.decision for record in found.records] == ["accepted", "accepted", "removed"]


def test_a_rescored_entry_has_its_new_numbers_and_a_published_delta(store, entrant):
    one = entrant("one", FAIR)
    accept(store, one.bundle, one.verified)
    one.verify(GOOD)
    rescore(store, one.digest, one.verified, "lists compare by value")
    found = read_standings(store)
    assert found.boards[0].rows[0].value.mean == 0.95
    (delta,) = found.deltas
    assert (delta.record, delta.bundle, delta.cells, delta.differing) == (2, one.digest, 10, 5)
    assert (delta.value_before, delta.value_after) == (0.5, 0.95)
    assert (delta.success_before, delta.success_after) == (0.5, 0.9)


def test_board_results_contain_every_trial_of_every_entry(store, take):
    digests = [take("fair"), take("twice", [[1.0, 0.0]] * 10), take("line", BAD, line=True)]
    standings = read_standings(store)
    board = standings.boards[0]
    results = board_results(store, standings, board)
    assert results.bundles == tuple(row.bundle for row in (*board.rows, *board.lines))
    assert set(results.bundles) == set(digests)
    by_bundle = {found.bundle: found for found in results.task("task-0")}
    assert (by_bundle[digests[0]].value, by_bundle[digests[0]].success) == (1.0, 1.0)
    assert [t.value for t in by_bundle[digests[1]].trials] == [1.0, 0.0]
    assert by_bundle[digests[1]].success == 0.5
    first = by_bundle[digests[0]].trials[0]
    assert (first.turns, first.answered, first.human_words, first.success) == (1, True, 3, True)
    assert [found.value for found in results.entry(digests[0])] == [row[0] for row in FAIR]


def test_frontend_results_have_no_success(store, take):
    digest = take("page", [[0.6], [0.7]], domain="frontend")
    standings = read_standings(store)
    results = board_results(store, standings, standings.boards[0])
    assert results.successes(digest) is None
    assert results.task("task-1")[0].success is None


@pytest.mark.parametrize("name", [SCORES, SUMMARY])
def test_changed_scores_and_summaries_are_not_shown(store, take, name):
    digest = take("one")
    path = verified_folder(store, digest, read_log(store).records[0].receipt) / name
    path.write_bytes(path.read_bytes().replace(b"1", b"0", 1))
    with pytest.raises(DataError, match=f"{name}: its SHA-256 is"):
        read_standings(store)


def test_a_changed_submission_is_not_shown(store, take):
    path = bundle_folder(store, take("one")) / "submission.json"
    path.write_bytes(path.read_bytes().replace(b"Institute", b"Universal"))
    with pytest.raises(DataError, match="Universal|digest"):
        read_standings(store)


def test_a_truncated_log_is_refused_only_with_a_saved_head(store, take):
    take("one"), take("two")
    noted = read_log(store).head
    assert len(read_standings(store, noted).records) == 2
    (store / LOG).write_bytes((store / LOG).read_bytes().splitlines(keepends=True)[0])
    assert len(read_standings(store).records) == 1
    with pytest.raises(DataError, match="truncated or rewritten"):
        read_standings(store, noted)


def test_an_entry_with_fewer_tasks_cannot_join_a_board(store, take):
    take("one"), take("short", FAIR[:4])
    with pytest.raises(
        DataError, match="lacks the task 'task-4', unlike the other entries.*rescore"
    ):
        read_standings(store)


def test_an_entry_without_scores_is_reported_with_the_command_that_removes_it(store, take):
    digest = take("void", [])
    with pytest.raises(DataError, match=f"^entry {digest} has no score; .*leaderboard remove`"):
        read_standings(store)


def test_an_entry_with_more_tasks_cannot_join_a_board(store, take):
    take("short", FAIR[:4]), take("one")
    with pytest.raises(DataError, match="has the task 'task-4', unlike the other entries.*rescore"):
        read_standings(store)


def test_an_entry_with_different_numbers_of_trials_is_reported_as_such(store, take):
    take("uneven", [(1.0,), (0.5, 0.5)])
    said = "has 2 trials of the task 'task-1', but 1 of the task 'task-0'; .*rescore"
    with pytest.raises(DataError, match=said):
        read_standings(store)
