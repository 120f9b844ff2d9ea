"""Browsers that die, hang or are left behind: how the renderer handles them, and that no process remains."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from marking import mostly
from patience import PATIENT

from colbench.errors import RenderError, UserError
from colbench.sandbox.attacks.orphans import adopting_orphans
from colbench.sandbox.attacks.orphans import descendants as below
from colbench.sandbox.browser import Renderer
from colbench.sandbox.browser.launch import CAGES, Cage, Launcher, caged
from colbench.sandbox.browser.processes import family, parent_of

PATIENCE = 20.0
RENDER_FOREVER = """
import asyncio, sys
from pathlib import Path
from colbench.sandbox.browser import Renderer

async def main():
    async with Renderer(sys.argv[1], cache=Path(sys.argv[2])) as renderer:
        for number in range(1_000_000):
            print((await renderer.render(f"<p>{number}")).outcome, flush=True)

asyncio.run(main())
"""


@pytest.fixture(autouse=True)
def orphans() -> Iterator[None]:
    """Count orphaned processes as descendants, too, during each test."""
    with adopting_orphans():
        yield


def descendants() -> set[int]:
    return set(below(os.getpid()))


def roots() -> list[int]:
    """Return the topmost processes of browsers below this process; the driver starts each in its own session."""
    found = []
    for pid in descendants():
        with suppress(OSError):  # it has ended meanwhile
            if os.getpgid(pid) == pid and parent_of(pid) != os.getpid():
                found.append(pid)
    return found


def have_ended(pids: set[int]) -> bool:
    """Return True if all processes end within PATIENCE; a zombie counts as ended."""
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


@pytest.mark.slow
@pytest.mark.parametrize("part", ["browser", pytest.param("driver", marks=pytest.mark.weekly)])
async def test_a_killed_browser_is_replaced_and_its_pages_are_rendered(
    browser: Path, tmp_path: Path, part: str
) -> None:
    async with Renderer(str(browser), cache=tmp_path, workers=3, limits=PATIENT) as renderer:
        pages = [f"<p>{number}" * 500 for number in range(6)]
        rendering = asyncio.gather(*map(renderer.render, pages))
        await asyncio.sleep(0.3)
        [root] = roots()
        os.kill(root if part == "browser" else parent_of(root), signal.SIGKILL)
        assert {render.outcome for render in await rendering} == {"rendered"}
        assert (await renderer.render("<p>after")).outcome == "rendered"


async def test_no_process_remains_when_the_renderer_is_closed(
    browser: Path, tmp_path: Path
) -> None:
    async with Renderer(str(browser), cache=tmp_path, limits=PATIENT) as renderer:
        await renderer.render("<p>x")
        processes = descendants()
        assert len(processes) > 2
    assert have_ended(processes)


async def test_no_process_remains_when_rendering_is_canceled(browser: Path, tmp_path: Path) -> None:
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
    assert have_ended(processes)


@pytest.mark.parametrize(
    "moment", mostly(pytest.mark.weekly, (0.0, 0.02, 0.1, 0.2, 0.3, 0.4, 0.6, 1.0), 0.0, 0.3)
)
@pytest.mark.parametrize("cancels", [1, 2])
async def test_no_process_remains_when_a_renderer_is_canceled_at_any_moment(
    browser: Path, tmp_path: Path, moment: float, cancels: int
) -> None:
    """Cancel while the driver, the browser or the font check starts, and after all have started."""

    async def hold() -> None:
        async with Renderer(str(browser), cache=tmp_path):
            await asyncio.Event().wait()

    before = descendants()
    holding = asyncio.create_task(hold())
    await asyncio.wait({holding}, timeout=moment)
    for _ in range(cancels):
        holding.cancel()
        await asyncio.wait({holding}, timeout=moment)
    with pytest.raises(asyncio.CancelledError):
        await holding
    assert have_ended(descendants() - before)


@pytest.mark.parametrize(
    "end",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_no_process_remains_when_a_signal_ends_the_renderer(
    browser: Path, tmp_path: Path, end: signal.Signals
) -> None:
    command = [sys.executable, "-c", RENDER_FOREVER, str(browser), str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "rendered\n"
        processes = set(family(process.pid))
        assert len(processes) > 3
        process.send_signal(end)
        assert have_ended(processes)


RUN_AND_WAIT = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"


@pytest.mark.parametrize("cage", [CAGES[0], CAGES[-1]], ids=lambda cage: cage.words)
@pytest.mark.parametrize("moment", [0.0, 0.001, 0.003, 0.01, 0.03])
def test_a_caged_process_dies_with_its_parent_at_any_moment(
    tmp_path: Path, cage: Cage, moment: float
) -> None:
    sleeper = program(tmp_path / "sleeper", "while sleep 1; do :; done")
    pid_file = tmp_path / "pid"
    command = [sys.executable, "-c", RUN_AND_WAIT, *caged(cage, pid_file, sleeper)]
    with subprocess.Popen(command) as parent:
        while not (pid_file.exists() and pid_file.read_text()):
            time.sleep(0.0005)
        time.sleep(moment)
        parent.kill()
    assert have_ended_naming(tmp_path)


def have_ended_naming(path: Path) -> bool:
    """Return True if all processes with this path in their command lines end within PATIENCE."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if not list(running_with(str(path).encode())):
            return True
        time.sleep(0.05)
    return False


def running_with(text: bytes) -> Iterator[int]:
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if text in (entry / "cmdline").read_bytes():
                yield int(entry.name)


def program(path: Path, *lines: str) -> Path:
    """Return a shell script that takes the place of a browser and prints a browser's version."""
    version = '[ "$1" = --version ] && echo Chromium 1.2.3.4 && exit'
    path.write_text("\n".join(("#!/bin/sh", version, *lines)))
    path.chmod(0o755)
    return path


async def test_a_browser_without_fonts_is_refused(browser: Path, tmp_path: Path) -> None:
    empty = tmp_path / "fonts.conf"
    empty.write_text("<fontconfig></fontconfig>")
    fontless = program(tmp_path / "fontless", f'FONTCONFIG_FILE={empty} exec {browser} "$@"')
    with pytest.raises(UserError, match="no usable fonts: sans-serif is drawn with no font"):
        async with Renderer(str(fontless), cache=tmp_path):
            pass


async def test_a_browser_that_does_not_start_is_refused(tmp_path: Path) -> None:
    broken = program(tmp_path / "broken", "echo no room >&2; exit 1")
    with pytest.raises(UserError, match="does not start.*no room"):
        async with Renderer(str(broken), cache=tmp_path):
            pass
    assert not any(running(pid) for pid in descendants())


@pytest.fixture
async def usual_cage(browser: Path, tmp_path: Path) -> str:
    """Return the cage in which the browser starts on this machine."""
    async with Renderer(str(browser), cache=tmp_path) as renderer:
        return renderer.cage


@pytest.mark.slow
async def test_a_cage_in_which_the_browser_does_not_start_is_replaced_by_the_next(
    browser: Path, usual_cage: str, tmp_path: Path
) -> None:
    picky = program(
        tmp_path / "picky",
        f'case "$*" in *--no-sandbox*) exec {browser} "$@";; esac',
        "echo no sandbox here >&2; exit 1",
    )
    async with Renderer(str(picky), cache=tmp_path) as caged:
        assert (await caged.render("<p>x")).outcome == "rendered"
        assert caged.cage == usual_cage.removesuffix(", own sandbox")
        assert caged.cage in {"no network", "flags"}


@pytest.mark.slow
async def test_a_cage_in_which_the_browser_failed_once_is_kept(
    browser: Path, usual_cage: str, tmp_path: Path
) -> None:
    failed = tmp_path / "failed"
    shaky = program(
        tmp_path / "shaky",
        f"[ -e {failed} ] || {{ touch {failed}; exit 1; }}",
        f'exec {browser} "$@"',
    )
    async with Renderer(str(shaky), cache=tmp_path) as caged:
        assert failed.exists()
        assert caged.cage == usual_cage


async def test_a_cage_is_not_replaced_because_the_browser_starts_slowly(tmp_path: Path) -> None:
    from playwright.async_api import async_playwright

    slow = program(tmp_path / "slow", f"echo >> {tmp_path}/starts; exec sleep 60")
    launcher = Launcher(slow, tmp_path, seconds=2)
    async with async_playwright() as playwright:
        with pytest.raises(RenderError, match="does not start.*Timeout 2000ms exceeded"):
            await launcher.start(playwright)
    assert (tmp_path / "starts").read_text() == 2 * "\n"
