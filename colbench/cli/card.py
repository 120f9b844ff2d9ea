"""`colbench tasks card`: write a folder that can be uploaded as a dataset repository to the Hugging Face Hub.

The folder contains a dataset card, `eval.yaml`, and the tasks as Parquet files. Each source becomes a configuration
that is named after its domain. Nothing is uploaded; `hf upload` does that.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.cli.files import made_whole
from colbench.command import describe
from colbench.errors import UserError

if TYPE_CHECKING:
    from colbench.dataset_card import CardSet
    from colbench.task import Task


def add_to(actions: Any) -> None:
    """Add the command `tasks card` to the parser."""
    parser = actions.add_parser(
        "card",
        help="write the folder of a dataset repository: a card, eval.yaml, and the tasks as Parquet files",
        description=describe(__doc__),
    )
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="+", help="task sources, at most one per domain"
    )
    parser.add_argument(
        "--repository",
        metavar="OWNER/NAME",
        required=True,
        help="name of the repository on the Hugging Face Hub",
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="new folder to create")
    parser.add_argument(
        "--license",
        metavar="TEXT",
        help="license of the tasks of all sources; required for a task file (default: as each source states)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the folder, and print how to upload it."""
    from colbench.hub import check_repository

    check_repository(args.repository)
    out = Path(args.out).expanduser()
    with made_whole(out, flag="--out") as part:
        found = [_read(source, args.license) for source in args.sources]
        domains = [each.domain.name for each, _ in found]
        if len(set(domains)) < len(domains):
            raise UserError(
                f"{' '.join(args.sources)}: two sources have the same domain; pass one "
                "source per domain"
            )
        try:
            _write(part, found, args.repository)
        except OSError as cause:
            raise UserError(f"--out {out}: cannot be written: {cause.strerror or cause}") from cause
    print(out)
    print(f"to upload: hf upload {args.repository} {out} --repo-type dataset", file=sys.stderr)
    return 0


def _read(source: str, license: str | None) -> tuple[CardSet, list[Task]]:
    from colbench.cli.datasheet.origin import find_origin
    from colbench.dataset_card import CardSet
    from colbench.plugins import resolve_tasks
    from colbench.registry import get_domain

    tasks = resolve_tasks(source)
    domains = {task.domain for task in tasks}
    if len(domains) != 1:
        raise UserError(
            f"{source}: contains tasks of {len(domains)} domains; use a source with tasks of only one"
        )
    domain = get_domain(domains.pop())
    origin = find_origin(source, license, None)
    return CardSet(source=source, domain=domain, tasks=len(tasks), origin=origin), tasks


def _write(folder: Path, found: list[tuple[CardSet, list[Task]]], repository: str) -> None:
    from colbench.dataset_card import eval_yaml, readme
    from colbench.export import write_parquet

    sets = [each for each, _ in found]
    for each, tasks in found:
        path = folder / each.path
        path.parent.mkdir(parents=True)
        write_parquet(path, tasks)
    (folder / "README.md").write_text(readme(sets, repository), "utf-8")
    (folder / "eval.yaml").write_text(eval_yaml(sets), "utf-8")
