"""Identifiers, values and lists as a person would say them. No function takes or returns a syntax tree."""

from __future__ import annotations

import re
from collections.abc import Sequence

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
SPELLED = {
    "num": "number of",
    "no": "number of",
    "avg": "average",
    "max": "maximum",
    "min": "minimum",
    "pct": "percentage",
    "qty": "quantity",
    "amt": "amount",
    "cnt": "count",
    "std": "standard",
    "idx": "index",
    "freq": "frequency",
    "dict": "table",
    "str": "text",
    "func": "function",
}
ENDINGS = {"dict": "table", "lst": "list", "str": "text", "idx": "index"}
FLAGS = ("is", "has", "have", "can", "should")
IRREGULAR = {
    "calories": "calorie",
    "movies": "movie",
    "cookies": "cookie",
    "indices": "index",
    "people": "person",
    "children": "child",
    "men": "man",
    "women": "woman",
}
NOT_PLURAL = ("ss", "us", "is", "series", "species", "sales", "analysis", "bonus")


def split_words(identifier: str) -> list[str]:
    """Split an identifier or text into lower-case words: `maxItems_2` gives max, items, 2."""
    return [word.lower() for word in WORD.findall(identifier)]


def spoken(identifier: str) -> str:
    """Phrase an identifier as words, with common abbreviations spelled out."""
    words = split_words(identifier)
    if not words:
        return identifier
    words[0] = SPELLED.get(words[0], words[0])
    if len(words) == 1:
        return words[0].removesuffix(" of")
    words[-1] = ENDINGS.get(words[-1], words[-1])
    return " ".join(words)


def the(identifier: str) -> str:
    """Phrase an identifier as a noun phrase."""
    words = split_words(identifier)
    if len(words) > 1 and words[0] in FLAGS:
        return f'the "{" ".join(words)}" flag'
    return f"the {spoken(identifier)}"


def is_plural(phrase: str) -> bool:
    """Return True if the last word of a noun phrase looks plural; a phrase such as "number of items" is singular."""
    if " of " in phrase:
        return False
    last = phrase.rsplit(" ", 1)[-1]
    return last in IRREGULAR or (
        len(last) > 2 and last.endswith("s") and not last.endswith(NOT_PLURAL)
    )


def singular(phrase: str) -> str:
    """Return a noun phrase with its last word in the singular."""
    head, _, last = phrase.rpartition(" ")
    if last in IRREGULAR:
        last = IRREGULAR[last]
    elif not is_plural(last):
        return phrase
    elif last.endswith("ies"):
        last = last[:-3] + "y"
    elif last.endswith(("sses", "xes", "ches", "shes")):
        last = last[:-2]
    else:
        last = last[:-1]
    return f"{head} {last}".strip()


def be(phrase: str, *, negated: bool = False) -> str:
    """Return the form of "to be" that agrees with a noun phrase."""
    return ("are" if is_plural(phrase) else "is") + (" not" if negated else "")


def quoted(text: str) -> str:
    """Quote a text value, cut if it is long; describe an empty text or a single space in words."""
    if not text:
        return "an empty text"
    if text == " ":
        return "a space"
    shown = text.replace("\n", " ").strip()
    return f'"{shown}"' if len(shown) <= 160 else f'"{shown[:157]}…"'


def number(value: float) -> str:
    """Format a number as briefly as possible without rounding; the sign of a negative number is the word "minus"."""
    text = repr(value)
    if isinstance(value, float):
        short = f"{value:g}"
        text = short if "e" not in short and float(short) == value else text
    return f"minus {text[1:]}" if text.startswith("-") else text


def listed(items: Sequence[str], last: str = "and") -> str:
    """Format items as an English list: a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def as_sentence(clause: str, limit: int = 320) -> str:
    """Format a clause as a sentence with a capital letter and a period.

    A clause of more than `limit` characters is cut and ends in "and so on". No period is added to a clause that
    ends with a quoted sentence, as in `."`.
    """
    clause = " ".join(clause.split())
    if len(clause) > limit:
        clause = clause[:limit].rsplit(" ", 1)[0].rstrip(",;( ")
        clause = clause.removesuffix(" and") + " and so on"
    end = "" if clause.endswith(('."', '!"', '?"')) else "."
    return clause[:1].upper() + clause[1:] + end
