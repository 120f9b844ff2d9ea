"""Conversion of pairs and trajectories to training examples: token IDs with a weight for each.

A trajectory, such as a side of a pair, becomes one `Example`. If later prompts contain earlier turns in changed form,
each turn becomes one `Example` (see `tokens`), and the trajectory's score S is the sum of the scores of these examples.
Pairs and trajectories with an example longer than `max_length` are left out and counted; nothing is ever truncated.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from colbench.errors import DataError
from sweet_rl_trainer.console import shown
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.pairs import SOLVED, Pair
from sweet_rl_trainer.data.privileged import Template, preface_of
from sweet_rl_trainer.data.token_weights import Rule, Weigh, weigh
from sweet_rl_trainer.data.tokens import (
    OUTSIDE,
    DialogueEncoder,
    Encoded,
    Form,
    Source,
    Tokens,
    encode,
)
from sweet_rl_trainer.data.trajectories import Trajectory


class Example(Struct, frozen=True, kw_only=True):
    """A sequence to train on."""

    ids: array[int]
    """Token IDs, int32."""
    token_weights: array[float]
    """Weights of the tokens, float32; 0 for tokens that the agent did not write."""
    pictures: tuple[str, ...] = ()
    """Names of the pictures among the tokens, in order (`pictures`)."""


class Side(Struct, frozen=True, kw_only=True):
    """One side of a pair, or a single trajectory to imitate or to score.

    The score of a side is the sum of its examples' scores.
    """

    examples: tuple[Example, ...]
    trajectory: str
    """The trajectory's ID; for a single reply, the names of the turn and of the reply."""
    reward: float
    """The trajectory's reward; for a candidate reply, its score."""
    turns: int
    reply_tokens: int

    @property
    def tokens(self) -> int:
        """The number of tokens of all examples."""
        return sum(len(each.ids) for each in self.examples)


class PairExample(Struct, frozen=True, kw_only=True):
    """A pair to train on."""

    chosen: Side
    rejected: Side
    task_hash: str
    imitated: bool = True
    """False if the likelihood of the chosen side is not part of the loss."""


class NothingLeftError(DataError):
    """An error because all examples were left out; the message counts them by reason."""

    def __init__(self, message: str, *, dropped: dict[str, int], too_long: bool) -> None:
        super().__init__(message)
        self.dropped = dropped
        """Number of examples left out, by reason."""
        self.too_long = too_long
        """True if some examples were left out because of their length; the length may be an estimate."""


Examples = Sequence[PairExample] | Sequence[Side]
"""Examples to train on: either pairs, or single trajectories such as successes."""


class Report(Struct, frozen=True, kw_only=True):
    """Counts of accepted and left-out items (pairs, dialogues or answers), and of the accepted items' tokens."""

    unit: str
    """The kind of items counted: pairs, dialogues or answers."""
    taken: int
    dropped: dict[str, int]
    """Number of items left out, by reason."""
    tokens: int
    """Number of tokens of the accepted items; a dialogue in several pairs counts in each of them."""
    longest: int
    """Number of tokens of the longest example."""
    forms: dict[str, int]
    """Number of accepted trajectories by form (`tokens.Form`), each trajectory counted once."""
    sources: dict[str, int]
    """Number of turns of the accepted trajectories by the source of their prompts (`tokens.Source`)."""

    def __add__(self, other: Report) -> Report:
        """Add two reports on different items of the same kind."""
        return Report(
            unit=self.unit,
            taken=self.taken + other.taken,
            dropped=Counter(self.dropped) + Counter(other.dropped),
            tokens=self.tokens + other.tokens,
            longest=max(self.longest, other.longest),
            forms=Counter(self.forms) + Counter(other.forms),
            sources=Counter(self.sources) + Counter(other.sources),
        )


def pair_examples(
    pairs: Sequence[Pair],
    chat: Chat | DialogueEncoder,
    token_weights: Rule | Weigh,
    *,
    privileged: Template | None = None,
    max_length: int,
) -> tuple[list[PairExample], Report]:
    """Return the pairs to train on, and a report of the accepted and dropped pairs.

    `privileged` is the template for the privileged information c; None omits c, for multi-turn DPO and for a critic
    that does not see c. A `DialogueEncoder` ignores the template, and may add c itself. A pair is dropped if one of its
    examples is longer than `max_length` tokens. Raises DataError if no pair is left, and UserError if c is to be stated
    but is missing.
    """
    builder = _Builder(chat, token_weights, privileged, max_length)
    sided = [
        (pair, builder.side(pair.chosen), builder.side(pair.rejected))
        for pair in shown("pairs", pairs)
    ]
    taken = [
        PairExample(chosen=chosen, rejected=rejected, task_hash=pair.chosen.task_hash)
        for pair, chosen, rejected in sided
        if builder.fits(chosen, rejected)
    ]
    sides = [side for pair in taken for side in (pair.chosen, pair.rejected)]
    return taken, builder.report("pairs", len(pairs), len(taken), sides)


def success_examples(
    trajectories: Sequence[Trajectory],
    chat: Chat,
    token_weights: Rule | Weigh = "trajectory-mean",
    *,
    at_least: float = SOLVED,
    privileged: Template | None = None,
    max_length: int,
) -> tuple[list[Side], Report]:
    """Return the trajectories with a reward of `at_least` or more, as examples to imitate, and a report.

    `privileged`: the template of the privileged information c, which is stated before each example; None omits c.
    Trajectories longer than `max_length` tokens are left out.

    Raises DataError if no trajectory is left, and UserError if c is to be stated but is missing.
    """
    builder = _Builder(chat, token_weights, privileged, max_length)
    won = [each for each in trajectories if each.reward >= at_least]
    taken = [side for side in map(builder.side, shown("dialogues", won)) if builder.fits(side)]
    builder.dropped[f"a reward below {at_least:g}"] = len(trajectories) - len(won)
    return taken, builder.report("dialogues", len(trajectories), len(taken), taken)


def side_examples(
    trajectories: Sequence[Trajectory],
    chat: Chat | DialogueEncoder,
    token_weights: Rule | Weigh,
    *,
    privileged: Template | None = None,
    max_length: int,
    kept: Mapping[str, Collection[int]] | None = None,
) -> tuple[list[Side], Report]:
    """Return each trajectory as a side to be scored or imitated, in the same order, and a report.

    `kept` maps the ID of each trajectory to the turns (from 0) whose tokens keep their weights; None keeps all weights.
    Trajectories longer than `max_length` tokens are left out. Raises DataError if no trajectory is left, and UserError
    if c is to be stated (`privileged`) but is missing.
    """
    builder = _Builder(chat, token_weights, privileged, max_length)
    builder.kept = kept
    sides = map(builder.side, shown("dialogues", trajectories))
    taken = [side for side in sides if builder.fits(side)]
    return taken, builder.report("dialogues", len(trajectories), len(taken), taken)


class _Builder:
    """A converter of trajectories to `Side`s.

    It converts each trajectory only once, even if several pairs contain it, and counts the pairs or dialogues that are
    left out.
    """

    def __init__(
        self,
        chat: Chat | DialogueEncoder,
        token_weights: Rule | Weigh,
        privileged: Template | None,
        max_length: int,
    ) -> None:
        self.chat = chat
        self.token_weights: Rule | Weigh = token_weights
        self.privileged: Template | None = privileged
        self.max_length = max_length
        self.kept: Mapping[str, Collection[int]] | None = None
        self.dropped = Counter[str]()
        self._known: dict[int, tuple[Side, Form, tuple[Source, ...]]] = {}
        """Sides by the `id()` of the trajectory, which stays valid because the caller keeps the trajectory alive."""

    @property
    def _too_long(self) -> str:
        return f"longer than {self.max_length} tokens"

    def side(self, trajectory: Trajectory) -> Side:
        """Return the trajectory as a `Side`, whatever its length."""
        known = self._known.get(id(trajectory))
        if known is None:
            known = self._known[id(trajectory)] = self._make(trajectory)
        return known[0]

    def fits(self, *sides: Side) -> bool:
        """Return True if no example of these sides is too long; otherwise, count the sides as one item left out."""
        fit = all(len(each.ids) <= self.max_length for side in sides for each in side.examples)
        self.dropped[self._too_long] += not fit
        return fit

    def _make(self, trajectory: Trajectory) -> tuple[Side, Form, tuple[Source, ...]]:
        encoded = self._encode(trajectory)
        turns = [turn for each in encoded.sequences for turn in each.turns]
        weights = weigh(turns, self.token_weights)
        if self.kept is not None:
            kept = self.kept[trajectory.id]
            weights = [weight * (turn in kept) for weight, turn in zip(weights, turns, strict=True)]
            turns = [turn if turn in kept else OUTSIDE for turn in turns]
        side = Side(
            examples=tuple(_examples(encoded.sequences, weights)),
            trajectory=trajectory.id,
            reward=trajectory.reward,
            turns=len(trajectory.said),
            reply_tokens=sum(turn != OUTSIDE for turn in turns),
        )
        return side, encoded.form, encoded.sources

    def _encode(self, trajectory: Trajectory) -> Encoded:
        if not isinstance(self.chat, Chat):
            return self.chat.encode_trajectory(trajectory)
        preface, inside = "", True
        if self.privileged:
            stated = preface_of(trajectory, self.privileged)
            preface, inside = stated.text, stated.inside
        return encode(trajectory, self.chat, preface=preface, inside=inside)

    def report(self, unit: str, given: int, taken: int, sides: Sequence[Side]) -> Report:
        """Return the report. Raises DataError if no item was accepted."""
        dropped = {reason: count for reason, count in self.dropped.items() if count}
        if not taken:
            reasons = ", ".join(f"{reason}: {count}" for reason, count in dropped.items())
            raise NothingLeftError(
                f"none of {given} {unit} remains for training ({reasons or 'the input is empty'})",
                dropped=dropped,
                too_long=self._too_long in dropped,
            )
        used = {side.trajectory for side in sides}
        known = [each for each in self._known.values() if each[0].trajectory in used]
        return Report(
            unit=unit,
            taken=taken,
            dropped=dropped,
            tokens=sum(side.tokens for side in sides),
            longest=max(len(each.ids) for side in sides for each in side.examples),
            forms=Counter(form for _, form, _ in known),
            sources=Counter(source for *_, sources in known for source in sources),
        )


def _examples(sequences: Sequence[Tokens], weights: Sequence[float]) -> Iterator[Example]:
    """Yield each sequence as an example; `weights` are the token weights of all sequences, concatenated."""
    start = 0
    for each in sequences:
        end = start + len(each.ids)
        yield Example(
            ids=array("i", each.ids),
            token_weights=array("f", weights[start:end]),
            pictures=each.pictures,
        )
        start = end
