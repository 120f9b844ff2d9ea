"""The page in a message: fences, prose, doctype, pages that are cut off, and text that is not a page."""

from __future__ import annotations

import subprocess
import sys

import pytest

from colbench.pages.extract import extract_page

PAGE = "<html><body><p>x</p></body></html>"
ONE, TWO = "<html><p>one</p></html>", "<html><p>two</p></html>"
TICKS = "<html><body><p>Use `npm install`, <b>`a`</b></p><div>big</div><p>or `b`</p></body></html>"
EXAMPLE = "<html><body><pre>\n```\na = 1\n```\n</pre><b>x</b></body></html>"
COMMENTED = f"<!doctype html>\n<!-- made for you -->\n<!-- <html> -->\n{PAGE}"
STYLED = "<head><style>p { color: red }</style></head>\n<body><p>x</p></body>"
FRENCH = '<html lang="fr"><p>x</p></html>'


@pytest.mark.parametrize(
    ("text", "default", "official"),
    [
        (PAGE, PAGE, PAGE),
        (f"Here it is: {PAGE} What do you think?", PAGE, PAGE),
        (f"```html\n{PAGE}\n```\nand\n```css\np {{}}\n```", PAGE, PAGE),
        (f"~~~\n{PAGE}\n~~~", PAGE, PAGE),
        (f"<!DOCTYPE html>\n{PAGE}", f"<!DOCTYPE html>\n{PAGE}", PAGE),
        (f"<!doctype html>{PAGE.upper()}", f"<!doctype html>{PAGE.upper()}", PAGE.upper()),
        (FRENCH, FRENCH, FRENCH),
        (COMMENTED, COMMENTED, f"<html> -->\n{PAGE}"),
        (f"{ONE} or {TWO}", TWO, ONE),
        (f"```html\n{ONE}\n```\n```html\n{TWO}\n```", TWO, ONE),
        ("```html\n<html><p>cut", "<html><p>cut", None),
        ("As asked: <html><body><h1>cut", "<html><body><h1>cut", None),
        ("<body><p>x</p></body> done", "<body><p>x</p></body>", None),
        (f"So: {STYLED} done", STYLED, None),
        ("The <head> is empty. <body><p>x</p></body>", "<body><p>x</p></body>", None),
        ("<!doctype html><title>t</title><p>x", "<!doctype html><title>t</title><p>x", None),
        ("I shall put it in an `<html>` element. Which colour?", None, None),
        ("I start with <html> and go on from there.", None, None),
        ("```python\nprint('<b>')\n```", None, None),
        ("<div>no page</div>", None, None),
        ("", None, None),
        (f"`<html>` first:\n```html\n{PAGE}\n```", PAGE, "<html>` first:\n```html\n" + PAGE),
        (TICKS, TICKS, TICKS),
        (f"It`s here: {TICKS}", TICKS, TICKS),
        (EXAMPLE, EXAMPLE, EXAMPLE),
        (f"Use `<html>`. {PAGE}", PAGE, f"<html>`. {PAGE}"),
        (f"    ```html\n{PAGE}\n    ```", PAGE, PAGE),
    ],
)  # fmt: skip
def test_the_page_is_extracted_from_a_message(text, default, official):
    assert extract_page(text) == default
    assert extract_page(text, "official") == official


BOMBS = (
    "<html>",
    "```html\n",
    "<!doctype html>",
    "<body>",
    "`",
    "<",
    "<html <",
    "<!doctype html",
    "<!--<!doctype html><!-- -->",
    "<head></head>",
    "</html ",
    " ",
)


@pytest.mark.parametrize("bomb", BOMBS)
def test_repetitive_text_does_not_make_extraction_slow(bomb):
    code = f"from colbench.pages.extract import extract_page as e; t = {bomb!r} * 200_000; e(t), e(t, 'official')"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
