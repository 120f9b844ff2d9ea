"""Checks of the requirements of frontend design on this machine, for `colbench doctor`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from colbench.checks import Diagnosis, check_package
from colbench.domains.frontend.weights import ADDRESS, CACHE
from colbench.errors import ColBenchError, RenderError, boundary

PURPOSE = "frontend design"
PACKAGES = {
    "playwright": "pip install 'colbench[frontend]' && playwright install chromium",
    "open_clip_torch": "pip install 'colbench[frontend]'",
}


def diagnose() -> Iterator[Diagnosis]:
    """Check the packages, the browser and CLIP's weights."""
    for package, fix in PACKAGES.items():
        yield check_package(package, PURPOSE, fix)
    yield _browser()
    yield _weights()


def _browser() -> Diagnosis:
    """Check that a browser is installed, starts in its sandbox with its fonts, and renders."""
    from colbench.sandbox.browser import find_browser, slowness

    try:
        found = find_browser()
    except ColBenchError as error:
        text = f"not found; needed for {PURPOSE}"
        return Diagnosis(what="browser", works=None, text=text, fix=str(error))
    try:
        with boundary(RenderError):
            found_out = [f"{found}: {asyncio.run(_render())}", slowness(found)]
            return Diagnosis(what="browser", works=True, text="; ".join(filter(None, found_out)))
    except ColBenchError as error:
        text = f"{found} does not work; needed for {PURPOSE}"
        return Diagnosis(what="browser", works=None, text=text, fix=str(error))


async def _render() -> str:
    """Render a page, and return the environment of the browser. Raises UserError or RenderError."""
    from colbench.sandbox.browser import Renderer

    with TemporaryDirectory() as empty:
        async with Renderer(workers=1, cache=Path(empty)) as renderer:
            render = await renderer.render("<html><body>doctor</body></html>")
            if render.outcome != "rendered":
                raise RenderError(f"a plain page was not rendered: {render.note}")
            return renderer.environment


def _weights() -> Diagnosis:
    """Check that the weights file exists where scoring looks for it by default.

    The file's hash is not checked here, but at each use.
    """
    file = CACHE.expanduser() / Path(ADDRESS).name
    return Diagnosis(
        what="CLIP weights",
        works=file.is_file() or None,
        text=str(file) if file.is_file() else f"not found; needed for the cosine of {PURPOSE}",
        fix=f"fetched from {ADDRESS} at first use; without a network, put it at {file} or pass it with --clip-weights",
        fetched=True,
    )
