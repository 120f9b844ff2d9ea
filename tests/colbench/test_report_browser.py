"""The report and its gallery in a real browser: what the script shows, and that the pictures load."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path

import msgspec
import pytest
from marking import mostly
from PIL import Image
from playwright.async_api import Page, async_playwright

import colbench
from colbench.config import RunConfig
from colbench.pages.render import Render
from colbench.pages.store import RenderStore, render_key
from colbench.report.cells import measure
from colbench.report.page import render_pages
from colbench.report.write import write_report
from colbench.rollout import Rollout, Turn, encode_rollout
from colbench.run_folder import RunFolder, RunRecord, TaskSource
from colbench.score import Score
from colbench.task import Hidden, Task

CONFIG = RunConfig(agent="designer", trials=2)
TARGET, ANSWER = "<html><p>target</p></html>", "<html><p>answer</p></html>"
TASKS = [
    Task(id=name, domain="frontend", request=f"Page {name}", hidden=Hidden(reference=TARGET))
    for name in ("one & only", "two")
]


def rollout(name: str, trial: int, layout: float, cosine: float | None) -> Rollout:
    metrics = {"layout": layout} | ({} if cosine is None else {"cosine": cosine})
    score = Score(scorer="pages", value=cosine, success=None, metrics=metrics)
    return Rollout(
        key=f"{name}/{trial}",
        task_id=name,
        task_hash=next(task.hash for task in TASKS if task.id == name),
        domain="frontend",
        trial=trial,
        seed=0,
        request="?",
        turns=(Turn(raw=ANSWER, said=ANSWER, human="Bluer.", score=score),),
        answer=ANSWER,
        ended_by="answer",
        scores={"default": score},
    )


def run_folder(path: Path, cosine: float | None) -> Path:
    folder = RunFolder(path)
    path.mkdir()
    source = TaskSource(source="pages.jsonl", count=2, hash="h")
    started = "2025-01-01T00:00:00+00:00"
    folder.save(
        RunRecord(
            started=started,
            config=CONFIG,
            pins={},
            digest="d",
            environments={"frontend": "b"},
            tasks=source,
        )
    )
    cells = [rollout(TASKS[0].id, trial, 0.25 + trial / 2, cosine) for trial in range(2)]
    folder.write("rollouts.jsonl", b"".join(map(encode_rollout, cells)))
    write_report(folder, TASKS, CONFIG)
    return path


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RenderStore:
    """Return the user's render store, with renders of both pages."""
    monkeypatch.setenv("COLBENCH_CACHE", str(tmp_path / "cache"))
    store = RenderStore()
    for page, color in ((TARGET, "red"), (ANSWER, "blue")):
        file = tmp_path / f"{color}.png"
        Image.new("RGB", (1280, 720), color).save(file)
        key = render_key(page, "default", "b")
        render = Render(key=key, outcome="rendered", mode="default", width=1280, height=720)
        store.put(msgspec.structs.replace(render, picture=file.read_bytes()))
    return store


@pytest.fixture
async def page(browser: Path) -> AsyncIterator[Page]:
    """Yield a browser page, and fail the test if it reports an error or prints to the console."""
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(
            executable_path=browser, args=["--no-sandbox", "--disable-gpu"]
        )
        page = await running.new_page()
        wrong: list[str] = []
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        yield page
        await running.close()
        assert wrong == []


async def test_every_picture_of_the_gallery_loads_from_the_file_system(tmp_path, store, page):
    folder = run_folder(tmp_path / "run", 0.5)
    await page.goto((folder / "gallery.html").as_uri())
    await page.evaluate("document.querySelectorAll('img').forEach((i) => { i.loading = 'eager'; })")
    await page.wait_for_function("() => [...document.images].every((image) => image.complete)")
    widths = await page.evaluate("[...document.images].map((image) => image.naturalWidth)")
    assert widths == [640] * 8  # for each trial: target, final page, difference and one turn


@pytest.mark.parametrize(("cosine", "measure"), [(0.5, "cosine"), (None, "layout")])
async def test_the_table_and_a_dialogue_show_the_lead_metric(
    tmp_path, store, page, cosine, measure
):
    folder = run_folder(tmp_path / "run", cosine)
    await page.goto((folder / "report.html").as_uri())
    heads = await page.locator(".list th[scope=col]").all_inner_texts()
    assert [head.strip() for head in heads][:3] == ["Task", "Request", measure.capitalize()]
    sorted_by = page.locator(".list th[aria-sort]")
    assert await sorted_by.count() == 0  # at first in the order of the run
    await page.get_by_role("button", name="Task", exact=True).click()
    assert await sorted_by.get_attribute("aria-sort") == "ascending"
    ids = await page.locator(".list th.id").all_inner_texts()
    assert ids == sorted(ids)
    choices = await page.locator("select option").all_inner_texts()
    assert not any("succeeded" in choice for choice in choices)

    await page.get_by_role("link", name="one & only", exact=True).click()
    dialog = page.locator("dialog.task")
    worth = "50.0%" if cosine else "25.0%"
    assert f"default: {measure} {worth}" in await dialog.locator(".verdict").inner_text()
    assert "Trial 1 " + worth in await dialog.locator(".trials").inner_text()
    assert "layout 25.0%" in await dialog.locator(".leak").inner_text()

    await dialog.get_by_role("link", name="gallery").click()
    await page.wait_for_url("**/gallery.html#task-1")
    assert await page.locator("#task-1 h2").inner_text() == "one & only"


async def test_a_task_of_the_gallery_opens_in_the_report(tmp_path, store, page):
    folder = run_folder(tmp_path / "run", 0.5)
    await page.goto((folder / "gallery.html").as_uri())
    await page.locator("#task-1 h2 a").click()
    await page.locator("dialog.task[open]").wait_for()
    assert await page.locator("#task-title").inner_text() == "one & only"


PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}


async def violations(page: Page, axe: str) -> list[tuple[str, str]]:
    """Return the accessibility rules that a page breaks, with the first element of each."""
    await page.evaluate(axe)
    found = await page.evaluate(
        "axe.run(document, { preload: false, resultTypes: ['violations'] })"
    )
    return [(rule["id"], rule["nodes"][0]["html"]) for rule in found["violations"]]


@pytest.fixture(scope="module")
def failing(tmp_path_factory) -> Path:
    """Return the folder of a run in which most dialogues failed, with its ceiling."""
    folder = tmp_path_factory.mktemp("runs")
    chosen = {"agent": "demonstrator", "tasks": "bundled:backend/test", "limit": 60}
    told = colbench.evaluate(told="all", out=folder / "told", **chosen)
    run = colbench.evaluate(ceiling=str(told.path), out=folder / "run", **chosen)
    run.write_report()
    return run.path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("viewport", "scheme"),
    mostly(pytest.mark.weekly, product((PHONE, LAPTOP), ("light", "dark")), (LAPTOP, "dark")),
)
async def test_the_page_is_accessible_and_fits_its_window(
    tmp_path, store, page, axe, failing, viewport, scheme
):
    await page.set_viewport_size(viewport)
    await page.emulate_media(color_scheme=scheme)
    for folder in (failing, run_folder(tmp_path / "run", None)):
        await page.goto((folder / "report.html").as_uri())
        await page.evaluate(
            "document.querySelectorAll('.unfold').forEach((button) => button.click());"
            "document.querySelectorAll('details').forEach((part) => { part.open = true; })"
        )
        assert await violations(page, axe) == []
        width = await page.evaluate("document.documentElement.scrollWidth")
        assert width <= viewport["width"]
        await page.locator(".list tbody a").first.click()
        await page.locator("dialog .verdict").first.wait_for()
        assert await violations(page, axe) == []


async def test_the_headline_has_ceiling_and_floor_next_to_the_score(page, failing):
    report = colbench.load_run(failing).report.domains["backend"]
    await page.goto((failing / "report.html").as_uri())
    tiles = [await each.inner_text() for each in await page.locator(".tile.lead").all()]
    assert f"{report.ceiling.success_rate.mean * 100:.1f}% ceiling" in tiles[0]
    floor = report.floors["constant"]["tests_passed"]
    assert f"{floor * 100:.1f}% floor: best constant answer" in tiles[1]
    assert tiles[2].startswith("Ask F1")


async def test_tasks_are_listed_worst_first_and_filtered_by_class_and_family(page, failing):
    report = colbench.load_run(failing).report.domains["backend"]
    await page.goto((failing / "report.html").as_uri())
    rows = page.locator(".list tbody tr")
    first = await rows.first.inner_text()
    assert "✗" in first
    assert "0%" in first
    name, dialogues = max(report.failed.classes.items(), key=lambda item: item[1])
    await page.locator(f"[data-filter={name}]").click()
    shown = await page.locator(".tools output").inner_text()
    assert shown == f"{dialogues} of 60 tasks"
    family = next(iter(report.failed.families))
    await page.locator(".unfold").last.click()
    await page.locator(f"[data-find={family}]").click()
    ids = await page.locator(".list th.id").all_inner_texts()
    assert ids
    assert all(each.startswith(family) for each in ids)


async def test_a_dialogue_shows_which_facts_were_revealed_and_which_never(page, failing):
    run = colbench.load_run(failing)
    found = next(r for r in run.rollouts if r.asking.told and r.asking.open and r.answer)
    task = next(task for task in run.tasks if task.id == found.task_id)
    told = {name for turn in found.turns for name in turn.told or ()}
    never = [f.name for f in task.hidden.facts if not f.stated and f.name not in told]
    await page.goto(f"{(failing / 'report.html').as_uri()}#task={task.id}")
    missed = await page.locator("dialog .missed").inner_text()
    assert f"Never revealed: {', '.join(name.replace('_', ' ') for name in never)}" in missed
    heads = " ".join(await page.locator("dialog .who").all_inner_texts())
    for name in told:
        assert name.replace("_", " ") in heads
    verdicts = page.locator("dialog .verdict")
    assert await verdicts.count() == 1  # because the official mode gives this answer the same value


async def test_the_columns_of_the_table_have_their_heads_on_a_phone(tmp_path, store, page, failing):
    await page.set_viewport_size(PHONE)
    for folder in (failing, run_folder(tmp_path / "run", 0.5)):
        await page.goto((folder / "report.html").as_uri())
        heads = await page.locator(".list thead th:visible").all_inner_texts()
        assert await page.locator(".list tbody tr").first.locator("> :visible").count() == len(
            heads
        )


async def test_a_run_without_known_decisions_has_no_column_of_revealed_decisions(
    tmp_path, store, page, failing
):
    for folder, number in ((failing, 1), (run_folder(tmp_path / "run", 0.5), 0)):
        await page.goto((folder / "report.html").as_uri())
        heads = page.locator(".list th[scope=col]")
        assert await heads.filter(has_text="Revealed").count() == number


async def test_only_the_task_that_was_opened_last_is_shown(page, failing):
    await page.goto((failing / "report.html").as_uri())
    await page.evaluate(
        """() => {
          window.seen = 0;
          const content = document.querySelector("dialog .content");
          const count = () => { window.seen += content.querySelector(".verdict") ? 1 : 0; };
          new MutationObserver(count).observe(content, { childList: true });
          lists[0].tasks.slice(0, 3).forEach((task) => openTask(lists[0], task));
        }"""
    )
    await page.locator("dialog .verdict").first.wait_for()
    await page.evaluate("new Promise((resolve) => setTimeout(resolve, 300))")
    assert await page.evaluate("seen") == 1
    assert await page.evaluate("opened === lists[0].tasks[2]")


async def test_a_malformed_link_opens_no_task(page, failing):
    await page.goto(f"{(failing / 'report.html').as_uri()}#task=%E0%A4%A")
    await page.locator(".list tbody tr").first.wait_for()
    assert await page.locator("dialog[open]").count() == 0


async def test_links_to_tasks_of_a_large_report_lead_to_the_list_of_its_pages(
    tmp_path, page, failing
):
    run = colbench.load_run(failing)
    measured = measure(run.tasks, 1, run.folder.latest())
    with run.folder.reader() as dialogues:
        pages = render_pages(run.report, run.record, measured.cells, dialogues, {}, large=1)
        for name, content in pages:
            (tmp_path / name).write_text(content, "utf-8")
    for link in ("[data-filter]", "[data-find]"):
        await page.goto((tmp_path / "report.html").as_uri())
        await page.locator(link).first.click()
        await page.wait_for_url("**/report.html#tasks-backend")
        assert await page.locator("#tasks-backend .parts a").count() == 1
