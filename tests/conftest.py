"""What several tests need: the real tasks and a browser, where there are some."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from colbench.errors import UserError
from colbench.sandbox.browser import Renderer, find_browser


@pytest.fixture(scope="session")
def official_backend() -> Path:
    """A file of real backend rows in the folder that COLBENCH_OFFICIAL_DATA names."""
    folder = os.environ.get("COLBENCH_OFFICIAL_DATA")
    if not folder:
        pytest.skip("COLBENCH_OFFICIAL_DATA names no folder with backend.jsonl")
    return Path(folder).absolute() / "backend.jsonl"


@pytest.fixture(scope="session")
def browser() -> Path:
    """The browser that renders; where there is none the test is skipped, but not in continuous integration."""
    try:
        return find_browser()
    except UserError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture
async def renderer(browser: Path, tmp_path: Path) -> AsyncIterator[Renderer]:
    """A renderer with an empty store."""
    async with Renderer(str(browser), cache=tmp_path / "renders") as renderer:
        yield renderer
