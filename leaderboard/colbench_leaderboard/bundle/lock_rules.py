"""Rules for `lock.json` that do not depend on the receiver, so that `submit pack` can already check them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from colbench.config import RunConfig
from colbench.result_formats.identity import MODELS
from colbench.run_folder import VALUES, VERSIONS
from colbench_leaderboard.bundle.plain_text import is_time, strings, text_flaw
from colbench_leaderboard.bundle.refused import shown
from colbench_leaderboard.bundle.schema import Lock

MOST = {"trials": 100, "max_turns": 1000}
"""Maximum values of settings; they limit the size of the summary, which has a number for each trial and each turn."""
DEAREST = 1e6
"""Maximum price, in US dollars per million tokens."""
LONGEST = 300
"""Maximum number of characters of `tasks.source` and of every text outside `config`, `pins` and `tasks`.

If a text can have several values (`JOINED`), the maximum applies to each value.
"""
JOINED = frozenset({*VERSIONS, "browser"})
"""Keys of texts that list several values if a run was resumed or merged and the values differed."""
MOST_VALUES = 20
"""Maximum number of values that a text in `JOINED` can list."""
FORMS = {
    "started": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)",
    "commit": r"([0-9a-f]{7,40}(-dirty)?)?",
    "python": r"\d+\.\d+\.\d+\w*\+?",
    "colbench": r"\d+(\.\d+)*[\w.+-]*",
}
"""Patterns that every value of these fields must match (see `JOINED`): a time in UTC, a commit, and versions."""


def size_flaws(config: RunConfig) -> Iterator[str]:
    """Yield a description of each number in a run's configuration that is too large."""
    for name, most in MOST.items():
        if getattr(config, name) > most:
            yield f"`{name}` is {getattr(config, name)}; at most {most} is allowed"
    for name in ("agent_price", "human_price"):
        if max(getattr(config, name) or (0.0,)) > DEAREST:
            yield f"`{name}`: at most {DEAREST:,.0f} dollars per million tokens are allowed"


def text_flaws(lock: Lock) -> Iterator[str]:
    """Yield a description of each text in a lock that is malformed, too long, or could deceive a reader."""
    for name, form in FORMS.items():
        text = getattr(lock, name)
        valid = all(re.fullmatch(form, value, re.ASCII) for value in _values(name, text))
        if not valid or (name == "started" and not is_time(text)):
            yield f"`{name}` is {shown(text)!r}, which is invalid"
    fields = msgspec.to_builtins(lock)
    for name, text in {**fields, "tasks.source": lock.tasks.source}.items():
        if isinstance(text, str):
            yield from _length_flaws(name, _values(name, text))
    for text in strings(fields):
        if flaw := text_flaw(text):
            yield f"{shown(text)!r} {flaw}"


def _values(name: str, text: str) -> list[str]:
    """Return the values in the text of a lock's field: one value, or several if the field's name is in `JOINED`."""
    return text.split(VALUES) if name in JOINED else [text]


def _length_flaws(name: str, values: list[str]) -> Iterator[str]:
    longest = max(map(len, values))
    if longest > LONGEST:
        yield f"`{name}` has a value of {longest} characters; at most {LONGEST} are allowed"
    if len(values) > MOST_VALUES:
        yield f"`{name}` has {len(values)} values; at most {MOST_VALUES} are allowed"


def uses_model(lock: Lock) -> bool:
    """Return True if the agent's spec, or the description that the agent gives of itself, names a model."""
    return bool(_described_model(lock)) or _agent(lock)[0] in MODELS


def model_name(lock: Lock) -> str:
    """Return the model in the agent's spec or else in the agent's description of itself; "" if unknown."""
    kind, named = _agent(lock)
    return named.partition("@")[0] if kind in MODELS else str(_described_model(lock) or "")


def _agent(lock: Lock) -> tuple[str, str]:
    """Return the agent's kind, and the rest of its spec."""
    kind, _, rest = str(lock.config.get("agent", "")).partition(":")
    return kind, rest


def _described_model(lock: Lock) -> object:
    pinned = lock.pins.get("agent")
    return pinned.get("model") if isinstance(pinned, dict) else None
