"""Validation errors of msgspec in words that a user understands."""

from __future__ import annotations

import re

import msgspec

WORDS = {
    "Expected": "expected",
    "Invalid enum value": "unknown value",
    "`int | null`": "a whole number",
    "`int`": "a whole number",
    "`float`": "a number",
    "`bool`": "true or false",
    "`str`": "a text",
    "`array` of length 2": "two numbers, IN,OUT",
}
FIELD = re.compile(r"at `\$\.(\w+)")


def in_words(message: str) -> str:
    """Return msgspec's message about a value without its own names for types."""
    message = message.partition(" - at ")[0].partition(", got ")[0]
    for theirs, ours in WORDS.items():
        message = message.replace(theirs, ours)
    return message


def field_of(error: msgspec.ValidationError) -> str:
    """Return the name of the top-level field that a validation error is about; "" if it is about none."""
    found = FIELD.search(str(error))
    return found.group(1) if found else ""
