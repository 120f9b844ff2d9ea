"""A run of the whole benchmark: data, Monte-Carlo values, one estimator after another, and the page.

FOLDER/states.jsonl, truths.jsonl, data.json    the data (`data`)
FOLDER/scores/NAME-KEY.jsonl         the scores of an estimator, a line for each task
FOLDER/computed/                     values computed by models (`train.reference_cache`)
FOLDER/values-KEY.jsonl              Monte-Carlo values (`on_policy`)
FOLDER/report/                       the page and its picture (`page`), and `results.Results`

Finished work is kept: after an interruption, the same command continues within the current estimator.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from colbench.config import derive_seed, digest
from colbench.version import __version__
from sweet_rl_trainer.creditbench import data, results
from sweet_rl_trainer.creditbench.agreement import MEASURES, Scored, agreement
from sweet_rl_trainer.creditbench.estimators import groups, returns, rules
from sweet_rl_trainer.creditbench.estimators.estimator import Estimator, Scores
from sweet_rl_trainer.creditbench.lines import filled
from sweet_rl_trainer.creditbench.on_policy import TaskValues, values_of
from sweet_rl_trainer.creditbench.page import PARTS, write_page
from sweet_rl_trainer.creditbench.results import EstimatorResult, LeftOut, Results
from sweet_rl_trainer.creditbench.states import Bench
from sweet_rl_trainer.creditbench.truths import MAIN, TRUTHS
from sweet_rl_trainer.methods.credit.scale import NoScaleError

COMPUTED, SCORES, VALUES, REPORT = "computed", "scores", "values", "report"
READ_STATES = 1
"""Number of states per task that models read, and for which Monte-Carlo values are computed."""
VALUE_TASKS = 200
"""Number of tasks for which Monte-Carlo values are computed."""
POLICY = "policy"
"""The name of the policy among the models."""


class Settings(Struct, frozen=True, kw_only=True):
    """Settings from the command line."""

    selection: data.Selection
    policy: Path | None = None
    critics: Mapping[str, Path] = {}
    system: str | None = None
    """The system prompt; None for the built-in one."""
    read_tasks: int
    """Number of tasks that models read, with `READ_STATES` states each."""
    processes: int = 1
    command: str = "sweet-rl creditbench"


class TaskScores(Struct, frozen=True, kw_only=True):
    """A line of scores: the scores of all states of a task."""

    task_id: str
    scores: tuple[Scores, ...]
    seconds: float
    """CPU seconds that computing the scores took."""


def run(settings: Settings, out: Path) -> Results:
    """Run the unfinished parts, and return the results."""
    benches = data.generate(out, settings.selection, settings.processes)
    read = [_some(each, READ_STATES) for each in benches[: settings.read_tasks]]
    models = _Models(settings, out)
    found = _begun(settings, out, benches, read, models)
    bench = _Run(settings, out, benches, read)
    for estimator in (
        *rules.ESTIMATORS,
        *returns.ESTIMATORS,
        *groups.ESTIMATORS,
        *models.estimators(read),
    ):
        found = bench.with_one_more(found, estimator)
        results.write(found, out / REPORT / PARTS)
    write_page(found, out / REPORT)
    return found


def _begun(
    settings: Settings, out: Path, benches: Sequence[Bench], read: Sequence[Bench], models: _Models
) -> Results:
    """Return the results before any estimator is added, with the comparison of Monte-Carlo values and exact values."""
    some = [_some(each, READ_STATES) for each in benches[:VALUE_TASKS]]
    path = out / f"{VALUES}-{_states_key(some)}.jsonl"
    values = filled(path, TaskValues, some, values_of, settings.processes)
    states_sha256, truths_sha256 = data.hashes(out)
    return Results(
        version=__version__,
        command=settings.command,
        selection=settings.selection,
        frozen=data.frozen_name(settings.selection),
        states_sha256=states_sha256,
        truths_sha256=truths_sha256,
        counts=results.counts_of(benches),
        models=models.digests,
        read=(len(read), sum(len(each.states) for each in read)),
        estimators=(),
        left_out=models.left_out,
        validation=results.validation_of(some, values),
    )


class _Run:
    """Inputs shared by all estimators of a run."""

    def __init__(
        self, settings: Settings, out: Path, benches: Sequence[Bench], read: Sequence[Bench]
    ) -> None:
        self._settings = settings
        self._folder = out / SCORES
        self._folder.mkdir(exist_ok=True)
        self._benches, self._read = benches, read

    def with_one_more(self, found: Results, estimator: Estimator) -> Results:
        """Return the results with one more estimator, or with the reason why that estimator cannot be fitted."""
        try:
            result = self._result(estimator)
        except NoScaleError as cause:
            lost = LeftOut(name=estimator.name, reason=str(cause))
            return replace(found, left_out=(*found.left_out, lost))
        return replace(found, estimators=(*found.estimators, result))

    def _result(self, estimator: Estimator) -> EstimatorResult:
        used = self._read if estimator.costly else self._benches
        path = self._folder / f"{_file_name(estimator, used)}.jsonl"
        processes = 1 if estimator.costly else self._settings.processes
        lines = filled(path, TaskScores, used, partial(_scored, estimator), processes)
        scored = [
            Scored(bench=bench, scores=line.scores) for bench, line in zip(used, lines, strict=True)
        ]
        common = [_only(each, some) for each, some in zip(scored, self._read, strict=False)]
        compared = common if self._settings.policy else []
        return EstimatorResult(
            name=estimator.name,
            about=estimator.about,
            agreements={
                truth: agreement(scored, truth, MEASURES if truth == MAIN else ("pairs",))
                for truth in TRUTHS
            },
            common=agreement(compared, MAIN) if compared else None,
            seconds=sum(line.seconds for line in lines),
        )


def _scored(estimator: Estimator, bench: Bench) -> TaskScores:
    start = time.process_time()
    scores = tuple(estimator.score(bench))
    return TaskScores(
        task_id=bench.task.id, scores=scores, seconds=round(time.process_time() - start, 4)
    )


def _file_name(estimator: Estimator, benches: Sequence[Bench]) -> str:
    """Return the name of an estimator's file, which identifies everything its scores depend on."""
    slug = re.sub(r"\W+", "-", estimator.name).strip("-").lower()
    key = digest([estimator.name, estimator.key, __version__, _states_key(benches)])
    return f"{slug}-{key[:8]}"


def _states_key(benches: Sequence[Bench]) -> str:
    """Return the part of a file name that identifies a set of states and their tasks."""
    return digest([[each.task.hash, *(state.id for state in each.states)] for each in benches])[:8]


def _some(bench: Bench, number: int) -> Bench:
    """Return a bench with up to `number` randomly chosen states, in order; the hash of its task is the seed."""
    random = Random(derive_seed("states", bench.task.hash))  # noqa: S311 - reproducible on purpose
    places = range(len(bench.states))
    taken = sorted(random.sample(places, min(number, len(places))))
    return replace(
        bench,
        states=tuple(bench.states[place] for place in taken),
        truths=tuple(bench.truths[place] for place in taken),
    )


def _only(scored: Scored, some: Bench) -> Scored:
    """Return a task's scores for the states of the bench `some`."""
    by_id = {
        state.id: scores for state, scores in zip(scored.bench.states, scored.scores, strict=True)
    }
    return Scored(bench=some, scores=tuple(by_id[state.id] for state in some.states))


NEED_POLICY = (
    "likelihood",
    "PMI",
    "self-teacher",
    "gain",
    "gain, scaled",
    "IGPO-like",
    "InfoPO-like",
)
NEED_CRITIC = ("SWEET critic", "SWEET critic without c", "value head")


class _Models:
    """The models named on the command line."""

    def __init__(self, settings: Settings, out: Path) -> None:
        self._settings = settings
        self.digests: dict[str, str] = {}
        self.left_out: tuple[LeftOut, ...] = ()
        if settings.policy is None:
            self.left_out += tuple(LeftOut(name=n, reason="no --policy") for n in NEED_POLICY)
        if not settings.critics:
            self.left_out += tuple(
                LeftOut(name=name, reason="no --critic NAME=FOLDER") for name in NEED_CRITIC
            )
        if settings.policy is None:
            return
        from sweet_rl_trainer.creditbench.estimators.readers import Reader

        open_ = partial(Reader, base=settings.policy, cache=out / COMPUTED, system=settings.system)
        self._policy = open_(settings.policy)
        self._critics = {name: open_(folder) for name, folder in settings.critics.items()}
        self.digests = {
            POLICY: self._policy.digest,
            **{name: each.digest for name, each in self._critics.items()},
        }

    def estimators(self, read: Sequence[Bench]) -> Iterator[Estimator]:
        """Yield the estimators that need models."""
        if self._settings.policy is None:
            return
        from sweet_rl_trainer.creditbench.estimators import critic, policy

        yield from policy.estimators(self._policy, read)
        for name, each in self._critics.items():
            yield from critic.estimators(name, each, self._policy)
