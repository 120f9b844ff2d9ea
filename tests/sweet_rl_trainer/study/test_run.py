"""The parts of a study in order, and processes that share the work."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import DataError, UserError
from colbench.version import __version__
from sweet_rl_trainer.data.pairs import NoPairsError
from sweet_rl_trainer.methods.credit.scale import NoScaleError
from sweet_rl_trainer.pipeline.base import MODEL
from sweet_rl_trainer.pipeline.stage import DONE, Report, Stage
from sweet_rl_trainer.study.arms import NAMED, chosen
from sweet_rl_trainer.study.evaluate import OUTCOMES
from sweet_rl_trainer.study.graph import Graph
from sweet_rl_trainer.study.record import RESULTS, costs, machine, read_results, write
from sweet_rl_trainer.study.run import PROMPT, Runner, each_made, record_of, run
from sweet_rl_trainer.study.study import NotMadeError, Part, Study, finished
from sweet_rl_trainer.study.world import read


def parts(tmp_path, arms, seeds, **changes):
    world = replace(read("asking"), arms=arms, **changes)
    study = Study(Graph(world, Path(tmp_path / "none.txt")), tmp_path, seeds=seeds)
    return [part.name for part in study.parts(chosen(world.arms))]


def test_rates_are_tried_on_two_seeds_and_some_parts_have_fewer_seeds(tmp_path):
    names = parts(
        tmp_path,
        ("zero-shot", "rft", "sweet", "pmi"),
        3,
        exchanged_on=2,
        exchanged=("zero-shot", "rft"),
        rates={"rft": (1e-3, 3e-3), "actor": (1e-4,)},
        fewer={"pmi": 1},
    )
    base = ("zero-shot asks, oracle writes", "oracle asks, zero-shot writes")
    rft = ("rft asks, oracle writes", "oracle asks, rft writes", "rft asks, zero-shot writes")
    assert names == [
        *(f"zero-shot, seed {seed}" for seed in range(3)),
        *(f"{part}, seed {seed}" for seed in range(2) for part in base),
        "rft, rate 0.001, seed 0",
        "rft, rate 0.001, seed 1",
        "rft, rate 0.003, seed 0",
        "rft, rate 0.003, seed 1",
        "sweet, rate 0.0001, seed 0",
        "sweet, rate 0.0001, seed 1",
        *(f"{part}, seed 0" for part in ("rft", "sweet", "pmi")),
        *(f"{part}, seed {seed}" for seed in (1, 2) for part in ("rft", "sweet")),
        *(f"{part}, seed {seed}" for seed in range(2) for part in rft),
    ]


def stage(name, **inputs):
    def act(job):
        (job.folder / "made").touch()
        return {}

    return Stage(name=name, act=act, settings={}, inputs=inputs)


def test_a_part_that_another_process_runs_is_postponed(tmp_path):
    held, free = stage("held"), stage("free")
    last = stage("last", needed=held)
    each = {
        one.name: Part(name=one.name, make=lambda made, one=one: made(one)) for one in (last, free)
    }
    runner, made = Runner(tmp_path), []
    with held.lock(tmp_path):
        with pytest.raises(NotMadeError):
            runner.made_alone(last)
        for part in each_made([each["last"], each["free"]], runner):
            made.append(part.name)
            break
    assert made == ["free"]
    assert not held.report(tmp_path)
    list(each_made([each["last"], each["free"]], runner))
    assert (last.folder(tmp_path) / "made").exists()
    assert sorted(cost.stage for cost in costs(tmp_path)) == ["free", "held", "last"]


class Waiting(Runner):
    """A runner for which another process finishes its stage as soon as this one waits."""

    def __init__(self, out, lock):
        super().__init__(out)
        self.lock, self.waited = lock, []

    def wait(self, stage):
        self.lock.close()
        super().wait(stage)
        self.waited.append(stage.name)


def test_a_process_that_waited_for_a_stage_runs_any_free_part(tmp_path):
    shared = stage("shared")
    first, second = stage("first", needed=shared), stage("second", needed=shared)
    left = [Part(name=one.name, make=lambda made, one=one: made(one)) for one in (first, second)]
    with ExitStack() as other, ExitStack() as lock:
        lock.enter_context(shared.lock(tmp_path))
        other.enter_context(first.lock(tmp_path))
        runner = Waiting(tmp_path, lock)
        assert next(each_made(left, runner)).name == "second"
        assert runner.waited == ["shared"]
    assert not first.report(tmp_path)


def test_an_unwritable_folder_is_an_error_without_waiting(tmp_path):
    one = stage("one")
    (tmp_path / one.folder(tmp_path).name).touch()
    part = Part(name="one", make=lambda made: made(one))
    with pytest.raises(UserError, match="cannot be written"):
        list(each_made([part], Runner(tmp_path)))


def test_the_folder_of_a_stage_that_is_not_finished_is_refused(tmp_path):
    one = stage("one")
    with pytest.raises(NotMadeError):
        finished(tmp_path, one)
    assert Runner(tmp_path).made(one) == finished(tmp_path, one)


class Untrainable(Graph):
    """A graph of stages without a model; after some iterations, nothing is left to train on."""

    base = stage("base")

    def __init__(self, folder, outcomes, *, after, error=None):
        world = replace(
            read("asking"),
            arms=("sweet",),
            exchanged=(),
            rates={"actor": (1e-3,), "rft": (1e-3,)},
            chosen_on=1,
        )
        super().__init__(world, folder / PROMPT)
        self._outcomes, self._after, self._error = outcomes, after, error

    def policies(self, arm, seed, rate):
        found = [self.base]
        for number in range(arm.iterations):
            trained = number < self._after
            act = partial(self._train if trained else self._fail)  # a new object each time
            found.append(
                Stage(name="export", act=act, settings=number, inputs={"model": found[-1]})
            )
        return found[1:]

    def validation(self, policy, seed):
        return self.test(policy, f"validation {seed}")

    def test(self, policy, seed):
        return Stage(name="evaluate", act=self._test, settings=seed, inputs={"model": policy})

    def _train(self, job):
        return {}

    def _fail(self, job):
        raise self._error

    def _test(self, job):
        (job.folder / OUTCOMES).write_bytes(msgspec.json.encode(self._outcomes))
        return {}


NO_PAIRS, NO_SCALE = NoPairsError("no task has a pair"), NoScaleError("the slope is -0.6")


@pytest.mark.parametrize(("after", "error"), [(1, NO_PAIRS), (2, NO_PAIRS), (1, NO_SCALE)])
def test_a_policy_that_leaves_nothing_to_train_on_is_the_last_one(tmp_path, make, after, error):
    outcomes = make.outcomes("10")
    graph, runner = Untrainable(tmp_path, outcomes, after=after, error=error), Runner(tmp_path)
    _, part = Study(graph, tmp_path, seeds=1).parts([NAMED["sweet"]])
    assert part.found(tmp_path) is None
    row = part.make(runner.made)
    assert (row.stopped, row) == (after, part.found(tmp_path))
    policies = graph.policies(NAMED["sweet"], 0, 1e-3)
    assert [bool(each.report(tmp_path)) for each in policies] == [n < after for n in range(3)]


def test_a_study_that_trains_all_iterations_is_not_marked_as_stopped(tmp_path, make):
    graph = Untrainable(tmp_path, make.outcomes("10"), after=3)
    _, part = Study(graph, tmp_path, seeds=1).parts([NAMED["sweet"]])
    assert part.make(Runner(tmp_path).made).stopped is None


def test_an_arm_of_one_iteration_does_not_provide_the_row_of_an_arm_of_three(tmp_path, make):
    graph, runner = Untrainable(tmp_path, make.outcomes("10"), after=3), Runner(tmp_path)
    tries, row = Study(graph, tmp_path, seeds=1).parts([NAMED["rft"]])
    tries.make(runner.made)
    _, *others = Study(graph, tmp_path, seeds=1).parts([NAMED["rft"], NAMED["rft-1"]])
    one = others[1].make(runner.made)
    assert (one.arm, one.stopped) == ("rft-1", None)
    assert row.found(tmp_path) is None, (
        "the first policy of rft is evaluated, and it is not the last"
    )
    recorded = make.results([one], tries=(tries.found(tmp_path),))
    elsewhere = tmp_path / "elsewhere"
    _, row, other = Study(graph, elsewhere, seeds=1, recorded=recorded).parts(
        [NAMED["rft"], NAMED["rft-1"]]
    )
    assert (row.found(elsewhere), other.found(elsewhere)) == (None, one)


def test_a_recorded_row_whose_training_ended_early_is_used(tmp_path, make):
    graph = Untrainable(tmp_path, make.outcomes("10"), after=2, error=NO_PAIRS)
    tries, part = Study(graph, tmp_path, seeds=1).parts([NAMED["sweet"]])
    runner, elsewhere = Runner(tmp_path), tmp_path / "elsewhere"
    recorded = make.results([part.make(runner.made)], tries=(tries.make(runner.made),))
    _, again = Study(graph, elsewhere, seeds=1, recorded=recorded).parts([NAMED["sweet"]])
    assert again.found(elsewhere) == recorded.rows[0]


def test_a_base_that_leaves_nothing_to_train_on_is_an_error(tmp_path, make):
    graph = Untrainable(tmp_path, make.outcomes("10"), after=0, error=NO_PAIRS)
    _, part = Study(graph, tmp_path, seeds=1).parts([NAMED["sweet"]])
    with pytest.raises(NoPairsError):
        part.make(Runner(tmp_path).made)


def done(stage, out, model=None):
    """Write the report of a stage, and its model if there is one."""
    stage.folder(out).mkdir(parents=True, exist_ok=True)
    if model:
        shutil.copytree(model, stage.folder(out) / MODEL)
    report = Report(stage=stage.name, key=stage.key, settings={}, inputs={}, seconds=1.0, said={})
    (stage.folder(out) / DONE).write_bytes(msgspec.json.encode(report))


def recorded(world, made, make):
    """Return results of the base 0123 with a recorded row for the first seed of the zero-shot arm."""
    graph = Graph(world, made / "no-prompt.txt")
    (made / "no-prompt.txt").write_bytes(b"")
    key = graph.test(graph.base, 0).key
    return make.results([replace(make.row("zero-shot", 0, "10"), key=key)], base="0123")


def test_recorded_parts_are_not_made_again(tmp_path, make):
    world = replace(read("quick"), arms=("zero-shot",), exchanged=())
    before = recorded(world, tmp_path, make)
    write(before, tmp_path)
    assert read_results(tmp_path / RESULTS) == before
    (results,) = run("quick", world, tmp_path, seeds=1)
    assert results.rows == before.rows
    assert results.base == "0123"
    assert results.costs == before.costs
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == set()


def test_a_run_with_fewer_seeds_keeps_the_results_of_other_seeds(tmp_path, make):
    world = replace(read("quick"), arms=("zero-shot",), exchanged=())
    graph = Graph(world, tmp_path / PROMPT)
    (tmp_path / PROMPT).write_bytes(b"")
    rows = [
        replace(make.row("zero-shot", seed, "10"), key=graph.test(graph.base, seed).key)
        for seed in range(3)
    ]
    write(replace(make.results(rows, base="0123"), seeds=3), tmp_path)
    (results,) = run("quick", world, tmp_path, seeds=1)
    assert ([row.seed for row in results.rows], results.seeds) == ([0, 1, 2], 3)


def test_recorded_parts_with_other_settings_are_not_reused(tmp_path, make):
    world = replace(read("quick"), arms=("zero-shot",), exchanged=())
    row = recorded(world, tmp_path, make).rows[0]
    other = replace(world, max_tokens=world.max_tokens + 1)
    study = Study(Graph(other, tmp_path / PROMPT), tmp_path, seeds=1, recorded=make.results([row]))
    (part,) = study.parts(chosen(other.arms))
    assert part.found(tmp_path) is None


def test_results_with_other_settings_or_of_an_earlier_format_are_put_aside(tmp_path, make, capsys):
    world = replace(read("quick"), arms=("zero-shot",), exchanged=())
    row = recorded(world, tmp_path, make).rows[0]
    other = replace(row, key="of another world", seed=1)
    write(make.results([row, other], base="0123"), tmp_path)
    (tmp_path / f"{RESULTS}.old-1").write_text("{}")
    (results,) = run("quick", world, tmp_path, seeds=1)
    assert results.rows == (row,)
    assert read_results(tmp_path / f"{RESULTS}.old-2").rows == (row, other)
    assert f"the file is now {RESULTS}.old-2" in " ".join(capsys.readouterr().err.split())
    (tmp_path / RESULTS).write_text('{"schema": "colbench.study/3"}')
    assert read_results(tmp_path / RESULTS) is None
    record_of(Graph(world, tmp_path / PROMPT), tmp_path, name="quick", seeds=1).update("0123")
    assert (tmp_path / f"{RESULTS}.old-3").read_text() == '{"schema": "colbench.study/3"}'


def test_a_process_keeps_the_rows_that_another_one_recorded_for_further_seeds(tmp_path, make):
    world = replace(read("quick"), arms=("zero-shot",), exchanged=())
    (row,) = recorded(world, tmp_path, make).rows
    graph = Graph(world, tmp_path / PROMPT)
    record = record_of(graph, tmp_path, name="quick", seeds=1)
    write(make.results([row], base="0123"), tmp_path)
    assert record.base() == "0123"
    further = replace(row, key=graph.test(graph.base, 5).key, seed=5)
    write(replace(make.results([row, further], base="0123"), seeds=6), tmp_path)
    results = record.update("0123")
    assert ([each.seed for each in results.rows], results.seeds) == ([0, 5], 6)
    assert [each.name for each in tmp_path.glob("*.old-*")] == []


def test_the_versions_and_machines_of_all_parts_are_named(tmp_path, make):
    world = replace(read("quick"), arms=("zero-shot",), exchanged=())
    before = recorded(world, tmp_path, make)
    write(before, tmp_path)
    (results,) = run("quick", world, tmp_path, seeds=1)
    assert (results.version, results.machine) == ("1.2.3", "two cores"), "nothing ran here"
    graph = Graph(world, tmp_path / PROMPT)
    evaluated = graph.test(graph.base, 1)
    done(evaluated, tmp_path)
    (evaluated.folder(tmp_path) / OUTCOMES).write_bytes(msgspec.json.encode(make.outcomes("10")))
    record = record_of(graph, tmp_path, name="quick", seeds=2)
    for _ in range(2):
        results = record.update("0123")
        assert len(results.rows) == 2
        assert results.version == f"1.2.3 and {__version__}"
        assert results.machine == f"two cores and {machine()}"


def test_the_advice_for_damaged_results_keeps_the_stages(tmp_path):
    (tmp_path / RESULTS).write_text("{")
    with pytest.raises(DataError, match="move the file away and repeat the command: finished"):
        read_results(tmp_path / RESULTS)


def test_results_of_a_base_with_other_weights_are_refused(tmp_path, make, small_model):
    world = replace(read("quick"), arms=("zero-shot",), exchanged=())
    write(recorded(world, tmp_path, make), tmp_path)
    done(Graph(world, tmp_path / PROMPT).base, tmp_path, small_model)
    with pytest.raises(
        UserError, match="belong to base model 0123, but this machine produced base model"
    ):
        list(run("quick", world, tmp_path, seeds=2))


def test_recorded_rows_of_another_arm_belong_to_the_base_too(tmp_path, make, small_model):
    world = replace(read("quick"), arms=("zero-shot", "rft"), exchanged=())
    write(recorded(world, tmp_path, make), tmp_path)
    done(Graph(world, tmp_path / PROMPT).base, tmp_path, small_model)
    with pytest.raises(UserError, match="belong to base model 0123"):
        list(run("quick", world, tmp_path, seeds=1, only=["rft"]))
