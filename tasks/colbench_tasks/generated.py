"""New tasks from any seed: `generated:DOMAIN/SEED?number=…&difficulty=…&families=…`.

Each possible design and request of a task belongs to the training split or to the test split (see `splits`). The seed
`train` uses only the training split, and all other seeds use only the test split. A new seed therefore gives a test set
that no one has trained on.

Without the option `families`, the tasks come from all installed families with enough decisions for the difficulty. So
the tasks change when a family is installed. With this option, the tasks depend only on the source (domain, seed and
options) and on the versions of the listed families.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from urllib.parse import parse_qsl

from msgspec import Struct
from msgspec.structs import replace

from colbench.config_errors import did_you_mean
from colbench.errors import UserError
from colbench.task import Task
from colbench_tasks import generate as backend
from colbench_tasks.families import FAMILIES
from colbench_tasks.family import Family
from colbench_tasks.frontend import generate as frontend
from colbench_tasks.frontend.kind import Kind
from colbench_tasks.frontend.kinds import KINDS
from colbench_tasks.generate import GeneratorError
from colbench_tasks.progress import shown

SEED = re.compile(r"[\w.-]+")
MOST = 100_000
PAGES = {kind.name: kind for kind in KINDS}
INSTALLED: Mapping[str, Mapping[str, Family | Kind]] = {
    Family.domain: FAMILIES,
    Kind.domain: PAGES,
}
"""The installed families of backend tasks, and the kinds of pages, each by name; the outer key is the domain."""
Make = Callable[[int], Iterator[Task]]
"""A function that takes a number of tasks, and generates this number of tasks of one family or kind of page."""


class Query(Struct, frozen=True, kw_only=True):
    """The options after the seed in a task source, such as `number=100`."""

    number: int = 100
    difficulty: int | None = None
    """Minimum number of decisions that each backend task hides; None for a minimum that varies between tasks."""
    families: tuple[str, ...] = ()
    """The families from which tasks are drawn, in this order; empty: all installed families with enough decisions."""


def load(argument: str) -> list[Task]:
    """Return the tasks that `DOMAIN/SEED?…` describes; machines with the same families get the same tasks.

    Raises UserError if the description is invalid, or if a family cannot be loaded, cannot make a valid task, or has
    fewer tasks than requested.
    """
    place, _, query = argument.partition("?")
    domain, _, seed = place.partition("/")
    if domain not in INSTALLED or not SEED.fullmatch(seed):
        forms = " or ".join(f"generated:{known}/SEED" for known in INSTALLED)
        raise UserError(
            f"--tasks generated:{argument}: expected {forms}, with a seed of letters, digits, "
            "`.`, `_` and `-`"
        )
    try:
        return make(domain, seed, _query(query), f"generated:{domain}/{seed}")
    except (ValueError, GeneratorError) as cause:
        raise UserError(f"--tasks generated:{argument}: {cause}") from cause


def make(domain: str, seed: str, query: Query, source: str) -> list[Task]:
    """Return the tasks that a query describes. A progress bar, if any, shows `source`, the text after `--tasks`.

    The families alternate: the first task of each family, then the second task of each, and so on.

    Raises ValueError if a listed family does not exist or has too few decisions for the difficulty, if all families
    have too few decisions, or if pages are requested with a difficulty. Raises UserError if a family cannot be loaded,
    and GeneratorError if a family cannot make a valid task or has fewer tasks than requested.
    """
    makers = _pages(seed, query) if domain == Kind.domain else _functions(seed, query)
    each = -(-query.number // len(makers))
    by_family = chain.from_iterable(maker(each) for maker in makers)
    tasks = list(shown(by_family, each * len(makers), source))
    in_turn = [task for first in range(each) for task in tasks[first::each]]
    return in_turn[: query.number]


def _query(text: str) -> Query:
    try:
        pairs = parse_qsl(text, strict_parsing=True, keep_blank_values=True)
    except ValueError as cause:
        raise ValueError(
            f"the options `{text}` cannot be read; write them as in `?number=100&difficulty=6`"
        ) from cause
    for key, times in Counter(key for key, _ in pairs).items():
        if key not in READ:
            hint = did_you_mean(key, READ, then=f"known: {', '.join(READ)}")
            raise ValueError(f"unknown option `{key}`{hint}")
        if times > 1:
            raise ValueError(f"{key} is given {times} times")
    return replace(Query(), **{key: READ[key](value) for key, value in pairs})


def _number(text: str, *, key: str, least: int, most: int | None = None) -> int:
    if text.isdecimal() and least <= int(text) <= (most or int(text)):
        return int(text)
    to = f"to {most:,}" if most else "up"
    raise ValueError(f"{key}={text}: expected a whole number from {least} {to}")


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    for name, times in Counter(names).items():
        if not name:
            raise ValueError(
                f"families={text}: a name is empty; expected names, separated by single commas"
            )
        if times > 1:
            raise ValueError(f"families={text}: {name} is given {times} times")
    return names


READ: Mapping[str, Callable[[str], object]] = {
    "number": partial(_number, key="number", least=1, most=MOST),
    "difficulty": partial(_number, key="difficulty", least=backend.FEWEST_HIDDEN),
    "families": _names,
}
"""Functions that parse the text of each option; they raise ValueError if the text is invalid."""


def _functions(seed: str, query: Query) -> list[Make]:
    families = [FAMILIES[name] for name in _chosen(FAMILIES, query)]
    decisions = {family.name: len(family.decisions) for family in families}
    least, most = query.difficulty or 0, max(decisions.values())
    for name in query.families:
        if decisions[name] < least:
            raise ValueError(
                f"difficulty={least}: family {name} has only {decisions[name]} decisions to hide"
            )
    if most < least:
        raise ValueError(f"difficulty={least}: no family has more than {most} decisions to hide")
    return [
        partial(backend.stream, family, seed=seed, difficulty=query.difficulty)
        for family in families
        if decisions[family.name] >= least
    ]


def _pages(seed: str, query: Query) -> list[Make]:
    if query.difficulty:
        raise ValueError("difficulty applies only to backend tasks")
    return [partial(frontend.stream, PAGES[name], seed=seed) for name in _chosen(PAGES, query)]


def _chosen(known: Mapping[str, object], query: Query) -> Sequence[str]:
    names = query.families or tuple(known)
    for name in names:
        if name not in known:
            raise ValueError(f"unknown family {name!r}; known: {', '.join(known)}")
    return names
