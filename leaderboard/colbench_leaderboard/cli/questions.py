"""Asking the questions about a submission in the terminal, one after another."""

from __future__ import annotations

from typing import Any

from rich.prompt import Confirm, Prompt

from colbench.console import console
from colbench_leaderboard.bundle.plain_text import name_flaw, text_flaw
from colbench_leaderboard.bundle.submission import QUESTIONS


def ask() -> dict[str, Any]:
    """Ask all questions, and return the answers as the values of a submission."""
    values: dict[str, Any] = {
        "name": _line("name"),
        "organization": _line("organization"),
        "authors": [_line("authors"), *_more("authors", "another author; leave empty to finish")],
        "contact": _line("contact"),
        "track": _one_of("track", ("standard", "open")),
        "description": _text("description"),
        "link": _text("link", empty=True),
        "license": _one_of("license", ("CC-BY-4.0", "CC0-1.0")),
    }
    values["models"] = list(_models())
    values["disclosures"] = _disclosures()
    return values


def _models() -> list[dict[str, Any]]:
    models: list[dict[str, Any]] = []
    while name := _line("models.name", empty=True):
        models.append(
            {
                "name": name,
                "revision": _line("models.revision", empty=True),
                "open_weights": _yes("models.open_weights"),
                "license": _line("models.license", empty=True),
            }
        )
    return models


def _disclosures() -> dict[str, Any]:
    trained = _yes("disclosures.trained_on_colbench")
    return {
        "trained_on_colbench": trained,
        "training_notes": _text("disclosures.training_notes", empty=True) if trained else "",
        "human_in_the_loop": _yes("disclosures.human_in_the_loop"),
        "tools": _text("disclosures.tools"),
    }


def _more(key: str, question: str) -> list[str]:
    found: list[str] = []
    while name := _line(key, question, empty=True):
        found.append(name)
    return found


def _line(key: str, question: str = "", *, empty: bool = False) -> str:
    while True:
        hint = "; leave empty to finish" if empty and key == "models.name" else ""
        answer = _answer(question or QUESTIONS[key] + hint)
        flaw = name_flaw(answer)
        if not answer and not empty:
            flaw = "is empty; an answer is required"
        if not flaw:
            return answer
        _tell(f"That {flaw}.")


def _text(key: str, *, empty: bool = False) -> str:
    while True:
        answer = _answer(QUESTIONS[key])
        flaw = text_flaw(answer) or ("" if answer or empty else "is empty; an answer is required")
        if not flaw:
            return answer
        _tell(f"That {flaw}.")


def _answer(question: str) -> str:
    return Prompt.ask(_shown(question), console=console(), default="", show_default=False).strip()


def _yes(key: str) -> bool:
    return Confirm.ask(_shown(QUESTIONS[key]), console=console())


def _one_of(key: str, choices: tuple[str, ...]) -> str:
    return Prompt.ask(
        _shown(QUESTIONS[key]), console=console(), choices=list(choices), default=choices[0]
    )


def _shown(question: str) -> str:
    return (question[0].upper() + question[1:]).replace("[", r"\[")


def _tell(text: str) -> None:
    console().print(text, markup=False, highlight=False)
