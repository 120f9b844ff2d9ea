"""The official tasks: the Hugging Face dataset `facebook/collaborative_agent_bench`, and the paper's pages.

`official:backend/test` is the first 1,000 rows of `backend_tasks/test.jsonl` (the test set of the paper, section 5).
`official:backend/train` is all of `backend_tasks/train.jsonl`. The files are downloaded once, to the cache of
the Hub's client. `datasets.load_dataset` is not used: offline, it falls back to the last revision loaded, and it would
build one Arrow table from rows whose types may differ.

The dataset has no frontend tasks; the paper takes them from WebSight. `official:frontend/test` reads
`frontend_tasks/test.jsonl` in the local folder (see below). The paper's released code writes this file. If it is
missing, `official:frontend/test` is the same as `websight:test`. `official:frontend/train` works in the same way.

The environment variable COLBENCH_OFFICIAL_DIR may name a local folder with all these files, also as `.jsonl.gz` or
`.parquet`. `colbench_tasks.trajectories` reads the dataset's training dialogues.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from colbench.config_errors import did_you_mean
from colbench.errors import UserError
from colbench.task import Task, distinguish, task_from_row
from colbench_tasks import hub, websight
from colbench_tasks.hub import UnreachableError, fetch, local_folder, tell_license
from colbench_tasks.rows import convert_rows, read_rows, require
from colbench_tasks.schema import BackendRow, FrontendRow, fit

REPOSITORY = "facebook/collaborative_agent_bench"
COMMIT = "cf3526d"
"""A prefix of the hash of the commit to read; the full hash is found in the Hub's cache or history."""
LOCAL_DIR = hub.LOCAL_DIR
"""The environment variable that names a local folder with copies of the Hub's files."""
FORMS = (".jsonl", ".jsonl.gz", ".parquet")
LICENSE = (
    f"{REPOSITORY} is licensed under CC-BY-NC-4.0: no commercial use. It was made with Llama "
    "3.1, whose license also applies."
)


class Set(Struct, frozen=True, kw_only=True):
    """A set of tasks: its file, the schema of its rows, and the number of rows to read (None: all)."""

    file: str
    schema: type[BackendRow] | type[FrontendRow]
    size: int | None
    license: str = LICENSE


SETS = {
    "backend/test": Set(file="backend_tasks/test.jsonl", schema=BackendRow, size=1000),
    "backend/train": Set(file="backend_tasks/train.jsonl", schema=BackendRow, size=None),
    "frontend/test": Set(
        file="frontend_tasks/test.jsonl", schema=FrontendRow, size=500, license=websight.LICENSE
    ),
    "frontend/train": Set(
        file="frontend_tasks/train.jsonl", schema=FrontendRow, size=10_000, license=websight.LICENSE
    ),
}


def load(name: str, malformed: list[str] | None = None) -> list[Task]:
    """Return the tasks of a set, e.g. `backend/test`.

    Raises UserError if no set has this name, or if the file can be neither found nor downloaded. Raises DataError if a
    row does not fit the schema (the error names row and column), or if the file is damaged or has too few rows. With a
    list `malformed`, these flaws are added to it and malformed rows are skipped; DataError is then raised only if no
    row is left. Frontend sets that the local folder lacks are loaded by `websight.load`, which raises the same errors.
    """
    if name not in SETS:
        raise UserError(f"--tasks official:{name}: {_hint(name)}")
    one = SETS[name]
    if one.schema is FrontendRow and local(one.file) is None:
        return websight.load(name.removeprefix("frontend/"), malformed)
    path = find(one.file)
    rows = read_rows(path, limit=one.size, malformed=malformed)
    tasks = list(convert_rows(rows, lambda row: task_of(row.fields, one.schema), malformed))
    require(tasks, one.size, str(path), malformed)
    tell_license(one.license)
    return distinguish(tasks)


def task_of(fields: dict[str, Any], schema: type[BackendRow] | type[FrontendRow]) -> Task:
    """Convert a row to a task. Raises DataError if the row does not fit the schema."""
    present = msgspec.structs.asdict(fit(fields, schema))
    return task_from_row({key: value for key, value in present.items() if value is not None})


def find(file: str) -> Path:
    """Return the path of an official file.

    If COLBENCH_OFFICIAL_DIR is set, the file must be in that folder. Otherwise, the path is in the Hub's cache, and the
    file is downloaded first if the cache lacks it. Raises UserError, which says how to get the file, if the file is not
    available.
    """
    path = local(file)
    folder = local_folder()
    if path is None and folder:
        raise UserError(
            f"{LOCAL_DIR}: {folder} does not contain {file}. {_how_to_get(file, folder)}"
        )
    try:
        path = path or fetch(REPOSITORY, COMMIT, file)
    except UnreachableError as cause:
        raise UserError(
            f"{REPOSITORY}: {file} cannot be fetched ({cause}). {_how_to_get(file, None)}"
        ) from cause
    return path


def local(file: str) -> Path | None:
    """Return the file in COLBENCH_OFFICIAL_DIR, in any of the `FORMS`; None if the file or the variable does not exist.

    Raises UserError if the variable names a folder that does not exist.
    """
    place = local_folder()
    if not place:
        return None
    forms = (place / (file.removesuffix(".jsonl") + form) for form in FORMS)
    return next((path for path in forms if path.is_file()), None)


def _hint(name: str) -> str:
    if name.startswith("trajectories"):
        return "this file has dialogues, not tasks; read it with colbench_tasks.trajectories"
    known = ", ".join(f"official:{each}" for each in sorted(SETS))
    return f"unknown set{did_you_mean(name, SETS, before='official:', then=f'known: {known}')}"


def _how_to_get(file: str, folder: Path | None) -> str:
    """Return advice for a missing file; `folder` is the folder that COLBENCH_OFFICIAL_DIR names, if any."""
    command = f"hf download {REPOSITORY} --repo-type dataset {file}"
    advice = (
        f"With network access, run `{command} --local-dir {folder}`, or unset {LOCAL_DIR}"
        if folder
        else f"With network access, run `{command}` (or add `--local-dir FOLDER` and set {LOCAL_DIR} to that folder)"
    )
    if file in {one.file for one in SETS.values()}:
        advice += ". Or pass a file with rows of the same format: --tasks PATH"
    return advice
