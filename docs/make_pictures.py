"""Make the pictures of the README from real runs: `python docs/make_pictures.py [--browser PATH]`.

Three rule-based agents (`AGENTS`) play the bundled test tasks, as in `make eval`. A browser takes screenshots of the
pages, light and dark; the picture of a terminal shows the output of `colbench compare`, as SVG. The pictures are
written to `docs/pictures/`; the runs are deleted at the end.
"""

from __future__ import annotations

import argparse
import io
import os
import pty
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME, TerminalTheme
from rich.text import Text

from colbench.sandbox.browser import find_browser

HERE = Path(__file__).parent
PICTURES = HERE / "pictures"
AGENTS = ("interviewer", "demonstrator", "guesser")
COLUMNS = 100
COLORS = 128
"""Number of colors in a picture of a page, few enough for a small file."""
DIALOGUE = "loyalty-test-0000"
WIDTH = 1100
HEIGHTS = {"dialogue": 910, "report": 910, "compare": 910}
LIGHT = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [
        (36, 41, 47), (180, 35, 24), (26, 127, 55), (154, 103, 0), (9, 105, 218), (130, 80, 223), (27, 124, 131),
        (110, 119, 129),
    ],
)  # fmt: skip
THEMES: dict[Literal["light", "dark"], TerminalTheme] = {"light": LIGHT, "dark": SVG_EXPORT_THEME}


def main() -> None:
    """Run the agents and make all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", help="the browser that renders the pages")
    args = parser.parse_args()
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        for agent in AGENTS:
            colbench("eval", "--agent", agent, "--out", agent)
        colbench("compare", *AGENTS, "--html", "compare.html")
        colbench("view", "demonstrator", "--export", "viewer")
        pages = {
            "report": Path("demonstrator/report.html"),
            "compare": Path("compare.html"),
            "dialogue": dialogue(Path("viewer")),
        }
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_browser(args.browser))
            for name, page in pages.items():
                picture_page(browser, name, page.resolve())
            browser.close()
        picture_terminal("terminal", ["compare", *AGENTS])


def colbench(*arguments: str) -> None:
    """Run a `colbench` command without showing its output. Raises CalledProcessError if it fails."""
    subprocess.run(  # noqa: S603  # our own command line
        [sys.executable, "-m", "colbench.cli", *arguments], check=True, capture_output=True
    )


def dialogue(viewer: Path) -> Path:
    """Return the page of the viewer that shows the task `DIALOGUE`. Raises StopIteration if it is missing."""
    return next(
        page
        for page in sorted((viewer / "dialogues").glob("*.html"))
        if f"<title>{DIALOGUE}" in page.read_text("utf-8")
    )


def picture_page(browser: Browser, name: str, page: Path) -> None:
    """Take screenshots of the upper part of a page, light and dark."""
    for scheme in THEMES:
        tab: Page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHTS[name]}, color_scheme=scheme
        )
        tab.goto(page.as_uri())
        shot = Image.open(io.BytesIO(tab.screenshot()))
        shot.quantize(COLORS, Image.Quantize.MAXCOVERAGE).save(
            PICTURES / f"{name}-{scheme}.png", optimize=True
        )
        tab.close()


def picture_terminal(name: str, arguments: list[str]) -> None:
    """Draw the output of a command in a terminal, light and dark."""
    text = Text.from_ansi(printed(arguments))
    for scheme, theme in THEMES.items():
        console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"))  # noqa: SIM115  # closed with the process
        console.print(text)
        title = f"colbench {' '.join(arguments)}"
        console.save_svg(str(PICTURES / f"{name}-{scheme}.svg"), title=title, theme=theme)


def printed(arguments: list[str]) -> str:
    """Return the output, including escape sequences, of a command that runs in a pseudo-terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "colbench.cli", *arguments]
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    with subprocess.Popen(command, stdout=theirs, stdin=theirs, env=environment):  # noqa: S603
        os.close(theirs)
        parts = []
        while part := _read(ours):
            parts.append(part)
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    """Read from a terminal; return b"" after its last writer has exited."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


if __name__ == "__main__":
    main()
