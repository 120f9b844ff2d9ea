"""The corpus of hostile pages, which is read from `sources/`: one text file for each class.

A file begins with a line that describes its class. Before each page is a line `#### aim: name`, where the aim is what
the page achieves in an unprotected browser that opens it as a file. In the text, `⟦9: <p>№⟧` means `<p>0` to `<p>8`
(such repeats may be nested). Words in capitals are placeholders for a `Canary`'s targets, for pieces from `bombs.py`,
and for a text that is different in each visit.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct

from colbench.sandbox.attacks.sources import Source, read_attacks, read_controls
from colbench.sandbox.browser.attacks.bombs import pieces

if TYPE_CHECKING:
    from colbench.sandbox.browser.attacks.canary import Canary

Aim = Literal["network", "file", "denial", "height", "next", "vary", "trace", "honest"]
"""Aim of a page: the harm that it does in an unprotected browser.

`network`: it reaches a server outside. `file`: a file of the machine is in the picture. `denial`: the picture is not
ready in time: the browser hangs, dies or uses up the machine's memory. `height`: the picture is shorter or taller
than the page. `next`: the next page looks different or is not rendered. `vary`: the page looks different when it is
rendered again. `trace`: a window or a saved file is left behind. `honest`: none of these; the page is a control.
"""
HEIGHT = 3000
"""Expected height in pixels of the pages in the class `measuring`."""
_REPEAT = re.compile(r"⟦(\d+): ([^⟦⟧]*)⟧")
_SOURCES = Path(__file__).parent / "sources"


class PageAttack(Struct, frozen=True, kw_only=True):
    """A page that tries to do more than produce a picture (or, as a control, an honest page)."""

    name: str
    kind: str
    """The class of the attack."""
    aim: Aim
    source: str

    def page(self, canary: Canary, visit: str) -> str:
        """Return the page with the addresses of this canary inserted.

        The text `visit` is also inserted, so that the sources of two visits differ although the pages look the same.
        """
        text = self.source
        for word, piece in (pieces() | canary.words | {"VISIT": visit}).items():
            text = text.replace(word, piece)
        while _REPEAT.search(text):
            text = _REPEAT.sub(_repeated, text)
        return f"<!doctype html>\n<html>\n<!-- {visit} -->\n{text}</html>\n"


@cache
def page_attacks() -> tuple[PageAttack, ...]:
    """Return all hostile pages, ordered by class."""
    return tuple(map(_attack, read_attacks(_SOURCES)))


@cache
def page_controls() -> tuple[PageAttack, ...]:
    """Return the honest pages.

    The first page has everything that attacks tamper with. It is rendered again after each attack, to show whether the
    attack did harm.
    """
    return tuple(map(_attack, read_controls(_SOURCES)))


def _attack(source: Source) -> PageAttack:
    return PageAttack(
        name=source.name, kind=source.kind, aim=cast(Aim, source.aim), source=source.text
    )


def _repeated(repeat: re.Match[str]) -> str:
    return "".join(repeat[2].replace("№", str(n)) for n in range(int(repeat[1])))
