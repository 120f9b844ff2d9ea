"""What a study found, as plain values: all that its report is made of."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

SCHEMA = "colbench.study/2"


class Outcome(Struct, frozen=True, kw_only=True):
    """One dialogue of an evaluation."""

    task: str
    trial: int
    success: bool
    value: float
    """Share of the hidden tests passed."""
    turns: int
    answered: bool
    """False: the turn limit ended it, or the agent failed."""
    reply_tokens: int
    """Tokens of all that the agent said."""


class Step(Struct, frozen=True, kw_only=True):
    """A policy on the validation tasks, after some optimizer steps (0: the base)."""

    step: int
    outcomes: tuple[Outcome, ...]


class Try(Struct, frozen=True, kw_only=True):
    """A policy trained with one learning rate, evaluated along its training."""

    rate: float
    curve: tuple[Step, ...]
    tokens: int
    """That the policy was trained on, each as often as it was."""


class Part(Struct, frozen=True, kw_only=True):
    """What was found of one method, or of two."""

    revision: int = 0
    """The number of their revisions (`Method.revisions`) when it was made; see `stale`."""


class Row(Part, frozen=True, kw_only=True):
    """A method with one seed."""

    method: str
    """A name of `methods.METHODS`."""
    seed: int
    tries: tuple[Try, ...]
    """More than one where the learning rate was chosen."""
    rate: float
    """The chosen one."""
    step: int
    """The chosen checkpoint's."""
    test: tuple[Outcome, ...]
    """Of the chosen checkpoint on the test tasks."""
    folder: str
    """The evaluation's on the test tasks, in the study's."""


class Timing(Struct, frozen=True, kw_only=True):
    """What the scores of candidates say of answering while so many facts are hidden."""

    hidden: int
    turns: int
    """Those with an answer and another reply among their candidates."""
    share: tuple[float, float, float]
    """Of an answer and another reply at the same turn, how often the answer scores higher; its 95 % interval."""


class Critic(Part, frozen=True, kw_only=True):
    """What the scores that a method learns from are worth; of held-out dialogues only those of a model."""

    method: str
    """A name of `methods.METHODS`, or that of `methods.TURNS`."""
    seed: int
    pairs: int = 0
    accuracy: tuple[float, float, float] | None = None
    """How often the better dialogue of a pair has the higher score, each task counting the same; its 95 % interval."""
    matched_pairs: int = 0
    """Those whose two dialogues have equally many turns."""
    matched: tuple[float, float, float] | None = None
    """The same share among these."""
    with_turns: float | None = None
    """Pearson's correlation of dialogues' scores with their number of turns; None where either does not vary."""
    best_of: tuple[tuple[int, float, float, float], ...] = ()
    """n, the expected success of the best of n dialogues by score, and its 95 % interval."""
    scores: str = ""
    """The folder of the dialogues' scores, in the study's: methods that differ in what they do with them share it."""
    learnt: int = 0
    """Pairs of dialogues that the critic has learnt from."""
    timing: tuple[Timing, ...] = ()
    """By the number of facts that are hidden."""


ANY, OTHERS, ANSWERS, ONE_OF_EACH = "any two", "two that ask on", "two answers", "one of each"
KINDS = (ANY, OTHERS, ANSWERS, ONE_OF_EACH)
"""Of two candidates for a turn."""


class Agreement(Struct, frozen=True, kw_only=True):
    """Of candidates for the same turn, how scores go with Monte-Carlo returns."""

    kind: str
    """One of `KINDS`."""
    pairs: int
    """Those with different returns."""
    share: tuple[float, float, float]
    """How often the one with the higher return has the higher score; its 95 % interval."""


class Credit(Part, frozen=True, kw_only=True):
    """Whether the scores that a method learns from agree with what came of the candidates."""

    method: str
    seed: int
    agreements: tuple[Agreement, ...]


class Exchange(Part, frozen=True, kw_only=True):
    """The dialogues of one method on the test tasks, with answers that another one wrote."""

    asker: str
    writer: str
    seed: int
    test: tuple[Outcome, ...]
    folder: str
    """The evaluation's, in the study's."""


class Scaling(Part, frozen=True, kw_only=True):
    """A method that learnt from a share of the training tasks."""

    method: str
    seed: int
    share: float
    tasks: int
    test: tuple[Outcome, ...]


class Cost(Struct, frozen=True, kw_only=True):
    """What one stage took."""

    key: str
    """The stage's."""
    stage: str
    method: str
    """"": it serves several."""
    seed: int
    seconds: float
    memory: int | None
    """Bytes, at most, where that was measured: of a process that trains, else of all processes together."""


class Results(Struct, frozen=True, kw_only=True):
    """The results of a study, complete or not."""

    schema: str = SCHEMA
    scale: str
    study: dict[str, Any]
    """The study's own settings (`scales.Scale`), as plain values."""
    version: str
    """Of ColBench."""
    machine: str
    """In words: processors, memory, accelerator, versions of Python, torch and transformers."""
    base: dict[str, Any]
    """Of the base model: parameters, the beginning of its weights' digest, the dialogues that were made for it
    (held-out ones among them), and tokens, each as often as it was learnt from."""
    rows: tuple[Row, ...]
    critics: tuple[Critic, ...]
    scaling: tuple[Scaling, ...]
    costs: tuple[Cost, ...]
    exchanges: tuple[Exchange, ...] = ()
    credits: tuple[Credit, ...] = ()
