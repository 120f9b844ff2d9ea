"""Tailwind's stylesheet, cut down to what a page can use.

The whole sheet has 2.9 MB and 39,110 rules; a page uses a few dozen of its classes. Each rule is kept unchanged or
dropped. The order of the rules and the media queries around them remain, so that the cascade is the same. Rules without
a class (the reset, keyframes) are always kept.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from functools import cache
from posixpath import commonprefix

from msgspec import Struct

from colbench.sandbox.browser.assets.vendored import unpacked

SHEET = "tailwind-2.2.19.min.css"
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_PART = re.compile(
    r"(@keyframes[^{]*\{(?:[^{}]*\{[^{}]*\})*\})|(@media[^{]*\{)|([^{}]+)(\{[^{}]*\})|\}"
)
_CLASS = re.compile(r"\.((?:\\.|[\w-])+)")
_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6}) ?|(.))", re.I)
_TOKEN = re.compile(r"[^\s\"'<>=]+")

Around = tuple[str, ...]
"""The media queries around a rule, from the outermost to the innermost, each with its opening brace."""


class _Sheet(Struct, frozen=True):
    """The rules of a style sheet, each with the media queries around it, and the indices of the rules by class."""

    rules: tuple[tuple[Around, str], ...]
    always: frozenset[int]
    by_class: dict[str, tuple[int, ...]]


def purge(page: str) -> str:
    """Return the rules that the page can use, as CSS.

    Every word of the page counts as a class, wherever it occurs and regardless of case (in a page without a doctype,
    classes are case-insensitive). This keeps too many rules rather than too few.
    """
    sheet = _sheet()
    words = set(_TOKEN.findall(page.lower()))
    if "&" in page:
        words.update(_TOKEN.findall(html.unescape(page).lower()))
    kept = set(sheet.always)
    for word in words & sheet.by_class.keys():
        kept.update(sheet.by_class[word])
    return "".join(_joined(sheet.rules[index] for index in sorted(kept)))


def _joined(rules: Iterable[tuple[Around, str]]) -> Iterator[str]:
    opened: Around = ()
    for around, rule in (*rules, ((), "")):
        common = len(commonprefix((opened, around)))
        yield "}" * (len(opened) - common)
        yield from around[common:]
        yield rule
        opened = around


@cache
def _sheet() -> _Sheet:
    """Parse the style sheet of the assets. The result is cached, because this takes about a fifth of a second."""
    rules: list[tuple[Around, str]] = []
    always: set[int] = set()
    by_class: dict[str, list[int]] = {}
    around: Around = ()
    for keyframes, media, selector, body in _PART.findall(
        _COMMENT.sub("", unpacked(SHEET).decode())
    ):
        if media:
            around = (*around, media)
        elif not (keyframes or selector):
            around = around[:-1]
        else:
            classes = set() if keyframes else set(_classes(selector))
            for name in classes:
                by_class.setdefault(name, []).append(len(rules))
            if not classes:
                always.add(len(rules))
            rules.append((around, keyframes or selector + body))
    indexes = {name: tuple(found) for name, found in by_class.items()}
    return _Sheet(tuple(rules), frozenset(always), indexes)


def _classes(selector: str) -> Iterator[str]:
    """Yield the last class of each selector in a list of selectors, without escapes and in lower case.

    A page keeps the rule with these selectors if it uses at least one of the classes.
    """
    for single in selector.split(","):
        found = _CLASS.findall(single)
        if found:
            yield _ESCAPE.sub(_unescaped, found[-1]).lower()


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else str(match[2])
