"""The tasks: reports that a person needs, the decisions about them, and databases on which every decision matters.

A task draws a theme, a report, and one option for each decision. The request states some of the decisions and leaves
the others open. Replacing an option with any other changes the rows that the query returns on at least one of the
hidden databases.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from itertools import islice
from random import Random
from string import Template
from typing import NamedTuple

from colbench.errors import UserError
from colbench.task import Fact, Hidden, Task

SETS = {"test": slice(0, 60), "train": slice(60, 180)}
DATABASES = 5
STATED = 3
"""Number of decisions that a request states."""
NAMES = ("Ada", "Bo", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana")
TOWNS = ("Delft", "Ghent", "Lyon", "Porto", "Turin")
STATUSES = ("paid", "open", "cancelled")
MONTHS = tuple(f"{year}-{month:02d}" for year in (2023, 2024) for month in range(1, 13))


class Option(NamedTuple):
    """An option of a decision, expressed in the person's words and as a part of the SQL query."""

    says: str
    sql: str


class Decision(NamedTuple):
    """A decision that a request may leave open. The first option is the most likely guess."""

    name: str
    topics: tuple[str, ...]
    questions: tuple[str, ...]
    options: tuple[Option, ...]


class Report(NamedTuple):
    """A report: the person's words for it, and the column that identifies each of its lines."""

    name: str
    wish: str
    label: str
    sql: str


Words = Mapping[str, str]
"""The words that replace placeholders such as `$person` in texts, by the placeholder's name."""
Chosen = Mapping[str, Option]
"""The chosen option of each decision, by the decision's name."""

THEMES: tuple[Words, ...] = tuple(
    dict(zip(("place", "person", "people", "entry", "entries"), row.split(", "), strict=True))
    for row in (
        "our shop, customer, customers, order, orders",
        "our hotel, guest, guests, stay, stays",
        "our garage, client, clients, repair, repairs",
        "our music school, pupil, pupils, lesson, lessons",
        "our animal clinic, owner, owners, visit, visits",
    )
)
REPORTS = (
    Report("people", "the money that each $person brings in", "name", "p.name"),
    Report("towns", "the money from each town that $people come from", "town", "p.town"),
    Report("months", "the money from $entries, month by month", "month", "SUBSTR(e.day, 1, 7)"),
)
DECISIONS = (
    Decision(
        "period",
        ("period", "year", "date range", "time span", "since when"),
        ("Which period do you mean?", "Which $entries count by their date?", "Since which day?"),
        (
            Option("The dates of the $entries do not matter.", ""),
            Option("Only $entries of 2024 count.", "e.day LIKE '2024-%'"),
            Option("Only $entries from July 2024 on count.", "e.day >= '2024-07-01'"),
        ),
    ),
    Decision(
        "status",
        ("status", "cancelled", "paid", "open", "unpaid"),
        ("Do cancelled or unpaid $entries count?", "Which status must $entries have?"),
        (
            Option("The status of the $entries does not matter.", ""),
            Option("Cancelled $entries do not count.", "e.status <> 'cancelled'"),
            Option("Only paid $entries count.", "e.status = 'paid'"),
        ),
    ),
    Decision(
        "tax",
        ("tax", "gross", "net", "VAT"),
        ("Are the amounts with or without tax?", "Do you mean gross or net?"),
        (
            Option("The amounts are without tax.", "e.net"),
            Option("The amounts are with tax.", "e.net + e.tax"),
        ),
    ),
    Decision(
        "figure",
        ("total", "sum", "average", "mean", "largest single amount"),
        ("Do you want the total, the average or the largest?", "Is it a sum or an average?"),
        (
            Option("I want the total.", "SUM($tax)"),
            Option("I want the average of one $entry.", "AVG($tax)"),
            Option("I want the largest single $entry.", "MAX($tax)"),
        ),
    ),
    Decision(
        "unit",
        ("unit", "cents", "euros", "rounding", "decimal places"),
        ("Are the amounts in cents or in euros?", "In which unit do you want the amounts?"),
        (
            Option("The amounts stay in cents, as they are.", "$figure"),
            Option("The amounts are in euros, to two places.", "ROUND($figure / 100.0, 2)"),
        ),
    ),
    Decision(
        "few",
        ("only one $entry", "minimum", "left out", "too few", "rare"),
        ("Is a $label with a single $entry left out?", "Is there a minimum number of $entries?"),
        (
            Option("Every $label is shown, even with a single $entry.", ""),
            Option("A $label with a single $entry that counts is left out.", "HAVING COUNT(*) > 1"),
        ),
    ),
    Decision(
        "order",
        ("order of the lines", "sorted", "sorting", "comes first", "equal amounts"),
        ("How are the lines sorted?", "Which line comes first?", "What about equal amounts?"),
        (
            Option("The largest amount is first, equal ones by $label.", "amount DESC, $label"),
            Option("The lines are sorted by $label.", "$label"),
            Option("The smallest amount is first, equal ones by $label.", "amount, $label"),
        ),
    ),
    Decision(
        "length",
        ("how many lines", "number of lines", "top three", "limit", "length of the report"),
        ("How many lines shall I show?", "Do you want all lines or just the first ones?"),
        (
            Option("I want to see all lines.", ""),
            Option("I want to see just the first three lines.", "LIMIT 3"),
        ),
    ),
    Decision(
        "columns",
        ("columns", "column order", "fields of a line", "number of $entries as a column"),
        ("Which columns do you want, in which order?", "What does each line hold?"),
        (
            Option(
                "The columns are the $label and the amount.", "$source AS $label, $unit AS amount"
            ),
            Option(
                "The columns are the amount and the $label.", "$unit AS amount, $source AS $label"
            ),
            Option(
                "The columns are the $label, the amount and the number of $entries.",
                "$source AS $label, $unit AS amount, COUNT(*)",
            ),
        ),
    ),
)
TABLES = """
CREATE TABLE $people (id INTEGER PRIMARY KEY, name TEXT UNIQUE, town TEXT);
CREATE TABLE $entries (${person}_id INTEGER, day TEXT, status TEXT, net INTEGER, tax INTEGER);
"""
REQUEST = """
I need a report for $place: $wish. $stated

These are the tables, in SQLite. A day is like 2024-05-31, a status is paid, open or cancelled, amounts are in cents.
$tables
"""


def load(name: str) -> list[Task]:
    """Return the tasks of `sql:test` or `sql:train`. Raises UserError for other names.

    No query occurs in both sets.
    """
    if name not in SETS:
        raise UserError(f"--tasks sql:{name}: unknown set; known: sql:{', sql:'.join(SETS)}")
    return list(_load(name))


@cache
def _load(name: str) -> tuple[Task, ...]:
    return tuple(islice(_tasks(), SETS[name].start, SETS[name].stop))


def words_of(theme: Words, report: Report) -> Words:
    """Return the words that fill the texts of a task with this theme and report."""
    wish = fill(report.wish, theme)
    return {**theme, "wish": wish, "label": report.label, "source": report.sql}


def fill(text: str, words: Words) -> str:
    """Return a text with its placeholders filled in."""
    return Template(text).substitute(words)


def query(words: Words, chosen: Chosen) -> str:
    """Return the SQL query for the chosen options."""
    parts = dict(words)
    for decision in DECISIONS:
        parts[decision.name] = fill(chosen[decision.name].sql, parts)
    conditions = " AND ".join(filter(None, (parts["period"], parts["status"])))
    lines = (
        f"SELECT {parts['columns']}",
        fill("FROM $entries AS e JOIN $people AS p ON p.id = e.${person}_id", parts),
        conditions and f"WHERE {conditions}",
        f"GROUP BY {parts['label']}",
        parts["few"],
        f"ORDER BY {parts['order']}",
        parts["length"],
    )
    return "\n".join(filter(None, lines))


def _tasks() -> Iterator[Task]:
    """Yield an endless sequence of tasks in a fixed order, each with a new query."""
    random = Random("sql/1")  # noqa: S311 - not for secrets
    used: set[str] = set()
    while True:
        theme, report = random.choice(THEMES), random.choice(REPORTS)
        chosen = {decision.name: random.choice(decision.options) for decision in DECISIONS}
        words = words_of(theme, report)
        reference = query(words, chosen)
        if reference not in used:
            used.add(reference)
            yield _task(f"{report.name}-{len(used)}", report, words, chosen, random)


def _task(id: str, report: Report, words: Words, chosen: Chosen, random: Random) -> Task:
    stated = random.sample([decision.name for decision in DECISIONS], STATED)
    facts = tuple(_fact(decision, words, chosen, stated) for decision in DECISIONS)
    given = " ".join(fact.statement for fact in facts if fact.stated)
    hidden = Hidden(
        reference=query(words, chosen),
        tests=tuple(_databases(words, chosen, random)),
        information=" ".join(fact.statement for fact in facts),
        facts=facts,
    )
    request = fill(REQUEST, {**words, "stated": given, "tables": fill(TABLES, words).strip()})
    return Task(id=id, domain="sql", request=request.strip(), hidden=hidden, family=report.name)


def _fact(decision: Decision, words: Words, chosen: Chosen, stated: Sequence[str]) -> Fact:
    return Fact(
        name=decision.name,
        topics=tuple(fill(topic, words) for topic in decision.topics),
        statement=fill(chosen[decision.name].says, words),
        examples=tuple(fill(question, words) for question in decision.questions),
        stated=decision.name in stated,
    )


def _databases(words: Words, chosen: Chosen, random: Random) -> list[str]:
    """Return databases on which the reference returns rows.

    Replacing any option changes these rows on at least one of the databases.
    """
    others = [
        query(words, {**chosen, decision.name: option})
        for decision in DECISIONS
        for option in decision.options
        if option is not chosen[decision.name]
    ]
    while True:
        scripts = [_database(words, random) for _ in range(DATABASES)]
        reference, *found = zip(
            *(rows(script, [query(words, chosen), *others]) for script in scripts), strict=True
        )
        if all(reference) and reference not in found:
            return scripts


def rows(script: str, queries: Sequence[str]) -> list[list[tuple[object, ...]]]:
    """Return the results of trusted queries on a database. An agent's queries must run in the sandbox instead."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(script)
        return [database.execute(each).fetchall() for each in queries]


def _database(words: Words, random: Random) -> str:
    """Draw a small random database. Some decisions do not affect the report's rows on many such databases."""
    statuses = STATUSES[: random.randint(1, len(STATUSES))]
    months = random.sample(MONTHS[random.choice((0, 12, 18)) :], 5)
    people = random.sample(NAMES, random.randint(3, len(NAMES)))
    lines = [f"({n}, '{name}', '{random.choice(TOWNS)}')" for n, name in enumerate(people, start=1)]
    entries = []
    for _ in range(random.randint(8, 20)):
        day = f"{random.choice(months)}-{random.randint(1, 28):02d}"
        net = random.randrange(1000, 20_000, 50)
        tax = net * random.choice((6, 21)) // 100
        status = random.choice(statuses)
        entries.append(f"({random.randint(1, len(people))}, '{day}', '{status}', {net}, {tax})")
    inserts = "INSERT INTO $people VALUES $lines;\nINSERT INTO $entries VALUES $rows;"
    parts = {**words, "lines": ", ".join(lines), "rows": ", ".join(entries)}
    return fill(f"{TABLES}{inserts}", parts).strip()
