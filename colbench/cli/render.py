"""`colbench render`: render a page to a picture, as a run would."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.command import describe
from colbench.config import ScoringMode
from colbench.errors import UserError

if TYPE_CHECKING:
    from colbench.pages.render import Render

PAGE = {
    "default": "HTML that starts with a doctype, <html> or <body>",
    "official": "HTML from <html> to </html>",
}
"""The form of a page that `extract_page` finds, by scoring mode."""


def add_to(commands: Any) -> None:
    """Add the command `render` to the parser."""
    parser = commands.add_parser("render", description=describe(__doc__))
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a file with a page, or with a message that contains one; -: standard input",
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="PNG",
        help="the picture to write (default: FILE with the suffix .png; for standard input, page.png)",
    )
    parser.add_argument(
        "--mode",
        choices=("default", "official"),
        default="default",
        help="default: 1280 pixels wide; official: without the doctype, in a window as large as that "
        "of the paper's release",
    )
    parser.add_argument(
        "--browser", metavar="PATH", help="the browser (default: the first one found)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the picture, and print its path and the URLs that were blocked.

    Return 1 if the page cannot be rendered, else 0. Raises UserError if the file cannot be read or contains no page.
    """
    from colbench.pages.extract import extract_page

    page = extract_page(_read(args.file), args.mode)
    if page is None:
        raise UserError(f"{args.file}: contains no page; expected {PAGE[args.mode]}")
    render = asyncio.run(_render(page, args.mode, args.browser))
    for address in render.refused:
        print(f"blocked: {address}", file=sys.stderr)
    if render.outcome != "rendered":
        print(f"colbench: {args.file}: {render.outcome}: {render.note}", file=sys.stderr)
        return 1
    out = Path(
        args.out or ("page.png" if args.file == "-" else Path(args.file).with_suffix(".png"))
    )
    out.write_bytes(render.picture)
    cut = ", cut off at the maximum height" if render.cut else ""
    print(f"{out}: {render.width} x {render.height} pixels{cut}")
    return 0


def _read(file: str) -> str:
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as cause:
        raise UserError(f"{file}: cannot be read: {cause.strerror}") from cause
    return content.decode("utf-8", "replace")


async def _render(page: str, mode: ScoringMode, browser: str | None) -> Render:
    from colbench.sandbox.browser import Renderer

    async with Renderer(browser, workers=1) as renderer:
        return await renderer.render(page, mode)
