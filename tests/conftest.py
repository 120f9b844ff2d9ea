"""Fixtures that several tests share: the real tasks and a browser, if available."""

from __future__ import annotations

import json
import lzma
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from hypothesis import settings
from msgspec.structs import replace
from patience import PATIENT

from colbench.config import digest
from colbench.errors import UserError
from colbench.rollout import cell_key, cell_seed, encode_rollout
from colbench.run_folder import RunFolder
from colbench.sandbox.browser import Renderer, find_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

settings.register_profile("no deadline", deadline=None)
settings.register_profile("long", deadline=None, max_examples=20_000)
settings.load_profile("no deadline")
signal.signal(signal.SIGINT, signal.default_int_handler)
"""Tests that were started in the background, and the processes that they start, would otherwise ignore SIGINT."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the end-to-end tests first, and have the tests that share a renderer share its event loop.

    The end-to-end tests take longest and would otherwise leave one worker alone at the end.
    """
    items.sort(key=lambda item: "e2e" not in item.path.parts)
    for item in items:
        if {"asyncio", "renderer"} <= {*item.keywords, *getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.asyncio(loop_scope="module"), append=False)


class FailuresAtOnce:
    """A reporter that prints each failure when it happens, because a killed test run prints no summary."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print the name of a failed test and the last lines of its error."""
        if report.failed:
            lines = report.longreprtext.splitlines()[-12:]
            self._terminal.write("\n".join(["", f"FAILED {report.nodeid}", *lines, ""]), flush=True)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Print failures at once, in the process that the workers report to."""
    if not hasattr(session.config, "workerinput"):
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        session.config.pluginmanager.register(FailuresAtOnce(terminal))


@pytest.fixture(scope="session")
def official_backend() -> Path:
    """Return a file of real backend rows in the folder that COLBENCH_OFFICIAL_DATA names."""
    folder = os.environ.get("COLBENCH_OFFICIAL_DATA")
    if not folder:
        pytest.skip("COLBENCH_OFFICIAL_DATA names no folder with backend.jsonl")
    return Path(folder).absolute() / "backend.jsonl"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a shared folder for COLBENCH_CACHE: generating the bundled tasks in an empty one takes seconds."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def multiplied() -> Callable[[Path, Path, int], Path]:
    """Return a function that writes a run of one trial as a run of many trials and returns its folder."""

    def multiply(run: Path, out: Path, trials: int) -> Path:
        source, target = RunFolder(run), RunFolder(out)
        record, played = source.record(), source.rollouts()
        config = replace(record.config, trials=trials)
        pins = {**record.pins, "config": {**record.pins["config"], "trials": trials}}
        out.mkdir(parents=True)
        target.save(replace(record, config=config, pins=pins, digest=digest(pins)))
        with target.rollouts_path.open("wb") as file:
            for trial in range(trials):
                for each in played:
                    key = cell_key(each.task_id, each.task_hash, trial, digest(pins))
                    seed = cell_seed(config.seed, each.task_id, each.task_hash, trial)
                    again = replace(each, trial=trial, key=key, seed=seed, seconds=trial + 0.25)
                    file.write(encode_rollout(again))
        return out

    return multiply


@pytest.fixture(scope="session")
def peak_memory() -> Callable[..., int]:
    """Return a function that runs a `colbench` command in a process and returns its peak resident size in bytes."""

    def measure(*words: object) -> int:
        argv = [sys.executable, "-m", "colbench.cli", *map(str, words)]
        silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        child = os.posix_spawn(sys.executable, argv, os.environ, file_actions=silent)
        _, status, usage = os.wait4(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        return usage.ru_maxrss << 10

    return measure


@pytest.fixture
def soon() -> Iterator[None]:
    """Limit a test to 10 s of processor time: on hostile texts, code that rescans at every position takes minutes."""
    started = time.process_time()
    yield
    assert time.process_time() - started < 10


@pytest.fixture(scope="session")
def browser() -> Path:
    """Return the browser that renders pages; without one, skip the test, or fail it in continuous integration."""
    try:
        return find_browser()
    except UserError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def renderer(
    browser: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Renderer]:
    """Yield a renderer that the tests of a module share, because starting one takes a second of CPU."""
    store = tmp_path_factory.mktemp("renders")
    async with Renderer(str(browser), cache=store, limits=PATIENT) as renderer:
        yield renderer


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the accessibility checker, as a script."""
    packed = Path(__file__).parent / "vendor" / "axe-core" / "axe-4.14.1.min.js.xz"
    return lzma.decompress(packed.read_bytes()).decode()


@pytest.fixture(scope="module")
def chromium(browser: Path) -> Iterator[Browser]:
    """Yield a running browser; its event loop would disturb asynchronous tests, so no module may use both."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=60_000)  # 5 s are too short if many tests run at once
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=browser, args=["--no-sandbox", "--disable-gpu"]
        )
        yield running
        running.close()


@pytest.fixture
def opened(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Return a function that opens an empty page, 1280 pixels wide unless its options say otherwise.

    The test fails if a page has an error, opens a dialog like a hostile script, or sends a request outside `origin`.
    """
    wrong: list[str] = []
    contexts = []

    def start(origin: str = "file:", **options: Any) -> Page:
        context = chromium.new_context(**({"viewport": {"width": 1280, "height": 800}} | options))
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on(
            "request",
            lambda request: None if request.url.startswith(origin) else wrong.append(request.url),
        )
        return page

    yield start
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture(scope="session")
def violations(axe: str) -> Callable[..., list[tuple[str, str]]]:
    """Return a function that returns the accessibility rules that a page breaks, all or only those in `only`."""

    def check(page: Page, *only: str) -> list[tuple[str, str]]:
        page.evaluate(axe)
        options = {"preload": False, "resultTypes": ["violations"]}
        if only:
            options["runOnly"] = list(only)
        found = page.evaluate("(options) => axe.run(document, options)", options)
        return [(rule["id"], rule["nodes"][0]["html"]) for rule in found["violations"]]

    return check


TINY_CLIP = {
    "embed_dim": 32,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 224, "layers": 2, "width": 64, "head_width": 16, "patch_size": 32},
    "text_cfg": {"context_length": 8, "vocab_size": 64, "width": 32, "heads": 2, "layers": 1},
}


@pytest.fixture(scope="session")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a tiny CLIP model of the paper's kind, with random weights from a seed."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("tiny_clip")
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": TINY_CLIP}))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        weights = open_clip.CLIP(**TINY_CLIP).state_dict()
    save_file(weights, folder / "open_clip_model.safetensors")
    return folder
