"""Hidden information c in words: what a critic, and nobody else, is told before the conversation.

| template | where it stands |
|---|---|
| `preamble` | at the beginning of the first message, before the system prompt |
| `released-order` | ahead of the first message, right after BOS: a bare text, as the released code puts it |

The words are the same in both, and our own. c is the task's reference: the code or the page.
"""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

from colbench.errors import UserError
from colbench.registry import get_domain

Template = Literal["preamble", "released-order"]
TEMPLATES: tuple[Template, ...] = get_args(Template)


class Preface(Struct, frozen=True, kw_only=True):
    """What is said before a conversation, and whether inside its first message or ahead of it; see `tokens.encode`."""

    text: str
    inside: bool


def state(hidden: str, domain: str, template: Template) -> Preface:
    """c as the template states it. Raises UserError if there is no such template, or c is empty."""
    if template not in TEMPLATES:
        raise UserError(f"hidden {template!r}: there are {', '.join(TEMPLATES)}")
    if not hidden.strip():
        raise UserError("there is no hidden information to state: the task has an empty reference")
    text = get_domain(domain).privileged_note.replace("{reference}", hidden.strip("\n"))
    return Preface(text=text, inside=template == "preamble")
