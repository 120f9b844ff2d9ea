"""The first message of a dialogue: the request and, with `--told all`, every hidden decision."""

from __future__ import annotations

import re

from colbench.config import Told
from colbench.errors import UserError
from colbench.registry import get_domain
from colbench.task import Task

SIGNATURE = re.compile(r"(?:(?<=[.!?])\s+|\n+|\A)[^.!?\n]*\bdef [^\n]*\s*\Z")
"""Pattern for the last sentence of a request, if this sentence ends with the function's signature."""


def opening(task: Task, told: Told) -> str:
    """Return the human's first message: the request, plus every hidden decision if the run reveals all of them.

    If the last sentence of the request ends with the function's signature, the decisions are inserted before this
    sentence. Raises UserError if the run reveals all decisions and the decisions of this task are not known.
    """
    if told == "asked":
        return task.request
    decisions = task.hidden.facts or get_domain(task.domain).decisions(task)
    if not decisions:
        raise UserError(
            f"--told all: the hidden decisions of {task.id} are not known; use --told asked, or choose tasks whose "
            "decisions are known"
        )
    hidden = " ".join(fact.statement for fact in decisions if not fact.stated)
    found = SIGNATURE.search(task.request)
    end = found.start() if found else len(task.request)
    parts = task.request[:end], hidden, task.request[end:]
    return " ".join(part for part in parts if part).rstrip()
