"""The recipe by which a model writes backend tasks: the prompt, the schema of the reply, and the reply's conversion."""

from __future__ import annotations

import hashlib
import re
from importlib import resources
from typing import Any

import msgspec
from msgspec import Struct

from colbench.interfaces import RejectedError
from colbench.messages import Message, clean
from colbench.task import BACKEND, Task, task_from_row
from colbench_tasks.synthesis.checks import check_calls, check_function
from colbench_tasks.synthesis.duplicates import NearDuplicates

LONGEST_TEXT = 4_000
"""Maximum number of characters of a seed text in the prompt."""
LONGEST_REQUEST = 4_000
LONGEST_CODE = 10_000
"""Maximum number of characters of a reference."""
FENCED = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)
THOUGHTS = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
SIGNATURE = "The signature of the function is: "


class Draft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The task as the model writes it."""

    request: str
    signature: str
    reference: str
    calls: list[str]


class BackendRecipe:
    """A recipe for backend tasks like the paper's (section 4.2 of arXiv 2503.15478), with a prompt of our own."""

    domain = BACKEND

    def __init__(self) -> None:
        self.prompt = (
            resources.files(__package__).joinpath("backend.txt").read_text("utf-8").strip()
        )
        self.fingerprint = hashlib.sha256(self.prompt.encode()).hexdigest()

    @property
    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a reply."""
        _, components = msgspec.json.schema_components([Draft])
        schema: dict[str, Any] = components["Draft"]
        return schema

    def messages(self, text: str) -> list[Message]:
        """Return the messages for the model, which end with the first `LONGEST_TEXT` characters of the seed text."""
        return [
            Message(role="system", content=self.prompt),
            Message(role="user", content=f"The text:\n\n{clean(text)[:LONGEST_TEXT]}"),
        ]

    def read(self, reply: str) -> Task:
        """Read the task from a reply, without running its code.

        Raises RejectedError if the reply is malformed, or if its reference or calls fail a check (`synthesis.checks`).
        """
        draft = _decode(reply)
        function = check_function(draft.reference, draft.signature)
        check_calls(draft.calls, function)
        request = f"{draft.request.strip()} {SIGNATURE}{draft.signature.strip().removesuffix(':')}"
        return task_from_row(
            {
                "problem_description": clean(request),
                "ground_truth": clean(draft.reference.strip()),
                "test_cases": {
                    f"test{n}": clean(call.strip()) for n, call in enumerate(draft.calls, start=1)
                },
            }
        )

    def index(self) -> NearDuplicates:
        """Return an empty index for finding near-duplicates."""
        return NearDuplicates()


def _decode(reply: str) -> Draft:
    """Read the draft from a reply: a JSON object, optionally in one code fence and after a model's thoughts."""
    text = THOUGHTS.sub("", reply, count=1).strip()
    fenced = FENCED.fullmatch(text)
    try:
        draft = msgspec.json.decode(fenced[1] if fenced else text, type=Draft)
    except (msgspec.DecodeError, UnicodeEncodeError) as cause:
        raise RejectedError("malformed", str(cause)) from cause
    for name, limit in (("request", LONGEST_REQUEST), ("reference", LONGEST_CODE)):
        if not getattr(draft, name).strip():
            raise RejectedError("malformed", f"`{name}` is empty")
        if len(getattr(draft, name)) > limit:
            raise RejectedError("malformed", f"`{name}` has more than {limit:,} characters")
    return draft
