"""New tasks from any seed: `generated:DOMAIN/SEED?number=…&difficulty=…&families=…`.

A seed that nobody has seen is a test set that nobody has trained on. Tasks of every seed but `train` are drawn from
the test side of `splits`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, get_args
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, Struct

from colbench.errors import UserError
from colbench.task import Domain, Task
from colbench_tasks import generate as backend
from colbench_tasks.families import FAMILIES
from colbench_tasks.frontend import generate as frontend
from colbench_tasks.frontend.kinds import KINDS
from colbench_tasks.generate import GeneratorError

SEED = re.compile(r"[\w.-]+")
HARDEST = max(len(family.decisions) for family in FAMILIES.values())
Make = Callable[[int], list[Task]]
"""So many tasks of one family or kind of page."""


class Wishes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may follow the seed."""

    number: Annotated[int, Meta(ge=1, le=100_000)] = 100
    difficulty: Annotated[int, Meta(ge=backend.FEWEST_HIDDEN, le=HARDEST)] | None = None
    """How many decisions each task hides (backend); without it they differ in that."""
    families: str = ""
    """Only these, with commas between them."""


def load(argument: str) -> list[Task]:
    """The tasks that `DOMAIN/SEED?…` describes, the same on every machine.

    Raises UserError naming what is wrong with the description, or if a family has not so many tasks.
    """
    place, _, query = argument.partition("?")
    domain, _, seed = place.partition("/")
    if domain not in get_args(Domain) or not SEED.fullmatch(seed):
        raise UserError(
            f"--tasks generated:{argument}: expected generated:backend/SEED or generated:frontend/SEED, the seed of "
            "letters, digits, `.`, `_` and `-`"
        )
    try:
        wishes = msgspec.convert(dict(parse_qsl(query, strict_parsing=True)), Wishes, strict=False)
        return make(domain, seed, wishes)
    except (ValueError, GeneratorError) as cause:
        raise UserError(
            f"--tasks generated:{argument}: {cause}; after the seed there may be "
            "?number=100&difficulty=5&families=parking,hotel"
        ) from cause


def make(
    domain: str,
    seed: str,
    wishes: Wishes,
    watched: Callable[[list[Make]], Iterable[Make]] = iter,
) -> list[Task]:
    """The tasks, the families in turn. `watched` passes on what makes each family's and may show progress.

    Raises ValueError if there is no such family, GeneratorError if one has not so many tasks.
    """
    makers = _frontend(seed, wishes) if domain == "frontend" else _backend(seed, wishes)
    each = -(-wishes.number // len(makers))
    by_family = [maker(each) for maker in watched(makers)]
    in_turn = [task for tasks in zip(*by_family, strict=True) for task in tasks]
    return in_turn[: wishes.number]


def _backend(seed: str, wishes: Wishes) -> list[Make]:
    least = wishes.difficulty or 0
    able = {name: family for name, family in FAMILIES.items() if len(family.decisions) >= least}
    return [
        partial(backend.generate, able[name], seed=seed, difficulty=wishes.difficulty)
        for name in _chosen(able, wishes)
    ]


def _frontend(seed: str, wishes: Wishes) -> list[Make]:
    if wishes.difficulty:
        raise ValueError("difficulty is for backend tasks")
    kinds = {kind.name: kind for kind in KINDS}
    return [partial(frontend.generate, kinds[name], seed=seed) for name in _chosen(kinds, wishes)]


def _chosen(known: Mapping[str, object], wishes: Wishes) -> Sequence[str]:
    names = wishes.families.split(",") if wishes.families else list(known)
    for name in names:
        if name not in known:
            raise ValueError(f"no family {name!r} there; known: {', '.join(known)}")
    return names
