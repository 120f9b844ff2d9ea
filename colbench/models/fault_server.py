"""A scripted server whose models fail as their names say: `http-429/3` rejects every third request."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from colbench.messages import ANSWER_MARKER, Message
from colbench.models.families import DOUBLES
from colbench.models.faults import CATALOG, Known, error_body
from colbench.models.scripted_server import Fault, Script, ScriptedServer

OK = "ok"
QUESTION = "What should happen in special cases?"
SIGNATURE = re.compile(r"\bdef \w+\(.*\)")
"""Pattern of the signature at the end of a request for a function."""
NO_SIGNATURE = "def answer(*args, **kwargs)"
"""The signature of the answer if the request contains no signature."""
PAGE = "<html><body><h1>A page</h1></body></html>"
SENTENCE = "I do not mind."
HISTORY = re.compile(r"^(?:Person|Programmer|Designer): ", re.MULTILINE)
"""Pattern of the beginning of each message of the conversation in the human's prompt."""


class Part(Struct, frozen=True):
    """A fault in a model's name. Every N-th request has the fault, where N is `every`."""

    known: Known
    every: int


def read_model(name: str) -> list[Part]:
    """Return the faults in a model's name, the rarest first. Raises ValueError if the name is invalid."""
    if name == OK:
        return []
    parts = []
    for each in name.split("+"):
        fault, slash, every = each.partition("/")
        known = (CATALOG | DOUBLES).get(fault)
        if fault == OK:
            raise ValueError(f"`{OK}` cannot be combined with faults or a number; use it alone")
        if known is None:
            near = difflib.get_close_matches(fault, [*CATALOG, *DOUBLES], n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"unknown fault `{fault}`{hint}")
        if slash and not (every.isdecimal() and int(every)):
            raise ValueError(f"`{each}`: expected a whole number above 0 after /, as in {fault}/3")
        parts.append(Part(known, int(every or 1)))
    return sorted(parts, key=lambda part: -part.every)


def talk(messages: Sequence[Message]) -> str:
    """Return the next message of an agent or a human.

    An agent asks one question, and then gives an answer. A human replies with one sentence.
    """
    text = "\n".join(message.content for message in messages)
    if len(messages) == 1 and HISTORY.search(text):
        return SENTENCE
    if not any(message.role == "assistant" for message in messages):
        return QUESTION
    return f"{ANSWER_MARKER}\n{PAGE if 'html' in text.lower() else _function(text)}"


def _function(text: str) -> str:
    """Return a function with the first signature in a text; its results are wrong on purpose."""
    found = SIGNATURE.search(text)
    return f"{found.group() if found else NO_SIGNATURE}:\n    return None"


class FaultServer(ScriptedServer):
    """A ScriptedServer whose models are the faults of the catalog, the doubles of model families, and `ok` (no fault).

    The model `NAME/N` has the fault `NAME` in every N-th request. A `+` joins several faults; if more than one applies
    to a request, the rarest is used.
    """

    def __init__(self, script: Script = talk, *, port: int = 0) -> None:
        super().__init__(script, port=port)
        self._counts = Counter[str]()

    @property
    def model_names(self) -> Sequence[str]:
        """The model names in the answer to GET /models; the last two are patterns."""
        return [OK, *CATALOG, *DOUBLES, "*/*", "*+*"]

    def fault_of(self, body: Mapping[str, Any]) -> Fault | None:
        """Count a request with this body, and return its fault; None if no fault applies.

        For an unknown model, the fault is an HTTP error 404.
        """
        name = str(body.get("model"))
        try:
            parts = read_model(name)
        except ValueError as error:
            return Fault(status=404, body=error_body(str(error), "model_not_found"))
        self._counts[name] += 1
        due = (part for part in parts if self._counts[name] % part.every == 0)
        faults = (fault for part in due for fault in part.known.faults)
        return next((fault for fault in faults if fault.applies(body)), None)
