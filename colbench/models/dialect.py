"""Request fields that a model's server accepts: learned once from the server's refusals, and recorded with the run."""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from colbench.config import ArgValue
from colbench.errors import UserError
from colbench.models.address import KEY_FLAGS
from colbench.models.reply import error_fields, error_text

PLAIN_TOKENS = 4096
"""Default token limit of an agent's reply, for a model that does not think before it writes."""
THINKING_TOKENS = 32_768
"""Default token limit of a reply, for a model that thinks before it writes."""
LIMITS = ("max_tokens", "max_completion_tokens")
OPTIONAL = ("temperature", "seed")
"""Fields that are omitted if a server refuses them."""
RESERVED = {
    "model": "the spec names the model",
    "messages": "ColBench sends the dialogue in it",
    "temperature": "the argument temperature=VALUE sets it",
    "seed": "each request has its own seed",
    "stream": "each reply is read as a whole",
    "n": "each request gets one reply",
    "logprobs": "--record-tokens requests them",
    "return_token_ids": "--record-tokens requests them",
}
"""Request fields that the user cannot set, each with the reason."""
SECRET = re.compile(
    r"(?:.*_)?(?:api_?key|password|secret|authorization)|key|(?:(?:access|api|auth|bearer|hf)_)?token",
    re.IGNORECASE,
)
"""Pattern of the names of arguments that contain a secret. Real fields, such as `prompt_cache_key`, do not match."""
REFUSALS = {400, 415, 422}
UNKNOWN = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|extra inputs|deprecated|"
    r"invalid (?:argument|parameter|field)",
    re.IGNORECASE,
)
TOO_LARGE = re.compile(r"too large|at most|exceed|less than or equal|maximum value", re.IGNORECASE)
TOO_LONG = re.compile(
    r"context.{0,20}(?:length|window|size|limit)|maximum (?:model|prompt) length|(?:prompt|input) is too long|"
    r"too many tokens|exceeds? the (?:maximum|available) (?:context|number of tokens)|"
    r"`inputs`.{0,40} must (?:be <=|have less than)|reduce the length of the (?:messages|prompt|input)|"
    r"range of input length",
    re.IGNORECASE | re.DOTALL,
)


class Suggested(int):
    """A default token limit of a reply. Unlike a limit set by the user, it is raised for a model that thinks first."""


class Dialect:
    """The request fields that a model's server accepts. A client with several servers uses one Dialect for all."""

    def __init__(self, *, limit: str) -> None:
        """Start with the fields that most servers accept; `limit` is the field for the token limit."""
        self.limit = limit
        self.dropped: set[str] = set()
        self.thinks = False
        """True once the model has been observed to think."""
        self.version = 0
        """Number of times that a refusal has changed the fields to send."""

    def body(self, fields: Mapping[str, Any], max_tokens: int) -> dict[str, Any]:
        """Return a request's body; `max_tokens` 0 means no limit."""
        kept = {name: value for name, value in fields.items() if name not in self.dropped}
        limit = self.tokens(max_tokens)
        return kept | {self.limit: limit} if limit and self.limit not in self.dropped else kept

    def tokens(self, max_tokens: int) -> int:
        """Return the token limit to send. For a thinking model, a `Suggested` limit is at least `THINKING_TOKENS`."""
        if self.thinks and isinstance(max_tokens, Suggested):
            return max(int(max_tokens), THINKING_TOKENS)
        return int(max_tokens)

    def learn(self, status: int, content: bytes, body: Mapping[str, Any]) -> bool:
        """Learn from a refusal which field of `body` to omit or rename. Return False if nothing was learned."""
        if status not in REFUSALS:
            return False
        refused = [name for name in _refused_fields(content) if name in body]
        for name in refused:
            if name == self.limit:
                self._drop(name)
                if TOO_LARGE.search(error_text(content)):
                    return True  # no limit is sent; the server's own limit applies
                other = LIMITS[1 - LIMITS.index(name)]
                self.limit = name if other in self.dropped else other
                return True
            if name in OPTIONAL and name not in self.dropped:
                self._drop(name)
                return True
        return False

    def _drop(self, name: str) -> None:
        self.dropped.add(name)
        self.version += 1

    def learned(self) -> Iterator[str]:
        """Yield the properties of the model and its server found so far, one sentence each."""
        for name in OPTIONAL:
            if name in self.dropped:
                yield f"it rejects `{name}`, so this field is not sent"
        if set(LIMITS) & self.dropped:
            yield f"it rejects `{'` and `'.join(sorted(set(LIMITS) & self.dropped))}`"
        if self.thinks:
            yield "it reasons before it replies"


def too_long(status: int, content: bytes) -> bool:
    """Return True if a server refused a request because the dialogue is longer than the model's context."""
    return status in {400, 413, 422} and bool(TOO_LONG.search(error_text(content)))


def _refused_fields(content: bytes) -> Iterator[str]:
    """Yield the names of the fields that a refusal is about."""
    fields, text = error_fields(content), error_text(content)
    said = f"{text} {fields.get('code')} {fields.get('type')}"
    if not (UNKNOWN.search(said) or TOO_LARGE.search(said)):
        return
    named = fields.get("param")
    if isinstance(named, str):
        yield named
        return
    yield from (
        name for name in (*LIMITS, *OPTIONAL) if re.search(rf"(?<![\w]){name}(?![\w])", text)
    )


def own_limit(fields: dict[str, Any]) -> tuple[str, int]:
    """Remove a token limit from the request fields that the user set; return its name and value, or "" and 0.

    Raises UserError if the value is not a whole number above 0.
    """
    name = next((each for each in LIMITS if each in fields), "")
    value = fields.pop(name, 0)
    if name and (type(value) is not int or value < 1):
        raise UserError(f"{name}={value}: expected a whole number above 0")
    return name, value


def request_fields(given: Mapping[str, ArgValue]) -> dict[str, Any]:
    """Return the request fields set by the user.

    Raises UserError if `extra_body` is not a JSON object, if the name of a field is in `RESERVED`, or if the name
    indicates a secret (`SECRET`).
    """
    fields = {name: _value(value) for name, value in given.items() if name != "extra_body"}
    extra = _value(given.get("extra_body", "{}"))
    if not isinstance(extra, dict):
        raise UserError(
            f'extra_body={given["extra_body"]}: expected a JSON object, such as {{"top_k": 20}}'
        )
    for name in fields:
        _require_allowed(name, name)
    for name in extra:
        _require_allowed(name, f"extra_body: {name}")
    return fields | extra


def _require_allowed(name: str, place: str) -> None:
    if name in RESERVED:
        raise UserError(
            f"{place}: cannot be set as a request field, because {RESERVED[name]}; remove it"
        )
    if SECRET.fullmatch(name.replace("-", "_")):
        raise UserError(
            f"{place}: a run records its arguments, so a secret cannot be one of them; put the server's key into an "
            f"environment variable, and pass the variable's name with {KEY_FLAGS}"
        )


def _value(value: ArgValue) -> Any:
    if isinstance(value, str) and value.startswith(("{", "[")):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def refuse_misspelled(role: str, fields: Mapping[str, ArgValue], owner: type) -> None:
    """Raise UserError if the name of a request field resembles the name of an argument of the class `owner`."""
    own = [*inspect.signature(owner).parameters][1:]
    for name in fields:
        close = difflib.get_close_matches(name, own, n=1, cutoff=0.8)
        if close:
            raise UserError(
                f"--{role}-arg {name}: unknown; did you mean {close[0]}? "
                f"To send a request field with this name, use extra_body"
            )
