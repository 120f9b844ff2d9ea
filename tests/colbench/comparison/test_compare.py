"""Comparisons of real runs: their numbers, the refused comparisons, and the printed text."""

from __future__ import annotations

import gzip
import re
from base64 import b64decode

import msgspec
import pytest
from msgspec.structs import replace

import colbench
from colbench.cli import main
from colbench.comparison.model import SCHEMA
from colbench.comparison.page import render_page
from colbench.comparison.pins import notes
from colbench.messages import Delivery, Usage
from colbench.rollout import Failure

AGENTS = ("interviewer", "demonstrator", "guesser")
FEW_TASKS = (
    "fewer than 30 common scored tasks in backend: the intervals are too narrow, except where all tasks have the same "
    "difference; the p-values are valid"
)


def success_by_cell(run):
    return {(r.task_id, r.trial): float(r.scores["default"].success) for r in run.rollouts}


def test_the_numbers_of_a_pair_match_an_independent_count(played):
    mine, theirs = played["interviewer"], played["demonstrator"]
    found = colbench.compare(mine, theirs).difference("success")
    ours, others = success_by_cell(mine), success_by_cell(theirs)
    leads = {}
    for (task, trial), value in ours.items():
        leads.setdefault(task, []).append(value - others[task, trial])
    sums = [sum(each) for each in leads.values()]
    assert found.mean.mean == pytest.approx(sum(sums) / 2 / 16)
    assert (found.won, found.lost) == (sum(s > 0 for s in sums), sum(s < 0 for s in sums))
    assert found.tied == 16 - found.won - found.lost
    assert found.only_mine == sum(d > 0 for each in leads.values() for d in each)
    assert (found.tasks, found.cells) == (16, 32)


def test_the_means_equal_those_of_the_reports_exactly(played, rewrite):
    def worth(rollout):  # sixteen times 0.1 adds up to 1.6000000000000003
        score = replace(rollout.scores["default"], value=0.1)
        return replace(rollout, scores={"default": score})

    first, second = (rewrite(played[name], worth) for name in ("demonstrator", "guesser"))
    found = colbench.compare(first, second).difference("tests_passed")
    assert (found.mine, found.theirs) == (first.report.value.mean, second.report.value.mean)


def test_every_group_of_measures_is_compared(played):
    domain = colbench.compare(played["interviewer"], played["guesser"]).domains["backend"]
    groups = {measure.group for measure in domain.measures}
    assert groups == {"answer", "asking", "effort"}
    assert "guessed_decisions" not in {measure.name for measure in domain.measures}
    pair = domain.pairs[0].differences
    assert pair["ask_f1"].mine > 0.9
    assert pair["ask_f1"].theirs == 0.0
    assert pair["turns"].mine > pair["turns"].theirs == 1.0
    assert pair["turns"].lost == 16  # more turns are worse
    assert "agent_tokens" not in pair  # neither agent uses a model server
    assert domain.pairs[0].verdict == "ahead"


def test_cells_that_only_one_run_solved_are_counted_by_failure_class(played):
    asks, guesses = played["interviewer"], played["guesser"]
    pair = colbench.compare(asks, guesses).domains["backend"].pairs[0]
    lost = sum(
        mine > success_by_cell(guesses)[cell] for cell, mine in success_by_cell(asks).items()
    )
    assert pair.theirs_failed == {"guessed": lost}
    assert pair.mine_failed == {}


def test_success_when_told_counts_only_dialogues_with_all_decisions_revealed(played):
    found = colbench.compare(played["interviewer"], played["demonstrator"])
    cells = [
        (mine, theirs)
        for mine in played["interviewer"].rollouts
        for theirs in played["demonstrator"].rollouts
        if (mine.task_id, mine.trial) == (theirs.task_id, theirs.trial)
        and mine.asking.told == mine.asking.hidden
        and theirs.asking.told == theirs.asking.hidden
    ]
    differences = found.domains["backend"].pairs[0].differences
    known = differences.get("success_when_told")
    labels = {each.name: each.label for each in found.domains["backend"].measures}
    assert labels["success_when_told"] == "success, all revealed"
    assert (known.cells if known else 0) == len(cells)


def test_a_known_price_gives_the_cost_of_a_dialogue(played, rewrite, with_record):
    def count_tokens(rollout):
        usage = Usage(prompt_tokens=1000, completion_tokens=100, requests=1)
        return replace(
            rollout, turns=tuple(replace(turn, agent_usage=usage) for turn in rollout.turns)
        )

    runs = []
    for name in ("interviewer", "guesser"):
        run = rewrite(played[name], count_tokens)
        config = replace(run.config, agent_price=(2.0, 10.0))
        runs.append(with_record(run, config=config))
    found = colbench.compare(*runs)
    turns, cost = found.difference("turns"), found.difference("cost")
    assert cost.mine == pytest.approx(0.003 * turns.mine)
    assert cost.mean.mean == pytest.approx(0.003 * turns.mean.mean)
    assert found.difference("agent_tokens").theirs == 1100


def test_the_cost_is_unknown_if_a_server_reported_no_token_counts(played, rewrite, with_record):
    def count_agent_only(rollout):
        usage = Usage(prompt_tokens=1000, completion_tokens=100, requests=1)
        turns = tuple(
            replace(turn, agent_usage=usage, human_delivery=Delivery() if turn.human else None)
            for turn in rollout.turns
        )
        return replace(rollout, turns=turns)

    runs = []
    for name in ("interviewer", "guesser"):
        run = rewrite(played[name], count_agent_only)
        config = replace(run.config, agent_price=(2.0, 10.0), human_price=(2.0, 10.0))
        runs.append(with_record(run, config=config))
    assert any(turn.human_delivery for rollout in runs[0].rollouts for turn in rollout.turns)
    pair = colbench.compare(*runs).domains["backend"].pairs[0]
    assert "agent_tokens" in pair.differences
    assert "cost" not in pair.differences


def test_a_cell_that_one_run_lacks_is_left_out_and_counted(played, rewrite):
    first = played["guesser"].rollouts[0].key
    lacking = rewrite(played["guesser"], lambda r: None if r.key == first else r)
    pair = colbench.compare(played["interviewer"], lacking).domains["backend"].pairs[0]
    assert pair.left_out == 1
    assert pair.differences["success"].cells == 31
    assert pair.differences["success"].tasks == 16


def test_p_values_of_several_runs_are_holm_adjusted(played):
    found = colbench.compare(*(played[name] for name in AGENTS))
    pairs = found.domains["backend"].pairs
    assert [(pair.mine, pair.theirs) for pair in pairs] == [(0, 1), (0, 2), (1, 2)]
    tests = [pair.differences["success"].test for pair in pairs]
    smallest = min(tests, key=lambda test: test.p)
    assert smallest.adjusted == pytest.approx(3 * smallest.p)
    alone = colbench.compare(played["interviewer"], played["demonstrator"])
    assert alone.difference("success").test.adjusted == alone.difference("success").test.p
    with pytest.raises(colbench.UserError, match="3 runs are compared"):
        found.difference("success")


def test_differing_tasks_have_all_values_and_are_sorted_by_difference(played):
    domain = colbench.compare(*(played[name] for name in AGENTS)).domains["backend"]
    spans = [max(each.values) - min(each.values) for each in domain.differing]
    assert spans == sorted(spans, reverse=True)
    assert min(spans) > 0.001
    assert {len(each.values) for each in domain.differing} == {3}
    assert all(each.family for each in domain.differing)


def test_a_run_compared_with_its_copy_has_no_differences(played, rewrite):
    same = rewrite(played["demonstrator"], lambda rollout: rollout)
    found = colbench.compare(played["demonstrator"], same)
    domain = found.domains["backend"]
    assert domain.differing == ()
    assert domain.pairs[0].verdict == "not separable"
    assert {each.mean.mean for each in domain.pairs[0].differences.values()} == {0.0}
    assert {each.tasks_needed for each in domain.pairs[0].differences.values()} == {None}


def test_an_inseparable_pair_shows_the_tasks_and_the_trials_needed(played, rewrite, capsys):
    chosen = next(r.key for r in played["interviewer"].rollouts if r.scores["default"].success)

    def fail(rollout):
        lost = replace(rollout.scores["default"], value=0.0, success=False)
        return replace(rollout, scores={"default": lost}) if rollout.key == chosen else rollout

    other = rewrite(played["interviewer"], fail)
    found = colbench.compare(played["interviewer"], other).difference("success")
    assert (found.won, found.tied, found.lost, found.test.p) == (1, 15, 0, 1.0)
    assert found.tasks_needed > 16
    assert main(["compare", str(played["interviewer"].path), str(other.path)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "A and B are not separable: +3.1 points" in printed
    assert f"needs about {found.tasks_needed} tasks, or {found.trials_needed} trials" in printed


@pytest.mark.parametrize(
    ("change", "pin"),
    [
        ({"config_pins": {"max_turns": 5}}, "max_turns"),
        ({"config_pins": {"human": "openai:x"}}, "human"),
        ({"pins": {"colbench": "0.0.1"}}, "colbench"),
        ({"pins": {"human": {"class": "x:Y"}}}, "human.class"),
    ],
)
def test_runs_that_differ_in_more_than_the_agent_are_compared_only_by_force(
    played, with_record, change, pin
):
    other = with_record(played["guesser"], **change)
    with pytest.raises(colbench.UserError, match="cannot be compared") as error:
        colbench.compare(played["interviewer"], other)
    assert f"\n  {pin}\n" in str(error.value)
    forced = colbench.compare(played["interviewer"], other, force=True)
    assert [each.pin for each in forced.mismatches] == [pin]


def test_runs_with_different_scorer_versions_are_refused_with_the_fix(played, rewrite):
    def rescored(rollout):
        scores = {
            mode: replace(score, scorer="unit-tests/default/1")
            for mode, score in rollout.scores.items()
        }
        return replace(rollout, scores=scores)

    other = rewrite(played["guesser"], rescored)
    with pytest.raises(colbench.UserError, match=r"scorer, backend: `colbench score RUN`"):
        colbench.compare(played["interviewer"], other)


@pytest.fixture
def mixed(played, rewrite, with_record):
    """Return a run of the interviewer in which one task is a page, as if its task file contained one."""
    run = played["interviewer"]
    first = run.rollouts[0]
    scores = {
        mode: replace(each, scorer="page/1", environment="Chromium")
        for mode, each in first.scores.items()
    }

    def move(rollout):
        page = replace(rollout, domain="frontend", task_id="page", task_hash="x", scores=scores)
        return page if rollout.key == first.key else rollout

    human = run.record.pins["human"] | {"frontend_prompt": "sha256:x"}
    return with_record(
        rewrite(run, move), pins={"browser": {"environment": "Chromium"}, "human": human}
    )


def test_the_settings_of_a_domain_that_only_one_run_has_may_differ(played, mixed):
    found = colbench.compare(mixed, played["guesser"])
    assert (found.mismatches, list(found.domains)) == ((), ["backend"])
    assert not [note for note in found.notes if "environments" in note]


def test_the_settings_of_a_domain_that_all_runs_have_may_not_differ(mixed, with_record):
    other = with_record(mixed, pins={"browser": {"environment": "Firefox"}})
    found = colbench.compare(mixed, other, force=True)
    assert [each.pin for each in found.mismatches] == ["browser.environment"]


@pytest.fixture
def failed(played, rewrite):
    """Return a run in which the agent failed in every dialogue, so that none was scored."""
    failure = Failure(boundary="agent", reason="gone")
    return rewrite(
        played["guesser"], lambda r: replace(r, failure=failure, ended_by="failure", scores={})
    )


def test_a_run_whose_agent_failed_in_every_dialogue_has_no_scorer_mismatch(played, failed):
    found = colbench.compare(played["interviewer"], failed)
    assert (found.mismatches, found.notes) == ((), (FEW_TASKS,))
    assert found.difference("success").theirs == 0


def test_the_agent_the_seed_and_the_number_of_trials_may_differ(played, with_record, rewrite):
    other = with_record(
        rewrite(played["guesser"], lambda r: r if r.trial == 0 else None),
        config_pins={"agent_args": {"a": 1}, "seed": 5},
        config=replace(played["guesser"].config, trials=1, seed=5),
    )
    found = colbench.compare(played["interviewer"], other)
    assert found.mismatches == ()
    assert any("trials differ" in note for note in found.notes)
    assert any("seeds differ" in note for note in found.notes)
    assert found.difference("success").test.name == "McNemar"
    assert found.domains["backend"].pairs[0].left_out == 0


@pytest.fixture
def few(played, tmp_path):
    """Return a run on two of the 16 tasks in another order, on a third with other content, and on a new task."""
    tasks = colbench.load_tasks("bundled:backend", limit=17)
    changed = replace(tasks[3], request=f"{tasks[3].request} Please.")
    return colbench.evaluate(
        agent="guesser", tasks=[tasks[16], changed, tasks[5], tasks[2]], out=tmp_path / "few"
    )


def test_runs_on_different_tasks_are_compared_on_their_common_cells(played, few):
    found = colbench.compare(played["interviewer"], few)
    assert found.mismatches == ()
    assert found.notes[0] == (
        "the runs have different tasks; compared: 2 tasks with the same ID and content; left out: 14 of A, 2 of B"
    )
    ours, others = success_by_cell(played["interviewer"]), success_by_cell(few)
    differences = [ours[task.id, 0] - others[task.id, 0] for task in few.tasks[2:]]
    success = found.difference("success")
    assert (success.tasks, success.cells) == (2, 2)
    assert success.mean.mean == sum(differences) / 2
    assert found.domains["backend"].pairs[0].left_out == 0


def test_a_comparison_of_few_tasks_claims_no_detectable_difference(played, few, capsys):
    runs = (played["interviewer"], few)
    assert main(["compare", *(str(run.path) for run in runs)]) == 0
    sentence = "With fewer than 6 tasks, no difference is detectable."
    assert sentence in capsys.readouterr().out
    assert sentence in render_page(colbench.compare(*runs), runs)


def test_a_run_on_the_first_tasks_is_compared_with_a_run_on_more_tasks(played, tmp_path, capsys):
    first = colbench.evaluate(
        agent="guesser", tasks="bundled:backend", limit=5, trials=2, out=tmp_path / "first"
    )
    assert main(["compare", str(first.path), str(played["interviewer"].path)]) == 0
    assert "compared: 5 tasks with the same ID and content; left out: 0 of A, 11 of B" in (
        capsys.readouterr().out
    )


def test_an_unfinished_run_is_noted_with_its_tasks_without_a_dialogue(played, rewrite):
    begun = {task.id for task in played["guesser"].tasks[:6]}
    unfinished = rewrite(played["guesser"], lambda r: r if r.task_id in begun else None)
    assert colbench.compare(played["interviewer"], unfinished).notes == (
        "not all runs are finished; compared: 6 tasks with the same ID and content; no dialogue yet: 0 of A, 10 of B",
        FEW_TASKS,
    )


def test_tasks_without_a_dialogue_yet_do_not_count_as_different(played, rewrite, tmp_path):
    begun = {task.id for task in played["guesser"].tasks[:2]}
    unfinished = rewrite(played["guesser"], lambda r: r if r.task_id in begun else None)
    first = colbench.evaluate(
        agent="interviewer", tasks="bundled:backend", limit=5, trials=2, out=tmp_path / "first"
    )
    assert colbench.compare(unfinished, first).notes == (
        "the runs have different tasks; compared: 2 tasks with the same ID and content; left out: 11 of A, 0 of B; "
        "no dialogue yet: 3 of A, 0 of B",
        FEW_TASKS,
    )


def test_a_run_whose_selection_was_narrowed_later_leaves_out_none_of_its_dialogues(
    played, tmp_path
):
    narrowed = played["guesser"].save(tmp_path / "narrowed").path
    again = ["eval", "--agent", "guesser", "--tasks", "bundled:backend", "--trials", "2"]
    assert main([*again, "--limit", "1", "--out", str(narrowed)]) == 0
    found = colbench.compare(played["interviewer"], colbench.load_run(narrowed))
    assert found.domains["backend"].tasks == 16
    assert found.notes == (FEW_TASKS,)


def test_the_same_tasks_in_another_order_need_no_note(played, tmp_path):
    tasks = played["guesser"].tasks[::-1]
    other = colbench.evaluate(agent="guesser", tasks=tasks, trials=2, out=tmp_path / "other")
    found = colbench.compare(played["interviewer"], other)
    assert found.domains["backend"].tasks == 16
    assert found.notes == (FEW_TASKS,)


def test_a_comparison_of_few_tasks_warns_once_of_too_narrow_intervals(played, capsys):
    runs = (played["interviewer"], played["guesser"])
    assert main(["compare", *(str(run.path) for run in runs)]) == 0
    assert capsys.readouterr().out.count(f"Warning: {FEW_TASKS}\n") == 1
    assert render_page(colbench.compare(*runs), runs).count(FEW_TASKS) == 1


@pytest.mark.parametrize(("scored", "warnings"), [(29, [FEW_TASKS]), (30, [])])
def test_only_tasks_that_both_runs_have_scored_count_against_too_narrow_intervals(
    played, scored, warnings
):
    runs = (played["interviewer"], played["guesser"])
    domain = colbench.compare(*runs).domains["backend"]
    success = replace(domain.pairs[0].differences["success"], tasks=scored)
    pair = replace(domain.pairs[0], differences={"success": success})
    assert notes(runs, "default", {"backend": replace(domain, pairs=(pair,))}) == warnings


def test_runs_without_a_common_task_cannot_be_compared(played, tmp_path):
    tasks = colbench.load_tasks("bundled:backend", limit=18)[16:]
    other = colbench.evaluate(agent="guesser", tasks=tasks, out=tmp_path / "other")
    with pytest.raises(colbench.UserError, match="no task has a dialogue in every run"):
        colbench.compare(played["interviewer"], other)


def test_different_tasks_do_not_hide_other_mismatches(played, few, with_record):
    other = with_record(few, config_pins={"max_turns": 5})
    with pytest.raises(
        colbench.UserError, match=r"differ in more than agent and tasks(.|\n)*max_turns"
    ):
        colbench.compare(played["interviewer"], other)


@pytest.fixture
def failing(played, rewrite):
    """Return two runs without any success."""

    def fail(rollout):
        lost = replace(rollout.scores["default"], value=0.0, success=False)
        return replace(rollout, scores={"default": lost})

    return [rewrite(played[name], fail) for name in ("interviewer", "guesser")]


def test_runs_without_success_have_a_row_but_no_detectable_difference(failing, capsys):
    comparison = colbench.compare(*failing)
    assert comparison.difference("success").least_detectable is None
    assert main(["compare", *(str(run.path) for run in failing)]) == 0
    printed, page = capsys.readouterr().out, render_page(comparison, failing)
    assert [line for line in printed.splitlines() if line.startswith("  success rate ")]
    assert [line for line in printed.splitlines() if line.startswith("  tests passed ")]
    assert '<th scope="row">Success rate</th>' in page
    for text in (printed, page):
        assert (
            "The smallest detectable difference is unknown, because all 16 tasks have the same difference."
            in text
        )
        assert "0.0 points</td>" not in text


@pytest.mark.parametrize("names", [AGENTS[:2], AGENTS])
def test_measures_for_which_lower_is_better_are_marked(played, capsys, names):
    assert main(["compare", *paths(played, *names)]) == 0
    printed = capsys.readouterr().out
    assert "↓: lower is better" in printed
    marked = [line for line in printed.splitlines() if "↓" in line]
    assert len(marked) > 1
    assert not [line for line in marked if "success" in line]


def test_the_page_mentions_the_holm_adjustment_only_for_several_pairs(played):
    runs = [played[name] for name in AGENTS]
    assert "Holm" not in render_page(colbench.compare(*runs[:2]), runs[:2])
    page = render_page(colbench.compare(*runs), runs)
    assert "p-values are Holm-adjusted for the 3 pairs of runs" in page
    assert page.count("(sign flips, Holm-adjusted)") == 3


def paths(played, *names):
    return [str(played[name].path) for name in names]


def test_the_text_of_two_runs_has_at_most_40_lines_and_80_column_tables(played, capsys):
    assert main(["compare", *paths(played, "interviewer", "demonstrator")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    table = [line for line in lines if "–" in line and "%" in line and "Results differ" not in line]
    assert table
    assert all(len(line.rstrip()) <= 80 and "…" not in line for line in table)
    assert any(line.startswith("A is ahead of B: +") for line in lines)


def test_the_text_of_three_runs_names_every_run_and_every_pair(played, capsys):
    assert main(["compare", *paths(played, *AGENTS)]) == 0
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) <= 40
    for name in (*AGENTS, "A − B", "A − C", "B − C"):
        assert name in printed


def test_brackets_in_run_names_are_printed_literally(played, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    for names in (["a[red]", "b[bold]", "c:bug:"], ["[/a]/run", "[/b]/run", "[/c]/run"]):
        runs = [str(played["guesser"].save(tmp_path / name).path) for name in names]
        assert main(["compare", *runs]) == 0
        rows = capsys.readouterr().out.splitlines()
        for letter, name in zip("ABC", names, strict=True):
            named = [row for row in rows if row.startswith(f"{letter}  ") and f"{name} " in row]
            assert len(named) == 2


def test_a_pair_without_a_common_scored_dialogue_is_reported(played, rewrite, capsys):
    unscored = rewrite(played["guesser"], lambda rollout: replace(rollout, scores={}))
    runs = [*paths(played, "interviewer", "demonstrator"), str(unscored.path)]
    assert main(["compare", *runs]) == 0
    printed = capsys.readouterr().out
    assert printed.count("no scored dialogue in common") == 2
    assert "no common task" not in printed


def test_three_runs_without_a_scored_dialogue_have_tables_without_numbers(played, rewrite, capsys):
    runs = [rewrite(played[name], lambda rollout: replace(rollout, scores={})) for name in AGENTS]
    assert main(["compare", *(str(run.path) for run in runs)]) == 0
    assert capsys.readouterr().out.count("no scored dialogue in common") == 3


def test_the_page_does_not_call_decisions_in_the_request_never_revealed(played, rewrite):
    tasks = {task.id: task for task in played["guesser"].tasks}

    def tell(rollout):
        statements = [fact.statement for fact in tasks[rollout.task_id].hidden.facts]
        return replace(rollout, request="\n".join([rollout.request, *statements]))

    def shown(other):
        runs = (played["interviewer"], other)
        page = render_page(colbench.compare(*runs), runs)
        blocks = re.findall(r'class="block">([^<]+)<', page)
        return " ".join(gzip.decompress(b64decode(block)).decode() for block in blocks)

    assert "Never revealed: " in shown(played["guesser"])
    assert "Never revealed: " not in shown(rewrite(played["guesser"], tell))


def test_the_folder_in_a_printed_command_is_quoted(played, tmp_path, capsys):
    spaced = played["guesser"].save(tmp_path / "my run").path
    assert main(["compare", str(spaced), str(played["interviewer"].path)]) == 0
    assert f"  colbench view '{spaced}' --task " in capsys.readouterr().out


def test_results_are_not_called_the_same_if_nothing_was_scored_in_common(played, rewrite, capsys):
    unscored = rewrite(played["guesser"], lambda rollout: replace(rollout, scores={}))
    runs = (played["interviewer"], unscored)
    assert main(["compare", *(str(run.path) for run in runs)]) == 0
    comparison = colbench.compare(*runs)
    for shown in (capsys.readouterr().out, render_page(comparison, runs)):
        assert "No scored dialogue in common." in shown
        assert "Results are the same" not in shown
    with pytest.raises(colbench.UserError, match="success: no trial has a value in both runs"):
        comparison.difference("success")
    with pytest.raises(colbench.UserError, match="x: unknown measure; known measures are success,"):
        comparison.difference("x")


def test_the_text_of_three_runs_counts_the_cells_left_out_of_each_pair(played, rewrite, capsys):
    first = played["guesser"].rollouts[0].key
    lacking = rewrite(played["guesser"], lambda r: None if r.key == first else r)
    assert main(["compare", *paths(played, "interviewer", "demonstrator"), str(lacking.path)]) == 0
    left_out = (
        "Left out: cells that at least one of the two runs has not scored: 1 of A − C, 1 of B − C."
    )
    assert left_out in capsys.readouterr().out


@pytest.mark.parametrize("names", [AGENTS[:2], AGENTS])
def test_the_tables_keep_names_and_numbers_in_a_narrow_terminal(played, capsys, monkeypatch, names):
    printed = []
    for columns in ("80", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["compare", *paths(played, *names)]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_the_json_output_contains_the_whole_comparison(played, capsys):
    assert main(["compare", "--json", *paths(played, "interviewer", "guesser")]) == 0
    printed = capsys.readouterr().out
    found = msgspec.json.decode(printed, type=colbench.Comparison)
    assert found.schema == SCHEMA
    assert found == colbench.compare(played["interviewer"], played["guesser"])


def test_a_folder_of_runs_means_all_its_runs_and_a_file_is_refused(played, tmp_path, capsys):
    out = tmp_path / "baselines"
    for name in ("guesser", "interviewer"):
        played[name].save(out / name)
    (out / "compare.html").touch()
    assert main(["compare", "--json", str(out)]) == 0
    found = msgspec.json.decode(capsys.readouterr().out, type=colbench.Comparison)
    assert [run.path for run in found.runs] == [str(out / "guesser"), str(out / "interviewer")]
    assert main(["compare", *map(str, sorted(out.iterdir()))]) == 2
    assert capsys.readouterr().err == (
        f"colbench: {out}/compare.html is a file; pass the folders of runs, or one folder that "
        f"contains them, such as {out}\n"
    )


def test_runs_without_dialogues_in_a_folder_of_runs_are_left_out_with_a_warning(
    played, rewrite, tmp_path, capsys
):
    out = tmp_path / "baselines"
    for name in ("guesser", "interviewer"):
        played[name].save(out / name)
    empty = rewrite(played["guesser"], lambda rollout: None).save(out / "empty").path
    assert main(["compare", "--json", str(out)]) == 0
    captured = capsys.readouterr()
    found = msgspec.json.decode(captured.out, type=colbench.Comparison)
    assert [run.path for run in found.runs] == [str(out / "guesser"), str(out / "interviewer")]
    assert captured.err == f"Warning: left out, no dialogues: {empty}\n"
    assert main(["compare", str(out / "guesser"), str(empty)]) == 2
    assert "continue the run, or delete the folder" in capsys.readouterr().err


def test_a_damaged_run_in_a_folder_of_runs_is_left_out_with_a_warning(played, tmp_path, capsys):
    for name in ("demonstrator", "guesser", "interviewer"):
        played[name].save(tmp_path / name)
    damaged = tmp_path / "guesser" / "run.json"
    damaged.write_text("{")
    assert main(["compare", "--json", str(tmp_path)]) == 0
    assert capsys.readouterr().err == (
        f"Warning: left out: {damaged}: Input data was truncated; restore this file, or run the evaluation again "
        "with another --out\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{a}"], "pass two runs or more"),
        (["{a}", "{a}"], "the same run is given twice"),
        (["{a}", "/nowhere"], "/nowhere is not a run folder"),
        (["{a}", "{b}", "--scoring", "strict"], "strict"),
        (["{a}", "{b}", "--html", "/nowhere/x.html"], "--html /nowhere/x.html: the folder"),
        (["{a}", "{b}", "--html", "."], "--html .: this is a folder; choose a file in it"),
    ],
)
def test_mistakes_are_named_with_their_fix(played, capsys, words, message):
    a, b = paths(played, "interviewer", "guesser")
    code = main(["compare", *(word.format(a=a, b=b) for word in words)])
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert message in captured.err
