from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from colbench.config import RunConfig
from colbench.errors import DataError, UserError
from colbench.report.baseline import Baseline, Others, by_task, read_baseline
from colbench.report.summary import summarize
from colbench.rollout import Rollout, encode_rollout
from colbench.run_folder import RunFolder, RunRecord, TaskSource
from colbench.score import Score
from colbench.stats.comparison import EPSILON
from colbench.task import Hidden, Task


def task(name: str) -> Task:
    return Task(
        id=name, domain="frontend", request="?", hidden=Hidden(reference=f"<html>{name}</html>")
    )


def cell(
    name: str, cosine: float | None, layout: float = 0.5, trial: int = 0, browser: str = "b"
) -> Rollout:
    metrics = {"layout": layout} | ({} if cosine is None else {"cosine": cosine})
    score = Score(scorer="pages", value=cosine, success=None, metrics=metrics, environment=browser)
    return Rollout(
        key=f"{name}/{trial}",
        task_id=name,
        task_hash=task(name).hash,
        domain="frontend",
        trial=trial,
        seed=0,
        request="?",
        turns=(),
        answer="x",
        ended_by="answer",
        scores={"default": score},
    )


def baseline(*rollouts: Rollout) -> Baseline:
    return Baseline(source="runs/other", agent="guesser", dialogues=by_task(enumerate(rollouts)))


def wins(tasks: str, rollouts: list[Rollout], other: Baseline, trials: int = 1):
    chosen = [task(name) for name in tasks]
    return (
        summarize(chosen, trials, rollouts, RunConfig(), Others(baseline=other))
        .domains["frontend"]
        .win_rate
    )


def test_the_win_rate_is_the_share_of_higher_cosines_and_ties_count_half():
    mine = [cell("a", 0.9), cell("b", 0.5), cell("c", 0.7), cell("d", 0.7)]
    theirs = baseline(
        cell("a", 0.8), cell("b", 0.6), cell("c", 0.7 + EPSILON), cell("d", 0.7 - 2 * EPSILON)
    )
    found = wins("abcd", mine, theirs)
    assert (found.measure, found.tasks, found.epsilon) == ("cosine", 4, EPSILON)
    assert found.rate.mean == pytest.approx((1 + 0 + 0.5 + 1) / 4)
    assert found.rate.low < found.rate.mean < found.rate.high
    assert (found.baseline, found.agent, found.note) == ("runs/other", "guesser", "")


def test_a_run_ties_with_itself():
    rollouts = [cell("a", 0.9), cell("b", 0.1)]
    assert wins("ab", rollouts, baseline(*rollouts)).rate.mean == 0.5


def test_only_identical_tasks_that_both_runs_scored_are_compared():
    changed = msgspec.structs.replace(cell("c", 0.0), task_hash="another text")
    unscored = msgspec.structs.replace(cell("b", 0.0), scores={})
    mine = [cell("a", 0.9), cell("b", 0.9), cell("c", 0.9), cell("d", 0.9)]
    found = wins("abcd", mine, baseline(cell("a", 0.8), unscored, changed))
    assert (found.tasks, found.rate.mean) == (1, 1.0)


def test_every_pair_of_trials_of_a_task_is_compared():
    mine = [cell("a", 0.9, trial=0), cell("a", 0.5, trial=1)]
    theirs = baseline(cell("a", 0.6, trial=0), cell("a", 0.4, trial=1), cell("a", 0.95, trial=2))
    assert wins("a", mine, theirs, trials=2).rate.mean == pytest.approx((2 + 1) / 6)


def test_layouts_are_compared_with_a_note_if_either_run_lacks_the_cosine():
    without = [cell("a", None, layout=0.9)]
    with_it = [cell("a", 0.9, layout=0.1)]
    for mine, theirs, mean, side in (
        (without, with_it, 1.0, "this run"),
        (with_it, without, 0.0, "the baseline"),
    ):
        found = wins("a", mine, baseline(*theirs))
        assert (found.measure, found.rate.mean) == ("layout", mean)
        assert f"answers of {side} lack the cosine" in found.note


def test_runs_measured_in_different_environments_are_compared_with_a_note():
    found = wins("a", [cell("a", 0.9, browser="new")], baseline(cell("a", 0.8, browser="old")))
    assert found.note.startswith("the two runs were measured differently")
    assert "(new)" in found.note
    assert "(old)" in found.note


def test_different_clip_weights_are_noted_only_if_cosines_are_compared():
    def scored_by(clip: str, cosine: float | None) -> Rollout:
        rollout = cell("a", cosine)
        score = msgspec.structs.replace(rollout.scores["default"], scorer=f"pages/1{clip}")
        return msgspec.structs.replace(rollout, scores={"default": score})

    mine = [scored_by(" clip tiny", 0.9)]
    assert "clip tiny" in wins("a", mine, baseline(scored_by(" clip large", 0.9))).note
    assert "differently" not in wins("a", mine, baseline(scored_by("", None))).note


def test_a_baseline_without_a_shared_task_is_refused():
    with pytest.raises(UserError, match=r"--baseline runs/other: shares no task with this run"):
        wins("a", [cell("a", 0.9)], baseline(cell("b", 0.8)))
    with pytest.raises(UserError, match="shares no task with this run"):
        baseline(cell("b", 0.8)).require([task("a")])


def run_folder(path: Path, *rollouts: Rollout) -> RunFolder:
    folder = RunFolder(path)
    path.mkdir()
    record = RunRecord(
        started="2025-01-01T00:00:00+00:00",
        config=RunConfig(agent="guesser"),
        pins={},
        digest="d",
        tasks=TaskSource(source="bundled:frontend", count=1, hash="h"),
    )
    folder.save(record)
    folder.write("rollouts.jsonl", b"".join(map(encode_rollout, rollouts)))
    return folder


def test_a_baseline_is_read_from_a_run_folder_or_its_rollouts_file(tmp_path):
    folder = run_folder(tmp_path / "run", cell("a", 0.9))
    of_folder = read_baseline(str(folder.path))
    of_file = read_baseline(str(folder.rollouts_path))
    assert of_folder.dialogues == of_file.dialogues == by_task([(0, cell("a", 0.9))])
    assert (of_folder.agent, of_file.agent) == ("guesser", "")


def test_an_invalid_baseline_is_refused_with_the_reason(tmp_path):
    with pytest.raises(UserError, match=r"--baseline .*nothing: the file .*nothing does not exist"):
        read_baseline(str(tmp_path / "nothing"))
    unplayed = run_folder(tmp_path / "unplayed")
    unplayed.rollouts_path.unlink()
    with pytest.raises(
        UserError, match=r"rollouts\.jsonl does not exist; name the folder of a run"
    ):
        read_baseline(str(unplayed.path))
    with pytest.raises(DataError, match="not a run folder"):
        read_baseline(str(tmp_path))
    with pytest.raises(UserError, match="no rollouts found"):
        read_baseline(str(run_folder(tmp_path / "run").path))
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{}\n")
    with pytest.raises(DataError, match="line 1"):
        read_baseline(str(broken))


def test_backend_runs_compare_tests_passed_and_unshared_domains_have_no_win_rate():
    code = Task(id="f", domain="backend", request="?", hidden=Hidden(reference="x", tests=("f()",)))
    score = Score(scorer="t", value=0.5, success=False)
    mine = msgspec.structs.replace(
        cell("f", 0.0), domain="backend", task_hash=code.hash, scores={"default": score}
    )
    worse = msgspec.structs.replace(score, value=0.25)
    theirs = baseline(msgspec.structs.replace(mine, scores={"default": worse}))
    report = summarize(
        [code, task("a")], 1, [mine, cell("a", 0.9)], RunConfig(), Others(baseline=theirs)
    )
    found = report.domains["backend"].win_rate
    assert (found.measure, found.tasks, found.rate.mean) == ("tests_passed", 1, 1.0)
    assert report.domains["frontend"].win_rate is None
