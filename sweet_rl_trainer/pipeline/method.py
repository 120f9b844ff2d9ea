"""A method: a way to train a policy.

Installed methods are found through their entry points:

[project.entry-points."colbench.methods"]
my-method = "my_package:MyMethod"

An entry point has the name of its method. docs/new-method.md shows a method in another package.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar

from msgspec import Struct

from colbench.config_errors import did_you_mean
from colbench.errors import UserError, describe_exception
from colbench.task import FRONTEND
from sweet_rl_trainer.pipeline.iteration import Iteration
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Stage
from sweet_rl_trainer.settings import TrainSettings

GROUP = "colbench.methods"
COMMON = "train"
"""The table with settings for every training run."""
EPOCHS: Mapping[str, int] = {FRONTEND: 8}
"""The paper's epochs of training on pairs of dialogues or on successes, for domains other than backend programming."""


class Method(ABC):
    """A way to train a policy: its tables in a recipe, and its stages. Instances are created without arguments."""

    name: ClassVar[str]
    """The name used in a recipe, `method = "rft"`."""
    tables: ClassVar[Mapping[str, type[Struct]]] = {}
    """Types of the method's tables in a recipe, by name. `Recipe.table(TYPE)` returns the table of a type.

    A table's field `train` of the type TrainSettings needs no default, because the recipe's `[train]` provides the
    values. For a field `train` of another type, `[train]` provides only `report_to`.
    """
    paper_tables: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """The paper's settings that differ from the defaults, by domain. A recipe that follows the paper must set them."""
    goals: ClassVar[Mapping[str, str]]
    """Stages at which a run can end (`--until`), each with a description. The last stage trains the policy."""

    def paper(self, table: str, domain: str, train: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the paper's settings for one of the recipe's tables, where they differ from the table's defaults.

        Args:
            table: One of `tables`.
            domain: The domain of the training run.
            train: The user's training settings.
        """
        return {}

    def problems(self, recipe: Recipe) -> Iterator[str]:
        """Yield the errors of a recipe, each as KEY: REASON.

        By default, the only error is a policy that would be trained as a value model.
        """
        for name in self.tables:
            train = getattr(recipe.tables[name], "train", None)
            if isinstance(train, TrainSettings):
                yield from only_log_ratios(name, train)

    @abstractmethod
    def stages(self, iteration: Iteration, goal: str) -> Sequence[Stage]:
        """Return the final stages for a goal. Do not list earlier stages: they are found as inputs of the final stages.

        For the goal that trains the policy, the last stage returned must be `iteration.exported(TRAINING)`, the export
        of the policy.

        Args:
            iteration: The initial model and dialogues; it creates the stages that all methods share.
            goal: One of `goals`.
        """

    @property
    def policy(self) -> str:
        """The name of the goal that trains the policy."""
        return list(self.goals)[-1]


def paper_epochs(domain: str) -> int:
    """Return the paper's number of epochs for training on pairs or successes; 4 for domains outside the paper."""
    return EPOCHS.get(domain, 4)


def only_log_ratios(table: str, settings: TrainSettings) -> Iterator[str]:
    """Yield a problem if the settings would train a policy as a value model."""
    if settings.score != "log-ratio":
        yield f"{table}.train.score: only the critic can be a value model (critic.train.score)"


@cache
def methods() -> tuple[Method, ...]:
    """Return the installed methods, sorted by name.

    Raises UserError if a method cannot be loaded, is incomplete, has the same name, table or goal as another method, or
    has a table with the name of a common recipe key.
    """
    found = tuple(_load(point) for point in sorted(entry_points(group=GROUP), key=lambda p: p.name))
    _refuse_shared(found)
    return found


def _load(point: EntryPoint) -> Method:
    try:
        method: Method = point.load()()
    except Exception as cause:
        raise UserError(
            f"the method `{point.name}` of {point.value} cannot be loaded\n{describe_exception(cause)}"
        ) from cause
    if flaw := next(_flaws(method, point.name), ""):
        raise UserError(f"the method `{point.name}`: {point.value} {flaw}; see docs/new-method.md")
    return method


def _flaws(method: object, name: str) -> Iterator[str]:
    if not isinstance(method, Method):
        yield "is not a subclass of sweet_rl_trainer.pipeline.method.Method"
    elif (own := getattr(method, "name", None)) != name:
        yield f"has the `name` {own!r}, but its entry point is called {name!r}; both must be the same"
    elif not getattr(method, "goals", None):
        yield "has no `goals`; the last goal must train the policy"


def _refuse_shared(found: Sequence[Method]) -> None:
    """Raise UserError if two methods share a name, table or goal, or if a table has the name of a common recipe key."""
    every = dict.fromkeys((*Recipe.__struct_fields__, COMMON), "by every recipe")
    for kind, owners, names in (
        ("name", dict[str, str](), [(each.name,) for each in found]),
        ("table", every, [each.tables for each in found]),
        ("goal", dict[str, str](), [each.goals for each in found]),
    ):
        for method, own in zip(found, names, strict=True):
            for name in own:
                if name in owners:
                    raise UserError(
                        f"the {kind} `{name}` of the method `{method.name}` is already used "
                        f"{owners[name]}; rename the {kind}, or uninstall the package of `{method.name}`"
                    )
                owners[name] = f"by the method `{method.name}`"


def find_method(name: str) -> Method:
    """Return a method by its name. Raises UserError if no method with this name is installed."""
    known = {method.name: method for method in methods()}
    if name not in known:
        hint = did_you_mean(name, known, then=f"installed: {', '.join(known)}")
        raise UserError(f"method: {name} is not installed{hint}")
    return known[name]


def method_of(goal: str) -> Method:
    """Return the method that defines a goal. Raises UserError if no method defines it."""
    for method in methods():
        if goal in method.goals:
            return method
    known = goals()
    raise UserError(
        f"--until {goal}: expected one of {', '.join(known)}{did_you_mean(goal, known)}"
    )


def goals() -> dict[str, str]:
    """Return the goals of all methods, with their descriptions."""
    return {goal: text for method in methods() for goal, text in method.goals.items()}
