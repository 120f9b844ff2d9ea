"""Items of a page: class names and visible texts."""

from __future__ import annotations

import re

from colbench.items import Items, ngrams, split_words

CLASSES = re.compile(r"class\s*=\s*[\"']([^\"']*)")
VISIBLE = re.compile(r">([^<>]+)<")


def html_items(source: str) -> Items:
    """Return the items of HTML source; Tailwind's utility classes are classes like any other."""
    classes = {name for group in CLASSES.findall(source) for name in group.split()}
    return Items(
        identifiers=frozenset(filter(None, map(split_words, classes))),
        numbers=frozenset(),
        texts=frozenset(filter(None, map(split_words, VISIBLE.findall(source)))),
        ngrams=frozenset(ngrams(source)),
    )
