"""The parts of a study. Each part makes one entry of the results: a `Try`, a `Row` or an `Exchange` (`results`).

A part runs the stages that it needs, or reads their results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product, takewhile
from pathlib import Path

from sweet_rl_trainer.data.examples import NothingLeftError
from sweet_rl_trainer.data.pairs import NoPairsError
from sweet_rl_trainer.methods.credit.scale import NoScaleError
from sweet_rl_trainer.pipeline.stage import Stage
from sweet_rl_trainer.study.arms import NAMED, Arm
from sweet_rl_trainer.study.budget import counted
from sweet_rl_trainer.study.choose import best_rate, by_rate
from sweet_rl_trainer.study.evaluate import Speaker, written
from sweet_rl_trainer.study.graph import Graph
from sweet_rl_trainer.study.results import BASE, ORACLE, Exchange, Results, Row, Try
from sweet_rl_trainer.study.results import Part as Result

Made = Callable[[Stage], Path]
"""A function that returns the folder of a stage's output.

Raises NotMadeError if the output is missing and must not be created now.
"""


NOTHING_TO_TRAIN_ON = NoPairsError, NothingLeftError, NoScaleError
"""Errors of stages whose dialogues leave nothing to train on."""
UNTRAINABLE = "untrainable.txt"
"""Name of the file that marks the folder of a policy that could not be trained; the file contains the error."""


class NotMadeError(Exception):
    """The error for a stage that has no output and must not be run now."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.name)
        self.stage = stage


@dataclass(frozen=True, kw_only=True)
class Part:
    """A piece of a study's work that produces one entry of the results."""

    name: str
    """Name in words, for the console."""
    make: Callable[[Made], Result]

    def found(self, out: Path) -> Result | None:
        """Return the entry if all stages that it needs are finished or recorded; None otherwise."""
        try:
            return self.make(partial(finished, out))
        except NotMadeError:
            return None


def finished(out: Path, stage: Stage) -> Path:
    """Return the folder of a finished stage. Raises NotMadeError if the stage is not finished."""
    if stage.report(out) is None:
        raise NotMadeError(stage)
    return stage.folder(out)


class Study:
    """The parts of a study in the world of `graph`. An arm's evaluation that is in `recorded` is not run again."""

    def __init__(
        self, graph: Graph, out: Path, *, seeds: int, recorded: Results | None = None
    ) -> None:
        self._graph, self._out, self._seeds = graph, out, seeds
        self._tries = {(each.key, each.arm): each for each in (recorded.tries if recorded else ())}
        self._rows = {(each.key, each.arm): each for each in (recorded.rows if recorded else ())}
        self._exchanges = {each.key: each for each in (recorded.exchanges if recorded else ())}

    def parts(self, arms: list[Arm]) -> Iterator[Part]:
        """Yield all parts in the order in which they run.

        The rows and exchanges of untrained arms come first, because `report.based` needs them. Next, trained arms are
        tried with each learning rate. Their rows and exchanges come last.
        """
        world = self._graph.world
        bases, trained = ([arm for arm in arms if bool(arm.goal) == goal] for goal in (False, True))
        yield from self._rows_and_exchanges(bases)
        for arm in trained:
            for rate, seed in product(self._rates(arm), range(world.chosen_on)):
                yield Part(
                    name=f"{arm.name}, rate {rate:g}, seed {seed}",
                    make=partial(self._try, arm, rate, seed),
                )
        yield from self._rows_and_exchanges(trained)

    def _rows_and_exchanges(self, arms: list[Arm]) -> Iterator[Part]:
        world = self._graph.world
        for seed, arm in product(range(self._seeds), arms):
            if seed < world.fewer.get(arm.name, self._seeds):
                yield Part(name=f"{arm.name}, seed {seed}", make=partial(self._row, arm, seed))
        pairs = list(self._pairs(arms))
        for seed, (asker, writer) in product(range(min(self._seeds, world.exchanged_on)), pairs):
            yield Part(
                name=f"{asker} asks, {writer} writes, seed {seed}",
                make=partial(self._exchange, asker, writer, seed),
            )

    def _pairs(self, arms: list[Arm]) -> Iterator[tuple[str, str]]:
        """Yield the pairs (asker, writer) of each exchanged arm.

        The arm is combined with the oracle in either role, and with the base as writer.
        """
        for name in (arm.name for arm in arms if arm.name in self._graph.world.exchanged):
            yield name, ORACLE
            yield ORACLE, name
            if name != BASE:
                yield name, BASE

    def _rates(self, arm: Arm) -> tuple[float, ...]:
        """Return the learning rates to try for an arm; empty if the arm is untrained or uses another arm's rate."""
        return self._graph.world.rates[arm.goal] if arm.goal and not arm.rate_of else ()

    def _try(self, arm: Arm, rate: float, seed: int, made: Made) -> Try:
        _, stage = self._evaluated(arm, seed, rate, self._graph.validation, made)
        if known := self._tries.get((stage.key, arm.name)):
            return known
        found = written(made(stage))
        return Try(key=stage.key, arm=arm.name, rate=rate, seed=seed, validation=found)

    def _evaluated(
        self,
        arm: Arm,
        seed: int,
        rate: float,
        evaluation: Callable[[Stage, int], Stage],
        made: Made,
    ) -> tuple[Stage, Stage]:
        """Return two stages: an arm's last policy, and the evaluation of this policy, which is run if it is not done.

        Training ends early if a policy's dialogues leave nothing to train on, for example because none succeeds. The
        file `UNTRAINABLE` marks the policy that could then not be trained. In the first iteration, the error is raised.
        """
        policies = self._graph.policies(arm, seed, rate)
        pairs = [(policy, evaluation(policy, seed)) for policy in policies]
        for pair in reversed(pairs):
            if (pair[1].key, arm.name) in self._tries.keys() | self._rows.keys():
                return pair
        pairs = [*takewhile(lambda pair: not self._mark(pair[0]).exists(), pairs)]
        while True:
            policy, stage = pairs[-1]
            try:
                made(stage)
            except NOTHING_TO_TRAIN_ON as cause:
                if len(pairs) == 1:
                    raise
                self._mark(policy).parent.mkdir(exist_ok=True)
                self._mark(policy).write_text(f"{cause}\n", "utf-8")
                pairs.pop()
            else:
                return policy, stage

    def _mark(self, policy: Stage) -> Path:
        return policy.folder(self._out) / UNTRAINABLE

    def _rate(self, arm: Arm, made: Made) -> float:
        """Return the best learning rate tried for an arm, or for its `rate_of` if set; 0 if no rate was tried."""
        if arm.rate_of:
            return self._rate(NAMED[arm.rate_of], made)
        seeds = range(self._graph.world.chosen_on)
        tries = [
            self._try(arm, rate, seed, made) for rate, seed in product(self._rates(arm), seeds)
        ]
        return best_rate(by_rate(tries)) if tries else 0.0

    def _row(self, arm: Arm, seed: int, made: Made) -> Row:
        rate = self._rate(arm, made)
        policy, stage = self._evaluated(arm, seed, rate, self._graph.test, made)
        if known := self._rows.get((stage.key, arm.name)):
            return known
        test = written(made(stage))
        tries = len(self._rates(NAMED[arm.rate_of or arm.name])) * self._graph.world.chosen_on
        keys = [each.key for each in self._graph.policies(arm, seed, rate)]
        trained = keys.index(policy.key) + 1
        return Row(
            key=stage.key,
            arm=arm.name,
            seed=seed,
            rate=rate,
            test=test,
            budget=counted(
                policy,
                self._graph.base,
                arm.goal,
                self._out,
                evaluations=tries * self._graph.validation_tasks,
            ),
            stopped=trained if arm.goal and trained < self._graph.iterations(arm) else None,
        )

    def _exchange(self, asker: str, writer: str, seed: int, made: Made) -> Exchange:
        one, other = (self._speaker(name, seed, made) for name in (asker, writer))
        stage = self._graph.exchange(one, other, seed)
        if known := self._exchanges.get(stage.key):
            return known
        found = written(made(stage))
        return Exchange(key=stage.key, asker=asker, writer=writer, seed=seed, test=found)

    def _speaker(self, name: str, seed: int, made: Made) -> Speaker:
        if name == ORACLE:
            return None
        arm = NAMED[name]
        return self._evaluated(arm, seed, self._rate(arm, made), self._graph.test, made)[0]
