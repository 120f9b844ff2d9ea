"""Alarms of a training run: signs in the logged values that a policy is degenerating.

| value | alarm |
|---|---|
| entropy of the next token, by turn | fell to half of its first value or below: replies lose variety |
| | rose to twice its first value or above: replies become noise |
| KL to the reference, for each token | above 0.3 nats |
| reply length in pairs, mean of at least 10 log lines | one side is at least 1.5 times as long as the other |
| reply length of the policy (GRPO) | changed by a factor of 1.5 or more from its first value |
| number of turns (GRPO) | as for the reply length |
| share of dialogues without an answer | above 25%, and for later values also over 10 points above the first value |

The names of held-out examples' values have the prefix `eval_`. A first value is the first logged value with its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from colbench.numbers import whole_percent

LINES = 10
LENGTHS = ("length_chosen", "length_rejected")
FALLEN, RISEN = 0.5, 2.0
KL_MOST = 0.3
RATIO = 1.5
UNANSWERED, MORE_UNANSWERED = 0.25, 0.1


class Watch:
    """A monitor of logged values. It stores the first value of each name, and returns each kind of alarm only once."""

    def __init__(self) -> None:
        self._first: dict[str, float] = {}
        self._raised: set[str] = set()
        self._lengths = dict.fromkeys(LENGTHS, 0.0)
        self._lines = 0

    def see(self, values: Mapping[str, Any]) -> list[str]:
        """Return the alarms that a line of the log raises, except kinds of alarms that an earlier line raised."""
        numbers = {name: each for name, each in values.items() if isinstance(each, int | float)}
        self._first = {**numbers, **self._first}
        found = dict(alarms({**numbers, **self._mean_lengths(numbers)}, self._first))
        new = [text for kind, text in found.items() if kind not in self._raised]
        self._raised |= found.keys()
        return new

    def _mean_lengths(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """Add the lengths in a log line to the means, and return the mean lengths of chosen and rejected replies.

        The means are 0 until they cover `LINES` lines, because means over fewer lines are too noisy.
        """
        self._lines += LENGTHS[0] in numbers
        for name in LENGTHS:
            self._lengths[name] += numbers.get(name, 0.0)
        if self._lines < LINES:
            return dict.fromkeys(LENGTHS, 0.0)
        return {name: total / self._lines for name, total in self._lengths.items()}


def alarms(
    values: Mapping[str, float], first: Mapping[str, float] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each alarm that logged values raise; `first` has the run's first values."""
    before = first or {}
    for name, value in values.items():
        plain = name.removeprefix("eval_")
        if plain.startswith("entropy"):
            yield from _entropy(name, value, before.get(name))
        elif plain == "kl" and value > KL_MOST:
            text = f"KL to the reference is {value:.2f} nats per token, above {KL_MOST}: the model has drifted far"
            yield "kl", text
        elif plain in POLICY:
            yield from _changed(plain, value, before.get(name))
        elif plain == "unanswered":
            yield from _unanswered(value, before.get(name))
    yield from _lengths(values)


POLICY = {"reply_tokens": "tokens per reply", "turns": "turns per dialogue"}
"""Values of the policy's own dialogues, and their units."""


def _entropy(name: str, value: float, first: float | None) -> Iterator[tuple[str, str]]:
    if not first:
        return
    turn = name.rpartition("_turn_")[2] if "_turn_" in name else ""
    what = f"Entropy at turn {turn}" if turn else "Entropy"
    change = f"{what} changed from {first:.3g} to {value:.3g} nats per token"
    if value <= FALLEN * first:
        yield f"{name} fell", f"{change}: replies are losing variety"
    elif value >= RISEN * first:
        yield f"{name} rose", f"{change}: replies are becoming noise"


def _changed(name: str, value: float, first: float | None) -> Iterator[tuple[str, str]]:
    if first and not 1 / RATIO < value / first < RATIO:
        yield name, f"{first:.3g} {POLICY[name]} at first, {value:.3g} now"


def _unanswered(value: float, first: float | None) -> Iterator[tuple[str, str]]:
    if value > UNANSWERED and (first is None or first == value or value > first + MORE_UNANSWERED):
        yield "unanswered", f"{whole_percent(value)} of the dialogues ended without an answer"


def _lengths(values: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    chosen, rejected = (values.get(name) for name in LENGTHS)
    if chosen and rejected and not 1 / RATIO < chosen / rejected < RATIO:
        longer = "longer" if chosen > rejected else "shorter"
        yield (
            f"pairs {longer}",
            f"Chosen replies are {longer} than rejected ones ({chosen:.0f} tokens versus "
            f"{rejected:.0f}): the model may learn only the length",
        )
