"""A datasheet as Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from colbench.cli.datasheet.answers import UNRELATED, Answers, Share
from colbench.cli.datasheet.measure import Measured
from colbench.cli.datasheet.numbers import Numbers
from colbench.cli.datasheet.play_tables import play_tables
from colbench.cli.datasheet.similar import SHINGLE, SIMILAR
from colbench.interfaces import Origin
from colbench.markdown import table
from colbench.numbers import count, percent, whole_percent
from colbench.version import __version__


def markdown(source: str, origin: Origin, found: Measured, flags: str, further: str) -> str:
    """Return the datasheet of a source, or of the part that `flags` such as `--limit 60` select.

    `further`: the other flags with which the datasheet is made.
    """
    of = f": {count(found.tasks, 'task')} (`{flags}`)" if flags else ""
    parts = [f"# `{_title(source)}`{of}", origin.what]
    parts += [_facts(source, origin, found, flags, further)]
    parts += ["## Statistics", *_numbers(found.numbers)]
    parts += [note for each in found.examinations for note in each.notes]
    parts += ["## Known flaws", _flaws(found)]
    if found.answers:
        parts += ["## The human", _answers(found.answers, len(found.played))]
    if found.played:
        parts += ["## Guessing and asking", *play_tables(found.played)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _title(source: str) -> str:
    """Return the source or, if the source is a file, only the file's name."""
    return source.rpartition("/")[2] if Path(source).expanduser().is_file() else source


def _facts(source: str, origin: Origin, found: Measured, flags: str, further: str) -> str:
    selected = " ".join(filter(None, (shlex.quote(_title(source)), flags)))
    export = f"colbench tasks export {selected} --out FILE.jsonl"
    sheet = " ".join(filter(None, ("colbench tasks datasheet", selected, further)))
    of = "of these tasks " if flags else ""
    rows = [
        ("Size", _size(origin, found) + (f", selected by `{flags}`" if flags else "")),
        ("Origin", origin.made),
        ("License", origin.license),
        ("Access", origin.how),
        ("SHA-256", f"`{found.sha256}`, {of}as JSON lines (`{export}`)"),
        ("Made with", f"`{sheet}`, ColBench {__version__}"),
    ]
    return table(("", ""), [row for row in rows if row[1]])


def _size(origin: Origin, found: Measured) -> str:
    if origin.tasks and found.tasks < origin.tasks:
        return f"{count(found.tasks, 'task')}; the whole set has {origin.tasks:,}"
    unread = f", and {count(found.malformed, 'row')} that cannot be read"
    return count(found.tasks, "task") + (unread if found.malformed else "")


def _numbers(numbers: Numbers) -> Iterator[str]:
    yield table(
        ("", "least", "median", "most"),
        [
            (name, f"{spread.least:,}", f"{spread.middle:,g}", f"{spread.most:,}")
            for name, spread in numbers.lengths.items()
        ],
    )
    if numbers.families:
        names = ", ".join(f"{name} {number:,}" for name, number in numbers.families.items())
        yield f"Tasks by family ({len(numbers.families)}): {names}."
    if numbers.difficulty:
        yield table(
            ("hidden decisions", *map(str, numbers.difficulty)),
            [("tasks", *(f"{number:,}" for number in numbers.difficulty.values()))],
        )
    if numbers.stated:
        yield f"Requests state {count(numbers.stated, 'further decision')}."


def _flaws(found: Measured) -> str:
    rows = [
        (
            f"the request is a near-duplicate of an earlier one (at least "
            f"{whole_percent(float(SIMILAR))} of its {SHINGLE}-word sequences in common)",
            found.similar,
        ),
        ("the reference is the same as an earlier one", found.same_references),
    ]
    rows += [flaw for each in found.examinations for flaw in each.flaws.items()]
    return table(("", "tasks"), [(name, f"{number:,}") for name, number in rows])


def _answers(answers: Answers, tasks: int) -> str:
    rows: Sequence[tuple[str, Share]] = [
        ("a plain question about a hidden decision gets its fact", answers.told),
        ("a plain question about a hidden decision gets no other fact", answers.kept),
        ("an unrelated question gets no fact", answers.silent),
    ]
    said = (
        "This tests the rule-based human on the first "
        f"{count(tasks, 'task')}. For each hidden decision, it is asked every plain question that the family defines; "
        "it knows the wording of these questions. For each task, it is also asked "
        f"{len(UNRELATED)} unrelated questions. `tests/colbench/test_facts_held_out.py` measures its answers to "
        "wordings that it does not know."
    )
    shown = [(name, f"{share.right:,} of {share.of:,}", _percent(share)) for name, share in rows]
    return f"{said}\n\n{table(('', 'questions', 'share'), shown)}"


def _percent(share: Share) -> str:
    return percent(share.right / share.of if share.of else None)
