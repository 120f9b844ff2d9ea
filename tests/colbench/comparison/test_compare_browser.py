"""The page of a comparison in a real browser: offline use, filters, keys, and dialogues side by side."""

from __future__ import annotations

import re
from itertools import product

import pytest
from marking import mostly
from msgspec.structs import replace
from playwright.sync_api import expect

import colbench
from colbench.comparison.page import render_page

PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
MARKUP = "<script>hit=1</script><img src=x onerror=hit=1>\"'&amp;<b onclick=hit=1>"
"""Hostile content; the page must never set `hit`."""


@pytest.fixture
def address(played, rewrite, tmp_path):
    """Return the address of the page of three runs, one of which contains markup."""

    def hostile(rollout):
        turns = tuple(
            replace(
                turn, said=f"{MARKUP} {turn.said}", human=turn.human and f"{MARKUP} {turn.human}"
            )
            for turn in rollout.turns
        )
        return replace(rollout, turns=turns, answer=f"</pre>{MARKUP}{rollout.answer}")

    runs = [
        played["interviewer"],
        rewrite(played["demonstrator"], hostile),
        played["guesser"],
    ]
    page = tmp_path / "compare.html"
    page.write_text(render_page(colbench.compare(*runs), runs), "utf-8")
    return page.as_uri()


@pytest.mark.parametrize(
    ("viewport", "scheme"),
    mostly(pytest.mark.weekly, product((LAPTOP, PHONE), ("light", "dark")), (LAPTOP, "light")),
)
def test_the_page_and_an_open_task_break_no_accessibility_rule(
    opened, address, violations, viewport, scheme
):
    page = opened(viewport=viewport, color_scheme=scheme)
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert violations(page) == []
    page.locator(".list tbody a").first.click()
    expect(page.locator("dialog[open] .side").first).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("typeof hit") == "undefined"


def test_the_list_is_filtered_by_text_and_by_the_better_run(opened, address):
    page = opened()
    page.goto(address)
    rows, shown = page.locator(".list tbody tr"), page.locator(".tools output")
    everything = rows.count()
    assert everything > 2
    first = page.locator(".list tbody a").first.inner_text()
    page.get_by_label("Find").fill(first)
    assert rows.count() == 1
    expect(shown).to_have_text(re.compile(rf"1 of {everything} tasks"))
    page.get_by_label("Find").fill("")
    page.get_by_label("Show").select_option(label="C better than A")
    assert rows.count() == 0
    page.get_by_label("Show").select_option(label="A better than C")
    assert 0 < rows.count() <= everything


def test_a_task_shows_its_dialogues_side_by_side_with_revealed_decisions(opened, address):
    page = opened()
    page.goto(address)
    name = page.locator(".list tbody a").first.inner_text()
    page.locator(".list tbody a").first.click()
    dialog = page.locator("dialog[open]")
    expect(dialog.locator("h2")).to_have_text(name)
    sides = dialog.locator(".trial:not([hidden]) .side")
    expect(sides).to_have_count(3)
    boxes = [side.bounding_box() for side in sides.all()]
    assert len({round(box["y"]) for box in boxes}) == 1
    assert boxes[0]["x"] < boxes[1]["x"] < boxes[2]["x"]
    assert "reveals" in sides.nth(0).inner_text()
    assert "Never revealed:" in sides.nth(2).inner_text()
    assert "def " in sides.nth(0).locator("pre").inner_text()
    dialog.get_by_role("button", name="Trial 2").click()
    expect(dialog.locator(".trial[data-trial='2']")).to_be_visible()
    expect(dialog.locator(".trial[data-trial='1']")).to_be_hidden()


def test_keys_move_between_tasks_and_a_link_opens_a_task(opened, address):
    page = opened()
    page.goto(address)
    names = page.locator(".list tbody a").all_inner_texts()
    title = page.locator("#task-title")
    page.keyboard.press("j")
    expect(title).to_have_text(names[0])
    page.keyboard.press("j")
    expect(title).to_have_text(names[1])
    page.keyboard.press("k")
    expect(title).to_have_text(names[0])
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_label("Find")).to_be_focused()
    page.goto(f"{address}#task={names[2]}")
    page.reload()
    expect(title).to_have_text(names[2])


def test_the_dialogues_of_a_task_are_stacked_on_a_phone(opened, address):
    page = opened(viewport=PHONE)
    page.goto(address)
    page.locator(".list tbody a").first.click()
    sides = page.locator("dialog[open] .trial:not([hidden]) .side")
    expect(sides.first).to_be_visible()
    boxes = [side.bounding_box() for side in sides.all()]
    assert len({round(box["x"]) for box in boxes}) == 1
    assert boxes[0]["y"] < boxes[1]["y"] < boxes[2]["y"]


def test_a_forced_comparison_shows_the_different_settings(opened, played, with_record, tmp_path):
    runs = [played["interviewer"], with_record(played["guesser"], config_pins={"max_turns": 5})]
    file = tmp_path / "compare.html"
    file.write_text(render_page(colbench.compare(*runs, force=True), runs), "utf-8")
    page = opened()
    page.goto(file.as_uri())
    expect(page.locator(".forced")).to_have_text(
        "Different settings: max_turns is 10 in A, 5 in B."
    )


SHOWN = """() => {
  window.seen = 0;
  const count = () => { window.seen += document.querySelector(".comparison .side") ? 1 : 0; };
  new MutationObserver(count).observe(document.querySelector(".comparison"), { childList: true });
}"""
"""A script that counts in `seen` how often the page shows the dialogues of a task."""


def test_only_the_task_that_was_opened_last_is_shown(opened, address):
    page = opened()
    page.goto(address)
    page.evaluate(SHOWN)
    page.evaluate("lists[0].tasks.slice(0, 3).forEach((task) => openTask(lists[0], task))")
    page.locator(".comparison .side").first.wait_for()
    page.evaluate("new Promise((resolve) => setTimeout(resolve, 300))")
    assert page.evaluate("seen") == 1


def test_a_malformed_link_opens_no_task(opened, address):
    page = opened()
    page.goto(f"{address}#task=%E0%A4%A")
    expect(page.locator(".list tbody tr").first).to_be_visible()
    expect(page.locator("dialog[open]")).to_have_count(0)


def test_a_trial_keeps_its_number_if_an_earlier_trial_is_missing(opened, played, rewrite, tmp_path):
    runs = [
        rewrite(played[name], lambda r: r if r.trial == 1 else None)
        for name in ("interviewer", "guesser")
    ]
    file = tmp_path / "compare.html"
    file.write_text(render_page(colbench.compare(*runs), runs), "utf-8")
    page = opened()
    page.goto(file.as_uri())
    page.locator(".list tbody a").first.click()
    expect(page.locator("dialog[open] .trial")).to_have_attribute("data-trial", "2")
