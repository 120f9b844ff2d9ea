"""The site in a real browser: from the file system, with and without JavaScript, by keyboard, and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from colbench.pages.extract import target_page
from colbench.pages.render import Render
from colbench.pages.store import RenderStore, render_key
from colbench_leaderboard.board.standings import read_standings
from colbench_leaderboard.site.build import build

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def kinds(site, board, standings) -> dict[str, str]:
    """Return a page of each kind; the entry and its dialogues contain hostile text."""
    here = f"boards/{board.key}"
    hostile = next(b for b, e in standings.entries.items() if e.submission.name.startswith("="))
    entry = f"entries/{hostile[:12]}"
    task = sorted(path.name for path in (site / here / "tasks").iterdir())[0]
    return {
        "front": "index.html",
        "board": f"{here}/index.html",
        "charts": f"{here}/charts.html",
        "compare": f"{here}/compare.html",
        "against": f"{here}/against/{hostile[:12]}.html",
        "tasks": f"{here}/tasks.html",
        "task": f"{here}/tasks/{task}",
        "entry": f"{entry}/index.html",
        "list": f"{entry}/dialogues.html",
        "dialogues": f"{entry}/dialogues-001.html",
        "log": "log.html",
        "paper": "paper.html",
        "about": "about.html",
    }


def go(page: Page, site: Path, name: str) -> None:
    page.goto((site / name).as_uri())


def overflows(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.mark.slow
def test_pages_are_accessible_and_do_not_run_submitted_scripts(opened, site, kinds, violations):
    page = opened()
    for kind, name in kinds.items():
        go(page, site, name)
        assert not overflows(page), kind
        assert violations(page) == [], kind
        assert page.evaluate("typeof hit") == "undefined", kind


@pytest.mark.weekly
def test_pages_fit_a_phone_and_have_enough_contrast_in_dark_mode(opened, site, kinds, violations):
    page = opened(viewport=PHONE, color_scheme="dark")
    for kind, name in kinds.items():
        go(page, site, name)
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert not overflows(page), kind
        if kind in ("board", "entry", "dialogues", "log"):
            assert violations(page, "color-contrast") == [], kind


def column(page: Page, number: int) -> list[float]:
    cells = page.locator(f"#ranking tbody:first-of-type tr > :nth-child({number})")
    return [float(value) for value in cells.evaluate_all("cells => cells.map((c) => c.dataset.v)")]


def test_a_board_can_be_sorted_with_the_keyboard(opened, site, kinds):
    page = opened()
    go(page, site, kinds["board"])
    heads = page.locator("#ranking thead th")
    place = heads.all_inner_texts().index("Turns") + 1
    before = column(page, place)
    page.get_by_role("searchbox").focus()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Turns":
            break
    page.keyboard.press("Enter")
    assert heads.nth(place - 1).get_attribute("aria-sort") == "ascending"
    assert column(page, place) == sorted(before) != before
    page.keyboard.press("Space")
    assert heads.nth(place - 1).get_attribute("aria-sort") == "descending"
    assert column(page, place) == sorted(before, reverse=True)
    assert page.locator("#ranking [aria-sort]").count() == 1
    lines = page.locator("#ranking tbody:last-of-type th").all_inner_texts()
    assert [line.split("\n")[0] for line in lines] == [
        "interviewer",
        "guesser",
        "blank",
        "The reference itself",
    ]


def test_links_lead_from_the_front_page_to_a_dialogue_and_its_task(opened, site, board):
    page = opened()
    go(page, site, "index.html")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.get_by_role("link", name="The whole board").click()
    page.get_by_role("link", name=board.rows[0].name).click()
    assert page.locator("h1").inner_text() == board.rows[0].name
    page.get_by_role("link", name="Dialogues", exact=True).click()
    page.get_by_role("link", name="backend-task-0003").click()
    shown = page.locator(".dialogue:visible")
    assert shown.locator("h2").inner_text() == "backend-task-0003"
    shown.get_by_role("link", name="backend-task-0003").click()
    assert page.locator("h1").inner_text() == "backend-task-0003"
    assert page.locator("#results tbody tr").count() == len(board.everyone)


def test_dialogues_can_be_browsed_with_keys_and_across_pages(opened, site, board):
    page = opened()
    go(page, site, f"entries/{board.rows[0].bundle[:12]}/dialogues-001.html")
    title = page.locator(".dialogue:visible h2")
    assert title.inner_text() == "backend-task-0000"
    page.keyboard.press("ArrowRight")
    expect(title).to_have_text("backend-task-0001")
    page.keyboard.press("ArrowLeft")
    expect(title).to_have_text("backend-task-0000")
    page.locator(".dialogue:visible pre").last.focus()
    page.keyboard.press("ArrowRight")  # scrolls the answer
    expect(title).to_have_text("backend-task-0000")
    answer, reference = page.locator(".dialogue:visible .beside section").all()
    assert answer.bounding_box()["y"] == reference.bounding_box()["y"]  # side by side
    assert answer.bounding_box()["x"] < reference.bounding_box()["x"]
    page.locator(".dialogue:visible").get_by_role("link", name="permalink").click()
    link = page.url
    page.goto(link.replace("#" + link.split("#")[1], "#last"))
    page.get_by_role("link", name="Next →").click()
    page.wait_for_url("**/dialogues-002.html")
    assert title.inner_text() == "backend-task-0025"
    page.get_by_role("link", name="← Previous").click()
    page.wait_for_url("**/dialogues-001.html#last")
    assert title.inner_text() == "backend-task-0024"
    page.goto(link)
    assert title.inner_text() == "backend-task-0000"
    page.goto(link.split("#")[0] + "#%E0%A4")  # not valid UTF-8
    assert title.inner_text() == "backend-task-0000"


def test_two_entries_can_be_chosen_and_compared(opened, site, kinds, board):
    page = opened()
    go(page, site, kinds["compare"])
    first, second = board.rows[2], board.rows[0]
    page.get_by_label("A", exact=True).select_option(first.name)
    page.get_by_label("B", exact=True).select_option(second.name)
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url(f"**/against/{first.bundle[:12]}.html#{second.bundle[:12]}")
    assert page.locator("h1").inner_text() == f"{first.name} against the others"
    assert second.name in page.locator("tr:target").inner_text()
    difference = (first.value.mean - second.value.mean) * 100
    shown = page.locator("tr:target td").first.inner_text().split()[0].replace("−", "-")
    assert float(shown) == pytest.approx(difference, abs=0.051)
    page.locator("tr:target").get_by_role("link", name="–").click()
    table = page.locator(f"#t-{second.bundle[:12]}")
    expect(table).to_be_visible()  # the section that contains it is open
    task, mine, theirs = table.locator("tbody tr").first.get_by_role("link").all()
    name, value = task.inner_text(), theirs.inner_text()
    assert mine.inner_text() != value
    theirs.click()
    shown = page.locator(".dialogue:visible")
    assert shown.locator("h2").inner_text() == name
    assert f"tests passed {value}%" in shown.locator(".verdict").inner_text().lower()
    assert second.name in page.locator("h1").inner_text()


def test_a_filter_shows_only_the_matching_rows(opened, site, kinds):
    page = opened()
    go(page, site, kinds["tasks"])
    page.get_by_label("Find a task").fill("TASK-0012")
    assert page.locator("#tasks tbody tr:visible").count() == 1
    assert page.locator("output").inner_text() == "1 of 30 shown"


def test_all_content_is_available_without_javascript(opened, site, kinds, board):
    page = opened(java_script_enabled=False)
    go(page, site, kinds["board"])
    assert page.locator("#ranking tbody tr:visible").count() == len(board.rows) + 4
    assert page.locator("button:visible, input:visible, select:visible").count() == 0
    go(page, site, kinds["compare"])
    assert page.locator("button:visible, select:visible").count() == 0
    page.get_by_role("link", name=board.rows[1].name).click()
    assert page.locator("#against tbody tr:visible").count() == len(board.everyone) - 1
    go(page, site, kinds["dialogues"])
    assert page.locator(".dialogue:visible").count() == 25
    go(page, site, kinds["charts"])
    page.locator("summary").first.click()
    assert page.locator("details[open] tbody tr:visible").count() == len(board.everyone)


def test_the_site_follows_the_readers_color_scheme(opened, site):
    grounds = []
    for scheme in ("light", "dark"):
        page = opened(color_scheme=scheme)
        go(page, site, "index.html")
        shown = page.evaluate("getComputedStyle(document.body).backgroundColor")
        grounds.append(sum(int(part) for part in shown[4:-1].split(",")))
    light, dark = grounds
    assert light > 700
    assert dark < 100


@pytest.mark.slow
def test_target_render_and_difference_of_a_page_are_side_by_side(tmp_path, opened, stores):
    tasks = stores.make_tasks(2, "frontend")
    made = stores.Store(tmp_path / "store", tasks)
    answer = "<html><p>mine</p></html>"
    made.add(stores.Entrant(name="Designer", skill=0.4, answer=answer))
    renders = RenderStore(tmp_path / "renders")
    for html, color in ((target_page(tasks[0].hidden.reference), "red"), (answer, "blue")):
        file = tmp_path / f"{color}.png"
        Image.new("RGB", (1280, 720), color).save(file)
        key = render_key(html, "default", "")
        picture = file.read_bytes()
        renders.put(
            Render(
                key=key, outcome="rendered", mode="default", width=1280, height=720, picture=picture
            )
        )
    standings = read_standings(made.folder)
    build(made.folder, standings, tmp_path / "site", tasks, renders=renders)

    page = opened()
    entry = f"entries/{standings.boards[0].rows[0].bundle[:12]}"
    go(page, tmp_path / "site", f"{entry}/dialogues-001.html")
    images = page.locator(".dialogue:visible img")
    page.wait_for_function("() => [...document.images].slice(0, 3).every((each) => each.complete)")
    assert images.evaluate_all("all => all.map((each) => each.naturalWidth)") == [640] * 3
    assert len({image.bounding_box()["y"] for image in images.all()}) == 1
    page.get_by_role("link", name="Next →").click()
    expect(images).to_have_count(1)  # the other target was never rendered
