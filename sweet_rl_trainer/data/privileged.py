"""Privileged information c as text: what the critic alone sees before the conversation.

| template | position |
|---|---|
| `preamble` | at the start of the first message, before the system prompt |
| `released-order` | before the first message, right after BOS: plain text, as in the released code |

The wording is our own and the same in both. c is the task's reference: the code or the page.
"""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

from colbench.errors import UserError
from colbench.registry import get_domain

Template = Literal["preamble", "released-order"]
TEMPLATES: tuple[Template, ...] = get_args(Template)


class Preface(Struct, frozen=True, kw_only=True):
    """A text before a conversation, inside its first message or before it; see `tokens.encode`."""

    text: str
    inside: bool


def state(privileged: str, domain: str, template: Template) -> Preface:
    """Return the text that states c by a template. Raises UserError for an unknown template or an empty c."""
    if template not in TEMPLATES:
        raise UserError(f"privileged {template!r}: there are {', '.join(TEMPLATES)}")
    if not privileged.strip():
        raise UserError(
            "there is no privileged information to state: the task has an empty reference"
        )
    text = get_domain(domain).privileged_note.replace("{reference}", privileged.strip("\n"))
    return Preface(text=text, inside=template == "preamble")
