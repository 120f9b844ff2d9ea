"""Generation of frontend tasks from a seed, for one kind of page. No two pages are near-duplicates.

Any two pages of a kind differ in main color, background, bar, navigation, opening or sections. A page is skipped if it
does not show its main color, or if it shares too many lines with a page of the same trade. All designs and requests
belong to the seed's split, which is training or test (`colbench_tasks.splits`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from string import Template

from msgspec import Struct

from colbench.config import derive_seed
from colbench.task import Hidden, Task
from colbench_tasks.frontend.decisions import Choices, draw, facts
from colbench_tasks.frontend.design import Design, from_choices, goes_together
from colbench_tasks.frontend.frame import framed, opening
from colbench_tasks.frontend.kind import Kind, Sections
from colbench_tasks.frontend.markup import element, page
from colbench_tasks.frontend.subjects import Subject
from colbench_tasks.frontend.subjects import draw as draw_subject
from colbench_tasks.generate import FRUITLESS, GeneratorError, too_few
from colbench_tasks.splits import Split, side, split_of

STYLES = (
    *(
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
    ),
    *(
        "playful",
        "serious",
        "inviting",
        "simple",
        "fresh",
        "calm",
        "professional",
        "cosy",
        "lively",
        "plain",
    ),
)
FURTHER = (
    'Most people come for things like "$one" or "$other".',
    "We are best known for one thing: $one.",
    "Our customers are of all ages, so it must be easy to read.",
    "I know it when I see it, so show me something.",
    "I have a picture of it in my head and will tell you what is different.",
    "It is for people who have never heard of us.",
    "Something like what the good ones in our trade have.",
    "Our old page looked like everybody else's.",
    "You may make up the texts, I will correct them.",
)
BEFORE_VOWEL = re.compile(r"\b([Aa])(?= [aeiou])")
ALWAYS = frozenset(("accent", "ground", "bar", "navigation", "headline", "typeface", "footer"))
"""Decisions that are visible on every page."""
FACE = ("accent", "ground", "bar", "navigation", "opening")
TRIES = 1000
"""Maximum number of attempts to draw a design, or a request, that belongs to the split."""
MOST_ALIKE = 0.5
"""Maximum share of lines that two pages of one kind and trade may have in common (Jaccard index)."""


class Draft(Struct, frozen=True, kw_only=True):
    """A page before it is rendered to HTML."""

    kind: Kind
    subject: Subject
    sections: Sections
    choices: Choices
    design: Design

    @property
    def used(self) -> frozenset[str]:
        """Return the names of the decisions that are visible on this page."""
        return _used(self.kind, self.sections, self.choices)

    @property
    def face(self) -> str:
        """Return a key that two pages share if their sections and their visible choices for `FACE` are the same."""
        return _key(self.kind, self.sections, self.choices, self.used.intersection(FACE))

    @property
    def order(self) -> str:
        """Return a description of the page's parts, from top to bottom."""
        parts = [section.says for section in self.sections]
        if self.kind.opens:
            parts.insert(0, "a title" if self.design.opening == "plain" else "an opening")
        return "; then ".join(parts)

    @property
    def html(self) -> str:
        """Return the page as HTML."""
        parts = [section.build(self.subject, self.design) for section in self.sections]
        first = opening(self.subject, self.design) if self.kind.opens else ""
        main = element("main", "flex-grow flex flex-col", first, *parts)
        return page(self.design.body, framed(self.subject, self.design, main))


def generate(kind: Kind, number: int, seed: str) -> list[Task]:
    """Return the tasks of `stream` as a list."""
    return list(stream(kind, number, seed))


def stream(kind: Kind, number: int, seed: str) -> Iterator[Task]:
    """Yield the first `number` tasks of a kind for a seed; the seed also determines the tasks' split (`split_of`).

    Raises GeneratorError if the kind has fewer than `number` tasks that differ enough, or if `TRIES` attempts find no
    design or no request in the split.
    """
    faces: set[str] = set()
    requests: set[str] = set()
    pages: dict[str, list[frozenset[str]]] = {}
    made = last = 0
    for attempt in range(20 * number + 10):
        if attempt - last > FRUITLESS:
            break
        random = Random(derive_seed(seed, kind.name, attempt))  # noqa: S311 - reproducible on purpose
        draft = _draft(random, kind, split_of(seed))
        request = _request(random, draft, split_of(seed))
        if draft.face in faces or request in requests:
            continue
        html = draft.html
        if not draft.design.shows_accent(html):
            continue
        lines = frozenset(map(str.strip, html.splitlines()))
        of_trade = pages.setdefault(draft.subject.trade, [])
        if any(alike(lines, other) > MOST_ALIKE for other in of_trade):
            continue
        faces.add(draft.face)
        requests.add(request)
        of_trade.append(lines)
        yield _task(random, draft, f"{kind.name}-{seed}-{made:04}", request, html)
        made, last = made + 1, attempt
        if made == number:
            return
    reason = "further pages are too similar to these, or do not show their main color"
    raise too_few(kind.name, made, reason)


def alike(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard index of two pages' lines: 1 if all lines are the same, 0 if they have no line in common."""
    return len(one & other) / len(one | other)


def _draft(random: Random, kind: Kind, split: Split) -> Draft:
    """Draw a page whose design belongs to `split`."""
    subject = draw_subject(random, random.choice(kind.trades), kind.titles)
    plan = random.choice(kind.plans)
    others = [section for section in kind.extras if section not in plan]
    sections = (*plan, *random.sample(others, random.randint(kind.fewest, kind.most)))
    pictures = random.randrange(10, 900)
    for _ in range(TRIES):
        choices = draw(random)
        design = from_choices(choices, pictures)
        key = _key(kind, sections, choices, _used(kind, sections, choices))
        if goes_together(design) and side(key) == split:
            return Draft(
                kind=kind, subject=subject, sections=sections, choices=choices, design=design
            )
    raise GeneratorError(
        f"{kind.name}: none of {TRIES} designs is suitable and belongs to the {split} split; use another seed"
    )


def _used(kind: Kind, sections: Sections, choices: Choices) -> frozenset[str]:
    used = set(ALWAYS).union(*(section.uses for section in sections))
    if kind.opens:
        used |= {"opening", "room"}
    if choices["navigation"].option.code == "action" or (
        kind.opens and choices["opening"].option.code != "plain"
    ):
        used.add("buttons")
    if used & {"buttons", "card"}:
        used.add("corners")
    return frozenset(used)


def _key(kind: Kind, sections: Sections, choices: Choices, names: frozenset[str]) -> str:
    """Return a key that two designs share if their kind, sections, and choices for the decisions `names` agree."""
    chosen = [
        f"{name} {choice.option.code} {choice.value}"
        for name, choice in choices.items()
        if name in names
    ]
    parts = [section.build.__name__ for section in sections]
    return f"{kind.name}: {', '.join(chosen)}: {' '.join(parts)}"


def _request(random: Random, draft: Draft, split: Split) -> str:
    """Draw a request that belongs to this split."""
    subject = draft.subject
    one, other = (item.name for item in subject.items[:2])
    for _ in range(TRIES):
        asked = random.choice(draft.kind.requests)
        further = random.choice(FURTHER) if random.random() < 0.5 else ""
        request = Template(f"{asked} {further}".strip()).substitute(
            name=subject.name,
            trade=subject.trade,
            Trade=subject.trade.title(),
            style=random.choice(STYLES),
            one=one,
            other=other,
        )
        request = BEFORE_VOWEL.sub(r"\1n", request)
        if side(request) == split:
            return request
    raise GeneratorError(
        f"{draft.kind.name}: none of {TRIES} requests belongs to the {split} split; use another seed"
    )


def _task(random: Random, draft: Draft, name: str, request: str, html: str) -> Task:
    known = facts(random, draft.choices, draft.used, draft.order)
    return Task(
        id=name,
        domain=Kind.domain,
        request=request,
        hidden=Hidden(reference=html, information=html, facts=known),
        family=draft.kind.name,
    )
