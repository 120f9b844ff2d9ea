"""The page in a message: the part of the agent's text that is rendered as HTML."""

from __future__ import annotations

import re
from itertools import islice

from colbench.config import ScoringMode

FENCE = re.compile(r"^[ \t]*(`{3,}+|~{3,}+)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.M | re.S)
MENTION = re.compile(r"`(?:\s{0,9}</?[!a-z][^`\n<>]{0,60}>?){1,3}\s{0,9}`", re.I)
"""Pattern for HTML tags in inline code. Such tags are only mentioned and do not belong to a page."""
ATTRIBUTES = r"[^>]{0,1000}>"  # bounded because many `<html` in a message would otherwise take quadratic time
DOCTYPE = rf"<!doctype\s{{1,100}}html{ATTRIBUTES}"
COMMENTS = r"(?>\s*<!--.{0,300}?-->){0,5}+"  # bounded for the same reason
DOCUMENT = re.compile(
    rf"(?:{DOCTYPE}{COMMENTS}\s*)?<html\b{ATTRIBUTES}.*?(?:</html\s*>|\Z)", re.I | re.S
)
WITHOUT_HTML = re.compile(rf"{DOCTYPE}.*", re.I | re.S)
HEAD = rf"<head\b{ATTRIBUTES}(?:(?!</?head\b|<body\b).)*+</head\s*>\s*"
BODY = re.compile(rf"(?:{HEAD})?<body\b{ATTRIBUTES}.*?(?:</body\s*>|\Z)", re.I | re.S)
TAG = re.compile(r"<[a-z]", re.I)
OPEN = re.compile(r"<html\b", re.I)
CLOSE = re.compile(r"</html\s*>", re.I)


def extract_page(text: str, mode: ScoringMode = "default") -> str | None:
    """Return the page (an HTML document) in a message; None if the message contains no page.

    In mode `default`, the page is the last document in the last fenced block that contains a document. If no block
    contains one, the page is the last document in the text. The parts of a text that count as a document are:
    - with `<html>`: from `<html>`, or from a doctype before it, to `</html>`;
    - with a doctype but without `<html>`: from the doctype to the end of the block or text;
    - with neither: from `<body>`, or from a `<head>` before it, to `</body>`.

    A document that is cut off extends to the end of the block or text. An `<html>` in inline code, or without another
    tag after it, is only mentioned and does not start a document.

    In mode `official`, the page extends from the first `<html` to the next `</html>`, as in the released scorer. A
    doctype is therefore dropped, and a page that is cut off does not count.
    """
    if mode == "official":
        start = OPEN.search(text)
        end = CLOSE.search(text, start.end()) if start else None
        return text[start.start() : end.end()] if start and end else None
    plain = MENTION.sub(lambda found: " " * len(found.group()), text)
    fenced = [found.span(2) for found in FENCE.finditer(plain)]
    for region in (*reversed(fenced), (0, len(plain))):
        place = _document(plain, *region)
        if place:
            return text[place[0] : place[1]].strip()
    return None


def _document(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the position of the last HTML document in `text[start:end]`; None if it contains no document."""
    for pattern, least in ((DOCUMENT, 2), (WITHOUT_HTML, 1), (BODY, 2)):
        documents = (found for found in pattern.finditer(text, start, end))
        places = [each.span() for each in documents if _tags(each.group(), least) == least]
        if places:
            return places[-1]
    return None


def _tags(document: str, most: int) -> int:
    return sum(1 for _ in islice(TAG.finditer(document), most))


def target_page(reference: str, mode: ScoringMode = "default") -> str:
    """Return the target page to render: the page in a task's reference, or the whole reference if it has no page."""
    return extract_page(reference, mode) or reference
