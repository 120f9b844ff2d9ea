"""Tasks: a request, which the agent receives, and hidden information (`Hidden`), which it does not.

Each line of a task file is a row: a JSON object in the official schema, with `problem_description`, `ground_truth`, and
for backend programming `test_cases` and optionally `hidden_information`. ColBench's own files may add `id`, `domain`,
`family` and `facts`. A misspelled key is an error; other unknown keys are ignored. A key whose value is null counts as
missing. If a row has no key `domain`, as in the official files, the task belongs to backend programming if it has test
cases, else to frontend design.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from colbench.config_errors import explain, misspelled
from colbench.errors import DataError

BACKEND, FRONTEND = "backend", "frontend"
"""The domains of the official files, whose rows do not state their domain."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
ONE_PER_LINE = "expected one JSON object per line"
SIGNATURE = re.compile(r"\bdef\s+([A-Za-z_]\w*)\s*\(")


class Fact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hidden decision of a task, in words.

    A simulated human answers a question with `statement`, and reveals nothing else, if the question is about one of
    `topics` or similar to one of `examples`. Topics are words or short phrases that a person might use for the fact.
    Examples are whole questions about the fact.
    """

    name: str
    topics: tuple[str, ...]
    statement: str
    examples: tuple[str, ...] = ()
    stated: bool = False
    """True if the request already states the fact, so that it is not hidden."""


class Hidden(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Information for the human, the scorer and the critic only."""

    reference: str
    """The right answer, such as a function's Python source or a page's HTML."""
    tests: tuple[str, ...] = ()
    """Input of the domain's scorer, such as call expressions in backend programming."""
    information: str = ""
    """The information given to the human; by default, the reference."""
    facts: tuple[Fact, ...] = ()

    def __post_init__(self) -> None:
        if not self.information:
            msgspec.structs.force_setattr(self, "information", self.reference)


class Task(Struct, frozen=True, kw_only=True, dict=True):
    """One task. Only `request` ever reaches an agent."""

    id: str
    domain: str
    """Name of an installed domain; see `colbench.domain`."""
    request: str
    hidden: Hidden
    family: str = ""
    """The family from which the task was generated; empty for tasks that were not generated from a family."""

    @cached_property
    def hash(self) -> str:
        """SHA-256 of all that can change a result: the domain, request and hidden part, but not the id or family."""
        content = msgspec.json.encode([self.domain, self.request, self.hidden])
        return hashlib.sha256(content).hexdigest()

    @property
    def difficulty(self) -> int | None:
        """The number of hidden decisions (facts that the request does not state); None if no fact is hidden."""
        return sum(not fact.stated for fact in self.hidden.facts) or None

    @property
    def function_name(self) -> str:
        """Name of the requested function (backend), from the signature in the request or the reference; else ""."""
        found = SIGNATURE.findall(self.request) or SIGNATURE.findall(self.hidden.reference)
        return found[-1] if found else ""


class _Row(Struct, kw_only=True):
    problem_description: str
    ground_truth: str
    test_cases: dict[str, str] = {}
    hidden_information: str = ""
    id: str = ""
    domain: str = ""
    family: str = ""
    facts: tuple[Fact, ...] = ()


def task_from_row(row: Any) -> Task:
    """Return the task of a decoded row in the official schema.

    Raises DataError, which names the key, if the row does not fit the schema.
    """
    if not isinstance(row, dict):
        raise DataError(ONE_PER_LINE)
    _refuse_misspelled(row, _Row)
    for fact in row["facts"] if isinstance(row.get("facts"), list) else ():
        _refuse_misspelled(fact, Fact)
    try:
        fields = msgspec.convert(row, _Row)
    except msgspec.ValidationError as cause:
        problem = explain(cause, _Row)
        reason = problem.reason.replace("a table", "a JSON object")
        raise DataError(f"`{problem.key}`: {reason}") from cause
    return _task(fields)


def _refuse_misspelled(given: Any, kind: type[Struct]) -> None:
    """Raise DataError if an unknown key looks like a misspelling of a missing key; ignore other unknown keys."""
    names = kind.__struct_fields__
    if not isinstance(given, dict) or given.keys() <= set(names):
        return
    missing = [name for name in names if name not in given]
    for key in given:
        if key not in names and (right := misspelled(key, missing)):
            raise DataError(f"`{key}`: unknown key; did you mean `{right}`?")


def _task(row: _Row) -> Task:
    for name in ("problem_description", "ground_truth"):
        if not getattr(row, name).strip():
            raise DataError(f"`{name}` is empty")
    _require_distinct(row.facts)
    hidden = Hidden(
        reference=row.ground_truth,
        tests=tuple(row.test_cases.values()),
        information=row.hidden_information,
        facts=tuple(map(_sharing, row.facts)),
    )
    domain = row.domain or (BACKEND if row.test_cases else FRONTEND)
    if domain == BACKEND and not row.test_cases:
        raise DataError("`test_cases`: required for a backend task, but missing or empty")
    if domain == FRONTEND and "<" not in row.ground_truth:
        raise DataError(
            "`ground_truth` is not HTML, which a frontend task requires; for a backend task, "
            "add `test_cases`"
        )
    task = Task(
        id=row.id, domain=domain, request=row.problem_description, hidden=hidden, family=row.family
    )
    if row.id:
        return task
    return msgspec.structs.replace(task, id=f"{task.function_name or domain}-{task.hash[:8]}")


def _require_distinct(facts: Sequence[Fact]) -> None:
    """Raise DataError if two facts have the same name, or if a fact has no statement."""
    names = [fact.name for fact in facts]
    for number, fact in enumerate(facts):
        if fact.name in names[:number]:
            raise DataError(
                f"`facts[{number}].name`: an earlier fact has the same name, {fact.name}"
            )
        if not fact.statement.strip():
            raise DataError(f"`facts[{number}].statement` is empty")


@lru_cache(maxsize=8192)
def _shared(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the same object for equal texts."""
    return texts


def _sharing(fact: Fact) -> Fact:
    """Return an equal fact; its topics and examples share memory with equal topics and examples of other facts."""
    topics, examples = _shared(fact.topics), _shared(fact.examples)
    return msgspec.structs.replace(fact, topics=topics, examples=examples)


def with_shared_texts(task: Task) -> Task:
    """Return an equal task; its topics and examples share memory with equal topics and examples of other tasks."""
    facts = tuple(map(_sharing, task.hidden.facts))
    return msgspec.structs.replace(task, hidden=msgspec.structs.replace(task.hidden, facts=facts))


def row_from_task(task: Task) -> dict[str, Any]:
    """Return the row of a task; the inverse of `task_from_row`."""
    row: dict[str, Any] = {
        "id": task.id,
        "problem_description": task.request,
        "ground_truth": task.hidden.reference,
    }
    if task.domain != (BACKEND if task.hidden.tests else FRONTEND):
        row["domain"] = task.domain
    if task.family:
        row["family"] = task.family
    if task.hidden.tests:
        row["test_cases"] = {f"test{n}": call for n, call in enumerate(task.hidden.tests, start=1)}
    if task.hidden.information != task.hidden.reference:
        row["hidden_information"] = task.hidden.information
    if task.hidden.facts:
        row["facts"] = msgspec.to_builtins(task.hidden.facts)
    return row


def read_tasks(
    path: Path, *, limit: int | None = None, malformed: list[str] | None = None
) -> list[Task]:
    """Return the tasks of a JSONL file: all, or only the first `limit`.

    Raises DataError, which names the file, the line and the key, for the first malformed row. If a list `malformed` is
    given, malformed rows are left out instead, and their errors are added to the list. The first of these errors is
    then raised only if no row is left.
    """
    return distinguish(task for _, task in _read(path, limit, malformed))


def task_lines(path: Path) -> dict[str, int]:
    """Return the line number of each task of a JSONL file, by the task's ID; malformed rows are left out.

    Raises DataError if the file cannot be read or contains no task.
    """
    numbers, tasks = zip(*_read(path, None, []), strict=True)
    return {task.id: number for task, number in zip(distinguish(tasks), numbers, strict=True)}


def _read(path: Path, limit: int | None, malformed: list[str] | None) -> list[tuple[int, Task]]:
    """Return the tasks of a JSONL file as pairs (line number, task); see `read_tasks`."""
    try:
        with path.open("rb") as lines:
            tasks = list(islice(_decode(lines, path, malformed), limit))
    except OSError as cause:
        raise DataError(f"{path}: cannot be read: {cause.strerror}") from cause
    if not tasks:
        none = f"{path}: contains no task; {ONE_PER_LINE}"
        raise DataError(malformed[0] if malformed else none)
    return tasks


def _decode(
    lines: Iterable[bytes], path: Path, malformed: list[str] | None
) -> Iterator[tuple[int, Task]]:
    for number, line in enumerate(lines, start=1):
        row = line.removeprefix(BYTE_ORDER_MARK).strip()
        if not row:
            continue
        try:
            yield number, task_from_row(_fields(row))
        except (DataError, UnicodeDecodeError, RecursionError) as cause:
            flaw = f"{path}, line {number}: {cause}"
            if malformed is None:
                raise DataError(flaw) from cause
            malformed.append(flaw)


def _fields(line: bytes) -> Any:
    """Return the JSON value of a line. Raises DataError if the line is not JSON."""
    try:
        row = msgspec.json.decode(line)
    except msgspec.DecodeError as cause:
        raise DataError(f"{cause}; {ONE_PER_LINE}") from cause
    return without_nulls(row) if b"null" in line else row


def without_nulls(value: Any) -> Any:
    """Return a decoded JSON value without the keys whose value is null, because such a key counts as missing."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    return value


def distinguish(tasks: Iterable[Task]) -> list[Task]:
    """Return the same tasks with unique ids: a repeated id gets the next free suffix of `-2`, `-3` and so on."""
    listed = list(tasks)
    used = {task.id for task in listed}
    seen: dict[str, int] = {}
    unique = []
    for task in listed:
        count, name = seen.get(task.id, 0) + 1, task.id
        while count > 1 and (name := f"{task.id}-{count}") in used:
            count += 1
        seen[task.id] = count
        used.add(name)
        unique.append(task if count == 1 else msgspec.structs.replace(task, id=name))
    return unique
