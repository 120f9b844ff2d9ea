"""The results of a study, as plain values; they contain everything that the study's report needs."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

SCHEMA = "colbench.study/4"
BASE, ORACLE = "zero-shot", "oracle"
"""Names of the base and of the oracle as speakers in exchanges; the base is also an arm."""


class Outcome(Struct, frozen=True, kw_only=True):
    """One dialogue of an evaluation."""

    task: str
    trial: int
    success: bool
    value: float
    """Share of the hidden tests passed."""
    turns: int
    answered: bool
    """True if the agent answered; False if the turn limit ended the dialogue or the agent failed."""
    reply_tokens: int
    """Number of tokens in all replies of the agent."""
    told: int
    """Number of hidden decisions revealed before the answer."""
    hidden: int
    """Number of decisions that the request leaves open."""


class Try(Struct, frozen=True, kw_only=True):
    """An arm trained with one learning rate and seed, evaluated on the validation tasks."""

    key: str
    """The key of the evaluation stage."""
    arm: str
    rate: float
    seed: int
    validation: tuple[Outcome, ...]


class Budget(Struct, frozen=True, kw_only=True):
    """The dialogues, steps and time that the training of a policy used, counted from the output of its stages."""

    dialogues: int
    """Number of dialogues to learn from."""
    candidates: int
    """Number of replies sampled at turns of these dialogues, including a teacher's answers in self-teaching."""
    critic_steps: int
    """Number of optimizer steps of critics."""
    steps: int
    """Number of optimizer steps of the policy."""
    supervised: float | None
    """Mean number of reply tokens in the loss of one optimizer step of the policy; None without training, or if the log
    is empty."""
    evaluations: int
    """Number of dialogues on validation tasks that were used to choose the rate, over all seeds."""
    seconds: float
    """Total seconds of the stages after the base that lead to this policy.

    Stages that other rows share are included, but not the choice of the rate.
    """


class Row(Struct, frozen=True, kw_only=True):
    """The results of an arm with one seed, at the chosen learning rate."""

    key: str
    """The key of the evaluation stage."""
    arm: str
    seed: int
    rate: float
    test: tuple[Outcome, ...]
    budget: Budget
    stopped: int | None = None
    """The number of iterations after which nothing was left to train on; None if all iterations were trained."""


class Exchange(Struct, frozen=True, kw_only=True):
    """Dialogues on the test tasks in which one model asks and another writes the answers."""

    key: str
    """The key of the evaluation stage."""
    asker: str
    writer: str
    seed: int
    test: tuple[Outcome, ...]


class Cost(Struct, frozen=True, kw_only=True):
    """The time of a finished stage."""

    key: str
    stage: str
    """Name of the stage."""
    seconds: float


Part = Try | Row | Exchange


class Results(Struct, frozen=True, kw_only=True):
    """The results of a study, complete or not."""

    schema: str = SCHEMA
    name: str
    """Name of the world."""
    world: dict[str, Any]
    """The world itself (`world.World`), as plain values."""
    base: str
    """The digest of the base's weights (`model.digest`)."""
    version: str
    """Version of ColBench that made the parts; several versions are joined by " and "."""
    machine: str
    """Description of the machine that made the parts; several machines are joined by " and "."""
    seeds: int
    rows: tuple[Row, ...] = ()
    tries: tuple[Try, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    costs: tuple[Cost, ...] = ()

    @property
    def parts(self) -> set[Part]:
        """All parts."""
        return {*self.rows, *self.tries, *self.exchanges}
