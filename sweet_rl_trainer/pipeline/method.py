"""A method: a way to train a policy. Each is one file, found by the entry points `colbench.methods`.

[project.entry-points."colbench.methods"]
sft = "my_package.sft:Sft"
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any, ClassVar

from msgspec import Struct

from colbench.config_errors import did_you_mean
from colbench.errors import UserError
from colbench.task import FRONTEND
from sweet_rl_trainer.pipeline.iteration import Iteration
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Stage
from sweet_rl_trainer.settings import TrainSettings

GROUP = "colbench.methods"
EPOCHS: Mapping[str, int] = {FRONTEND: 8}
"""The paper's passes over pairs of dialogues and successes, in other domains than backend programming."""


class Method(ABC):
    """A way to train a policy: its tables of a recipe, and its stages."""

    name: ClassVar[str]
    """As in a recipe, `method = "rft"`."""
    tables: ClassVar[Mapping[str, type[Struct]]]
    """Types of its tables in a recipe, by name.

    A field `train` of type TrainSettings is changed by `[train]`, too; of one of another type only `report_to`."""
    goals: ClassVar[Mapping[str, str]]
    """Stages at which a run can end (`--until`), each with a description. The last one trains the policy."""

    def paper(self, table: str, domain: str, train: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the paper's values of a table, where they differ from the defaults of its type.

        Args:
            table: One of `tables`.
            domain: The domain that is trained on.
            train: What the user has set of the training.
        """
        return {}

    def problems(self, recipe: Recipe) -> Iterator[str]:  # noqa: ARG002
        """Yield what is wrong with a recipe, each as KEY: REASON."""
        yield from ()

    @abstractmethod
    def stages(self, iteration: Iteration, goal: str) -> Sequence[Stage]:
        """Return the last stages of an iteration, up to one of `goals`; those that they need are found.

        A policy is exported, so `iteration.exported(…)` comes last.
        """

    @property
    def policy(self) -> str:
        """The goal that trains the policy."""
        return list(self.goals)[-1]


def paper_epochs(domain: str) -> int:
    """Return the paper's passes over pairs of dialogues and successes; for domains that it lacks, those of backend."""
    return EPOCHS.get(domain, 4)


def only_log_ratios(table: str, settings: TrainSettings) -> Iterator[str]:
    """Yield a problem if a policy is to be trained as a value model."""
    if settings.score != "log-ratio":
        yield f"{table}.train.score: only a critic can be a value model (critic.train.score)"


@cache
def methods() -> tuple[Method, ...]:
    """Return the installed methods, by name. Raises UserError if one cannot be loaded."""
    return tuple(_load(point) for point in sorted(entry_points(group=GROUP), key=lambda p: p.name))


def _load(point: Any) -> Method:
    try:
        found = point.load()()
    except Exception as cause:
        raise UserError(f"method {point.name} ({point.value}) cannot be loaded: {cause}") from cause
    if not isinstance(found, Method):
        raise UserError(f"method {point.name} ({point.value}) is not a subclass of Method")
    return found


def find_method(name: str) -> Method:
    """Return a method by its name. Raises UserError if none of that name is installed."""
    known = {method.name: method for method in methods()}
    if name not in known:
        raise UserError(
            f"method: {name} is not installed{did_you_mean(name, known)}; there are {', '.join(known)}"
        )
    return known[name]


def method_of(goal: str) -> Method:
    """Return the method that has a goal. Raises UserError if none has it."""
    for method in methods():
        if goal in method.goals:
            return method
    raise UserError(f"--until {goal}: expected one of {', '.join(goals())}")


def goals() -> dict[str, str]:
    """Return the goals of all methods, with their descriptions."""
    return {goal: text for method in methods() for goal, text in method.goals.items()}
