"""Rewriting of links: those to a page stay within the site, those to another file lead to the published repository."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

LINK = re.compile(r"(?<=\]\()(?![a-z][a-z0-9+.-]*:|#)([^)\s#]+)")
"""Pattern of the target of an inline link or picture, without its anchor; URLs and anchors of the page do not match."""

SOURCE = re.compile(r"""(?<=\bsrc=")([^":]+)(?=")|(?<=\bsrcset=")([^":]+)(?=")""")
"""Pattern of the value of an HTML attribute `src` or `srcset`; values with a colon, such as URLs, do not match."""


class Links:
    """A rewriter of links for pages whose path on the site differs from their source's path in the repository."""

    def __init__(self, root: Path, pages: Mapping[str, str], repository: str) -> None:
        """Create a rewriter. `root` and `repository` are the repository's folder and URL.

        `pages` gives the source of each page whose source is outside docs/.
        """
        self._root = root
        self._sources = dict(pages)
        self._pages = {source: page for page, source in pages.items()}
        self._repository = repository

    def rewrite(self, markdown: str, page: str) -> str:
        """Return a page's Markdown with its links as they are on the site.

        A link whose file does not exist is left unchanged, so that a strict build fails.
        """
        folder = posixpath.dirname(self._sources.get(page, f"docs/{page}"))
        here = posixpath.dirname(page)
        address = page.removesuffix("index.md").removesuffix(".md")
        linked = LINK.sub(lambda match: self._target(match[0], folder, here), markdown)
        return SOURCE.sub(lambda match: self._target(match[0], folder, address), linked)

    def _target(self, target: str, folder: str, start: str) -> str:
        """Return a link's new target: a page's path relative to `start`, or the URL of a file in the repository.

        `start`: the page's folder for a Markdown link, which MkDocs adapts itself; the page's address for HTML. Targets
        outside the repository, and those that do not exist, are returned unchanged.
        """
        path = posixpath.normpath(posixpath.join(folder, target))
        if shown := self._page(path):
            return posixpath.relpath(shown, start or ".")
        place = self._root / path
        if path.startswith("..") or not place.exists():
            return target
        return f"{self._repository}/{'tree' if place.is_dir() else 'blob'}/main/{path}"

    def _page(self, path: str) -> str:
        """Return the site's page or picture that shows a file of the repository; empty if the site does not show it."""
        if path in self._pages:
            return self._pages[path]
        shown = path.startswith("docs/") and (self._root / path).suffix in {".md", ".svg", ".png"}
        return path.removeprefix("docs/") if shown else ""
