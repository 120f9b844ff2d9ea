"""Diagnosis of a critic before an actor is trained on its scores.

- `pair_accuracy`: how often the critic prefers the better of two dialogues, on held-out tasks.
- `correlation`: whether the critic's scores depend on the length of replies, or on a dialogue's number of turns.
  Without length normalization, they depend on the length, and the replies of an actor trained on these scores collapse
  (arXiv 2503.15478, Table 3).
- `best_of`: the mean reward of the dialogue that the critic scores highest among n dialogues on a task, as n grows.
- `states`: how often the critic prefers another question to the answer when everything is known.
- `montecarlo`: how well the critic's scores agree with the rewards of continued dialogues.

`diagnose` computes these measures, `alarms` returns warnings, and `show.table` shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from colbench.stats import Interval, mean_interval
from sweet_rl_trainer.data.examples import PairExample
from sweet_rl_trainer.methods.critic.best_of import DialogueCurve
from sweet_rl_trainer.methods.critic.correlation import Correlation, correlation, within
from sweet_rl_trainer.methods.critic.montecarlo import Agreement
from sweet_rl_trainer.methods.critic.states import Preference

if TYPE_CHECKING:
    from sweet_rl_trainer.methods.ranking.turns import Scored

TOO_MUCH = 0.5
"""Threshold above which the absolute value of a correlation, or a share of states, raises an alarm."""

DIAGNOSIS = "diagnosis.json"
"""Name of the file with the diagnosis, in the stage's folder."""
Part = Literal["accuracy", "candidates", "best_of", "states", "continuations"]
"""A part of a diagnosis that may be missing."""


def pair_accuracy(pairs: Sequence[PairExample], scores: Sequence[tuple[float, float]]) -> Interval:
    """Return the share of pairs whose chosen side has the higher score; a tie counts half.

    Each task has the same weight, and the interval is over tasks. `scores` come from `ranking.score.score_pairs`.
    """
    tasks: dict[str, list[float]] = {}
    for pair, (chosen, rejected) in zip(pairs, scores, strict=True):
        right = 0.5 if chosen == rejected else float(chosen > rejected)
        tasks.setdefault(pair.task_hash, []).append(right)
    return mean_interval(tasks.values())


class Diagnosis(Struct, frozen=True, kw_only=True):
    """Measures of a critic on held-out dialogues and ranked candidates; a measure that was not computed is None."""

    accuracy: Interval
    pairs: int
    by_turns: Correlation
    """Correlation of dialogues' scores with their numbers of turns."""
    by_length: Correlation
    """Correlation of dialogues' scores with their numbers of reply tokens."""
    candidates_by_length: Correlation
    """Correlation of candidates' scores with their numbers of tokens, within turns."""
    best_of: DialogueCurve | None = None
    states: Preference | None = None
    continuations: Agreement | None = None
    missing: dict[Part, str] = {}
    """The reasons why parts were not measured."""


def diagnose(
    pairs: Sequence[PairExample],
    scores: Sequence[tuple[float, float]],
    ranked: Sequence[Scored] = (),
    *,
    best_of: DialogueCurve | None = None,
    states: Preference | None = None,
    continuations: Agreement | None = None,
    missing: Mapping[Part, str] | None = None,
) -> Diagnosis:
    """Return the diagnosis of a critic.

    The correlations count a dialogue once, even if many pairs contain it. `scores` come from
    `ranking.score.score_pairs`, `best_of` from `best_of.of_dialogues`, `states` from `states.preference`, and
    `continuations` from `montecarlo.agreement`. `missing` has a reason for each part that is None.
    """
    sides = {
        side.trajectory: (score, side)
        for pair, both in zip(pairs, scores, strict=True)
        for score, side in zip(both, (pair.chosen, pair.rejected), strict=True)
    }
    found = [score for score, _ in sides.values()]
    return Diagnosis(
        accuracy=pair_accuracy(pairs, scores),
        pairs=len(pairs),
        by_turns=correlation(found, [side.turns for _, side in sides.values()]),
        by_length=correlation(found, [side.reply_tokens for _, side in sides.values()]),
        candidates_by_length=within(map(_lengths, ranked)),
        best_of=best_of,
        states=states,
        continuations=continuations,
        missing=dict(missing or {}),
    )


def _lengths(scored: Scored) -> tuple[list[float], list[float]]:
    """Return the scores and lengths of the candidates that have a score."""
    pairs = zip(scored.scores, scored.lengths, strict=True)
    known = [(score, float(length)) for score, length in pairs if score is not None]
    return [score for score, _ in known], [length for _, length in known]


def alarms(diagnosis: Diagnosis) -> list[str]:
    """Return the warnings to give before an actor is trained with this critic, one sentence each."""
    return [
        *_unsure(diagnosis.accuracy, diagnosis.pairs),
        *_drawn("dialogues", "their number of turns", diagnosis.by_turns),
        *_drawn("dialogues", "their length", diagnosis.by_length),
        *_drawn("candidates", "their length", diagnosis.candidates_by_length, of=" of a turn"),
        *_asks_on(diagnosis.states),
    ]


def _unsure(accuracy: Interval, pairs: int) -> Iterator[str]:
    if accuracy.low is None or accuracy.high is None or accuracy.low > 0.5:
        return
    said = (
        f"{accuracy.mean:.1%} of {pairs} held-out pairs (95% interval: {accuracy.low:.1%} to "
        f"{accuracy.high:.1%})"
    )
    if accuracy.high < 0.5:
        yield f"The critic prefers the worse of two dialogues: it is right on {said}."
    else:
        yield f"The critic is not significantly better than chance: it is right on {said}."


def _drawn(what: str, size: str, found: Correlation, *, of: str = "") -> Iterator[str]:
    known = [each for each in (found.pearson, found.spearman) if each is not None]
    most = max(known, key=abs, default=0.0)
    if abs(most) > TOO_MUCH:
        way = "positively" if most > 0 else "negatively"
        count = f"{found.count} {what}"
        yield f"Scores of {what}{of} correlate {way} with {size} ({most:+.2f} over {count})."


def _asks_on(states: Preference | None) -> Iterator[str]:
    if states and states.mean.mean is not None and states.mean.mean > TOO_MUCH:
        yield (
            f"When every decision is known, the critic prefers another question to the right "
            f"answer in {states.mean.mean:.1%} of {states.states} states: its actor may learn to "
            "keep asking and never answer."
        )


def encode(diagnosis: Diagnosis) -> bytes:
    """Encode the diagnosis and its alarms as JSON."""
    fields = {"alarms": alarms(diagnosis), **msgspec.to_builtins(diagnosis)}
    return msgspec.json.format(msgspec.json.encode(fields), indent=2) + b"\n"


def decode(content: bytes) -> Diagnosis:
    """Decode the output of `encode`."""
    return msgspec.json.decode(content, type=Diagnosis)
