"""Frontend tasks of a kind, from a seed: a subject, a plan and a design drawn for each, no two nearly alike."""

from __future__ import annotations

import re
from random import Random
from string import Template

from msgspec.structs import replace

from colbench.config import derive_seed
from colbench.task import Hidden, Task
from colbench_tasks.frontend.design import draw
from colbench_tasks.frontend.kinds import Kind
from colbench_tasks.frontend.markup import page
from colbench_tasks.frontend.subjects import Subject, subjects

STYLES = (
    "clean",
    "warm",
    "modern",
    "friendly",
    "minimalist",
    "bold",
    "quiet",
    "classic",
    "bright",
    "elegant",
)
BEFORE_VOWEL = re.compile(r"\b([Aa])(?= [aeiou])")
MOST_ALIKE = 0.5
"""Two pages of one kind share at most so much of their lines (Jaccard index)."""


def generate(kind: Kind, number: int, seed: str) -> list[Task]:
    """The first `number` tasks of a kind under a seed's name.

    Raises RuntimeError if the kind has not so many that differ enough.
    """
    requests: set[str] = set()
    pages: list[frozenset[str]] = []
    tasks: list[Task] = []
    for attempt in range(20 * number + 10):
        random = Random(derive_seed(seed, kind.name, attempt))  # noqa: S311 - reproducible on purpose
        request, html = _draw(random, kind)
        lines = frozenset(map(str.strip, html.splitlines()))
        if request in requests or any(alike(lines, other) > MOST_ALIKE for other in pages):
            continue
        requests.add(request)
        pages.append(lines)
        tasks.append(_task(kind, len(tasks), request, html))
        if len(tasks) == number:
            return tasks
    raise RuntimeError(f"{kind.name}: only {len(tasks)} of {number} tasks differ enough")


def alike(one: frozenset[str], other: frozenset[str]) -> float:
    """The Jaccard index of two pages' lines: 1 for the same lines, 0 for none in common."""
    return len(one & other) / len(one | other)


def _draw(random: Random, kind: Kind) -> tuple[str, str]:
    """A request and its page."""
    fit = [subject for subject in subjects() if subject.trade not in kind.unfit]
    subject = _shuffled(random, random.choice(fit))
    design = draw(random)
    classes = f"{design.ground_classes} {design.typeface} text-gray-900"
    sections = [section(subject, design) for section in random.choice(kind.plans)]
    return _request(random, kind, subject), page(classes, *sections)


def _shuffled(random: Random, subject: Subject) -> Subject:
    return replace(subject, items=tuple(random.sample(subject.items, len(subject.items))))


def _request(random: Random, kind: Kind, subject: Subject) -> str:
    trade = subject.trade
    request = Template(random.choice(kind.requests)).substitute(
        name=subject.name, trade=trade, Trade=trade.capitalize(), style=random.choice(STYLES)
    )
    return BEFORE_VOWEL.sub(r"\1n", request)


def _task(kind: Kind, number: int, request: str, html: str) -> Task:
    return Task(
        id=f"{kind.name}-{number:04}",
        domain="frontend",
        request=request,
        hidden=Hidden(reference=html, information=html),
        family=kind.name,
    )
