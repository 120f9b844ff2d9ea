"""Generated content of run files, which others may have written: it is read, or a UserError is raised.

`--hypothesis-profile=long` runs two hundred times as many examples.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from colbench.errors import UserError
from colbench.report.read import read_report
from colbench.rollout import read_rollouts
from colbench.run_folder import RunFolder
from colbench.task import read_tasks

READERS = {
    "rollouts.jsonl": read_rollouts,
    "run.json": lambda path: RunFolder(path.parent).record(),
    "report.json": read_report,
    "tasks.jsonl": read_tasks,
}
DEEP = 100_000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["schema", "domains", "pins", "id", "turns", "browser"])
            | st.text(max_size=6),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
SCHEMAS = st.sampled_from(
    ["colbench.run/1", "colbench.run/2", "colbench.report/1", "colbench.report/2", "x"]
)


def read(name: str, content: bytes) -> None:
    """Read a file with this name and content. Only a UserError may be raised."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        with suppress(UserError):
            READERS[name](path)


@pytest.mark.parametrize("name", READERS)
@given(content=st.binary(max_size=300))
@example(content=b'{"key":"\xed\xa0\x80"}\n')
@example(content=b'{"x":' + b"[" * DEEP + b"\n")
@example(content=b'{"schema":"colbench.report/1","domains":7}\n')
def test_run_files_with_any_bytes_are_read_or_refused(name, content):
    read(name, content)
    read(name, content + b"\n")


@pytest.mark.parametrize("name", READERS)
@given(schema=SCHEMAS, fields=st.dictionaries(st.text(max_size=5), JSON, max_size=3), value=JSON)
def test_run_files_with_any_json_are_read_or_refused(name, schema, fields, value):
    known = {"domains": value, "browser": value, "pins": value, "hidden": value, "turns": value}
    for content in (value, fields, {"schema": schema, **known}, {"schema": schema, **fields}):
        read(name, json.dumps(content).encode() + b"\n")
