"""Reading chat completions. Reading is lenient because servers omit fields and format them differently."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from colbench.messages import Delivery, Message, Sampled, Usage, clean

MAX_REPLY = 500_000
"""Maximum number of characters of a reply; the rest is cut off, and the reply is marked as cut."""
LARGEST = 2**53
"""Largest credible number of tokens; a larger one is ignored."""
TOO_LONG = "context_length_exceeded"
"""Code of an error that means that the messages are longer than the model's context."""
THOUGHT_FIELDS = ("reasoning_content", "reasoning", "thinking")
STATUS = re.compile(r"[3-5]\d\d", re.ASCII)
THOUGHT_PARTS = {"thinking", "reasoning"}


class MalformedError(Exception):
    """The response is not a chat completion."""


class ReportedError(Exception):
    """The answer reports an error, although its HTTP status is 200."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class Completion(Struct, frozen=True):
    """A chat completion, as read from a response."""

    message: Message
    sampled: Sampled | None
    """The tokens, if the server returns them."""
    thought: bool
    """True if the response has thoughts in a separate field or part, or counts the tokens of thoughts.

    Thoughts in `<think>` tags within the text do not count here.
    """


def read_json(content: bytes) -> Any:
    """Return the value of a JSON document. Raises MalformedError if it is not JSON or not UTF-8."""
    try:
        text = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            return json.loads(text)  # accepts lone surrogates and NaN
    except (ValueError, RecursionError) as cause:
        shown = content[:200].decode("utf-8", "replace").strip()
        raise MalformedError(f"the response is not JSON: {shown!r}") from cause


def read_completion(content: bytes) -> Completion:
    """Return the completion in the body of an answer.

    Raises MalformedError if the body is not a completion. Raises ReportedError if the body is an error, although the
    status is 200.
    """
    try:
        return _read_body(read_json(content))
    except (TypeError, ValueError, OverflowError, RecursionError) as cause:
        raise MalformedError(f"the response has a malformed value: {cause}") from cause


def _read_body(body: Any) -> Completion:
    if not isinstance(body, dict):
        raise MalformedError("the response is not a JSON object")
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    for holder in (body, choice):
        if isinstance(holder, dict) and holder.get("error"):
            raise _reported(holder["error"])
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise MalformedError("the response has no choices with a message")
    return _read_choice(body, choice, choice["message"])


def _read_choice(body: dict[str, Any], choice: dict[str, Any], said: dict[str, Any]) -> Completion:
    text, inner = _read_content(said.get("content"))
    outer = next((_flat(said[name]) for name in THOUGHT_FIELDS if said.get(name)), "")
    refusal = said.get("refusal")
    refused = refusal if isinstance(refusal, str) else ""
    words = clean(text or refused)
    delivery = Delivery(
        finish_reason=_finish_reason(choice, words),
        refused=bool(refused),
        request_id=clean(str(body.get("id") or "")),
    )
    message = Message(
        role="assistant",
        content=words[:MAX_REPLY],
        thoughts=clean(inner or outer)[:MAX_REPLY],
        usage=_read_usage(body.get("usage")),
        delivery=delivery,
    )
    thought = bool(message.thoughts) or _thinking_tokens(body.get("usage")) > 0
    return Completion(message, _read_tokens(body, choice), thought)


def _finish_reason(choice: dict[str, Any], words: str) -> str:
    if len(words) > MAX_REPLY:
        return "length"
    return clean(str(choice.get("finish_reason") or ""))


def _read_content(content: object) -> tuple[str, str]:
    """Return the text and the thoughts in a message's content, which is a string, nothing, or a list of parts."""
    if isinstance(content, str):
        return content, ""
    if not isinstance(content, list):
        return "", ""
    parts = [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]
    parts = [each for each in parts if isinstance(each, dict)]
    thoughts = [each for each in parts if each.get("type") in THOUGHT_PARTS]
    said = [each for each in parts if each.get("type") not in THOUGHT_PARTS]
    return "".join(map(_flat, said)), "".join(map(_flat, thoughts))


def _flat(part: object) -> str:
    """Return the text in a part, which may be nested."""
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return "".join(map(_flat, part))
    if isinstance(part, dict):
        names = ("text", "content", *THOUGHT_FIELDS)
        return next((_flat(part[name]) for name in names if part.get(name)), "")
    return ""


def _read_usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    prompt, completion = (_number(usage.get(f"{name}_tokens")) for name in ("prompt", "completion"))
    if prompt is None and completion is None:
        return None
    return Usage(prompt_tokens=prompt or 0, completion_tokens=completion or 0, requests=1)


def _thinking_tokens(usage: object) -> int:
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    return _number(details.get("reasoning_tokens")) or 0 if isinstance(details, dict) else 0


def _number(value: Any) -> int | None:
    """Return a value if it is a count of tokens, else None; a negative count becomes 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        return None
    return max(0, int(value))


def _read_tokens(body: dict[str, Any], choice: dict[str, Any]) -> Sampled | None:
    """Return the tokens in vLLM's fields; None if a field is missing.

    Raises MalformedError if the log-probabilities are malformed, or if their number is not the number of tokens.
    """
    found = choice.get("logprobs")
    content = found.get("content") if isinstance(found, dict) else None
    prompt, ids = _whole(body.get("prompt_token_ids")), _whole(choice.get("token_ids"))
    if prompt is None or ids is None or not isinstance(content, list):
        return None
    try:
        logprobs = tuple(float(each["logprob"]) for each in content)
    except (KeyError, TypeError, ValueError) as cause:
        raise MalformedError(f"the response has malformed log-probabilities: {cause}") from cause
    if not all(map(math.isfinite, logprobs)):
        raise MalformedError("the response has a log-probability that is not a finite number")
    if len(ids) != len(logprobs):
        raise MalformedError(
            f"the response has {len(ids)} tokens, but {len(logprobs)} log-probabilities"
        )
    return Sampled(prompt=prompt, ids=ids, logprobs=logprobs)


def _whole(value: object) -> tuple[int, ...] | None:
    """Return a value if it is a list of token IDs, else None."""
    if isinstance(value, list) and all(
        type(each) is int and 0 <= each <= LARGEST for each in value
    ):
        return tuple(value)
    return None


def _reported(error: object) -> ReportedError:
    fields = error if isinstance(error, dict) else {"message": error}
    codes = [str(fields.get(name)) for name in ("code", "status")]
    text = clean(str(fields.get("message") or error))[:500]
    if TOO_LONG in codes:
        return ReportedError(f"{TOO_LONG}: {text}", 400)
    status = next((int(code) for code in codes if STATUS.fullmatch(code)), 500)
    return ReportedError(text, status)


def error_text(content: bytes) -> str:
    """Return the text of an error's body, at most 500 characters."""
    text = content.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    return text[:500]


def error_fields(content: bytes) -> dict[str, Any]:
    """Return the field `error` of an error's body, or the whole body if it has no such field; {} if not an object."""
    try:
        body = read_json(content)
    except MalformedError:
        return {}
    if not isinstance(body, dict):
        return {}
    error = body.get("error", body)
    return error if isinstance(error, dict) else {}


def listed_models(content: bytes) -> Sequence[str]:
    """Return the model names in the response to GET /models; empty if the response is not a list of models."""
    try:
        data = read_json(content)
    except MalformedError:
        return []
    found = data.get("data", data.get("models")) if isinstance(data, dict) else data
    if not isinstance(found, list):
        return []
    names = [each.get("id") or each.get("name") for each in found if isinstance(each, dict)]
    return [name for name in names if isinstance(name, str)]
