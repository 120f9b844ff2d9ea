"""The bundled pages: varied, well formed, the same everywhere, and hidden behind vague requests."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from difflib import SequenceMatcher
from html.parser import HTMLParser
from itertools import combinations

import msgspec
import pytest

from colbench.pages.extract import extract_page
from colbench.task import Task, row_from_task, task_from_row
from colbench_tasks.bundled import SETS, load
from colbench_tasks.frontend.design import OPTIONS
from colbench_tasks.frontend.generate import alike, generate
from colbench_tasks.frontend.kinds import KINDS
from colbench_tasks.frontend.markup import TAILWIND, element, field, words
from colbench_tasks.frontend.subjects import subjects

DIGEST = "1f6d475f927b87e89b046fc6a25b223a126f473d197ddd8dd050708866425282"
"""SHA-256 of the set as JSON lines. Changes only when a kind or the generator does, on purpose."""
VOID = {"link", "img", "input"}


class Outline(HTMLParser):
    """Open elements, texts and pictures of a page; an end tag that does not fit is an error."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.texts: list[str] = []
        self.pictures: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        if tag == "img":
            self.pictures.append(dict(attrs)["src"] or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())


def outline(task: Task) -> Outline:
    return Outline(task.hidden.reference)


def test_the_set_is_varied_and_the_same_bytes_everywhere() -> None:
    tasks = load("frontend")
    assert len(tasks) == 40
    assert Counter(task.family for task in tasks) == {kind.name: SETS["frontend"] for kind in KINDS}
    assert {task.domain for task in tasks} == {"frontend"}
    lines = b"\n".join(msgspec.json.encode(row_from_task(task)) for task in tasks)
    assert hashlib.sha256(lines).hexdigest() == DIGEST


def test_ids_requests_and_pages_are_all_different() -> None:
    tasks = load("frontend")
    for field_name in ("id", "request", "hash"):
        assert len({getattr(task, field_name) for task in tasks}) == len(tasks), field_name
    assert len({task.hidden.reference for task in tasks}) == len(tasks)


def test_no_two_pages_are_nearly_alike() -> None:
    lines = {task.id: task.hidden.reference.splitlines() for task in load("frontend")}
    alike = {
        (one, other): SequenceMatcher(None, lines[one], lines[other], autojunk=False).ratio()
        for one, other in combinations(lines, 2)
    }
    assert max(alike.values()) < 0.75, max(alike, key=lambda pair: alike[pair])


def test_every_page_is_one_well_formed_document_with_tailwind() -> None:
    for task in load("frontend"):
        page = outline(task)
        assert page.open == [], task.id
        assert page.tags["html"] == page.tags["body"] == page.tags["link"] == 1
        assert TAILWIND in task.hidden.reference
        assert extract_page(task.hidden.reference) == task.hidden.reference
        assert extract_page(task.hidden.reference, "official") == task.hidden.reference


def test_pictures_have_the_addresses_of_the_official_rows() -> None:
    pictures = [source for task in load("frontend") for source in outline(task).pictures]
    assert len(pictures) >= 30
    for source in pictures:
        assert re.fullmatch(r"https://picsum\.photos/id/\d+/\d+/\d+", source)


def test_each_kind_has_what_it_is_named_after() -> None:
    has = {
        "gallery": lambda page: page.tags["img"] >= 4,
        "contact": lambda page: page.tags["input"] >= 3 and page.tags["form"] == 1,
        "login": lambda page: "Sign in" in page.texts,
        "article": lambda page: page.tags["blockquote"] == 1,
        "timetable": lambda page: page.tags["table"] == 1,
        "shop": lambda page: "Add to cart" in page.texts,
        "pricing": lambda page: "Choose" in page.texts,
    }
    for task in load("frontend"):
        if task.family in has:
            assert has[task.family](outline(task)), task.id


def test_a_request_is_short_and_holds_no_hidden_design() -> None:
    hidden = {str(option) for options in OPTIONS.values() for option in options if option}
    for task in load("frontend"):
        assert 5 <= len(task.request.split()) <= 40
        assert "$" not in task.request
        assert not re.search(r"\ba [aeiou]", task.request)
        names = {name for name in hidden if "-" in name} | set(OPTIONS["accent"])
        assert not names & set(re.findall(r"[\w-]+", task.request)), task.request


def test_a_task_survives_the_official_schema() -> None:
    for task in load("frontend"):
        assert task_from_row(row_from_task(task)) == task


def test_a_kind_can_grow_and_what_was_there_stays() -> None:
    kind = KINDS[0]
    few, more = generate(kind, 4, "frontend"), generate(kind, 12, "frontend")
    assert more[:4] == few
    assert len({task.hidden.reference for task in more}) == 12


def test_a_kind_that_cannot_give_so_many_says_so() -> None:
    narrow = msgspec.structs.replace(KINDS[0], requests=("The same page again.",))
    with pytest.raises(RuntimeError, match="landing: only 1 of 2 tasks differ enough"):
        generate(narrow, 2, "frontend")


def test_every_choice_shows_in_some_page() -> None:
    pages = "".join(task.hidden.reference for task in load("frontend"))
    for option in (*OPTIONS["heading"], *OPTIONS["spacing"], *OPTIONS["width"]):
        assert f"{option} " in pages or f'{option}"' in pages, option
    assert all(f"-{accent}-" in pages for accent in OPTIONS["accent"])
    assert all(f"grid-cols-{columns} " in pages for columns in OPTIONS["columns"])


def test_likeness_is_the_share_of_common_lines() -> None:
    assert alike(frozenset("abc"), frozenset("abc")) == 1
    assert alike(frozenset("abc"), frozenset("bcde")) == 2 / 5


def test_subjects_are_whole_and_each_has_its_own_trade() -> None:
    for subject in subjects():
        assert len(subject.items) == 6
        assert len(subject.links) >= 3
        assert all(item.name and item.number and item.text for item in subject.items)
    assert len({subject.trade for subject in subjects()}) == len(subjects()) == 12


def test_markup_is_indented_and_escaped() -> None:
    inner = words("p", "", "Fish & <chips>")
    assert inner == "<p>Fish &amp; &lt;chips&gt;</p>"
    assert element("div", "a  b", inner, "") == f'<div class="a b">\n  {inner}\n</div>'
    assert field("", "text", 'say "x"') == '<input type="text" placeholder="say &quot;x&quot;">'
