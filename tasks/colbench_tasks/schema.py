"""The schemas of the official files, and checks for rows that do not match them.

A missing column or a different type causes an error that names all differences. A new column causes a warning, because
the known columns keep their meaning.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from colbench.errors import DataError

logger = logging.getLogger(__name__)


class BackendRow(Struct, frozen=True, kw_only=True):
    """A task of backend programming."""

    problem_description: str
    ground_truth: str
    test_cases: dict[str, str]
    hidden_information: str | None = None
    """Equal to `ground_truth` in all known rows; may be absent."""


class FrontendRow(Struct, frozen=True, kw_only=True):
    """A task of frontend design, in the form that the paper's released code creates from WebSight."""

    problem_description: str
    ground_truth: str


class WebSightRow(Struct, frozen=True, kw_only=True):
    """A row of WebSight v0.2."""

    text: str
    """The HTML of the page."""
    llm_generated_idea: str
    """The request."""
    image: Any = None
    """A picture of the page; ignored."""


class MessageRow(Struct, frozen=True, kw_only=True):
    """A message of a recorded dialogue.

    In the agent's messages, `input` is the sampler's prompt and `output` is the sampler's completion; see
    `colbench_tasks.trajectories.RecordedTurn`.
    """

    role: str
    content: str
    input: str | None = None
    output: str | None = None


class TrajectoryRow(Struct, frozen=True, kw_only=True):
    """A recorded dialogue with its task."""

    task: dict[str, Any]
    """The fields of a `BackendRow` or a `FrontendRow`."""
    dialogue_history: list[MessageRow]
    answer: str | None = None
    reward: float | None = None


Schema = TypeVar("Schema", bound=Struct)


def fit(fields: dict[str, Any], schema: type[Schema]) -> Schema:
    """Convert the fields of a row to the schema. Raises DataError, which names all differences, if a field is wrong."""
    known = {field.name for field in msgspec.structs.fields(schema)}
    new = tuple(name for name in fields if name not in known)
    try:
        fitting = msgspec.convert(fields, schema)
    except msgspec.ValidationError as cause:
        differences = [*_differences(fields, schema), *(f"`{name}` is unknown" for name in new)]
        raise DataError(f"not in the expected schema: {', '.join(differences)}") from cause
    if new:
        _tell_new(schema.__name__, new)
    return fitting


def _differences(fields: dict[str, Any], schema: type[Struct]) -> Iterator[str]:
    for field in msgspec.structs.fields(schema):
        if field.name not in fields:
            if field.required:
                yield f"`{field.name}` is missing"
            continue
        try:
            msgspec.convert(fields[field.name], field.type)
        except msgspec.ValidationError as cause:
            yield f"`{field.name}` has another type ({cause})"


@cache
def _tell_new(schema: str, names: tuple[str, ...]) -> None:
    """Log a warning about new columns, once per process."""
    listed = ", ".join(f"`{name}`" for name in names)
    logger.warning("%s: rows have unknown columns, which are ignored: %s", schema, listed)
