"""Scores of candidates and trajectories: a difference of two models' weighted log-probabilities, or a model's values.

| preset | score of a reply of L tokens, including its end token |
|---|---|
| `critic` | (log π_θ(a|o,c) − log π_ref(a|o,c)) / L: the paper's advantage A |
| `critic-unprivileged` | (log π_θ(a|o) − log π_ref(a|o)) / L |
| `critic-sum` | log π_θ(a|o,c) − log π_ref(a|o,c): without length normalization |
| `pmi` | (log π_ref(a|o,c) − log π_ref(a|o)) / L: no critic, no training |
| `released` | log π_θ(h,t|o,c) / (H + L − 1) − log π_ref(a|o) / L: the released code |
| `value` | Σ v(a|o,c) / L of a value model (`model.value_head`), without a reference |
| `value-unprivileged` | Σ v(a|o) / L |
| `returns` | without a model: the mean reward of dialogues continued after the reply (`ranking.returns`) |
| `facts`, `gain` | the change of a potential by the human's answer to the reply (`ranking.consequences`) |

a is the reply, o the dialogue before it, c the privileged information, π_θ the critic, and π_ref the reference model.

`released` equals A + `pmi`, plus a bonus for short replies, because its two denominators differ. Its first term is a
mean over the H tokens h of the reply's header (`Chat.reply_header`; Llama 3.1 has 4, each nearly certain) and the L − 1
tokens t of the reply's text, without the end token. If the 10 tokens of a text and the end token have 0.35 nats each,
the bonus is 3.85 / 11 − 3.5 / 14 = 0.1. With another H, the bonus differs. If a reply was cut off, all its tokens are
text.

With an untrained critic, every preset that uses the critic gives the score 0, except `released`.

A turn's candidates form one group: if the model supports it (`attention.can_share`), their context is computed once.
Values are kept in a `reference_cache.ReferenceCache`, so no reply is scored twice.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Literal, get_args

from msgspec import Struct

from colbench.errors import UserError
from sweet_rl_trainer.console import SizedIterable
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.examples import Example, PairExample, Side
from sweet_rl_trainer.data.privileged import Template
from sweet_rl_trainer.data.token_weights import Rule
from sweet_rl_trainer.data.tokens import DialogueEncoder
from sweet_rl_trainer.methods.ranking.turns import (
    Candidates,
    Scored,
    Scores,
    encode_candidates,
    reply_lengths,
)
from sweet_rl_trainer.settings import Score
from sweet_rl_trainer.train.scorer import Scorer, group_values

if TYPE_CHECKING:
    from sweet_rl_trainer.model.packing import Group

TURNS = 256
"""Number of turns whose candidates are in memory at the same time."""

Preset = Literal[
    "critic",
    "critic-unprivileged",
    "critic-sum",
    "pmi",
    "released",
    "value",
    "value-unprivileged",
    "returns",
    "facts",
    "gain",
]


class Term(Struct, frozen=True, kw_only=True):
    """A weighted sum over the tokens of a reply: Σ w log π, or Σ w v for a value model."""

    of: Literal["critic", "reference"]
    privileged: bool
    """True if the model sees c."""
    token_weights: Rule = "turn-mean"
    header: bool = False
    """True if the mean is over the reply's header and text, without the end token (the released code)."""
    score: Score = "log-ratio"
    """The score that the model must have been trained for."""


TERMS: dict[Preset, tuple[Term, ...]] = {
    "critic": (Term(of="critic", privileged=True), Term(of="reference", privileged=True)),
    "critic-unprivileged": (
        Term(of="critic", privileged=False),
        Term(of="reference", privileged=False),
    ),
    "critic-sum": (
        Term(of="critic", privileged=True, token_weights="sum"),
        Term(of="reference", privileged=True, token_weights="sum"),
    ),
    "pmi": (Term(of="reference", privileged=True), Term(of="reference", privileged=False)),
    "released": (
        Term(of="critic", privileged=True, header=True),
        Term(of="reference", privileged=False),
    ),
    "value": (Term(of="critic", privileged=True, score="value"),),
    "value-unprivileged": (Term(of="critic", privileged=False, score="value"),),
    "returns": (),
    "facts": (),
    "gain": (),
}
"""Terms of each preset; the second term, if any, is subtracted from the first.

A preset without terms scores a reply by its outcome (`PLAYED`).
"""
Consequences = Literal["facts", "gain"]
CONSEQUENCES: tuple[Preset, ...] = get_args(Consequences)
"""Presets that score by a potential (`methods.credit`)."""
PLAYED: tuple[Preset, ...] = ("returns", *CONSEQUENCES)
"""Presets that continue dialogues after each candidate; they need the run that recorded the dialogues."""


def score_candidates(
    turns: SizedIterable[Candidates], chat: Chat | DialogueEncoder, preset: Preset, **options: Any
) -> list[Scored]:
    """Return all candidates with their scores; see `score_turns`."""
    found = score_turns(turns, chat, preset, **options)
    return [scores.of(each) for each, scores in zip(turns, found, strict=True)]


def score_turns(
    turns: SizedIterable[Candidates],
    chat: Chat | DialogueEncoder,
    preset: Preset,
    *,
    reference: Scorer | None = None,
    critic: Scorer | None = None,
    privileged: Template = "preamble",
    budget: int,
    max_length: int,
    dropped: Counter[str] | None = None,
) -> list[Scores]:
    """Return the scores of all candidates.

    `privileged`: the template that shows c, the hidden information, to a model. The turns are read once for each term
    of the preset, in batches to save memory. A row of the model's input has at most `budget` tokens. Longer rows occur
    only if a single turn has more tokens (or, if the model does not share prefixes, a single reply). If prompt and
    reply exceed `max_length` tokens, the reply has no score and is counted in `dropped`. Raises UserError if no model
    computes the preset's scores, if the model that computes them is missing, if this model wrongly has or lacks a value
    head, or if a value is not finite.
    """
    if not TERMS.get(preset):
        models_only = (name for name, terms in TERMS.items() if terms)
        raise UserError(
            f"scores {preset!r}: no model computes these scores; expected one of {', '.join(models_only)}"
        )
    models = {"critic": critic, "reference": reference}
    values: list[list[list[float | None]]] = []
    for term in TERMS[preset]:
        model = _fit_for(preset, term, models[term.of])
        template = privileged if term.privileged else None
        found, lengths = list[list[float | None]](), list[tuple[int, ...]]()
        for sequences in _batches(turns, chat, term, template):
            name = f"turns {len(found) + 1}-{len(found) + len(sequences)} of {len(turns)}"
            found += _fitting(sequences, model, budget, max_length, name)
            lengths += map(reply_lengths, sequences)
        values.append(found)
    scored = [
        Scores(scores=_scores(*terms), lengths=each)
        for each, *terms in zip(lengths, *values, strict=True)
    ]
    if dropped is not None:
        lost = sum(score is None for each in scored for score in each.scores)
        dropped.update({f"longer than {max_length} tokens": lost} if lost else {})
    return scored


def _batches(
    turns: SizedIterable[Candidates],
    chat: Chat | DialogueEncoder,
    term: Term,
    template: Template | None,
) -> Iterator[list[list[Example]]]:
    """Yield batches of turns, with their candidates as tokens."""
    sequences = (_weighted(each, chat, term, template) for each in turns)
    while batch := list(islice(sequences, TURNS)):
        yield batch


def _fit_for(preset: Preset, term: Term, model: Scorer | None) -> Scorer:
    if model is None:
        raise UserError(f"scores {preset!r} require a {term.of}, but none was given")
    if model.score != term.score:
        has, wanted = ("a", "without") if model.score == "value" else ("no", "with")
        other = "value" if model.score == "value" else "critic"
        choice = f"choose the scores {other!r}, or use" if term.of == "critic" else "use"
        raise UserError(
            f"scores {preset!r} require a {term.of} {wanted} a value head, but the given one has {has} value head; "
            f"{choice} another model"
        )
    return model


def score_pairs(
    pairs: Sequence[PairExample], *, critic: Scorer, reference: Scorer | None = None, budget: int
) -> list[tuple[float, float]]:
    """Return the score S of both sides of each pair, chosen first, computed as in training.

    A value model needs no reference. Raises UserError if any other critic is given without a reference.
    """
    groups = [[pair.chosen.examples, pair.rejected.examples] for pair in pairs]
    found = _as_in_training(groups, critic, reference, budget)
    return [(chosen, rejected) for chosen, rejected in found]


def score_sides(
    sides: Sequence[Side], *, critic: Scorer, reference: Scorer | None = None, budget: int
) -> list[float]:
    """Return the score S of each side (`examples.side_examples`), computed as in training."""
    groups = [[side.examples] for side in sides]
    return [score for (score,) in _as_in_training(groups, critic, reference, budget)]


def sums(sides: Sequence[Side], scorer: Scorer, *, budget: int) -> list[float]:
    """Return Σ w log π, or Σ w v, of each side (`examples.side_examples`); no reference is subtracted."""
    found = group_values([[side.examples] for side in sides], scorer, budget)
    return [value for (value,) in found]


def _as_in_training(
    groups: Sequence[Group], critic: Scorer, reference: Scorer | None, budget: int
) -> list[list[float]]:
    """Return the score S of each trajectory (`Parts`), by group, computed as in training."""
    first = group_values(groups, critic, budget)
    if critic.score == "value":
        return first
    if reference is None:
        raise UserError(
            "reference: missing; the critic has no value head, so also pass the model that it was trained from"
        )
    second = group_values(groups, reference, budget)
    return [
        [one - other for one, other in zip(*both, strict=True)]
        for both in zip(first, second, strict=True)
    ]


def _weighted(
    candidates: Candidates, chat: Chat | DialogueEncoder, term: Term, privileged: Template | None
) -> list[Example]:
    examples = encode_candidates(candidates, chat, term.token_weights, privileged=privileged)
    if term.header and isinstance(chat, Chat):
        return [_with_header(each, chat) for each in examples]
    return examples


def _with_header(example: Example, chat: Chat) -> Example:
    """Return the example with equal weights (sum 1) on the tokens of its reply's header and text, 0 elsewhere."""
    ids = list(example.ids)
    start = next(place for place, weight in enumerate(example.token_weights) if weight)
    first = start - _header_length(ids[:start], chat.reply_header)
    end = start + chat.text_length(ids[start:])
    share = 1 / max(end - first, 1)
    counted = [share if first <= place < end else 0.0 for place in range(len(ids))]
    return Example(ids=example.ids, token_weights=array("f", counted))


def _header_length(prompt: Sequence[int], header: Sequence[int]) -> int:
    """Return the number of tokens at the end of `prompt` that equal the end of `header`.

    The header's first tokens may be missing, because their tokenization depends on the text before the header.
    """
    pairs = zip(reversed(prompt), reversed(header), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _fitting(
    turns: Sequence[Sequence[Example]], model: Scorer, budget: int, max_length: int, name: str
) -> list[list[float | None]]:
    """Return Σ w log π, or Σ w v, for each reply of each turn; None if prompt plus reply exceed `max_length` tokens."""
    fit = [[len(each.ids) <= max_length for each in examples] for examples in turns]
    groups = [
        [[each] for each, fits in zip(examples, fits_all, strict=True) if fits]
        for examples, fits_all in zip(turns, fit, strict=True)
    ]
    found = (iter(values) for values in group_values(groups, model, budget, name))
    return [
        [next(values) if fits else None for fits in fits_all]
        for fits_all, values in zip(fit, found, strict=True)
    ]


def _scores(
    first: Sequence[float | None], second: Sequence[float | None] | None = None
) -> tuple[float | None, ...]:
    """Return the first values minus the second (by default 0); None where either is None."""
    return tuple(
        None if one is None or other is None else one - other
        for one, other in zip(first, second or [0.0] * len(first), strict=True)
    )
