"""Generated pages: varied, well formed, the same in every process, with true facts that vague requests hide."""

from __future__ import annotations

import asyncio
import io
import os
import re
import subprocess
import sys
from collections import Counter
from difflib import SequenceMatcher
from functools import cache
from html.parser import HTMLParser
from itertools import combinations

import msgspec
import numpy as np
import pytest
from PIL import Image

from colbench.pages.extract import extract_page
from colbench.pages.render import PageRenderer, Render
from colbench.task import Task, row_from_task, task_from_row
from colbench_tasks.bundled import SETS
from colbench_tasks.family import Choice, fill
from colbench_tasks.frontend.decisions import DECISIONS, SECTIONS
from colbench_tasks.frontend.generate import ALWAYS, FACE, alike, generate
from colbench_tasks.frontend.kinds import KINDS
from colbench_tasks.frontend.markup import TAILWIND, element, field, words
from colbench_tasks.frontend.sections import SECTIONS as PARTS
from colbench_tasks.frontend.subjects import trades
from colbench_tasks.generate import GeneratorError
from colbench_tasks.splits import side

VOID = {"link", "img", "input"}
EACH = 20
"""Number of pages of each kind in the test set."""


@cache
def pages() -> tuple[Task, ...]:
    """Return the test set, sorted by kind."""
    return tuple(task for kind in KINDS for task in generate(kind, EACH, "test"))


class Outline(HTMLParser):
    """Open elements, classes, texts and pictures of a page; an end tag that does not fit is an error."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.classes: dict[str, list[str]] = {}
        self.texts: list[str] = []
        self.pictures = re.findall(r'(?:src="|url\()(.*?)["\)]', page)
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.classes.setdefault(tag, []).append(f" {dict(attrs).get('class', '')} ")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())

    def has(self, *names: str) -> bool:
        """Return True if one element has all these classes."""
        every = (classes for group in self.classes.values() for classes in group)
        return any(all(f" {name} " in classes for name in names) for classes in every)


@cache
def parsed(page: str) -> Outline:
    return Outline(page)


def outline(task: Task) -> Outline:
    return parsed(task.hidden.reference)


def design(task: Task) -> dict[str, Choice]:
    """Return the choice of each decision, found from the statements of the facts."""
    said = {fact.name: fact.statement for fact in task.hidden.facts}
    return {
        decision.name: next(
            choice
            for option in decision.options
            for choice in option.choices()
            for says in option.says
            if fill(says, {"value": str(choice.value).replace("gray", "grey")})
            == said[decision.name]
        )
        for decision in DECISIONS
        if decision.name in said
    }


def order(task: Task) -> str:
    """Return the parts of the page as the last fact lists them, without the words before the list."""
    return re.sub(r"^.*(?: there is |this order: )", "", task.hidden.facts[-1].statement)


def test_the_pages_cover_all_kinds_and_many_trades() -> None:
    pinned = set(SETS["frontend/test"].families)
    assert len(pinned) == 25
    assert pinned <= {kind.name for kind in KINDS}
    assert len(trades()) == 34
    assert Counter(task.family for task in pages()) == dict.fromkeys((k.name for k in KINDS), EACH)
    assert {task.domain for task in pages()} == {"frontend"}


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_same_seed_gives_the_same_tasks_in_any_process(hash_seed: str) -> None:
    code = (
        "from colbench_tasks.frontend.generate import generate\n"
        "from colbench_tasks.frontend.kinds import KINDS\n"
        "for task in generate(KINDS[0], 5, 'test'): print(task.hash)"
    )
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.split() == [task.hash for task in pages()[:5]]


def test_ids_requests_and_pages_are_all_different() -> None:
    for name in ("id", "request", "hash"):
        assert len({getattr(task, name) for task in pages()}) == len(pages()), name
    assert len({task.hidden.reference for task in pages()}) == len(pages())


def test_no_two_pages_of_a_kind_look_the_same_at_first_glance() -> None:
    faces = Counter(
        (task.family, order(task), *(design(task).get(name) for name in FACE)) for task in pages()
    )
    assert max(faces.values()) == 1


def test_no_two_pages_are_nearly_the_same() -> None:
    lines = {task.id: task.hidden.reference.splitlines() for task in pages()[::4]}
    likeness = {
        (one, other): SequenceMatcher(None, lines[one], lines[other], autojunk=False).quick_ratio()
        for one, other in combinations(lines, 2)
    }
    assert max(likeness.values()) < 0.75, max(likeness, key=lambda pair: likeness[pair])


def test_training_and_test_pages_share_no_request_and_no_design() -> None:
    train = [task for kind in KINDS[:5] for task in generate(kind, 100, "train")]
    assert {side(task.request) for task in train} == {"train"}
    assert {side(task.request) for task in pages()} == {"test"}
    designs = {
        name: {(task.family, order(task), *design(task).values()) for task in tasks}
        for name, tasks in (("train", train), ("test", pages()))
    }
    assert not designs["train"] & designs["test"]
    assert {side(task.request) for kind in KINDS for task in generate(kind, 1, "x")} == {"test"}


def test_every_page_is_one_well_formed_document_with_tailwind() -> None:
    for task in pages():
        page = outline(task)
        assert page.open == [], task.id
        assert page.tags["html"] == page.tags["body"] == page.tags["link"] == page.tags["h1"] == 1
        assert TAILWIND in task.hidden.reference
        assert extract_page(task.hidden.reference) == task.hidden.reference
        assert extract_page(task.hidden.reference, "official") == task.hidden.reference


def test_picture_addresses_have_the_form_of_the_official_rows() -> None:
    pictures = [source for task in pages() for source in outline(task).pictures]
    assert len(pictures) >= 1000
    for source in pictures:
        assert re.fullmatch(r"https://picsum\.photos/id/\d+/\d+/\d+", source)


def test_pages_contain_the_elements_that_their_kind_requires() -> None:
    has = {
        "gallery": lambda page: len(page.pictures) >= 4,
        "contact": lambda page: page.tags["input"] >= 3 and page.tags["form"] >= 1,
        "login": lambda page: page.tags["input"] >= 2 and "Password" not in page.texts,
        "register": lambda page: page.tags["input"] >= 3,
        "article": lambda page: page.tags["blockquote"] == 1,
        "timetable": lambda page: page.tags["table"] or any(":" in text for text in page.texts),
        "booking": lambda page: page.tags["input"] >= 4,
        "cart": lambda page: "Total" in page.texts,
        "listings": lambda page: len(page.pictures) >= 2,
        "questions": lambda page: sum(text.endswith("?") for text in page.texts) >= 4,
    }
    for task in pages():
        if task.family in has:
            assert has[task.family](outline(task)), task.id


def test_a_page_has_8_to_14_facts_with_the_order_of_its_parts_last() -> None:
    for task in pages():
        names = [fact.name for fact in task.hidden.facts]
        assert 8 <= len(names) <= 14, task.id
        assert set(names) > ALWAYS
        assert names[-1] == SECTIONS.name
        assert len(set(names)) == len(names)
        assert all(part.strip() for part in order(task).split("; then "))
        assert not any("$" in fact.statement for fact in task.hidden.facts)


def test_no_two_decisions_share_a_topic_or_a_statement() -> None:
    decisions = (*DECISIONS, SECTIONS)
    topics = Counter(topic for decision in decisions for topic in decision.topics)
    said = Counter(s for d in decisions for option in d.options for s in option.says)
    assert max(topics.values()) == max(said.values()) == 1
    assert all(len(d.asks) >= 2 and len(o.says) >= 2 for d in decisions for o in d.options)


def test_the_page_has_the_colors_of_its_facts() -> None:
    for task in pages():
        page, chosen = outline(task), design(task)
        hue, tone = chosen["accent"].value, chosen["accent"].option.code
        assert re.search(rf"(bg|border)-{hue}-{tone}", task.hidden.reference), task.id
        (body,) = page.classes["body"]
        ground = {
            "white": "bg-white",
            "gray": "bg-gray-100",
            "stone": "bg-gray-300",
            "faint": f"bg-{hue}-50",
            "tinted": f"bg-{hue}-100",
            "dark": "bg-gray-900",
        }[chosen["ground"].option.code]
        assert f" {ground} " in body
        bar = (page.classes.get("header") or page.classes["aside"])[0]
        back = {
            "white": "bg-white",
            "accent": f"bg-{hue}-{tone}",
            "deep": f"bg-{hue}-900",
            "black": "bg-black",
            "plain": "border-",
        }[chosen["bar"].option.code]
        assert back in bar, task.id


def test_the_page_has_the_navigation_and_the_footer_of_its_facts() -> None:
    for task in pages():
        page, chosen = outline(task), design(task)
        navigation, footer = chosen["navigation"].option.code, chosen["footer"].option.code
        assert ("header" not in page.classes) == (navigation == "side")
        header = page.classes.get("header", [""])[0]
        assert ("justify-between" in header) == (navigation == "split")
        assert ("text-center" in header) == (navigation == "stacked")
        back = page.classes["footer"][0]
        assert ("bg-black" in back) == (footer in ("black", "columns")), task.id
        assert ("bg-gray-200" in back) == (footer == "light")
        assert ("text-center" in back) == (footer in ("line", "black"))


def test_the_page_has_the_shapes_of_its_facts() -> None:
    looks = {
        "shadow": "shadow-xl",
        "border": "border",
        "tinted": "text-gray-900",
        "topped": "border-t-8",
        "black": "bg-black",
    }
    for task in pages():
        page, chosen = outline(task), design(task)
        size, align = chosen["headline"].option.code, chosen["headline"].value
        (headline,) = page.classes["h1"]
        assert f" {size} " in headline, task.id
        other = "text-left" if align == "centred" else "text-center"
        assert all(other not in title for title in page.classes.get("h2", ()) if "mb-6" in title)
        if "columns" in chosen:
            assert page.has("grid", f"grid-cols-{chosen['columns'].value}"), task.id
        if "card" in chosen and chosen["card"].option.code in looks:
            assert page.has(looks[chosen["card"].option.code]), task.id
        if "buttons" in chosen:
            assert "button" in page.classes, task.id
            outlined = chosen["buttons"].option.code == "outlined"
            assert any("border-2" in button for button in page.classes["button"]) == outlined or (
                chosen.get("opening") and chosen["opening"].option.code == "overlay"
            )
        else:
            assert "button" not in page.classes, task.id
        if "corners" in chosen and chosen["corners"].option.code == "sharp":
            assert not re.search(r"rounded(-lg|-xl|-3xl)?[ \"]", task.hidden.reference), task.id


def test_a_request_is_short_and_reveals_no_hidden_design() -> None:
    choices = [choice for d in DECISIONS for option in d.options for choice in option.choices()]
    hidden = {str(c.value) for c in choices if c.value} | {"grey", "serif", "left"}
    for task in pages():
        assert 5 <= len(task.request.split()) <= 50
        assert 1 <= len(re.findall(r"[.?!](?=\s|$)", task.request)) <= 3
        assert "$" not in task.request
        assert not re.search(r"\ba [aeiou]", task.request)
        assert not hidden & set(re.findall(r"[\w-]+", task.request)), task.request


def test_a_task_round_trips_through_the_official_schema() -> None:
    for task in pages():
        row = msgspec.json.decode(msgspec.json.encode(row_from_task(task)))
        assert task_from_row(row) == task


def test_generating_more_pages_of_a_kind_keeps_the_first_ones() -> None:
    few, more = generate(KINDS[0], 4, "test"), generate(KINDS[0], 12, "test")
    assert more[:4] == few
    assert len({task.hidden.reference for task in more}) == 12


def test_a_kind_with_too_few_different_pages_is_refused() -> None:
    narrow = msgspec.structs.replace(KINDS[0], requests=("The same page again.",))
    with pytest.raises(GeneratorError, match=r"home has only about \d+ different tasks"):
        generate(narrow, 40, "test")


def test_every_option_and_every_section_is_on_some_page() -> None:
    chosen = {(name, choice.option.code) for t in pages() for name, choice in design(t).items()}
    assert chosen == {(d.name, option.code) for d in DECISIONS for option in d.options}
    orders = " ".join(task.hidden.facts[-1].statement for task in pages())
    for name, part in PARTS.items():
        assert part.says in orders, name


def test_similarity_is_the_share_of_common_lines() -> None:
    assert alike(frozenset("abc"), frozenset("abc")) == 1
    assert alike(frozenset("abc"), frozenset("bcde")) == 2 / 5


def test_trades_are_complete_and_share_no_business_name() -> None:
    for trade in trades():
        assert len(trade.items) == 6
        assert len(trade.links) == len(trade.figures) == 4
        assert len(trade.names) == 5
        assert all(item.name and item.price and item.text for item in trade.items)
    names = Counter(name for trade in trades() for name in (trade.name, *trade.names))
    assert max(names.values()) == 1


def test_markup_is_indented_and_escaped() -> None:
    inner = words("p", "", "Fish & <chips>")
    assert inner == "<p>Fish &amp; &lt;chips&gt;</p>"
    assert element("div", "a  b", inner, "") == f'<div class="a b">\n  {inner}\n</div>'
    assert element("div", "", element("b", "", inner)).splitlines()[2] == f"    {inner}"
    assert field("", "text", 'say "x"') == '<input type="text" placeholder="say &quot;x&quot;">'


def thumbnail(render: Render) -> np.ndarray:
    with Image.open(io.BytesIO(render.picture)) as picture:
        small = picture.convert("RGB").resize((64, 64), Image.Resampling.BOX)
    return np.asarray(small, dtype=float)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colors `#rrggbb` as WCAG 2 defines it, from 1 to 21."""

    def luminance(color: str) -> float:
        channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.weekly
async def test_rendered_pages_are_readable_and_look_different(renderer: PageRenderer) -> None:
    """Render one page of each kind; 3 is the contrast that large text needs."""
    tasks = pages()[::EACH]
    renders = await asyncio.gather(*(renderer.render(task.hidden.reference) for task in tasks))
    for task, render in zip(tasks, renders, strict=True):
        assert (render.outcome, render.refused, render.cut) == ("rendered", (), False), task.id
        written = [
            block for block in render.blocks if block.kind not in ("picture", "input", "box")
        ]
        assert len(written) >= 10, task.id
        for block in written:
            assert contrast(block.color, block.background) > 3, (task.id, block)
            assert 0 <= block.x < block.x + block.width <= render.width, (task.id, block)
    thumbnails = [thumbnail(render) for render in renders]
    differences = [np.abs(one - other).mean() for one, other in combinations(thumbnails, 2)]
    assert min(differences) > 8
