"""The launch of a browser in the strongest isolation (its "cage") that works on this machine."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from msgspec import Struct

from colbench.errors import RenderError
from colbench.sandbox import inside
from colbench.sandbox.browser.assets import fonts_environment

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

_START_SECONDS = 30.0
_ATTEMPTS = 2
_INSIDE = Path(inside.__file__).parent
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from inside.cage import main; main(*sys.argv[2:])"
)
_SAME_PICTURES = (
    "--hide-scrollbars", "--font-render-hinting=none", "--disable-lcd-text", "--disable-font-subpixel-positioning",
    "--force-color-profile=srgb", "--force-device-scale-factor=1", "--disable-gpu", "--disable-checker-imaging",
    "--disable-partial-raster", "--disable-image-animation-resync", "--lang=en-US",
    "--blink-settings=lazyLoadEnabled=false,imageAnimationPolicy=2", "--disable-blink-features=CSSRandomFunction",
)  # fmt: skip
"""Flags that make the picture of a page the same on all machines with the same browser, fonts and assets."""
_NO_NETWORK = (
    "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--dns-prefetch-disable",
)  # fmt: skip
"""Flags that keep a browser off the network.

They matter only for a request that Playwright does not intercept, on a machine without a network namespace.
"""


class Cage(Struct, frozen=True, kw_only=True):
    """One way to isolate a browser."""

    words: str
    namespaces: bool
    sandbox: bool
    """True if Chromium's own sandbox is on."""


CAGES = (
    Cage(words="no network, own sandbox", namespaces=True, sandbox=True),
    Cage(words="no network", namespaces=True, sandbox=False),
    Cage(words="flags, own sandbox", namespaces=False, sandbox=True),
    Cage(words="flags", namespaces=False, sandbox=False),
)
"""The cages, from the strongest to the weakest."""


class Launcher:
    """A launcher of browsers from one executable, in the strongest cage that works on this machine.

    If the browser twice exits immediately in a cage, the next weaker cage is tried. A browser that is only slow, as on
    a busy machine, does not lead to a weaker cage. `home`: a folder that nothing else uses. `seconds`: the time limit
    of a start.
    """

    def __init__(self, executable: Path, home: Path, *, seconds: float = _START_SECONDS) -> None:
        self._executable = executable
        self._home = home
        self._seconds = seconds
        self._started = 0
        self._choosing = asyncio.Lock()
        self._environment = {
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            **fonts_environment(home),
        }
        self._cages: tuple[Cage, ...] = CAGES

    @property
    def cage(self) -> Cage:
        """The cage in use, known once a browser has started."""
        return self._cages[0]

    async def start(self, playwright: Playwright) -> tuple[Browser, int]:
        """Start a browser, and return it with the ID of its topmost process.

        Raises RenderError, which gives the reason, if the browser does not start.
        """
        from playwright.async_api import Error, TimeoutError

        async with self._choosing:
            for cage in self._cages:
                errors: list[Error] = []
                while len(errors) < _ATTEMPTS:
                    try:
                        started = await self._start(playwright, cage)
                    except Error as error:
                        errors.append(error)
                    else:
                        self._cages = (cage,)
                        return started
                if any(isinstance(error, TimeoutError) for error in errors):
                    break
        raise RenderError(f"{self._executable} does not start: {_gist(errors[-1])}") from errors[-1]

    async def _start(self, playwright: Playwright, cage: Cage) -> tuple[Browser, int]:
        self._started += 1
        pid_file = self._home / f"pid-{self._started}"
        browser = await playwright.chromium.launch(
            executable_path=self._wrapper(pid_file, cage),
            args=[*_SAME_PICTURES, *_NO_NETWORK],
            env=dict(self._environment),
            chromium_sandbox=cage.sandbox,
            timeout=1000 * self._seconds,
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )
        return browser, int(pid_file.read_text())

    def _wrapper(self, pid_file: Path, cage: Cage) -> Path:
        """Write a script that Playwright can start instead of the browser, and return its path."""
        words = caged(cage, pid_file, self._executable)
        wrapper = pid_file.with_suffix(".sh")
        wrapper.write_text(f'#!/bin/sh\nexec {" ".join(map(quote, words))} "$@"\n')
        wrapper.chmod(0o700)
        return wrapper


def caged(cage: Cage, pid_file: Path, program: Path) -> list[str]:
    """Return a command that writes its process ID to the file, isolates itself and then becomes the program."""
    way = "namespaces" if cage.namespaces else "nothing"
    python = [sys.executable, "-I", "-S", "-c", _BOOT, str(_INSIDE.parent)]
    return [*python, way, str(pid_file), str(program)]


def _gist(error: Exception) -> str:
    """Return the last line of browser output in an error, or the error's first line if the browser wrote nothing."""
    said = [line.split("[err]")[-1].strip() for line in str(error).splitlines() if "[err]" in line]
    return said[-1] if said else str(error).split("\n", 1)[0]
