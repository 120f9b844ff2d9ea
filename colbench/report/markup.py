"""HTML and SVG in which every text is escaped unless it was made here."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable
from html import escape
from importlib.resources import files

VOID = {"img"}
"""Elements without content and without an end tag."""


class Safe(str):
    """Markup that `element` or `join` made; it is not escaped again."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: object) -> Safe:
    """One element. `class_` stands for class, `_` in other names for `-`; None leaves an attribute out."""
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    start = f"<{name}{shown}>"
    return Safe(start if name in VOID else f"{start}{join(children)}</{name}>")


def join(parts: Iterable[str]) -> Safe:
    """Parts after one another; those that are not markup are escaped."""
    return Safe("".join(part if isinstance(part, Safe) else escape(part) for part in parts))


def table(caption: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Safe:
    """A table whose first column heads its rows."""
    head = element("tr", *(element("th", each, scope="col") for each in heads))
    return element(
        "table",
        element("caption", caption),
        element("thead", head),
        element("tbody", *(_row(row) for row in rows)),
    )


def _row(cells: Iterable[str]) -> Safe:
    first, *rest = cells
    return element("tr", element("th", first, scope="row"), *(element("td", c) for c in rest))


def resource(name: str) -> str:
    """A template, style sheet or script of the report."""
    return files("colbench.report").joinpath(name).read_text("utf-8")


def sha256(text: str) -> str:
    """A text's hash as a content security policy writes it."""
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def fill(template: str, parts: dict[str, str]) -> str:
    """The template with each `{{ name }}` replaced once; what is put in is not looked at again."""
    return re.sub(r"\{\{ (\w+) \}\}", lambda found: parts[found[1]], template)
