"""The choice of the browser, and the message if no browser is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from colbench.errors import UserError
from colbench.sandbox.browser import find_browser, slowness
from colbench.sandbox.browser.find import describe_browser

FIND = "from colbench.sandbox.browser import find_browser; print(find_browser(), end='')"


def program(path: Path, says: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def found(home: Path, path: Path, **environment: str) -> str:
    """Return the browser that another process with this home, PATH and environment finds, or its error message."""
    known = {"HOME": str(home), "PATH": str(path), **environment}
    done = subprocess.run(
        [sys.executable, "-c", FIND], env=known, capture_output=True, text=True, check=False
    )
    return done.stdout or done.stderr


@pytest.mark.weekly
def test_the_variable_comes_first_then_headless_shells_then_full_browsers(tmp_path: Path) -> None:
    spec = find_spec("playwright")
    assert spec is not None
    assert spec.origin is not None
    listed = json.loads((Path(spec.origin).parent / "driver/package/browsers.json").read_text())[
        "browsers"
    ]
    revision = {entry["name"]: entry["revision"] for entry in listed}
    system = tmp_path / "bin"
    downloads = tmp_path / ".cache" / "ms-playwright"

    chrome = program(system / "google-chrome")
    assert found(tmp_path, system) == str(chrome)
    chromium = program(system / "chromium")
    assert found(tmp_path, system) == str(chromium)
    shell = program(system / "chromium-headless-shell")
    assert found(tmp_path, system) == str(shell)
    program(
        downloads / "chromium-1" / "chrome-linux" / "chrome"
    )  # of another version of Playwright
    assert found(tmp_path, system) == str(shell)
    own = program(downloads / f"chromium-{revision['chromium']}" / "chrome-linux64" / "chrome")
    assert found(tmp_path, system) == str(shell)
    shell.rename(tmp_path / "away")
    assert found(tmp_path, system) == str(own)
    (tmp_path / "away").rename(shell)
    folder = f"chromium_headless_shell-{revision['chromium-headless-shell']}"
    own_shell = program(downloads / folder / "chrome-linux" / "headless_shell")
    assert found(tmp_path, system) == str(own_shell)
    assert found(tmp_path, system, PLAYWRIGHT_BROWSERS_PATH=str(tmp_path / "none")) == str(shell)
    assert found(tmp_path, system, COLBENCH_BROWSER="chromium") == str(chromium)


def test_the_error_without_a_browser_says_how_to_install_one(tmp_path: Path) -> None:
    said = found(tmp_path, tmp_path)
    assert "no browser was found" in said
    assert "pip install 'colbench[frontend]' && playwright install chromium" in said
    assert "COLBENCH_BROWSER names gone" in found(tmp_path, tmp_path, COLBENCH_BROWSER="gone")


def test_a_named_browser_is_used_and_must_be_an_executable_program(tmp_path: Path) -> None:
    named = program(tmp_path / "my browser")
    assert find_browser(str(named)) == named
    with pytest.raises(
        UserError, match="--browser names .*other, which is not a program on this machine"
    ):
        find_browser(str(tmp_path / "other"))
    named.chmod(0o644)
    with pytest.raises(UserError, match="is not a program on this machine"):
        find_browser(str(named))


def test_a_browser_is_described_by_version_and_build(tmp_path: Path) -> None:
    shell = program(tmp_path / "headless_shell", "Google Chrome for Testing 131.0.6778.33 ")
    full = program(tmp_path / "chrome", "Chromium 156.0.8078.79 built on Debian GNU/Linux 12")
    assert describe_browser(shell) == "Chromium 131.0.6778.33 (headless shell)"
    assert describe_browser(full) == "Chromium 156.0.8078.79 (full)"
    assert not slowness(shell)
    assert "seven times as much CPU" in slowness(full)


@pytest.mark.parametrize("says", ["", "Mozilla Firefox 128.5", "hello"])
def test_a_program_that_reports_no_chromium_version_is_refused(tmp_path: Path, says: str) -> None:
    with pytest.raises(UserError, match="does not report a Chromium version"):
        describe_browser(program(tmp_path / "other", says))


def test_the_error_without_playwright_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys, importlib.util\n"
        "sys.path = [p for p in sys.path if 'site-packages' not in p] + [sys.argv[1]]\n" + FIND
    )
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("msgspec", "PIL", "colbench"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (packages / name).symlink_to(Path(spec.origin).parent)
    done = subprocess.run(
        [sys.executable, "-c", code, str(packages)],
        env={"PATH": os.defpath}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    install = "`pip install 'colbench[frontend]' && playwright install chromium`"
    assert f"Playwright, which is not installed; run {install}" in done.stderr
