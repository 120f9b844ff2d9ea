"""New tasks from any seed: `generated:DOMAIN/SEED?number=…&difficulty=…&families=…`.

A seed that nobody has seen is a test set that nobody has trained on. Tasks of every seed but `train` are drawn from
the test side of `splits`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import get_args
from urllib.parse import parse_qsl

from msgspec import Struct
from msgspec.structs import replace

from colbench.errors import UserError
from colbench.task import Task
from colbench_tasks import generate as backend
from colbench_tasks.families import FAMILIES
from colbench_tasks.frontend import generate as frontend
from colbench_tasks.frontend.kinds import KINDS
from colbench_tasks.generate import GeneratorError
from colbench_tasks.progress import shown

SEED = re.compile(r"[\w.-]+")
MOST = 100_000
HARDEST = max(len(family.decisions) for family in FAMILIES.values())
Make = Callable[[int], Iterator[Task]]
"""So many tasks of one family or kind of page."""


class Wishes(Struct, frozen=True, kw_only=True):
    """What may follow the seed."""

    number: int = 100
    difficulty: int | None = None
    """How many decisions each task hides (backend); without it they differ in that."""
    families: tuple[str, ...] = ()
    """Only these; empty: all."""


def load(argument: str) -> list[Task]:
    """The tasks that `DOMAIN/SEED?…` describes, the same on every machine.

    Raises UserError naming what is wrong with the description, or if a family has not so many tasks.
    """
    place, _, query = argument.partition("?")
    domain, _, seed = place.partition("/")
    if domain not in get_args(str) or not SEED.fullmatch(seed):
        raise UserError(
            f"--tasks generated:{argument}: expected generated:backend/SEED or generated:frontend/SEED, the seed of "
            "letters, digits, `.`, `_` and `-`"
        )
    try:
        return make(domain, seed, _wishes(query), f"generated:{domain}/{seed}")
    except (ValueError, GeneratorError) as cause:
        raise UserError(
            f"--tasks generated:{argument}: {cause}; after the seed there may be "
            "?number=100&difficulty=5&families=parking,hotel"
        ) from cause


def make(domain: str, seed: str, wishes: Wishes, source: str) -> list[Task]:
    """The tasks, the families in turn; progress is shown under the name of the source.

    Raises ValueError if there is no such family, GeneratorError if one has not so many tasks.
    """
    makers = _frontend(seed, wishes) if domain == "frontend" else _backend(seed, wishes)
    each = -(-wishes.number // len(makers))
    by_family = chain.from_iterable(maker(each) for maker in makers)
    tasks = list(shown(by_family, each * len(makers), source))
    in_turn = [task for first in range(each) for task in tasks[first::each]]
    return in_turn[: wishes.number]


def _wishes(query: str) -> Wishes:
    pairs = parse_qsl(query, strict_parsing=True, keep_blank_values=True)
    for key, times in Counter(key for key, _ in pairs).items():
        if key not in READ:
            raise ValueError(f"unknown `{key}`; known are {', '.join(READ)}")
        if times > 1:
            raise ValueError(f"{key} is given {times} times")
    return replace(Wishes(), **{key: READ[key](text) for key, text in pairs})


def _number(text: str, *, key: str, least: int, most: int) -> int:
    if not (text.isdecimal() and least <= int(text) <= most):
        raise ValueError(f"{key}={text}: expected a whole number from {least} to {most:,}")
    return int(text)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    for name, times in Counter(names).items():
        if not name:
            raise ValueError(f"families={text}: expected names with commas between them")
        if times > 1:
            raise ValueError(f"families={text}: {name} is there {times} times")
    return names


READ: Mapping[str, Callable[[str], object]] = {
    "number": partial(_number, key="number", least=1, most=MOST),
    "difficulty": partial(_number, key="difficulty", least=backend.FEWEST_HIDDEN, most=HARDEST),
    "families": _names,
}
"""What may be wished for, and how its text is read; each raises ValueError."""


def _backend(seed: str, wishes: Wishes) -> list[Make]:
    least = wishes.difficulty or 0
    decisions = {name: len(family.decisions) for name, family in FAMILIES.items()}
    names = _chosen(FAMILIES, wishes)
    for name in wishes.families:
        if decisions[name] < least:
            raise ValueError(
                f"difficulty={least}: family {name} has only {decisions[name]} decisions to hide"
            )
    return [
        partial(backend.stream, FAMILIES[name], seed=seed, difficulty=wishes.difficulty)
        for name in names
        if decisions[name] >= least
    ]


def _frontend(seed: str, wishes: Wishes) -> list[Make]:
    if wishes.difficulty:
        raise ValueError("difficulty is for backend tasks")
    kinds = {kind.name: kind for kind in KINDS}
    return [partial(frontend.stream, kinds[name], seed=seed) for name in _chosen(kinds, wishes)]


def _chosen(known: Mapping[str, object], wishes: Wishes) -> Sequence[str]:
    names = wishes.families or tuple(known)
    for name in names:
        if name not in known:
            raise ValueError(f"no family {name!r} there; known: {', '.join(known)}")
    return names
