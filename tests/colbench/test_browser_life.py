"""Browsers that die, hang or are left behind: what the renderer makes of it, and that nothing stays."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from colbench.errors import UserError
from colbench.sandbox.browser import Renderer
from colbench.sandbox.browser.processes import family, parent_of

PATIENCE = 20.0
RENDER_FOR_EVER = """
import asyncio, sys
from pathlib import Path
from colbench.sandbox.browser import Renderer

async def main():
    async with Renderer(sys.argv[1], cache=Path(sys.argv[2])) as renderer:
        for number in range(1_000_000):
            print((await renderer.render(f"<p>{number}")).outcome, flush=True)

asyncio.run(main())
"""


def descendants() -> set[int]:
    return set(family(os.getpid())) - {os.getpid()}


def roots() -> list[int]:
    """The topmost processes of browsers below this one: the driver starts each in a session of its own."""
    return [
        pid for pid in descendants() if os.getpgid(pid) == pid and parent_of(pid) != os.getpid()
    ]


def gone(pids: set[int]) -> bool:
    """Whether all have ended before patience does; a zombie has."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if not any(running(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("part", ["browser", "driver"])
async def test_a_browser_that_is_killed_is_replaced_and_its_pages_rendered(
    browser: Path, tmp_path: Path, part: str
) -> None:
    async with Renderer(str(browser), cache=tmp_path, workers=3) as renderer:
        pages = [f"<p>{number}" * 500 for number in range(6)]
        rendering = asyncio.gather(*map(renderer.render, pages))
        await asyncio.sleep(0.3)
        [root] = roots()
        os.kill(root if part == "browser" else parent_of(root), signal.SIGKILL)
        assert {render.outcome for render in await rendering} == {"rendered"}
        assert (await renderer.render("<p>after")).outcome == "rendered"


async def test_nothing_is_left_when_the_renderer_is_left(browser: Path, tmp_path: Path) -> None:
    async with Renderer(str(browser), cache=tmp_path) as renderer:
        await renderer.render("<p>x")
        processes = descendants()
        assert len(processes) > 2
    assert gone(processes)


async def test_nothing_is_left_when_rendering_is_cancelled(browser: Path, tmp_path: Path) -> None:
    processes: set[int] = set()

    async def render_all() -> None:
        async with Renderer(str(browser), cache=tmp_path) as renderer:
            processes.update(descendants())
            await asyncio.gather(*(renderer.render(f"<p>{n}" * 3000) for n in range(50)))

    rendering = asyncio.create_task(render_all())
    await asyncio.wait({rendering}, timeout=2)
    processes |= descendants()
    rendering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await rendering
    assert processes
    assert gone(processes)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_when_the_process_is_ended(
    browser: Path, tmp_path: Path, end: signal.Signals
) -> None:
    command = [sys.executable, "-c", RENDER_FOR_EVER, str(browser), str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "rendered\n"
        processes = set(family(process.pid))
        assert len(processes) > 3
        process.send_signal(end)
        assert gone(processes)


async def test_a_browser_without_fonts_is_refused(browser: Path, tmp_path: Path) -> None:
    empty = tmp_path / "fonts.conf"
    empty.write_text("<fontconfig></fontconfig>")
    fontless = tmp_path / "fontless"
    fontless.write_text(f'#!/bin/sh\nFONTCONFIG_FILE={empty} exec {browser} "$@"\n')
    fontless.chmod(0o755)
    with pytest.raises(UserError, match="no usable fonts: sans-serif is drawn with none"):
        async with Renderer(str(fontless), cache=tmp_path):
            pass


async def test_a_browser_that_does_not_start_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo Chromium 1.2.3.4 && exit\necho no room >&2; exit 1\n'
    )
    broken.chmod(0o755)
    with pytest.raises(UserError, match="does not start.*no room"):
        async with Renderer(str(broken), cache=tmp_path):
            pass
    assert not any(running(pid) for pid in descendants())
