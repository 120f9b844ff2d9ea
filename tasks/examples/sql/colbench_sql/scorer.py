"""The scorer, which runs a query on hidden databases and compares its rows with the rows of the reference.

The sandbox runs `PROGRAM` with the query as data. The process that runs an answer never contains the expected rows.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from colbench.sandbox import CallResult, CodeSandbox, Job
from colbench.score import Check, Outcome, Score
from colbench.task import Task

NAME = "databases/default/1"
MOST_ROWS = 1000
LONGEST_QUERY = 20_000
SHOWN = 200
"""Maximum number of characters that are shown of a query's rows on one database."""
PROGRAM = f"""
import json, sqlite3

ALLOWED = {{
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE
}}

def plain(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        value = round(value, 6)
        return int(value) if value.is_integer() else value
    return value

def rows(script, query):
    database = sqlite3.connect(":memory:")
    database.executescript(script)
    database.set_authorizer(lambda action, *_: int(action not in ALLOWED))
    found = database.execute(query).fetchmany({MOST_ROWS + 1})
    if len(found) > {MOST_ROWS}:
        raise ValueError("more than {MOST_ROWS} rows")
    return [json.dumps([plain(value) for value in row]) for row in found]
"""
PARENTHESES = re.compile(r"\([^()]*\)")
ORDER = re.compile(r"\border\s+by\b", re.IGNORECASE)


class QueryScorer:
    """A scorer that runs queries in a started sandbox. `source` finds the query in an answer."""

    def __init__(self, sandbox: CodeSandbox, source: Callable[[str], str]) -> None:
        self._sandbox = sandbox
        self._source = source

    async def score(self, task: Task, answer: str) -> dict[str, Score]:
        """Return the score of an answer. Raises SandboxError if the sandbox itself, not the query, fails."""
        query = self._source(answer).strip()
        if not query or len(query) > LONGEST_QUERY:
            note = f"the query has {len(query):,} characters, but only 1 to {LONGEST_QUERY:,} are allowed"
            return {"default": Score(scorer=NAME, value=0.0, success=False, note=note)}
        wanted, found = await asyncio.gather(
            self._run(task, task.hidden.reference), self._run(task, query)
        )
        ordered = is_ordered(task.hidden.reference)
        verdict = [_compare(ordered, *each) for each in zip(wanted, found, strict=True)]
        return {"default": _score(verdict, self._sandbox.environment)}

    async def _run(self, task: Task, query: str) -> tuple[CallResult, ...]:
        """Return the result of a query on each database."""
        calls = tuple(f"rows({script!r}, {query!r})" for script in task.hidden.tests)
        result = await self._sandbox.run_one(Job(source=PROGRAM, calls=calls))
        return result.calls["module"]


def is_ordered(query: str) -> bool:
    """Return True if the query as a whole, not just a part in parentheses, has an ORDER BY."""
    while PARENTHESES.search(query):
        query = PARENTHESES.sub(" ", query)
    return bool(ORDER.search(query))


class Comparison(NamedTuple):
    """The comparison on one database: the result of the query, and the share of equal rows."""

    outcome: Outcome
    rows: float
    expected: str
    actual: str


def _compare(ordered: bool, wanted: CallResult, found: CallResult) -> Comparison:
    if wanted.status != "value":
        return Comparison("unscorable", 0.0, wanted.message, "")
    expected, got = _rows(wanted), _rows(found)
    if found.status != "value":
        return Comparison(found.status, 0.0, _show(expected), found.message)
    if got == expected or (not ordered and sorted(got) == sorted(expected)):
        return Comparison("passed", 1.0, _show(expected), _show(got))
    same = (Counter(got) & Counter(expected)).total()
    return Comparison("wrong", same / max(len(got), len(expected)), _show(expected), _show(got))


def _rows(result: CallResult) -> list[str]:
    """Return the rows of a result, each as a string; [] if the result does not contain rows."""
    try:
        return msgspec.json.decode(result.value, type=list[str])
    except msgspec.DecodeError:
        return []


def _show(rows: Sequence[str]) -> str:
    text = ", ".join(rows) or "no rows"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _score(verdict: Sequence[Comparison], environment: str) -> Score:
    counted = [each for each in verdict if each.outcome != "unscorable"]
    right = sum(each.outcome == "passed" for each in counted)
    return Score(
        scorer=NAME,
        value=right / len(counted) if counted else None,
        success=right == len(counted) if counted else None,
        checks=tuple(
            Check(
                call=f"database {number}",
                outcome=each.outcome,
                expected=each.expected,
                actual=each.actual,
            )
            for number, each in enumerate(verdict, start=1)
        ),
        metrics={"rows": sum(each.rows for each in counted) / len(counted)} if counted else {},
        environment=environment,
    )
