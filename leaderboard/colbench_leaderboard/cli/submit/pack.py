"""`colbench submit pack`: make the bundle of a run: its transcripts and pins, and what you say of your system."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.errors import UserError

if TYPE_CHECKING:
    from colbench_leaderboard.parcel import Parcel


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser("pack", help="make the bundle of a run", description=__doc__)
    parser.add_argument("folder", metavar="RUN", help="the run's folder")
    parser.add_argument(
        "--meta",
        metavar="FILE",
        help="what you say of your system; `colbench submit template` shows the questions",
    )
    parser.add_argument(
        "--interactive", action="store_true", help="be asked, and keep the answers in --meta"
    )
    parser.add_argument(
        "--out",
        metavar="BUNDLE",
        help="the bundle, a folder, or an archive where it ends in .tar.gz (default: RUN/bundle)",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be sent, and stop")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check, say what is in it, and write it."""
    from colbench_leaderboard.pack import pack
    from colbench_leaderboard.parcel import parcel
    from colbench_leaderboard.submission import read_submission

    folder = Path(args.folder)
    if args.interactive:
        meta = Path(args.meta or folder / "submission.toml")
        _ask(folder, meta)
    elif args.meta is None:
        raise UserError(
            "--meta is missing: a file that `colbench submit template --out FILE` begins; or add --interactive"
        )
    else:
        meta = Path(args.meta)
    ready = parcel(folder, read_submission(meta))
    _show(ready)
    if args.dry_run:
        return 0
    out = Path(args.out or folder / "bundle")
    digest = pack(ready, out)
    _line("digest", digest)
    _line("bundle", str(out))
    _line("next", f"colbench verify {_quoted(out)}")
    return 0


def _ask(folder: Path, meta: Path) -> None:
    from colbench.run_folder import RunFolder
    from colbench_leaderboard.cli.submit.questions import ask
    from colbench_leaderboard.cli.submit.template import write_new
    from colbench_leaderboard.submission import to_toml

    RunFolder(folder).record()  # nobody wants to be asked about a run that is not there
    if meta.exists():
        raise UserError(
            f"--interactive: {meta} is there already; say --meta {_quoted(meta)} without --interactive to use it"
        )
    if not meta.parent.is_dir():
        raise UserError(f"--meta {meta}: there is no folder {meta.parent}; make it first")
    try:
        answers = ask()
    except EOFError as cause:
        raise UserError(
            "--interactive: nobody answers; fill in a file, and name it with --meta"
        ) from cause
    write_new(meta, to_toml(answers), "--meta")
    _line("answers", str(meta))


def _show(ready: Parcel) -> None:
    """What is sent, and what is not."""
    from colbench.command import printable
    from colbench.numbers import count
    from colbench_leaderboard.private import names_home

    tasks = ready.lock.tasks
    cells = (
        f"{count(tasks.count, 'task')} x {tasks.trials} = {count(len(ready.rollouts), 'dialogue')}"
    )
    _line("system", f"{printable(ready.submission.name)} ({ready.submission.track} track)")
    _line("tasks", f"{tasks.source}: {cells}, word by word")
    _line("pins", f"ColBench {ready.lock.colbench} ({ready.lock.commit or 'commit not known'})")
    _line("not sent", "scores, times, token ids, logs; paths, addresses, commands")
    if ready.left_out:
        _line("", ", ".join(map(printable, ready.left_out)))
    if ready.beside:
        _line("", f"{count(ready.beside, 'dialogue')} that the run no longer has in its grid")
    if homes := sum(map(names_home, ready.rollouts)):
        _line(
            "take care", f"{count(homes, 'dialogue')} with the path of your home folder in the text"
        )
    _line("licence", f"the transcripts become public under {ready.submission.licence}")


def _line(name: str, value: str) -> None:
    from colbench.console import console

    console().print(f"[dim]{name:<9}[/dim]", end="", highlight=False)
    console().print(value, highlight=False, markup=False, soft_wrap=True)


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
