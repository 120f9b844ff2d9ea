"""`colbench tasks export`: write the tasks of a source to a file, upload them to the Hugging Face Hub, or both.

The formats `jsonl` and `parquet` contain everything, including facts; `--tasks FILE` reads the same tasks back. The
format `official` is JSON lines with only the columns of the official files. If the file's name ends in .jsonl.gz, JSON
lines are compressed. An upload has the columns of `parquet`.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from colbench import export, hub
from colbench.cli.files import add_overwrite, written_whole
from colbench.command import describe
from colbench.errors import UserError
from colbench.flags import add_config_flags, add_source, read_source
from colbench.selection import find_tasks
from colbench.task import Task

FORMATS: dict[str, export.Write] = {
    "jsonl": export.write_jsonl,
    "parquet": export.write_parquet,
    "official": export.write_official,
}
SUFFIXES = {
    ".jsonl": ("jsonl", "official"),
    ".jsonl.gz": ("jsonl", "official"),
    ".parquet": ("parquet",),
}
"""The formats that can be written to a file with each suffix; the first format is the default."""


def add_to(actions: Any) -> None:
    """Add the command `tasks export` to the parser."""
    parser = actions.add_parser(
        "export", help="write a source to a file, or upload it", description=describe(__doc__)
    )
    add_source(parser)
    parser.add_argument(
        "--out", metavar="FILE", help="the file to write: .jsonl, .jsonl.gz or .parquet"
    )
    parser.add_argument(
        "--format",
        choices=tuple(FORMATS),
        help="jsonl: one JSON object per line with all fields; parquet: the same as a table; "
        "official: JSON lines without facts, IDs and families (default: from the name of FILE)",
    )
    add_hub_flags(parser)
    add_overwrite(parser)
    add_config_flags(parser, only=("tasks", "domain", "task_ids", "limit"))
    parser.set_defaults(run=run)


def add_hub_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of an upload."""
    parser.add_argument(
        "--push-to-hub",
        metavar="REPOSITORY",
        help="upload to this dataset repository of the Hugging Face Hub, such as me/my-data",
    )
    parser.add_argument(
        "--private",
        action="store_true",
        help="make the repository private, if this upload creates it",
    )


def check_hub_flags(args: argparse.Namespace) -> None:
    """Raise UserError if the repository's name is not valid, or `--private` is given without a repository."""
    if args.push_to_hub:
        hub.check_repository(args.push_to_hub)
    elif args.private:
        raise UserError("--private: requires --push-to-hub REPOSITORY")


@contextmanager
def uploading() -> Iterator[None]:
    """Show in a terminal that an upload is in progress."""
    from colbench.console import errors

    with errors().status("uploading …") if errors().is_terminal else nullcontext():
        yield


def run(args: argparse.Namespace) -> int:
    """Write the file of --out, upload the tasks to the repository of --push-to-hub, and print the destinations."""
    if not (args.out or args.push_to_hub):
        raise UserError("no destination is set; use --out FILE, --push-to-hub REPOSITORY, or both")
    if args.format and not args.out:
        raise UserError(f"--format {args.format}: requires --out FILE")
    check_hub_flags(args)
    tasks = _write(args) if args.out else _tasks(args)
    if args.push_to_hub:
        with uploading():
            dataset = export.to_dataset(tasks)
            place = hub.push(dataset, args.push_to_hub, private=args.private or None)
        _report(place, tasks)
    return 0


def _tasks(args: argparse.Namespace) -> list[Task]:
    return find_tasks(read_source(args))[1]


def _write(args: argparse.Namespace) -> list[Task]:
    path = Path(args.out).expanduser()
    with written_whole(path, overwrite=args.overwrite) as part:
        write = _writer(path, args.format)
        tasks = _tasks(args)
        write(part, _watched(tasks))
        with part.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    _report(str(path), tasks, f", SHA-256 {digest}")
    return tasks


def _report(place: str, tasks: Sequence[Task], more: str = "") -> None:
    from colbench.numbers import count

    print(f"{place}: {count(len(tasks), 'task')}{more}", file=sys.stderr)


def _writer(path: Path, form: str | None) -> export.Write:
    """Return the function that writes a file in a format; by default, the suffix of the file determines the format.

    Raises UserError if the suffix is unknown, or belongs to another format.
    """
    suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), None)
    if suffix is None:
        raise UserError(f"--out {path}: use a name that ends in {', '.join(SUFFIXES)}")
    if form not in (None, *SUFFIXES[suffix]):
        raise UserError(
            f"--out {path}: --format {form} cannot be written to a {suffix} file; change one of them"
        )
    write = FORMATS[form or SUFFIXES[suffix][0]]
    return export.compressed(write) if suffix.endswith(".gz") else write


def _watched(tasks: Sequence[Task]) -> Iterable[Task]:
    """Return the tasks, with a progress bar on a terminal."""
    from rich.progress import track

    from colbench.console import errors

    shown = errors().is_terminal
    return track(tasks, "writing", console=errors(), transient=True, disable=not shown)
