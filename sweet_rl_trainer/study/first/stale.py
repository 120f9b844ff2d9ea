"""Results that were made before their method was revised, and their mark in the report."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from typing import TypeVar

from msgspec.structs import replace

from sweet_rl_trainer.study.first.comparison import command
from sweet_rl_trainer.study.first.methods import METHODS, NAMED, Method
from sweet_rl_trainer.study.first.results import (
    Credit,
    Critic,
    Exchange,
    Part,
    Results,
    Row,
    Scaling,
)
from sweet_rl_trainer.study.first.tables import full_label
from sweet_rl_trainer.study.text import code, escape

T = TypeVar("T", bound=Part)
MARK = "†"


def stamped(part: T) -> T:
    """Return a part of the results with the present revision of its methods."""
    return replace(part, revision=_present(part))


def stale(results: Results) -> list[Method]:
    """Return the methods with a part that was made before they were revised."""
    of_methods = (results.rows, results.critics, results.credits, results.scaling)
    parts: list[Part] = [*chain(*of_methods), *results.exchanges]
    old = {name for part in parts if part.revision < _present(part) for name in _methods(part)}
    return [method for method in METHODS if method.name in old and method.revisions]


def notice(results: Results) -> str:
    """Return what is stale and why, as Markdown; empty if nothing is."""
    lines = [
        f"- {escape(full_label(each))}: {' '.join(each.revisions)} {code(command(results, each.name))} makes it again."
        for each in stale(results)
    ]
    head = (
        f"**Stale.** What is marked {MARK} was made before the method was revised, and says nothing of its "
        "present form. Charts show it without the mark."
    )
    return "\n".join([head, "", *lines]) if lines else ""


def marked(text: str, methods: Iterable[Method]) -> str:
    """Return Markdown in which the label of each method has the mark."""
    for each in methods:
        label = re.escape(escape(full_label(each)))
        text = re.sub(f"{label}(?!,)", lambda found: f"{found[0]} {MARK}", text)
    return text


def _present(part: Part) -> int:
    return sum(len(NAMED[name].revisions) for name in _methods(part) if name in NAMED)


def _methods(part: Part) -> tuple[str, ...]:
    match part:
        case Row() | Critic() | Credit() | Scaling():
            return (part.method,)
        case Exchange():
            return part.asker, part.writer
    return ()
