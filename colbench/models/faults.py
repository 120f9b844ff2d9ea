"""The catalog of faults of real model servers, by name, with the required outcome of the dialogue.

`colbench doctor --serve-faults PORT` serves them (`colbench.models.fault_server`), and the tests exercise each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import Any, Literal

from msgspec import Struct, json

from colbench.errors import Kind
from colbench.messages import ANSWER_MARKER
from colbench.models.scripted_server import Fault

Outcome = Kind | Literal["scored", "mistake", "own"]
"""The outcome of a dialogue in which every request has the fault.

scored        it is scored as if nothing had happened
mistake       the user's mistake: the run does not start, or stops, with exit code 2
own           the agent's own failure: its score is 0
(a kind)      the dialogue stays unscored, and its failure is of this kind
"""
_OUTCOMES = {"scored": "scored", "mistake": "exit code 2", "own": "the agent's failure"}
FOREVER = 3600.0
THOUGHT = "The secret thought: I should weigh this."
"""A thought that must never appear in a message."""


class Known(Struct, frozen=True, kw_only=True):
    """A known fault, as listed in the catalog."""

    text: str
    """The server's behavior, in one line."""
    faults: tuple[Fault, ...]
    """The possible answers of the server; the first one that applies to a request is used."""
    outcome: Outcome = "scored"
    human_outcome: Outcome | None = None
    """The outcome if the human's server has the fault; None: the same as for the agent's server."""
    passes: bool = True
    """True if a dialogue succeeds when only every third request has the fault."""

    @property
    def outcome_text(self) -> str:
        """The agent's outcome in words, followed by the human's outcome if the two differ."""
        human = self.human_outcome or self.outcome
        own = _OUTCOMES.get(self.outcome, f"unscored: {self.outcome}")
        other = _OUTCOMES.get(human, f"unscored: {human}")
        return own if own == other else f"{own}; for the human: {other}"


def patched(said: dict[str, Any], *, finish_reason: str = "", **fields: Any) -> dict[str, Any]:
    """Replace fields of a completion's message, and `finish_reason` if it is given; return the completion."""
    (choice,) = said["choices"]
    choice["message"] |= fields
    choice["finish_reason"] = finish_reason or choice["finish_reason"]
    return said


def refused(field: str, message: str, code: str = "unsupported_parameter") -> str:
    """Return the body with which OpenAI's API refuses a field of a request."""
    error = {
        "message": f"Unsupported parameter: {message}",
        "type": "invalid_request_error",
        "param": field,
        "code": code,
    }
    return json.encode({"error": error}).decode()


def _answers(text: str, status: int, body: str, outcome: Outcome, **headers: str) -> Known:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Known(
        text=text, faults=(Fault(status=status, body=body, headers=named),), outcome=outcome
    )


def _garbled(text: str, body: str | bytes, outcome: Outcome = "malformed", **fields: Any) -> Known:
    return Known(text=text, faults=(Fault(body=body, **fields),), outcome=outcome)


def _edited(
    text: str,
    edit: Callable[[dict[str, Any]], object],
    outcome: Outcome = "scored",
    human_outcome: Outcome | None = None,
) -> Known:
    return Known(
        text=text, faults=(Fault(edit=edit),), outcome=outcome, human_outcome=human_outcome
    )


def _refuses(text: str, field: str, status: int, body: str) -> Known:
    return Known(
        text=text, faults=(Fault(status=status, body=body, when=lambda sent: field in sent),)
    )


def _message(**fields: Any) -> Callable[[dict[str, Any]], object]:
    return lambda said: patched(said, **fields)


def _without_words(finish_reason: str, **fields: Any) -> Callable[[dict[str, Any]], object]:
    return lambda said: patched(said, finish_reason=finish_reason, **{"content": None} | fields)


def _rewritten(write: Callable[[str], Any]) -> Callable[[dict[str, Any]], object]:
    """Return an edit that applies `write` to the reply's text in a completion."""
    return lambda said: patched(said, content=write(said["choices"][0]["message"]["content"]))


def _usage(usage: object) -> Callable[[dict[str, Any]], object]:
    return lambda said: said | {"usage": usage}


def _at_length(words: str) -> str:
    return words if ANSWER_MARKER in words else f"{words}\n{'and so on ' * 100_000}"


def _without(said: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in said.items() if key != name}


def _encoded(write: Callable[[bytes], bytes]) -> Callable[[dict[str, Any]], object]:
    """Return an edit that encodes a completion as JSON and applies `write` to the bytes."""
    return lambda said: write(json.encode(said))


def _with_latin_1(said: dict[str, Any]) -> bytes:
    return json.encode(patched(said, content="caf\u00e9")).decode().encode("latin-1")


def _in_a_second() -> dict[str, str]:
    return {"Retry-After": formatdate(time.time() + 1, usegmt=True)}


def error_body(message: str, code: object = None) -> str:
    """Return the body of an error in OpenAI's form."""
    return json.encode({"error": {"message": message, "code": code}}).decode()


def _choice_error(said: dict[str, Any]) -> object:
    said["choices"][0] |= {
        "finish_reason": "error",
        "error": {"code": 502, "message": "the provider disconnected"},
    }
    return said


TOO_LONG = Fault(
    status=400,
    body=error_body("This model's maximum context length is 8192 tokens. Your messages have 9001."),
)
TOOL_CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "search", "arguments": "{}"},
}
LONE = "\\ud800"
"""A lone surrogate, escaped as in JSON."""

LOAD: dict[str, Known] = {
    "hang": Known(
        text="accepts the request and never responds",
        faults=(Fault(delay=FOREVER),),
        outcome="timeout",
    ),
    "drip": Known(
        text="starts a response and never finishes it",
        faults=(Fault(sent="drip"),),
        outcome="timeout",
    ),
    "slow": Known(text="responds after half a second", faults=(Fault(delay=0.5),)),
    "queue": Known(
        text="serves two requests concurrently, 0.1 s each; other requests wait in its queue",
        faults=(Fault(slots=2, queues=True, delay=0.1),),
    ),
    "slots": Known(
        text="serves two requests concurrently, 0.1 s each; rejects other requests with 429",
        faults=(Fault(slots=2, delay=0.1),),
    ),
    "http-429": _answers("429 without Retry-After", 429, error_body("slow down"), "overload"),
    "retry-after": _answers("429, Retry-After: 1", 429, "wait", "overload", Retry_After="1"),
    "retry-date": Known(
        text="429, Retry-After: an HTTP date",
        faults=(Fault(status=429, body="wait", headers=_in_a_second),),
        outcome="overload",
    ),
    "retry-nonsense": _answers(
        "429, Retry-After: soon", 429, "wait", "overload", Retry_After="soon"
    ),
    "http-503": _answers("503, as while a model is loaded", 503, "loading", "overload"),
    "http-529": _answers("529, as from Anthropic", 529, "overloaded", "overload"),
}

BREAKS: dict[str, Known] = {
    "http-500": _answers("500", 500, "oops", "server_error"),
    "http-502": _answers("502 from a gateway", 502, "<h1>Bad Gateway</h1>", "server_error"),
    "http-504": _answers("504 from a gateway", 504, "", "server_error"),
    "http-408": _answers("408", 408, "request timeout", "server_error"),
    "http-204": _answers("204, which has no body", 204, "", "malformed"),
    "cut-before": Known(
        text="closes the connection before the response",
        faults=(Fault(status=0),),
        outcome="connection",
    ),
    "cut-in-middle": Known(
        text="closes the connection in the middle of the response",
        faults=(Fault(sent="half"),),
        outcome="connection",
    ),
    "restart": Known(
        text="restarts: closes all connections and is down for 3 s",
        faults=(Fault(status=0, restart=3.0),),
        outcome="connection",
    ),
    "http-401": _answers("401", 401, error_body("no such key"), "mistake"),
    "http-403": _answers("403", 403, error_body("forbidden"), "mistake"),
    "http-404": _answers("404", 404, error_body("no such model"), "mistake"),
    "redirect": _answers("302 to another address", 302, "", "mistake", Location="/login"),
    "no-quota": Known(
        text="429 insufficient_quota: the account is empty",
        faults=(
            Fault(status=429, body=error_body("You exceeded your quota", "insufficient_quota")),
        ),
        outcome="mistake",
        passes=False,
    ),
    "http-400": Known(
        text="400 with an unknown reason, as from Azure's prompt filter",
        faults=(Fault(status=400, body=error_body("The prompt was filtered", "content_filter")),),
        outcome="rejected",
        passes=False,
    ),
    "too-long": Known(
        text="400: the messages are longer than the model's context",
        faults=(TOO_LONG,),
        outcome="own",
        human_outcome="context",
    ),
}

GARBLED: dict[str, Known] = {
    "truncated": _edited(
        "200 with half of the JSON", _encoded(lambda body: body[: len(body) // 2]), "malformed"
    ),
    "html": _garbled(
        "200 with an HTML page",
        "<html>please sign in</html>",
        headers={"Content-Type": "text/html"},
    ),
    "empty-body": _garbled("200 without a body", b""),
    "deep": _garbled("200 with JSON that is nested a hundred thousand deep", "[" * 100_000),
    "not-utf-8": _edited("200 with bytes that are not UTF-8", _with_latin_1, "malformed"),
    "bad-gzip": _garbled(
        "200 declared as gzip, but not compressed",
        "{}",
        "connection",
        headers={"Content-Encoding": "gzip"},
    ),
    "error-200": _garbled(
        "200 with an error object", error_body("the engine is dead"), "server_error"
    ),
    "error-200-429": _garbled(
        "200 with an error object whose code is 429", error_body("rate limit", 429), "overload"
    ),
    "error-in-choice": _edited(
        "200 with an error in the choice, as from OpenRouter", _choice_error, "server_error"
    ),
    "no-choices": _garbled("200 with an empty list of choices", '{"choices": []}'),
    "null-message": _garbled(
        "200 with a choice whose message is null", '{"choices": [{"message": null}]}'
    ),
}

WORDLESS: dict[str, Known] = {
    "null": _edited("content: null", _without_words("stop"), "empty"),
    "silent": _edited("empty text", _without_words("stop", content=""), "empty"),
    "only-thoughts": _edited(
        "only reasoning, finish_reason: length",
        _without_words("length", content="", reasoning_content=THOUGHT),
        "empty",
    ),
    "filtered": _edited(
        "content: null, finish_reason: content_filter", _without_words("content_filter"), "empty"
    ),
    "tool-calls": _edited(
        "tool calls without content",
        _without_words("tool_calls", tool_calls=[TOOL_CALL]),
        "empty",
    ),
    "refusal": _edited(
        "a refusal in its own field; used as the agent's message, retried for the human",
        _without_words("stop", refusal="I cannot help with that."),
        "scored",
        "empty",
    ),
    "open-thought": _edited(
        "<think> that is never closed, with the answer marker in it",
        _rewritten(lambda words: f"<think>{THOUGHT}\n{ANSWER_MARKER} nothing\n{words}"),
        "empty",
    ),
}

ODD: dict[str, Known] = {
    "think": _edited(
        "<think> in the content, with the answer marker in it",
        _rewritten(lambda words: f"<think>{ANSWER_MARKER} {THOUGHT}</think>\n\n{words}"),
    ),
    "reasoning": _edited("reasoning in the field reasoning", _message(reasoning=THOUGHT)),
    "reasoning-content": _edited(
        "reasoning in the field reasoning_content", _message(reasoning_content=THOUGHT)
    ),
    "length": _edited(
        "finish_reason: length after the last word", _message(finish_reason="length")
    ),
    "parts": _edited(
        "content as a list of parts that include the reasoning",
        _rewritten(
            lambda words: [
                {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]},
                {"type": "text", "text": words},
            ]
        ),
    ),
    "byte-order-mark": _edited("a byte order mark", _encoded(lambda body: b"\xef\xbb\xbf" + body)),
    "lone-surrogate": _edited(
        "a lone surrogate in the text",
        _encoded(lambda body: body.replace(b'"content":"', f'"content":"{LONE}'.encode())),
    ),
    "usage-null": _edited("usage: null", _usage(None)),
    "usage-missing": _edited("no usage", lambda said: _without(said, "usage")),
    "usage-odd": _edited(
        "usage with null and floats", _usage({"prompt_tokens": None, "completion_tokens": 3.0})
    ),
    "bare": _edited(
        "only the message",
        lambda said: {"choices": [{"message": said["choices"][0]["message"]}]},
    ),
    "text-plain": Known(
        text="JSON as text/plain", faults=(Fault(headers={"Content-Type": "text/plain"}),)
    ),
    "huge": _edited("a question of 1 MB; answers are unchanged", _rewritten(_at_length)),
}

REFUSES: dict[str, Known] = {
    "no-temperature": _refuses(
        "rejects temperature, as the o-series does",
        "temperature",
        400,
        refused("temperature", "'temperature' is not supported with this model."),
    ),
    "no-max-tokens": _refuses(
        "rejects max_tokens, as the o-series does",
        "max_tokens",
        400,
        refused("max_tokens", "'max_tokens' is not supported. Use 'max_completion_tokens'."),
    ),
    "no-seed": _refuses(
        "rejects seed, as FastAPI servers do",
        "seed",
        422,
        '{"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], '
        '"msg": "Extra inputs are not permitted"}]}',
    ),
    "few-tokens": Known(
        text="rejects a max_tokens above 1,000",
        faults=(
            Fault(
                status=400,
                body=refused("max_tokens", "max_tokens is too large: at most 1000."),
                when=lambda sent: sent.get("max_tokens", 0) > 1000,
            ),
        ),
    ),
}

GROUPS: dict[str, dict[str, Known]] = {
    "load": LOAD,
    "rejected requests and lost connections": BREAKS,
    "unreadable responses": GARBLED,
    "replies without text": WORDLESS,
    "replies in unusual formats": ODD,
    "rejected request fields": REFUSES,
}
CATALOG: dict[str, Known] = {
    name: known for group in GROUPS.values() for name, known in group.items()
}
