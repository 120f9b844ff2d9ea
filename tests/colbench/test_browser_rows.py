"""Every third real page, rendered twice to the same bytes; `colbench tasks validate` checks all of them."""

from __future__ import annotations

import asyncio
import os
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from patience import PATIENT

from colbench.pages.extract import extract_page
from colbench.sandbox.browser import Renderer


@pytest.fixture(scope="module")
def pages() -> list[str | None]:
    folder = os.environ.get("COLBENCH_OFFICIAL_DATA")
    if not folder:
        pytest.skip("COLBENCH_OFFICIAL_DATA names no folder with frontend.jsonl")
    lines = Path(folder, "frontend.jsonl").read_bytes().splitlines()[::3]
    return [extract_page(msgspec.json.decode(line)["ground_truth"]) for line in lines]


@pytest.mark.weekly
async def test_real_pages_render_twice_to_the_same_bytes_and_blocks(
    pages: list[str | None], browser: Path, tmp_path: Path
) -> None:
    runs = []
    for workers in (2, 4):
        cache = tmp_path / str(workers)
        async with Renderer(str(browser), workers=workers, cache=cache, limits=PATIENT) as renderer:
            runs.append(await asyncio.gather(*map(renderer.render, pages)))
    assert {render.outcome for run in runs for render in run} == {"rendered"}
    hashes = [[sha256(render.picture).hexdigest() for render in run] for run in runs]
    assert [n for n, two in enumerate(zip(*hashes, strict=True)) if two[0] != two[1]] == []
    assert [n for n, (a, b) in enumerate(zip(*runs, strict=True)) if a.blocks != b.blocks] == []
