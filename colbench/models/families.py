"""Test doubles of model families: they imitate the peculiarities of OpenAI's o-series, GPT-5, Qwen3, and R1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from colbench.messages import ANSWER_MARKER
from colbench.models.faults import THOUGHT, Known, patched, refused
from colbench.models.scripted_server import Fault

THOUGHT_TOKENS = 1200
"""Number of tokens that the test double thinks before it replies. A token limit up to this number leaves no reply."""
EFFORTS = ("minimal", "low", "medium", "high")
LIMIT = ("max_completion_tokens", "max_tokens")


def _is_cut(sent: Mapping[str, Any]) -> bool:
    """Return True if a request's token limit is reached before the thoughts end."""
    return any(sent.get(name) and sent[name] <= THOUGHT_TOKENS for name in LIMIT)


def _thinks(sent: Mapping[str, Any]) -> bool:
    return bool((sent.get("chat_template_kwargs") or {}).get("enable_thinking", True))


def _words(said: dict[str, Any]) -> str:
    return str(said["choices"][0]["message"]["content"])


def _hidden(said: dict[str, Any]) -> dict[str, Any]:
    """Return a completion whose `usage` also counts the tokens of thoughts."""
    said["usage"]["completion_tokens"] += THOUGHT_TOKENS
    said["usage"]["completion_tokens_details"] = {"reasoning_tokens": THOUGHT_TOKENS}
    return said


def _cut_hidden(said: dict[str, Any]) -> dict[str, Any]:
    return _hidden(patched(said, content="", finish_reason="length"))


def _think(said: dict[str, Any]) -> dict[str, Any]:
    thought = f"<think>\n{THOUGHT} {ANSWER_MARKER} no\n</think>\n\n"
    return patched(said, content=thought + _words(said))


def _cut_think(said: dict[str, Any]) -> dict[str, Any]:
    return patched(said, content=f"<think>\n{THOUGHT} {ANSWER_MARKER} no", finish_reason="length")


def _close(said: dict[str, Any]) -> dict[str, Any]:
    return patched(said, content=f"{THOUGHT} {ANSWER_MARKER} no\n</think>\n\n{_words(said)}")


def _apart(said: dict[str, Any]) -> dict[str, Any]:
    return _hidden(patched(said, reasoning_content=f"{THOUGHT} {ANSWER_MARKER} no"))


def _cut_apart(said: dict[str, Any]) -> dict[str, Any]:
    return patched(said, content=None, reasoning_content=THOUGHT, finish_reason="length")


NO_MAX_TOKENS = Fault(
    status=400,
    body=refused(
        "max_tokens",
        "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ),
    when=lambda sent: "max_tokens" in sent,
)
NO_TEMPERATURE = Fault(
    status=400,
    body=refused("temperature", "'temperature' is not supported with this model."),
    when=lambda sent: "temperature" in sent,
)
ONLY_ONE = Fault(
    status=400,
    body=refused(
        "temperature",
        "'temperature' does not support this value. Only the default (1) value is supported.",
        "unsupported_value",
    ),
    when=lambda sent: sent.get("temperature", 1) != 1,
)
NO_SUCH_EFFORT = Fault(
    status=400,
    body=refused("reasoning_effort", f"supported are {', '.join(EFFORTS)}.", "unsupported_value"),
    when=lambda sent: sent.get("reasoning_effort", EFFORTS[0]) not in EFFORTS,
)

DOUBLES: dict[str, Known] = {
    "o-series": Known(
        text="rejects temperature and max_tokens; its reasoning is hidden but counted in usage",
        faults=(
            NO_MAX_TOKENS,
            NO_TEMPERATURE,
            Fault(edit=_cut_hidden, when=_is_cut),
            Fault(edit=_hidden),
        ),
    ),
    "gpt-5": Known(
        text="rejects max_tokens and any temperature but 1; accepts reasoning_effort",
        faults=(
            NO_MAX_TOKENS,
            ONLY_ONE,
            NO_SUCH_EFFORT,
            Fault(when=lambda sent: sent.get("reasoning_effort") == "minimal"),
            Fault(edit=_cut_hidden, when=_is_cut),
            Fault(edit=_hidden),
        ),
    ),
    "qwen3": Known(
        text="reasons in <think> in the content, unless chat_template_kwargs has "
        "enable_thinking: false",
        faults=(
            Fault(when=lambda sent: not _thinks(sent)),
            Fault(edit=_cut_think, when=_is_cut),
            Fault(edit=_think),
        ),
    ),
    "r1": Known(
        text="reasons in the content with only the closing </think>, because its template writes "
        "the opening tag",
        faults=(Fault(edit=_close),),
    ),
    "r1-api": Known(
        text="reasons in reasoning_content, as DeepSeek's API and vLLM's parsers do",
        faults=(Fault(edit=_cut_apart, when=_is_cut), Fault(edit=_apart)),
    ),
}
