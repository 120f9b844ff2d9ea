"""The report and its gallery in a real browser: what the script shows, and that the pictures may load."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from PIL import Image
from playwright.async_api import Page, async_playwright

from colbench.config import RunConfig
from colbench.pages.render import Render
from colbench.pages.store import RenderStore, render_key
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
        task_hash="h",
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
    """The user's renders of both pages."""
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
    """A page of a browser that fails the test when anything on it does."""
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
    await page.wait_for_function("[...document.images].every((image) => image.complete)")
    widths = await page.evaluate("[...document.images].map((image) => image.naturalWidth)")
    assert widths == [640] * 8  # of each trial: target, final page, difference and one turn


@pytest.mark.parametrize(("cosine", "measure"), [(0.5, "cosine"), (None, "layout")])
async def test_the_table_and_a_dialogue_show_the_leading_measure(
    tmp_path, store, page, cosine, measure
):
    folder = run_folder(tmp_path / "run", cosine)
    await page.goto((folder / "report.html").as_uri())
    heads = await page.locator(".list th[scope=col]").all_inner_texts()
    assert [head.strip() for head in heads][:3] == ["Task", "Request", measure.capitalize()]
    sorted_by = page.locator(".list th[aria-sort]")
    assert await sorted_by.count() == 0  # the order of the run
    await page.get_by_role("button", name="Task", exact=True).click()
    assert await sorted_by.get_attribute("aria-sort") == "ascending"
    ids = await page.locator(".list th.id").all_inner_texts()
    assert ids == sorted(ids)
    choices = await page.locator("select option").all_inner_texts()
    assert not any("succeeded" in choice for choice in choices)

    await page.get_by_role("link", name="one & only", exact=True).click()
    dialog = page.locator("dialog.task")
    worth = "50.0 %" if cosine else "25.0 %"
    assert f"default: {measure} {worth}" in await dialog.locator(".verdict").inner_text()
    assert "Trial 1 " + worth in await dialog.locator(".trials").inner_text()
    assert "layout 25.0 %" in await dialog.locator(".leak").inner_text()

    await dialog.get_by_role("link", name="gallery").click()
    await page.wait_for_url("**/gallery.html#task-1")
    assert await page.locator("#task-1 h2").inner_text() == "one & only"


async def test_a_task_of_the_gallery_opens_in_the_report(tmp_path, store, page):
    folder = run_folder(tmp_path / "run", 0.5)
    await page.goto((folder / "gallery.html").as_uri())
    await page.locator("#task-1 h2 a").click()
    await page.locator("dialog.task[open]").wait_for()
    assert await page.locator("#task-title").inner_text() == "one & only"
