"""The questions, the template and the reader for `submission.toml`, the file that describes a system."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from colbench.config_errors import explain
from colbench.errors import DataError
from colbench_leaderboard.bundle.plain_text import require_plain
from colbench_leaderboard.bundle.schema import Disclosures, Model, Submission

QUESTIONS = {
    "name": "name of the system as shown on the board",
    "organization": "who made it: an organization, or yourself",
    "authors": "authors to be named, one or more",
    "contact": "contact for questions: an e-mail address or a profile",
    "track": (
        '"standard" (all tasks of a bundled or official test set, the rule-based human, 10 turns, an unchanged '
        'checkout of ColBench) or "open"'
    ),
    "description": "description of the system, in a few sentences",
    "link": "https:// URL of a paper or repository; may be empty",
    "models": "the models that the system uses; an empty list if it uses none",
    "license": 'license of the transcripts: "CC-BY-4.0" or "CC0-1.0"',
    "models.name": "a model's name, such as Qwen/Qwen3-8B",
    "models.revision": "the model's version, or the commit of its weights; may be empty",
    "models.open_weights": "true if the model's weights can be downloaded",
    "models.license": "the model's license; may be empty",
    "disclosures.trained_on_colbench": (
        "true if the system was trained on any task, dialogue or generator of ColBench, even if no "
        "test task was used"
    ),
    "disclosures.training_notes": "what the system was trained on, if it was trained on ColBench; may be empty",
    "disclosures.human_in_the_loop": "true if a person took part in the system's replies",
    "disclosures.tools": 'tools that the system uses besides its model (for example, search), or "none"',
}
"""The question that each key answers."""
MODEL_TABLE = (
    "[[models]]",
    *(f"{name} = …  # {QUESTIONS[f'models.{name}']}" for name in Model.__struct_fields__),
)
"""Lines of a `[[models]]` table without answers, one line for each field of `Model`."""
HEADERS = {"models": "[[models]]", "disclosures": "[disclosures]"}
"""The line above each table of the file."""
SCORES = {
    "acc",
    "accuracy",
    "cosine",
    "grade",
    "grades",
    "mean",
    "metric",
    "metrics",
    "pass",
    "passed",
    "rank",
    "ranking",
    "result",
    "results",
    "reward",
    "rewards",
    "score",
    "scored",
    "scores",
    "ssim",
    "success",
    "successes",
    "value",
    "values",
    "win",
    "wins",
}
"""Words that mark a key as a score. A submission must not state scores, because every number is recomputed."""
TEMPLATE = {
    "name": "",
    "organization": "",
    "authors": [""],
    "contact": "",
    "track": "standard",
    "description": "",
    "link": "",
    "license": "CC-BY-4.0",
}


def read_submission(path: Path) -> Submission:
    """Read the submission in a TOML file.

    Raises DataError, which names the file, if it cannot be read or is not TOML. Raises DataError, which names the file
    and the key, if a key is unknown or states a score, or if an answer is missing or has the wrong form. Raises Refused
    if a text could deceive a reader (`require_plain`).
    """
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as cause:
        command = f"colbench submit pack RUN --template {shlex.quote(str(path))}"
        raise DataError(f"--meta: {path} does not exist; create it with `{command}`") from cause
    except OSError as cause:
        raise DataError(f"--meta: {path} cannot be read: {cause.strerror}") from cause
    except ValueError as cause:
        raise DataError(f"--meta: {path} is not valid TOML: {cause}") from cause
    return submission_of(values, str(path))


def submission_of(values: dict[str, Any], file: str) -> Submission:
    """Return the submission from the parsed values of a file.

    `file`: the file's name, for errors. Raises the errors of `read_submission`.
    """
    if key := score_key(values):
        raise DataError(
            f"{file}: `{key}`{_table(key)}: scores are not submitted; they are recomputed from the "
            "transcripts. Delete the key"
        )
    if unknown := list(_unknown(values)):
        raise DataError(
            f"{file}: unknown key `{unknown[0]}`{_table(unknown[0])}; known keys: {', '.join(QUESTIONS)}"
        )
    if open_questions := list(_unanswered(values)):
        asked = "\n".join(f"  {key}: {QUESTIONS[key]}" for key in open_questions)
        raise DataError(f"{file}: these questions have no answer:\n{asked}")
    try:
        submission = msgspec.convert(values, Submission)
    except msgspec.ValidationError as cause:
        problem = explain(cause, Submission, values)
        key = re.sub(r"\[\d*\.*\]", "", problem.key)
        question = f" ({QUESTIONS[key]})" if key in QUESTIONS else ""
        raise DataError(
            f"{file}: `{key or 'all'}`{question}: {problem.reason}{problem.given}"
        ) from cause
    require_plain(submission, file)
    return submission


def score_key(values: Any) -> str:
    """Return the dotted path of the first key whose name marks it as a score; "" if no key does."""
    for key, _ in keys(values):
        words = re.findall(r"[a-z]+", re.sub(r"([A-Z])", r" \1", key.rpartition(".")[2]).lower())
        if SCORES.intersection(words):
            return key
    return ""


def keys(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted path and the value of every key of nested dictionaries."""
    if isinstance(values, list):
        for value in values:
            yield from keys(value, prefix)
    elif isinstance(values, dict):
        for key, value in values.items():
            yield f"{prefix}{key}", value
            yield from keys(value, f"{prefix}{key}.")


def to_toml(values: dict[str, Any]) -> str:
    """Return a submission's values as TOML, with each key's question as a comment."""
    lines: list[str] = []
    tables = {key: value for key, value in values.items() if key in ("models", "disclosures")}
    lines += _pairs("", {key: value for key, value in values.items() if key not in tables})
    if not tables.get("models"):
        lines += [
            f"# models: {QUESTIONS['models']}; for each, a table [[models]]",
            "models = []",
            "",
        ]
    for model in tables.get("models", []):
        lines += ["[[models]]", *_pairs("models.", model)]
    lines += ["[disclosures]", *_pairs("disclosures.", tables.get("disclosures", {}))]
    return "\n".join(lines).rstrip() + "\n"


def template(departures: Sequence[str] = (), model: str = "") -> str:
    """Return a submission.toml to fill in.

    `departures`: the reasons why the run does not qualify for the standard track. If there are reasons, the file lists
    them, and its track is `open`. `model`: the name of the agent's model; "" if the agent uses no model.
    """
    return "\n".join(
        [
            *_head(departures),
            *(_named(model) if model else _unnamed()),
            "",
            "[disclosures]",
            *_open("disclosures.", Disclosures.__struct_fields__),
            "",
        ]
    )


def _named(model: str) -> list[str]:
    """Return the lines of a model's table in which only the name is filled in."""
    others = [name for name in Model.__struct_fields__ if name != "name"]
    return ["[[models]]", *_pairs("models.", {"name": model}), *_open("models.", others)]


def _unnamed() -> list[str]:
    """Return the lines of an empty list of models, and a commented-out table to use instead of the list."""
    return [
        f"# models: {QUESTIONS['models']}",
        "models = []",
        "# or, instead of the line above, one table per model at the end of the file:",
        *(f"# {line}" for line in MODEL_TABLE),
    ]


def _open(prefix: str, names: Sequence[str]) -> list[str]:
    """Return the lines of unanswered questions."""
    return [f"# {name} = …  # {QUESTIONS[prefix + name]}" for name in names]


def _head(departures: Sequence[str]) -> list[str]:
    """Return the first lines of a template: the keys that come before all tables."""
    if not departures:
        return _pairs("", TEMPLATE)
    lines = _pairs("", {**TEMPLATE, "track": "open"})
    at = lines.index('track = "open"')
    lines[at:at] = [
        '# This run does not qualify for "standard":',
        *(f"#   {each}" for each in departures),
    ]
    return lines


def _table(key: str) -> str:
    """Return a note about the table that a dotted key belongs to; "" for a key outside of tables."""
    header = HEADERS.get(key.partition(".")[0]) if "." in key else None
    return f" (keys after {header} belong to this table)" if header else ""


def _pairs(prefix: str, values: dict[str, Any]) -> list[str]:
    lines = []
    for key, value in values.items():
        text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        lines += [f"# {QUESTIONS[prefix + key]}", f"{key} = {text}", ""]
    return lines


def _unknown(values: dict[str, Any]) -> Iterator[str]:
    known = {*QUESTIONS, "disclosures"}
    return (key for key, _ in keys(values) if key not in known)


def _unanswered(values: dict[str, Any]) -> Iterator[str]:
    yield from _missing(Submission, values, "")
    for model in values.get("models", []) if isinstance(values.get("models"), list) else []:
        yield from _missing(Model, model, "models.")
    yield from _missing(Disclosures, values.get("disclosures", {}), "disclosures.")


def _missing(kind: type[Struct], values: Any, prefix: str) -> Iterator[str]:
    if not isinstance(values, dict):
        return
    for field in msgspec.structs.fields(kind):
        empty = values.get(field.name) in (None, "", [""])
        if field.required and empty and field.name != "disclosures":
            yield prefix + field.name
