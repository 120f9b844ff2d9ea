"""Checks of strangers' texts: invisible characters and look-alike names must not deceive a reader."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime

from colbench_leaderboard.bundle.confusables import prototypes
from colbench_leaderboard.bundle.refused import Refused
from colbench_leaderboard.bundle.schema import SUBMISSION, Submission

LINK = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[^\s<>\"'`\\]*)?", re.ASCII)
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories of characters that may be invisible: control, format, unassigned and other C categories; line and
paragraph separators."""
BLANK = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc\U000e0100-\U000e01ef]"
)
"""Characters of other categories that are invisible: fillers, blanks and variation selectors."""
JOINERS = {"\u200c", "\u200d", "\ufe0e", "\ufe0f"}
"""Invisible characters that some scripts and emoji need; allowed in free text only."""
ALPHABETS = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")
"""Alphabets that must not be mixed in one word, because letters of different alphabets can look alike."""
MOST_MARKS = 2
"""Maximum number of combining marks on one letter."""
POINT = "·"
"""The character that replaces signs and spaces between two digits, as in 2.5, before names are compared."""


def require_plain(submission: Submission, file: str = SUBMISSION) -> None:
    """Raise Refused if a name, a longer text or the link can deceive a reader, or if the link is not an `https://` URL.

    Rules: `submission.name`, `submission.text`, `submission.link`.

    HTML is allowed, because the site shows it as plain text.
    """
    for key, text in _lines(submission):
        if flaw := name_flaw(text):
            raise Refused("submission.name", f"`{key}` {flaw}", file=file)
    for key, text in _texts(submission):
        if flaw := text_flaw(text):
            raise Refused("submission.text", f"`{key}` {flaw}", file=file)
    link = submission.link
    if link and (not LINK.fullmatch(link) or text_flaw(link, line=True)):
        message = (
            "`link` is not a plain https:// URL: https://HOST/PATH, without spaces, quotes, invisible characters, "
            "user names and non-ASCII hosts"
        )
        raise Refused("submission.link", message, file=file)


def name_flaw(text: str) -> str:
    """Return a description of the first flaw in a name; "" if the name has no flaw."""
    if flaw := text_flaw(text, line=True):
        return flaw
    if text != " ".join(text.split(" ")).strip() or "  " in text:
        return "has leading, trailing or repeated spaces"
    for word in re.findall(r"\w+", text):
        found = sorted({name for char in word if (name := _alphabet(char))})
        if len(found) > 1:
            return f"mixes {' and '.join(map(str.title, found))} letters in one word: {word!a}"
    return ""


def text_flaw(text: str, *, line: bool = False) -> str:
    """Return a description of the first flaw in a text; "" if the text has no flaw.

    With `line`, the text must be a single line, and may contain neither `JOINERS` nor spaces other than U+0020.
    """
    allowed = set() if line else {"\n", "\t", *JOINERS}
    marks = 0
    for char in text:
        kind = unicodedata.category(char)
        if (kind in HIDDEN or BLANK.match(char)) and char not in allowed:
            what = "unassigned" if kind == "Cn" else "invisible"
            return f"contains an {what} character: U+{ord(char):04X}"
        if kind == "Zs" and char != " " and line:
            return f"contains a character that only looks like a space: U+{ord(char):04X}"
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if marks > MOST_MARKS:
            return f"has more than {MOST_MARKS} combining marks on one letter"
    if unicodedata.normalize("NFC", text) != text:
        return "is not in Unicode normalization form C (NFC)"
    return ""


def strings(value: object) -> Iterator[str]:
    """Yield all texts in nested lists and dictionaries, including keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def look_alike(one: str, other: str) -> bool:
    """Return True if two names look alike.

    Each name is compared as written, in lowercase, and in uppercase, with all three forms of the other name.
    """
    return not _skeletons(one).isdisjoint(_skeletons(other))


def skeleton(name: str) -> str:
    """Return a key that is the same for two names if they look alike as written.

    `look_alike` also compares the names in other cases.

    Confusable characters (UTS 39) are unified, and so are `i` and `l`. Case, accents, spaces and signs are dropped.
    However, spaces and signs between two digits become `POINT`. A name that consists only of spaces and signs is
    unchanged.
    """
    seen = re.sub(r"(?<=\d)[\W_]+(?=\d)", POINT, unicodedata.normalize("NFD", name))
    for _ in range(2):  # NFKD can produce characters that are themselves confusable
        seen = unicodedata.normalize("NFKD", seen.translate(prototypes()))
    seen = seen.casefold().replace("i", "l")
    return "".join(filter(_tells_apart, seen)) or name


def _skeletons(name: str) -> set[str]:
    return {skeleton(name), skeleton(name.casefold()), skeleton(name.upper())}


def is_time(text: str) -> bool:
    """Return True if a text is a valid date or time in ISO 8601."""
    try:
        return bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def _tells_apart(char: str) -> bool:
    """Return True for letters, digits, `POINT`, and signs that are part of letters.

    Hindi vowel signs are part of letters; accents are not.
    """
    is_sign = unicodedata.category(char)[0] == "M" and "COMBINING" not in unicodedata.name(char, "")
    return char.isalnum() or char == POINT or is_sign


def _alphabet(char: str) -> str:
    name = unicodedata.name(char, "")
    return next((alphabet for alphabet in ALPHABETS if name.startswith(alphabet)), "")


def _lines(submission: Submission) -> Iterator[tuple[str, str]]:
    yield "name", submission.name
    yield "organization", submission.organization
    yield "contact", submission.contact
    for author in submission.authors:
        yield "authors", author
    for model in submission.models:
        yield "models.name", model.name
        yield "models.revision", model.revision
        yield "models.license", model.license


def _texts(submission: Submission) -> Iterator[tuple[str, str]]:
    yield "description", submission.description
    yield "disclosures.training_notes", submission.disclosures.training_notes
    yield "disclosures.tools", submission.disclosures.tools
