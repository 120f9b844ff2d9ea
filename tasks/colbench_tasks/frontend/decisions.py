"""The decisions in `decisions.txt`, which a request leaves open and only the hidden page determines.

The file uses the notation of the backend families (`colbench_tasks.notation`). An option's code is the key by which the
module `design` identifies the option. The decision `sections` has one option, whose value lists the parts of the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from random import Random

from colbench.task import Fact
from colbench_tasks.family import Choice, Decision, fill
from colbench_tasks.notation import decisions

Choices = Mapping[str, Choice]
"""Choices by the decision's name."""

_ALL = decisions(files(__package__).joinpath("decisions.txt").read_text("utf-8"))
*DECISIONS, SECTIONS = _ALL
"""The decisions for which `draw` draws choices, and the decision about the parts of the page."""
_CHOICES = {
    decision.name: [option.choices() for option in decision.options] for decision in DECISIONS
}


def draw(random: Random) -> dict[str, Choice]:
    """Draw a choice for each decision; all options are equally likely."""
    return {name: random.choice(random.choice(options)) for name, options in _CHOICES.items()}


def facts(random: Random, choices: Choices, used: frozenset[str], order: str) -> tuple[Fact, ...]:
    """Return the human's facts: one for each decision in `used`, and one for the `order` of the page's parts."""
    known = [_fact(random, d, choices[d.name]) for d in DECISIONS if d.name in used]
    whole = Choice(option=SECTIONS.options[0], value=order)
    return (*known, _fact(random, SECTIONS, whole))


def _fact(random: Random, decision: Decision, choice: Choice) -> Fact:
    value = str(choice.value).replace("gray", "grey")
    return Fact(
        name=decision.name,
        topics=decision.topics,
        statement=fill(random.choice(choice.option.says), {"value": value}),
        examples=decision.asks,
    )
