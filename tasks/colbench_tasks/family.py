"""The parts of a task family: decisions, their options, and the code into which the chosen options are inserted.

All texts are `string.Template`s, in which the keys of the theme are placeholders. `$value` is the number (or word)
drawn for an option. The code has one placeholder for each decision: `$` and the decision's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from random import Random
from string import Template
from textwrap import indent
from types import CodeType
from typing import Any, ClassVar, Literal

from msgspec import Struct

Value = int | float | str
Theme = Mapping[str, str]
"""The text for each placeholder: nouns, parameter names and, for `function`, the name of the requested function."""
LINE_OF_ITS_OWN = re.compile(r"^( *)\$(\w+)\n", re.MULTILINE)


class Option(Struct, frozen=True):
    """One possible outcome of a decision."""

    says: tuple[str, ...]
    """Sentences with which the simulated human can state this option, all with the same meaning."""
    code: str = "$value"
    """The code that replaces the decision's placeholder; it may contain the placeholders of earlier decisions.

    If the placeholder has a line of its own, the code may have any number of lines, even none."""
    values: tuple[Value, ...] = ()
    """The values from which `$value` is drawn, the usual one first; empty if the option has no value."""

    def choices(self) -> tuple[Choice, ...]:
        """Return one choice for each value of the option; if it has none, return one choice with the value None."""
        return tuple(Choice(option=self, value=value) for value in self.values or (None,))


class Choice(Struct, frozen=True, kw_only=True):
    """An option of a decision and, if the option has values, one of its values."""

    option: Option
    value: Value | None = None


class Decision(Struct, frozen=True):
    """A question that the request can leave open."""

    name: str
    topics: tuple[str, ...]
    """Words and short phrases that may occur in a question about the decision."""
    asks: tuple[str, ...]
    """Plain questions about the decision, for agents."""
    options: tuple[Option, ...]
    """The options; the first is the usual one, which a guess from the request alone would choose."""
    examples: tuple[str, ...] = ()
    """Other questions about the decision, by which the simulated human recognizes an agent's question."""

    def choices(self) -> tuple[Choice, ...]:
        """Return the choices of all options."""
        return tuple(choice for option in self.options for choice in option.choices())


Design = Mapping[str, Choice]
"""The choices of one task, by the decision's name."""


class Family(Struct, frozen=True, kw_only=True):
    """A kind of task. Its tasks differ in theme, wording and design."""

    domain: ClassVar[Literal["backend"]] = "backend"
    name: str
    version: int = 1
    """The version, which rises with every change of the family's tasks. Frozen sets name the version that they use."""
    themes: tuple[Theme, ...]
    requests: tuple[tuple[str, ...], ...]
    """The sentences of the request, each in several wordings."""
    decisions: tuple[Decision, ...]
    code: str
    """The reference function, starting with `def $function(`."""
    draw: Callable[[Random, Mapping[str, Any]], tuple[Any, ...]]
    """A function that draws a call's arguments. It gets the chosen value of each decision: None for an option without
    values."""

    def signature(self, theme: Theme) -> str:
        """Return the first line of the function, without the colon."""
        return fill(self.code.strip().splitlines()[0], theme).removesuffix(":")

    def usual(self) -> dict[str, Choice]:
        """Return the design that a guess from the request alone would choose."""
        return {decision.name: decision.choices()[0] for decision in self.decisions}

    def source(self, theme: Theme, design: Design) -> str:
        """Return the source of the reference function of a design."""
        return self._splice(theme, design, {name: repr(c.value) for name, c in design.items()})

    def function(self, theme: Theme, design: Design) -> Callable[..., Any]:
        """Return the reference function of a design. This runs the family's own code, without a sandbox.

        Values are globals of the function, so that designs that differ only in values share one compilation.
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
    """Return the template with each `$name` replaced. Raises KeyError if a name is missing from `names`."""
    return Template(template).substitute(names) if "$" in template else template


def statement(says: str, theme: Theme, choice: Choice) -> str:
    """Return the sentence that states a choice: the template `says`, filled with the theme and the choice's value."""
    return fill(says, {**theme, "value": choice.value})


def statements(decision: Decision, theme: Theme) -> Iterator[tuple[Choice, str]]:
    """Yield each choice of a decision with every sentence that states this choice."""
    for choice in decision.choices():
        for says in choice.option.says:
            yield choice, statement(says, theme, choice)
