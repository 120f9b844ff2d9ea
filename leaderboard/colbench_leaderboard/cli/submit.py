"""`colbench submit`: make a leaderboard entry from a run; the entry has the run's transcripts, but no scores."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.command import describe
from colbench.errors import UserError
from colbench_leaderboard.cli import examples
from colbench_leaderboard.cli.output import say_field

if TYPE_CHECKING:
    from colbench_leaderboard.bundle.draft import Draft
    from colbench_leaderboard.store.branches import Branch


EXAMPLES = examples.SUBMIT
MOVED = {
    "submit changes": "colbench leaderboard audit REPOSITORY --added-since COMMIT",
    "submit template": "colbench submit pack --template FILE",
}
"""Old spellings of commands, each with the command line that replaces it."""
PACK = "Make the bundle of a run: its transcripts and pins, and your description of the system."
PUSH = (
    "Put a bundle on a branch of a leaderboard's repository, ready for a pull request. If --to is a folder, nothing "
    "leaves this machine. If --to is a URL, the branch is sent after you consent."
)


def add_to(commands: Any) -> None:
    """Add the command `submit` and its actions to `commands`, the subcommands of `colbench`."""
    parser = commands.add_parser(
        "submit", help="pack, push: enter a leaderboard", description=describe(__doc__)
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_pack(actions)
    _add_push(actions)


def _add_pack(actions: Any) -> None:
    """Add the action `pack`."""
    parser = actions.add_parser("pack", help="make the bundle of a run", description=PACK)
    parser.add_argument("folder", metavar="RUN", nargs="?", help="the run's folder")
    parser.add_argument(
        "--meta",
        metavar="FILE",
        help="file that describes your system: answers to the questions of --template",
    )
    parser.add_argument(
        "--template",
        metavar="FILE",
        help="write the questions for --meta to a new file (`-`: print them), and exit; with RUN, `track` and "
        "`models` in the file suit the run",
    )
    parser.add_argument(
        "--interactive",
        action="store_true",
        help="ask the questions, and save the answers to --meta (default: RUN/submission.toml)",
    )
    parser.add_argument(
        "--out",
        metavar="BUNDLE",
        help="path of the bundle: a folder, or an archive if it ends in .tar.gz (default: "
        "RUN/bundle)",
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be sent, and exit")
    parser.set_defaults(run=pack)


def pack(args: argparse.Namespace) -> int:
    """Write the bundle of a run, and print the contents of the bundle.

    With `--dry-run`, only print the contents. With `--template`, only write the questions about the submission.
    """
    if args.template is not None:
        return _write_template(args.template, args.folder)
    from colbench_leaderboard.bundle import pack as packing
    from colbench_leaderboard.bundle.draft import draft
    from colbench_leaderboard.bundle.submission import read_submission

    if args.folder is None:
        raise UserError("RUN is missing: the run folder that `colbench eval --out RUN` writes")
    folder = Path(args.folder)
    meta = _meta(args, folder)
    ready = draft(folder, read_submission(meta), meta=str(meta))
    if args.dry_run:
        _show(ready)
        return 0
    out = Path(args.out or folder / "bundle")
    digest = packing.pack(ready, out)
    _show(ready)
    say_field("digest", digest)
    say_field("bundle", str(out))
    say_field("next", f"colbench verify {shlex.quote(str(out))}")
    return 0


def _write_template(file: str, run: str | None) -> int:
    """Write or print the questions. If a run is given, fill in its track and model, and print the next steps."""
    from colbench_leaderboard.bundle.draft import run_template
    from colbench_leaderboard.bundle.submission import template

    text, before = run_template(Path(run)) if run else (template(), "")
    if file == "-":
        sys.stdout.write(text)
    else:
        _write_new(Path(file), text, "--template")
        say_field("template", file)
        command = f"colbench submit pack {shlex.quote(run or 'RUN')} --meta {shlex.quote(file)}"
        if before:
            say_field("first", before)
        say_field("next", f"answer its questions, then run {command}")
    return 0


def _meta(args: argparse.Namespace, folder: Path) -> Path:
    """Return the path of the submission's file. With `--interactive`, first write it from the user's answers."""
    if args.interactive:
        meta = Path(args.meta or folder / "submission.toml")
        _ask(folder, meta)
        return meta
    if args.meta is None:
        raise UserError(
            "--meta FILE is missing: create the file with `colbench submit pack --template FILE`, or add "
            "--interactive"
        )
    return Path(args.meta)


def _ask(folder: Path, meta: Path) -> None:
    from colbench.run_folder import RunFolder
    from colbench_leaderboard.bundle.submission import to_toml
    from colbench_leaderboard.cli.questions import ask

    RunFolder(folder).record()  # report a missing run before asking questions
    if meta.exists():
        raise UserError(
            f"--interactive: {meta} already exists; to use it, pass --meta "
            f"{shlex.quote(str(meta))} without --interactive"
        )
    if not meta.parent.is_dir():
        raise UserError(f"--meta {meta}: the folder {meta.parent} does not exist; create it first")
    try:
        answers = ask()
    except EOFError as cause:
        raise UserError(
            "--interactive: input ended early; fill in a file, and pass it with --meta"
        ) from cause
    _write_new(meta, to_toml(answers), "--meta")
    say_field("answers", str(meta))


def _write_new(path: Path, text: str, flag: str) -> None:
    """Write a new file. Raises UserError, which names the flag, if the file exists or cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as cause:
        raise UserError(
            f"{flag} {path}: already exists; pass it with --meta, or choose another file"
        ) from cause
    except OSError as cause:
        raise UserError(f"{flag} {path}: cannot be written: {cause.strerror}") from cause


def _show(ready: Draft) -> None:
    """Print the parts that are sent, and the parts that are left out."""
    from colbench.numbers import count

    tasks = ready.lock.tasks
    cells = (
        f"{count(tasks.count, 'task')} x {tasks.trials} = {count(len(ready.rollouts), 'dialogue')}"
    )
    say_field("system", f"{ready.submission.name} ({ready.submission.track} track)")
    say_field("tasks", f"{tasks.source}: {cells}, verbatim")
    say_field("pins", f"ColBench {ready.lock.colbench} ({ready.lock.commit or 'commit not known'})")
    if ready.lock.domain_package:
        say_field("", ready.lock.domain_package)
    say_field("not sent", "scores, times, token IDs, logs; paths, addresses, commands")
    if ready.left_out:
        say_field("", ", ".join(ready.left_out))
    if ready.outside:
        say_field("", f"{count(ready.outside, 'dialogue')} outside the tasks and trials of the run")
    if ready.homes:
        say_field(
            "warning",
            f"{count(ready.homes, 'dialogue')} with the path of your home folder in the text",
        )
    say_field("license", f"the transcripts become public under {ready.submission.license}")


def _add_push(actions: Any) -> None:
    """Add the action `push`."""
    parser = actions.add_parser(
        "push", help="put a bundle on a branch for a pull request", description=PUSH
    )
    parser.add_argument("bundle", metavar="BUNDLE", help="a folder or a .tar.gz")
    parser.add_argument(
        "--to",
        metavar="DIR|URL",
        required=True,
        help="your clone of the leaderboard's repository, or the URL of a repository that you may push to",
    )
    parser.add_argument("--yes", action="store_true", help="push to a URL without asking")
    parser.set_defaults(run=push)


def push(args: argparse.Namespace) -> int:
    """Create a branch with the bundle; push the branch if `--to` is a URL, else print how to push it."""
    from colbench_leaderboard.bundle.read import read_bundle
    from colbench_leaderboard.store import branches
    from colbench_leaderboard.store.git import shown_url

    with read_bundle(Path(args.bundle)) as bundle, branches.open_repository(args.to) as where:
        bundle.check_cells()
        branch = branches.commit_entry(bundle, where)
        say_field("entry", f"{branch.folder}, commit {branch.commit[:12]}")
        say_field("branch", branch.name)
        if where == Path(args.to):
            _say_how(branch)
            return 0
        size = sum((bundle.folder / name).stat().st_size for name in bundle.files)
        if not (args.yes or _agreed(shown_url(args.to), branch.name, size)):
            say_field("", "nothing was sent")
            return 0
        branches.push(branch, args.to)
        say_field("sent", f"{shown_url(args.to)}; open a pull request from that branch")
    return 0


def _say_how(branch: Branch) -> None:
    where, name = shlex.quote(str(branch.repository)), branch.name
    say_field("", "nothing was sent; to send it, run these two commands:")
    say_field("push", f"git -C {where} push -u origin {name}")
    say_field("request", f"cd {where} && gh pr create --head {name} --fill")


def _agreed(to: str, branch: str, size: int) -> bool:
    if not sys.stdin.isatty():
        raise UserError(
            f"--to {to}: pushing needs your consent, but this is not a terminal; add --yes"
        )
    from rich.prompt import Confirm

    question = f"Push {branch} ({size / 1e6:.1f} MB, public from then on) to {to}?"
    return Confirm.ask(question.replace("[", r"\["), default=False)
