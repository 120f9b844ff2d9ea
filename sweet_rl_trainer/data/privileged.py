"""Privileged information c as text before a dialogue: for a critic, or for RFT on dialogues of agents that knew c.

| template | position |
|---|---|
| `preamble` | at the start of the first message, before the system prompt |
| `released-order` | before the first message, right after BOS: plain text, as in the released code |

The wording is our own, and the same in both templates. c is the task's reference (the code or the page) or, in the
user's own files, the text `privileged`.
"""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

from colbench.domain import Domain
from colbench.errors import UserError
from colbench.registry import get_domain
from sweet_rl_trainer.data.trajectories import Trajectory

Template = Literal["preamble", "released-order"]
TEMPLATES: tuple[Template, ...] = get_args(Template)


class Preface(Struct, frozen=True, kw_only=True):
    """Text inserted at the start of the first message or, if `inside` is false, before the first message.

    See `tokens.encode`.
    """

    text: str
    inside: bool


def preface_of(trajectory: Trajectory, template: Template) -> Preface:
    """Return the text that states a trajectory's privileged information c.

    Raises UserError, which names the trajectory, if c is missing.
    """
    try:
        return state(trajectory.privileged, trajectory.domain, template)
    except UserError as cause:
        raise UserError(f"{trajectory.id}: {cause}") from cause


def state(privileged: str, domain: str, template: Template) -> Preface:
    """Return the text that states c, in the wording of the domain, or in a general wording if `domain` is empty.

    Raises UserError for an unknown template or an empty c.
    """
    if template not in TEMPLATES:
        raise UserError(f"privileged {template!r}: expected one of {', '.join(TEMPLATES)}")
    if not privileged.strip():
        raise UserError(
            "privileged information is missing; provide it (a task's reference, or `privileged` in a line of "
            'data.chats), or train a critic without it (critic.privileged = "none")'
        )
    note = get_domain(domain).privileged_note if domain else Domain.privileged_note
    text = note.replace("{reference}", privileged.strip("\n"))
    return Preface(text=text, inside=template == "preamble")
