"""Outcomes of an evaluation's dialogues, compared with the harness's own scores."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.config import RunConfig
from colbench.errors import DataError, UserError
from colbench.rollout import Failure
from colbench.run_folder import RunFolder
from sweet_rl_trainer.study.evaluate import exchange, outcomes


@pytest.fixture
def evaluated(collected, tmp_path):
    """Return `evaluated(rollouts, tasks)`: the folder of a stage with these rollouts, one trial of `tasks` tasks."""

    def made(rollouts, tasks):
        (tmp_path / "run").mkdir()
        run = RunFolder(tmp_path / "run")
        record = RunFolder(collected[0]).record()
        run.save(replace(record, tasks=replace(record.tasks, count=tasks)))
        lines = b"".join(msgspec.json.encode(each) + b"\n" for each in rollouts)
        run.rollouts_path.write_bytes(lines)
        return tmp_path

    return made


def test_outcomes_match_the_scores_of_the_dialogues(collected, evaluated):
    rollouts = [each for run in collected for each in RunFolder(run).rollouts()]
    rollouts = [replace(each, trial=n // 8) for n, each in enumerate(rollouts)]
    found = outcomes(evaluated(reversed(rollouts), 16))
    ours = {(each.task, each.trial): (each.success, each.value, each.turns) for each in found}
    assert ours == {
        (each.task_id, each.trial): (
            each.scores["default"].success,
            each.scores["default"].value,
            len(each.turns),
        )
        for each in rollouts
    }
    assert list(ours) == sorted(ours)
    assert any(each.success for each in found)
    assert not all(each.success for each in found)


def test_an_agent_failure_scores_zero_and_unscored_dialogues_are_left_out(collected, evaluated):
    asks, _ = collected
    first, second, third, *_ = RunFolder(asks).rollouts()
    rollouts = [
        replace(first, scores={}, failure=Failure(boundary="agent", reason="it fell silent")),
        replace(
            second, scores={}, failure=Failure(boundary="simulator", reason="the server is gone")
        ),
        replace(
            third,
            scores={"default": replace(third.scores["default"], value=None, success=None)},
        ),
    ]
    (found,) = outcomes(evaluated(rollouts, 3))
    assert (found.task, found.success, found.value) == (first.task_id, False, 0.0)


def test_an_incomplete_evaluation_is_refused(collected, evaluated):
    folder = evaluated(RunFolder(collected[0]).rollouts()[:6], 8)
    with pytest.raises(
        DataError,
        match=rf"{folder} contains 6 of 8 dialogues; delete {folder} to run the stage again",
    ):
        outcomes(folder)


def test_an_error_of_an_exchange_begins_with_the_folder_of_its_stage(tmp_path):
    stage = exchange(None, None, RunConfig(tasks="bundled:nothing", max_turns=2))
    with pytest.raises(UserError) as error:
        stage.run(tmp_path)
    beginning = f"{stage.folder(tmp_path)}: running the dialogues failed with exit code 2; see "
    assert str(error.value).startswith(beginning)
