"""A study done in parts, each of which needs what it needs: rows, critics, the curve over the amount of data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from colbench.errors import DataError
from sweet_rl_trainer.pipeline.base import RUN
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Stage, rerun_advice
from sweet_rl_trainer.study import credit, judge, timing
from sweet_rl_trainer.study.choose import best_step, best_try
from sweet_rl_trainer.study.evaluate import outcomes
from sweet_rl_trainer.study.graph import Graph
from sweet_rl_trainer.study.methods import NAMED, QUESTIONS, RETURNS, TURNS, Method
from sweet_rl_trainer.study.results import Credit, Critic, Exchange, Row, Scaling, Step, Try
from sweet_rl_trainer.train.checkpoints import checkpoints, slim

Made = Callable[[Stage], Path]
"""Does a stage, with all that it needs and that is not done yet; says where its output is."""


class Study:
    """The parts of a study."""

    def __init__(self, graph: Graph, made: Made) -> None:
        self._graph = graph
        self._made = made

    def row(self, method: Method, seed: int, first: Row | None) -> Row:
        """Run a method with a seed; each learning rate is tried, or only that of the first seed's row."""
        tries = tuple(self._try(method, seed, rate) for rate in self._rates(method, first))
        chosen = best_try(tries)
        step = best_step(chosen).step
        folder = self._tested(self._policy(method, seed, chosen.rate, step), step, seed)
        return Row(
            method=method.name,
            seed=seed,
            tries=tries,
            rate=chosen.rate,
            step=step,
            test=outcomes(folder),
            folder=folder.name,
        )

    def critic(self, method: Method, seed: int) -> Critic:
        """Judge the scores that the method learns from."""
        recipe = self._graph.recipe(method, seed)
        timed = timing.read(self._made(self._graph.timing(recipe)))
        scores, learning = self._graph.scoring(recipe), self._graph.learning(recipe)
        return Critic(
            method=method.name,
            seed=seed,
            timing=timed,
            learnt=self._said(learning)["taken"] if learning else 0,
            scores=self._made(scores).name if scores else "",
            **(self._judged(recipe, scores) if scores else {}),
        )

    def counting(self) -> Critic:
        """Judge the number of turns as a score of the same dialogues as all critics'."""
        recipe = self._graph.recipe(NAMED["sweet"], 0)
        return Critic(method=TURNS.name, seed=0, **self._judged(recipe, None))

    def _judged(self, recipe: Recipe, scores: Stage | None) -> dict[str, Any]:
        made = self._made(self._graph.judgment(recipe, scores))
        return msgspec.structs.asdict(judge.read(made))

    def _said(self, stage: Stage) -> dict[str, Any]:
        """Run a stage and return the summary in its report."""
        report = stage.report(self._made(stage).parent)
        return report.said if report else {}

    def credit(self, method: Method, seed: int) -> Credit:
        """Compare the scores that the method learns from, or those of `QUESTIONS`, with returns."""
        mine = None if method == QUESTIONS else self._graph.recipe(method, seed)
        returned = self._graph.recipe(NAMED[RETURNS], seed)
        found = credit.read(self._made(self._graph.credit(mine, returned)))
        return Credit(method=method.name, seed=seed, agreements=found)

    def scaling(self, method: Method, seed: int, share: float, rate: float) -> Scaling:
        """Train and test the method with a share of the training tasks; its checkpoint is chosen as in a row."""
        step = best_step(self._try(method, seed, rate, share)).step
        folder = self._tested(self._policy(method, seed, rate, step, share), step, seed)
        return Scaling(
            method=method.name,
            seed=seed,
            share=share,
            tasks=self._graph.learnt(self._recipe(method, seed, rate, share)),
            test=outcomes(folder),
        )

    def exchange(self, asker: Row, writer: Row) -> Exchange:
        """Run dialogues of one row's policy with answers of the other's, with the same seed."""
        one, other = (
            self._policy(NAMED[row.method], row.seed, row.rate, row.step) for row in (asker, writer)
        )
        stage = self._graph.exchange(one, other, (asker.step, writer.step), asker.seed)
        folder = self._made(stage)
        return Exchange(
            asker=asker.method,
            writer=writer.method,
            seed=asker.seed,
            test=outcomes(folder),
            folder=folder.name,
        )

    def _policy(
        self, method: Method, seed: int, rate: float, step: int, share: float = 1.0
    ) -> Stage:
        """Return the training of the chosen checkpoint; the base if that was chosen."""
        recipe = self._recipe(method, seed, rate, share)
        return self._graph.policy(method, recipe) if step else self._graph.base

    def _tested(self, policy: Stage, step: int, seed: int) -> Path:
        return self._made(self._graph.test(policy, step, seed))

    def _rates(self, method: Method, first: Row | None) -> tuple[float, ...]:
        if not method.goal:
            return (0.0,)
        return (first.rate,) if first else getattr(self._graph.scale.rates, method.goal)

    def _try(self, method: Method, seed: int, rate: float, share: float = 1.0) -> Try:
        """Train, and evaluate the base and each checkpoint."""
        graph = self._graph
        curve = [self._step(graph.base, 0, seed)]
        if not method.goal:
            return Try(rate=rate, curve=tuple(curve), tokens=0)
        recipe = self._recipe(method, seed, rate, share)
        policy = graph.policy(method, recipe)
        said = self._said(policy)
        every = recipe.tables[method.goal].train.save_every
        steps = [*range(every, said["step"], every), said["step"]]
        run = self._made(policy) / RUN
        slim(run)
        check_saved(run, steps)
        curve += [self._step(policy, step, seed) for step in steps]
        return Try(rate=rate, curve=tuple(curve), tokens=said.get("tokens", 0))

    def _step(self, policy: Stage, step: int, seed: int) -> Step:
        folder = self._made(self._graph.validation(policy, step, seed))
        return Step(step=step, outcomes=outcomes(folder))

    def _recipe(self, method: Method, seed: int, rate: float, share: float = 1.0) -> Recipe:
        return self._graph.recipe(method, seed, rate=rate or None, share=share)


def check_saved(run: Path, steps: Sequence[int]) -> None:
    """Raise DataError if a checkpoint of a training that is over is damaged or gone."""
    if lacking := sorted({*steps} - checkpoints(run).keys()):
        raise DataError(
            f"{run}/checkpoint-{lacking[0]}: damaged or gone; {rerun_advice(run.parent)}"
        )
