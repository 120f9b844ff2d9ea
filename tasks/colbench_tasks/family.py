"""What a family of tasks is made of: hidden decisions, their options, and the code they are spliced into.

All texts are `string.Template`s. `$value` is the number (or word) drawn for an option, every key of the
theme is filled in everywhere, and the code has one place `$name` for each decision.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from random import Random
from string import Template
from textwrap import indent
from types import CodeType
from typing import Any

from msgspec import Struct

Value = int | float | str
Theme = Mapping[str, str]
"""Domain nouns, names of the parameters, and `function`, the name of the function asked for."""
LINE_OF_ITS_OWN = re.compile(r"^( *)\$(\w+)\n", re.MULTILINE)


class Option(Struct, frozen=True):
    """One way to settle a decision."""

    says: tuple[str, ...]
    """How a person says it: one sentence each, all of the same meaning."""
    code: str = "$value"
    """What stands at the decision's place in the code; on a line of its own it may be many lines, or none.

    It may hold the places of decisions before its own."""
    values: tuple[Value, ...] = ()
    """What `$value` is drawn from, the most usual one first; empty when the option has no number."""

    def choices(self) -> tuple[Choice, ...]:
        """This option at each of its values."""
        return tuple(Choice(option=self, value=value) for value in self.values or (None,))


class Choice(Struct, frozen=True, kw_only=True):
    """An option, at one of its values."""

    option: Option
    value: Value | None = None


class Decision(Struct, frozen=True):
    """Something that the request leaves open."""

    name: str
    topics: tuple[str, ...]
    """Words and short phrases that a question about it may use."""
    asks: tuple[str, ...]
    """Plain questions about it, for agents."""
    options: tuple[Option, ...]
    """The most usual one first: it is what a guess from the request alone would take."""
    examples: tuple[str, ...] = ()
    """Questions of very different wording that ask about it, for the simulated human to go by."""

    def choices(self) -> tuple[Choice, ...]:
        """Every option at every value."""
        return tuple(choice for option in self.options for choice in option.choices())


Design = Mapping[str, Choice]
"""The hidden choices of one task, by the decision's name."""


class Family(Struct, frozen=True, kw_only=True):
    """A kind of task. Its tasks differ in theme, wording and design."""

    name: str
    themes: tuple[Theme, ...]
    requests: tuple[tuple[str, ...], ...]
    """The request, sentence by sentence; each place has several wordings."""
    decisions: tuple[Decision, ...]
    code: str
    """The reference function, from `def $function(` on."""
    draw: Callable[[Random, Mapping[str, Any]], tuple[Any, ...]]
    """Arguments of one call; gets the task's values by decision (None where an option has none)."""

    def signature(self, theme: Theme) -> str:
        """The function's head, without the colon."""
        return fill(self.code.strip().splitlines()[0], theme).removesuffix(":")

    def usual(self) -> dict[str, Choice]:
        """The design that a guess from the request alone would take."""
        return {decision.name: decision.choices()[0] for decision in self.decisions}

    def source(self, theme: Theme, design: Design) -> str:
        """The reference function of a design."""
        return self._splice(theme, design, {name: repr(c.value) for name, c in design.items()})

    def function(self, theme: Theme, design: Design) -> Callable[..., Any]:
        """The reference function of a design, runnable; our own code, run without a sandbox.

        Numbers enter as globals, so that designs which differ in numbers share one compilation.
        """
        values = {f"_{name}": choice.value for name, choice in design.items()}
        names = {name: f"_{name}" for name in design}
        namespace: dict[str, Any] = dict(values)
        exec(_compiled(self._splice(theme, design, names)), namespace)  # noqa: S102 - see above
        function: Callable[..., Any] = namespace[theme["function"]]
        return function

    def _splice(self, theme: Theme, design: Design, values: Mapping[str, str]) -> str:
        pieces: dict[str, str] = {}
        for name, choice in design.items():
            names = {**theme, **pieces, "value": values[name]}
            pieces[name] = fill(choice.option.code, names)

        def lines(place: re.Match[str]) -> str:
            piece = pieces.get(place[2])
            if piece is None:
                return place[0]
            return indent(piece, place[1]) + "\n" if piece else ""

        code = LINE_OF_ITS_OWN.sub(lines, self.code.strip() + "\n")
        return fill(code, {**theme, **pieces}).rstrip()


@lru_cache(maxsize=4096)
def _compiled(source: str) -> CodeType:
    return compile(source, "<reference>", "exec")


def fill(template: str, names: Mapping[str, object]) -> str:
    """The template with `$name` replaced; a KeyError names what is missing."""
    return Template(template).substitute(names) if "$" in template else template


def statement(says: str, theme: Theme, choice: Choice) -> str:
    """A sentence about a choice, as a person says it."""
    return fill(says, {**theme, "value": choice.value})


def statements(decision: Decision, theme: Theme) -> Iterator[tuple[Choice, str]]:
    """Every sentence that can settle a decision, with the choice it means."""
    for choice in decision.choices():
        for says in choice.option.says:
            yield choice, statement(says, theme, choice)
