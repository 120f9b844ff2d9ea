"""`colbench export`: write the results of runs in a format used by other sites.

The format every-eval-ever is a JSON record for each run, in the folder structure of the Every Eval Ever database. The
format hf-eval-results is a YAML file for the folder `.eval_results` of a model's repository on the Hugging Face Hub.
The files contain no dialogues.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.command import describe
from colbench.errors import UserError

if TYPE_CHECKING:
    from colbench.run import Run

FORMATS = ("every-eval-ever", "hf-eval-results")
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")


def add_to(commands: Any) -> None:
    """Add the command `export` to the parser."""
    parser = commands.add_parser("export", description=describe(__doc__))
    parser.add_argument("folders", metavar="RUN", nargs="+", help="a run's folder")
    parser.add_argument("--format", choices=FORMATS, required=True, help="format of the files")
    parser.add_argument("--out", metavar="DIR", required=True, help="folder for the files")
    every = parser.add_argument_group("every-eval-ever")
    every.add_argument(
        "--model",
        metavar="OWNER/NAME",
        default="",
        help="ID of the model (default: taken from the agent, as in openai:OWNER/NAME)",
    )
    every.add_argument(
        "--organization",
        metavar="NAME",
        default="",
        help="name of the organization that ran the evaluation",
    )
    every.add_argument(
        "--relationship",
        choices=RELATIONSHIPS,
        help="the relationship of that organization to the model (default: other)",
    )
    hub = parser.add_argument_group("hf-eval-results")
    hub.add_argument(
        "--dataset",
        metavar="OWNER/NAME",
        help="dataset repository of the benchmark on the Hub (required); `colbench tasks card` writes "
        "its files",
    )
    hub.add_argument(
        "--source",
        metavar="URL",
        default="",
        help="URL of the source of the results, such as the dialogues",
    )
    parser.add_argument("--json", action="store_true", help="print the written files as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the files, and print the path of each."""
    from colbench.run import load_run

    _check(args)
    write = _write_record if args.format == "every-eval-ever" else _write_entries
    runs = [load_run(folder) for folder in args.folders]
    paths = [write(each, Path(args.out).expanduser(), args) for each in runs]
    if args.json:
        import msgspec

        sys.stdout.write(msgspec.json.encode({"files": list(map(str, paths))}).decode() + "\n")
    else:
        print(*paths, sep="\n")
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raise UserError if the format requires a flag that is missing, or does not use a flag that is given.

    Also raises UserError if the name of the dataset repository is not valid.
    """
    hub = args.format == "hf-eval-results"
    if hub and not args.dataset:
        raise UserError(
            "--dataset: required by --format hf-eval-results; set the benchmark's dataset repository, such as "
            "me/colbench"
        )
    for name in ("model", "organization", "relationship") if hub else ("dataset", "source"):
        if getattr(args, name):
            raise UserError(f"--{name}: not used by --format {args.format}; leave it out")
    if hub:
        from colbench.hub import check_repository

        check_repository(args.dataset)


def _write_record(run: Run, out: Path, args: argparse.Namespace) -> Path:
    import msgspec

    from colbench.result_formats import every_eval_ever as form

    content = form.record(
        run,
        model=args.model,
        organization=args.organization,
        relationship=args.relationship or "other",
    )
    _require_results(run, content["evaluation_results"])
    path = out / form.path_of(run, content["model_info"]["id"])
    text = msgspec.json.format(msgspec.json.encode(content), indent=2).decode()
    return _write(path, text + "\n")


def _write_entries(run: Run, out: Path, args: argparse.Namespace) -> Path:
    from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]

    from colbench.result_formats import hf_eval_results as form
    from colbench.result_formats.identity import run_id

    entries = form.entries(run, dataset=args.dataset, source=args.source)
    _require_results(run, entries)
    return _write(out / f"colbench-{run_id(run)}.yaml", yaml_dump(entries))


def _require_results(run: Run, found: list[Any]) -> None:
    if not found:
        raise UserError(f"{run.path}: no dialogue is scored; `colbench report` shows why")


def _write(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as cause:
        raise UserError(f"--out {path}: cannot be written: {cause.strerror}") from cause
    return path
