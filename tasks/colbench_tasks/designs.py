"""The designs of generated tasks: for each decision, the task's choice, the usual choice, and questions."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from colbench.task import Task
from colbench_tasks.families import FAMILIES
from colbench_tasks.family import Choice, Decision, Family, Theme, fill, statements


class FamilyDesign(Struct, frozen=True, kw_only=True):
    """The design of a generated task, as in `colbench.interfaces.Design`; `chosen` has the choice for each decision."""

    family: Family
    theme: Theme
    chosen: Mapping[str, Choice]

    @property
    def usual(self) -> Mapping[str, Choice]:
        """Return the choices that an agent would guess if it had only the request."""
        return self.family.usual()

    @property
    def questions(self) -> Mapping[str, tuple[str, ...]]:
        """Return the family's plain questions about each decision, by the decision's name.

        The words of the theme are filled in.
        """
        return {
            decision.name: tuple(fill(question, self.theme) for question in decision.asks)
            for decision in self.family.decisions
        }

    def source(self, choices: Mapping[str, Choice]) -> str:
        """Return the source of the function for these choices, which must include every decision."""
        return self.family.source(self.theme, choices)


def of(task: Task) -> FamilyDesign | None:
    """Return the design of a backend task; None if no installed family fits the task.

    The family's name, the request and the facts of the task determine the design.

    Raises UserError if the task's family cannot be loaded.
    """
    family = FAMILIES.get(task.family)
    theme = _theme(family, task.request) if family else None
    if family is None or theme is None:
        return None
    said = {fact.name: fact.statement for fact in task.hidden.facts}
    chosen = {d.name: _choice(d, theme, said.get(d.name, "")) for d in family.decisions}
    known = {name: choice for name, choice in chosen.items() if choice}
    if len(known) < len(chosen):
        return None
    return FamilyDesign(family=family, theme=theme, chosen=known)


def _theme(family: Family, request: str) -> Theme | None:
    ends = (theme for theme in family.themes if request.rstrip().endswith(family.signature(theme)))
    return next(ends, None)


def _choice(decision: Decision, theme: Theme, said: str) -> Choice | None:
    return next((choice for choice, words in statements(decision, theme) if words == said), None)
