"""The viewer in a real browser: filters, keys, notes, a run in progress, pictures with a slider, accessibility."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest
from playwright.sync_api import expect

import colbench
from colbench.rollout import encode_rollout, read_rollouts
from colbench.viewer.notes import read_notes

PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
MARKUP = "<script>hit=1</script><img src=x onerror=hit=1>"
"""Hostile content from an agent; no page may set `hit`."""
LOOKS = [
    pytest.param(LAPTOP, "light", id="laptop-light"),
    pytest.param(PHONE, "dark", id="phone-dark", marks=pytest.mark.slow),
    pytest.param(LAPTOP, "dark", id="laptop-dark", marks=pytest.mark.weekly),
    pytest.param(PHONE, "light", id="phone-light", marks=pytest.mark.weekly),
]
PICTURES = ".stage:not([hidden]) img"
EVERY_IMAGE_LOADED = "() => [...document.images].every((image) => image.complete)"


@pytest.fixture(scope="module")
def runs(tmp_path_factory, browser):
    """Return the folders of three runs: one agent asks, one guesses and writes markup, one designs pages."""
    home = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLBENCH_CACHE", str(home / "cache"))
        for agent in ("demonstrator", "guesser"):
            colbench.evaluate(
                agent=agent, tasks="bundled:backend", limit=8, trials=2, out=home / agent
            )
        colbench.evaluate(tasks="bundled:frontend", limit=2, max_turns=3, out=home / "pages")
    file = home / "guesser" / "rollouts.jsonl"
    content = file.read_bytes().replace(b'"request":"', b'"request":"' + MARKUP.encode(), 1)
    file.write_bytes(content)
    return [home / name for name in ("demonstrator", "guesser", "pages")]


def view(*words, cache, **environment):
    """Start `colbench view`."""
    return subprocess.Popen(
        [sys.executable, "-m", "colbench.cli", "view", *words],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLBENCH_CACHE": str(cache)} | environment,
    )


@pytest.fixture
def serve(runs):
    """Return a function that serves runs with the command and returns their address."""
    servers = []

    def start(*folders, cache=runs[0].parent / "cache", **environment):
        server = view(*folders, "--port", "0", cache=cache, **environment)
        servers.append(server)
        return re.match(r"http://127.0.0.1:\d+/", server.stdout.readline())[0]

    yield start
    for server in servers:
        server.terminate()
        server.wait(60)
        server.stdout.close()


@pytest.fixture
def address(serve, runs):
    return serve(*runs)


def open_list(opened, address, **options):
    """Open the viewer's list in a page that may request only the viewer."""
    page = opened(address, **options)
    page.goto(address)
    return page


def open_first_of(page, run):
    """Open the first dialogue of a run."""
    page.locator("select[name=run]").select_option(run)
    expect(page).to_have_url(re.compile(rf"[?&]run={run}"))
    page.locator(".list tbody a").first.click()
    page.wait_for_url("**/runs/**")


@pytest.mark.parametrize(("viewport", "scheme"), LOOKS)
def test_every_page_is_accessible_and_does_not_run_markup_of_an_agent(
    opened, address, violations, viewport, scheme
):
    page = open_list(opened, address, viewport=viewport, color_scheme=scheme)

    def check():
        assert violations(page) == []
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert page.evaluate("typeof hit") == "undefined"

    check()
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_be_visible()
    check()
    for run in ("guesser", "demonstrator", "pages"):
        page.goto(f"{address}?run={run}")
        page.locator(".list tbody a").first.click()
        page.wait_for_url("**/runs/**")
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        check()
    expect(page.locator(PICTURES).first).to_be_visible()
    for key in ("b", "d", "s"):
        page.keyboard.press(key)
        check()


def test_filters_select_the_dialogues_of_the_list_and_appear_in_its_address(opened, address):
    page = open_list(opened, address)
    rows = page.locator(".list tbody tr")
    expect(rows).to_have_count(34)
    page.locator("select[name=run]").select_option("guesser")
    expect(page).to_have_url(f"{address}?run=guesser")
    expect(rows).to_have_count(16)
    name = page.locator(".list tbody a").first.inner_text()
    page.get_by_label("Search").fill(name)
    page.keyboard.press("Enter")
    expect(rows).to_have_count(2)
    page.get_by_label("Score from, %").fill("101")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".empty")).to_have_text("No dialogue fits these filters.")
    page.get_by_role("link", name="Clear").click()
    expect(page).to_have_url(address)
    number = int(page.locator(".counts a", has_text="guessed").locator("b").inner_text())
    page.locator(".counts a", has_text="guessed").click()
    expect(page).to_have_url(f"{address}?outcome=guessed")
    expect(rows).to_have_count(number)


def test_keys_navigate_the_list_and_its_dialogues(opened, address):
    page = open_list(opened, address)
    page.goto(f"{address}?run=demonstrator&sort=-turns")
    links = page.locator(".list tbody a")
    for key, place in (("j", 0), ("j", 1), ("k", 0), ("j", 1)):
        page.keyboard.press(key)
        expect(links.nth(place)).to_be_focused()
    addresses = [link.get_attribute("href") for link in links.all()]
    page.keyboard.press("Enter")
    for key, place in ((None, 1), ("j", 2), ("k", 1)):
        if key:
            page.keyboard.press(key)
        expect(page).to_have_url(address.rstrip("/") + addresses[place])
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)
    expect(page).to_have_url(address.rstrip("/") + addresses[1])
    page.keyboard.press("u")
    expect(page).to_have_url(f"{address}?run=demonstrator&sort=-turns")
    page.keyboard.press("/")
    page.keyboard.type("jjj?")
    expect(page.get_by_label("Search")).to_have_value("jjj?")


def test_a_decision_links_to_the_turn_in_which_it_was_revealed(opened, address):
    page = open_list(opened, address)
    page.goto(f"{address}?run=demonstrator&sort=untold")
    page.locator(".list tbody a").first.click()
    told = page.locator(".decisions .told").first
    name = told.locator("b").inner_text()
    told.get_by_role("link").click()
    turn = page.locator(".said.agent:target")
    expect(turn).to_be_in_viewport()
    reply = page.locator(f"{'#' + turn.get_attribute('id')} + .said.human")
    expect(reply.locator(".tags.told")).to_contain_text(name)


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_reference_and_answer_are_side_by_side_but_stacked_on_a_phone(opened, address, viewport):
    page = open_list(opened, address, viewport=viewport)
    page.goto(f"{address}?run=guesser&outcome=guessed")
    page.locator(".list tbody a").first.click()
    hunk = page.locator(".hunk.changed:has(.reference .line):has(.answer .line)").first
    old, new = (hunk.locator(side).bounding_box() for side in (".reference", ".answer"))
    if viewport == LAPTOP:
        assert old["y"] == new["y"]
        assert old["x"] + old["width"] <= new["x"] + 1
    else:
        assert old["x"] == new["x"]
        assert old["y"] + old["height"] <= new["y"] + 1
        expect(page.locator(".hunk.same .reference").first).to_be_hidden()
    assert page.locator(".diff mark").count() > 0


def test_a_note_is_written_with_the_keyboard_saved_and_filtered_by_label(
    opened, serve, runs, tmp_path
):
    folder = shutil.copytree(runs[0], tmp_path / "demonstrator")
    address = serve(folder)
    page = open_list(opened, address)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/**")
    page.keyboard.press("n")
    page.keyboard.type("Why so late?")
    page.get_by_label("Labels").fill("odd, read again")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Note")).to_have_value("Why so late?")
    expect(page.locator(".note")).to_contain_text("saved")
    page.keyboard.press("u")
    expect(page.locator(".noted .label")).to_have_text(["odd", "read again"])
    page.locator("select[name=label]").select_option("odd")
    expect(page).to_have_url(f"{address}?label=odd")
    expect(page.locator(".list tbody tr")).to_have_count(1)
    (note,) = read_notes(folder)
    assert (note.labels, note.text) == (("odd", "read again"), "Why so late?")


@pytest.mark.slow
def test_the_list_reports_dialogues_that_a_run_adds(opened, serve, runs, tmp_path):
    folder = shutil.copytree(runs[1], tmp_path / "guesser")
    file = folder / "rollouts.jsonl"
    lines = list(map(encode_rollout, read_rollouts(file)))
    file.write_bytes(b"".join(lines[:3]))
    page = open_list(opened, serve(folder))
    expect(page.locator(".setting")).to_contain_text("3 of 16 dialogues so far")
    with file.open("ab") as more:
        more.write(b"".join(lines[3:5]) + lines[5][:40])
    page.get_by_role("link", name="2 more; show").click()
    expect(page.locator(".list tbody tr")).to_have_count(5)


@pytest.mark.slow
def test_pages_are_compared_by_a_slider_side_by_side_and_as_a_difference(opened, address):
    page = open_list(opened, address)
    open_first_of(page, "pages")
    stage = page.locator(".stage:not([hidden])")
    target, shown, difference = (
        stage.locator(f"img.{name}") for name in ("target", "shown", "difference")
    )
    expect(shown).to_be_visible()
    page.wait_for_function(EVERY_IMAGE_LOADED)
    assert page.evaluate("[...document.images].map((i) => i.naturalWidth)") == [640] * 3
    slider = page.get_by_role("slider")
    slider.focus()
    before = shown.evaluate("(image) => getComputedStyle(image).clipPath")
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    after = shown.evaluate("(image) => getComputedStyle(image).clipPath")
    assert [re.findall(r"[\d.]+%", each) for each in (before, after)] == [["50%"], ["60%"]]
    box = slider.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 4, box["y"] + 40)
    assert 23 <= int(slider.input_value()) <= 27
    page.get_by_role("button", name="Side by side").click()
    assert target.bounding_box()["y"] == shown.bounding_box()["y"]
    assert target.bounding_box()["x"] < shown.bounding_box()["x"]
    page.keyboard.press("d")
    expect(difference).to_be_visible()
    expect(shown).to_be_hidden()
    page.keyboard.press("[")
    expect(page).to_have_url(re.compile("#stage-2$"))
    expect(page.locator("#stage-2 img.difference")).to_be_visible()
    page.reload()
    expect(page.locator(PICTURES).first).to_be_visible()
    expect(page.locator("#stage-2")).to_be_visible()
    expect(page.locator("#stage-3")).to_be_hidden()
    page.wait_for_function(EVERY_IMAGE_LOADED)  # before the server stops


@pytest.mark.slow
def test_pages_with_missing_renders_are_rendered_again(opened, serve, runs, tmp_path):
    folder = shutil.copytree(runs[2], tmp_path / "pages", ignore=shutil.ignore_patterns("gallery*"))
    page = open_list(opened, serve(folder, cache=tmp_path / "empty"))
    page.locator(".list tbody a").first.click()
    expect(page.locator(PICTURES).first).to_be_visible(timeout=180_000)
    page.wait_for_function(EVERY_IMAGE_LOADED)  # before the server stops
    assert len(list((folder / "gallery").glob("*.webp"))) == 3


@pytest.mark.slow
def test_the_viewer_tells_how_to_install_a_missing_browser(opened, serve, runs, tmp_path):
    folder = shutil.copytree(runs[2], tmp_path / "pages", ignore=shutil.ignore_patterns("gallery*"))
    lacking = serve(folder, cache=tmp_path / "empty", COLBENCH_BROWSER="no-such-browser")
    page = open_list(opened, lacking)
    page.locator(".list tbody a").first.click()
    said = page.locator(".stage:not([hidden]) .lacking")
    expect(said).to_contain_text("playwright install chromium")
    expect(page.locator(".said").first).to_be_visible()


@pytest.mark.slow
def test_exported_pages_have_pictures_slider_and_keys_without_a_server(opened, runs, tmp_path):
    exported = view(*runs[2:], "--export", tmp_path / "out", cache=runs[0].parent / "cache")
    assert exported.communicate()[0].split()[-2:] == ["2", "dialogues"]
    page = opened()
    page.goto((tmp_path / "out" / "index.html").as_uri())
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(PICTURES).first).to_be_visible()
    page.wait_for_function("() => [...document.images].every((i) => i.hidden || i.complete)")
    assert page.evaluate("[...document.images].every((i) => i.naturalWidth === 640)")
    page.keyboard.press("[")
    expect(page.locator("#stage-2")).to_be_visible()
    expect(page.get_by_label("Note")).to_have_count(0)
    page.get_by_role("slider").fill("80")
    expect(page.locator("#stage-2 img.shown")).to_have_css("clip-path", re.compile("80%"))
