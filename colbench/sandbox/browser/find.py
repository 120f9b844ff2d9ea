"""The choice of the browser (the one named, Playwright's own, or the system's), and the browser's version."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from colbench.errors import UserError

HEADLESS_SHELL = "chromium-headless-shell"
_PLAYWRIGHTS_OWN = {
    HEADLESS_SHELL: ("chrome-headless-shell", "headless_shell"),
    "chromium": ("chrome",),
}
_INSTALL = "`pip install 'colbench[frontend]' && playwright install chromium`"
_ADVICE = (
    f"install a browser with {_INSTALL} or from a system package (chromium-headless-shell, chromium or "
    "google-chrome), or choose one with --browser or COLBENCH_BROWSER"
)
_VERSION_SECONDS = 20


def find_browser(explicit: str | None = None) -> Path:
    """Return the executable of the browser.

    The browser is `explicit` (a path or a name on PATH), else the one that COLBENCH_BROWSER names, else a headless
    shell (Playwright's own or the system's), else a full Chromium. Raises UserError, which says how to get a browser,
    if no browser is found, or if Playwright, which controls the browser, is not installed.
    """
    if find_spec("playwright") is None:
        raise UserError(f"rendering needs Playwright, which is not installed; run {_INSTALL}")
    named = {"--browser": explicit, "COLBENCH_BROWSER": os.environ.get("COLBENCH_BROWSER")}
    for source, name in named.items():
        if name:
            found = shutil.which(name)
            if found is None:
                raise UserError(
                    f"{source} names {name}, which is not a program on this machine; {_ADVICE}"
                )
            return Path(found)
    found = next(_installed(), None)
    if found is None:
        raise UserError(f"no browser was found: {_ADVICE}")
    return Path(found)


def describe_browser(browser: Path) -> str:
    """Return a description of the executable, such as `Chromium 156.0.8078.79 (headless shell)`.

    Raises UserError if the executable cannot be started or reports no version.
    """
    try:
        said = subprocess.run(  # noqa: S603  # the browser that the user chose
            [browser, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_SECONDS,
            check=False,
        ).stdout.decode(errors="replace")
    except (OSError, subprocess.TimeoutExpired) as cause:
        raise UserError(f"{browser} cannot be started: {cause}; {_ADVICE}") from cause
    version = re.search(r"\d+(\.\d+){3}", said)
    if version is None:
        raise UserError(f"{browser} does not report a Chromium version; {_ADVICE}")
    build = "headless shell" if _is_headless_shell(browser) else "full"
    return f"Chromium {version.group()} ({build})"


def slowness(browser: Path) -> str:
    """Return a warning that a full Chromium is slow, and how to get the headless shell; "" for a headless shell."""
    if _is_headless_shell(browser):
        return ""
    return (
        "a full Chromium uses seven times as much CPU per page as the headless shell; install the "
        "headless shell with `playwright install chromium-headless-shell` or the system's package "
        "chromium-headless-shell"
    )


def _is_headless_shell(browser: Path) -> bool:
    return "headless" in browser.resolve().name


def _installed() -> Iterator[str]:
    """Yield the browsers of this machine in order of preference."""
    for name in (HEADLESS_SHELL, "chromium", "google-chrome"):
        yield from _playwrights_own(name)
        if system := shutil.which(name):
            yield system


def _playwrights_own(name: str) -> Iterator[str]:
    """Yield the browsers that `playwright install` downloaded for the installed version of Playwright."""
    package = _playwright_package()
    listed = json.loads((package / "browsers.json").read_bytes())["browsers"]
    revisions = {entry["name"]: entry["revision"] for entry in listed}
    folder = _downloads(package) / f"{name.replace('-', '_')}-{revisions.get(name)}"
    for program in _PLAYWRIGHTS_OWN.get(name, ()):
        yield from map(str, sorted(path for path in folder.rglob(program) if path.is_file()))


def _playwright_package() -> Path:
    spec = find_spec("playwright")
    if spec is None or spec.origin is None:
        raise UserError(f"Playwright is not installed: {_INSTALL}")
    return Path(spec.origin).parent / "driver" / "package"


def _downloads(package: Path) -> Path:
    """Return the folder to which Playwright downloads browsers, according to its documentation."""
    said = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    if said == "0":
        return package / ".local-browsers"
    if said:
        return Path(said)
    return Path.home() / ".cache" / "ms-playwright"
