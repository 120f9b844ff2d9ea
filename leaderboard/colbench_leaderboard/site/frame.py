"""What is around every page: head, policy, navigation, foot; and the assets, named by their hash."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.resources import files

from msgspec import Struct

from colbench.report.markup import Safe, element, join

POLICY = (
    "default-src 'none'; img-src 'self' file:; style-src 'self' file:; script-src 'self' file:; "
    "base-uri 'none'; form-action 'none'"
)
"""No inline script or style, no request to anywhere; `file:` for pages that are opened from a folder."""
ASSETS = ("site.css", "site.js")
SITE = "ColBench leaderboard"
MENU = (
    ("index.html", "Boards"),
    ("paper.html", "Paper’s table"),
    ("log.html", "Log"),
    ("about.html", "About"),
)
FOOT = (
    "Every number is recomputed from the transcripts of an entry by the receiver’s own tasks and scorers; "
    "everything shown follows from the log and what it names by hash."
)

Trail = Sequence[tuple[str, str]]
"""Address from the root and name of the pages above this one."""


class Page(Struct, frozen=True, kw_only=True):
    """A page but for its frame."""

    path: str
    """From the root of the site, such as `boards/x/index.html`; every link within the content starts at `root`."""
    title: str
    content: Sequence[str]
    trail: Trail = ()
    reader: bool = False
    previous: str = ""
    """The leaf before this one, in the same folder."""
    next: str = ""


def root(path: str) -> str:
    """The way from a page to the root of the site: `../../`."""
    return "../" * path.count("/")


class Frame:
    """Puts pages into their frame. `assets`: the files to be written, by path."""

    def __init__(self) -> None:
        self.assets: dict[str, bytes] = {}
        self._files: list[str] = []
        for name in ASSETS:
            content = files("colbench_leaderboard.site").joinpath("assets", name).read_bytes()
            stem, _, suffix = name.partition(".")
            path = f"assets/{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{suffix}"
            self.assets[path] = content
            self._files.append(path)

    def html(self, page: Page) -> str:
        """The whole page."""
        top = root(page.path)
        body = element(
            "body",
            element("a", "Skip to the content", href="#main", class_="skip"),
            _header(page.path, top),
            element(
                "main",
                _trail(page.trail, top),
                *page.content,
                id="main",
                tabindex=-1,
                class_="reader" if page.reader else None,
            ),
            element("footer", element("p", FOOT)),
        )
        return f'<!doctype html>\n<html lang="en">\n{self._head(page, top)}\n{body}\n</html>\n'

    def _head(self, page: Page, top: str) -> Safe:
        style, script = self._files
        leaves = [
            f'<link rel="{name}" href="{address}">'
            for name, address in (("prev", page.previous), ("next", page.next))
            if address
        ]
        return Safe(
            "<head>\n"
            '<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            '<meta name="referrer" content="no-referrer">\n'
            f"{element('title', page.title, ' · ', SITE)}\n"
            f'<link rel="stylesheet" href="{top}{style}">\n'
            f'<script src="{top}{script}" defer></script>\n'
            f"{''.join(leaves)}</head>"
        )


def _header(path: str, top: str) -> Safe:
    links = (
        element("a", name, href=top + address, aria_current="page" if address == path else None)
        for address, name in MENU
    )
    brand = element("a", SITE, href=f"{top}index.html", class_="brand")
    return element("header", brand, element("nav", *links, aria_label="Site"), class_="top")


def _trail(trail: Trail, top: str) -> Safe:
    if not trail:
        return Safe()
    links = (element("a", name, href=top + address) for address, name in trail)
    return element("p", join(join([link, " / "]) for link in links), class_="trail")
