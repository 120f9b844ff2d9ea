"""`sweet-rl creditbench`: score estimators of turn credit (how good each message of an agent is) against exact values.

Without a model, only the estimators that need no model are scored. Calling the command again repeats only what changed,
and continues an interrupted run.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from colbench.command import describe
from colbench.config import workers
from colbench.console import add_output_flags, console, errors, print_document
from colbench.errors import UserError

if TYPE_CHECKING:
    from sweet_rl_trainer.creditbench.run import Settings

FOLDER = "training/creditbench"
THREADS = "OMP_NUM_THREADS"
"""Environment variable for the number of threads, read when PyTorch is imported.

The number affects the last digits of a model's sums.
"""
MOST_PROCESSES = 2
READ_TASKS = 200


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "creditbench",
        help="score estimators of turn credit against exact values",
        description=describe(__doc__),
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="use few tasks, to check that all parts work")
    add(
        "--policy",
        metavar="FOLDER",
        type=Path,
        help="folder of a language model, for estimators such as PMI and gain, and as the reference model of critics",
    )
    add(
        "--critic",
        metavar="NAME=FOLDER",
        action="append",
        default=[],
        help="name and folder of a critic (with or without a value head) trained from the policy; may be repeated",
    )
    add(
        "--system",
        metavar="FILE",
        type=Path,
        help="file with the agent's system prompt (default: the built-in prompt; /dev/null: no prompt)",
    )
    add("--tasks", metavar="SOURCE", help="source of the tasks (default: bundled:backend/train)")
    add(
        "--number",
        metavar="N",
        type=int,
        help="maximum number of tasks (default: 1000; with --quick: 20)",
    )
    add(
        "--read",
        metavar="N",
        type=int,
        default=READ_TASKS,
        help="maximum number of tasks for the estimators that need a model "
        f"(default: {READ_TASKS}); they score one state of each task: a dialogue before a turn",
    )
    add(
        "--processes",
        metavar="N",
        type=int,
        default=min(MOST_PROCESSES, workers(0)),
        help=f"number of processes for work without a model (default: one per core, at most "
        f"{MOST_PROCESSES})",
    )
    add(
        "--out",
        metavar="DIR",
        type=Path,
        help=f"folder for all outputs (default: {FOLDER}; with --quick: {FOLDER}-quick)",
    )
    add_output_flags(parser, document="the results")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the benchmark and print the path of its page."""
    os.environ[THREADS] = "1"
    from sweet_rl_trainer.console import quiet

    quiet()
    from rich.text import Text

    from colbench.run_folder import hold, refuse_foreign
    from sweet_rl_trainer.creditbench.data import MADE, STATES
    from sweet_rl_trainer.creditbench.page import PAGE, summary
    from sweet_rl_trainer.creditbench.run import REPORT
    from sweet_rl_trainer.creditbench.run import run as bench

    settings = settings_of(args)
    out: Path = args.out or Path(f"{FOLDER}-quick" if args.quick else FOLDER)
    if out.exists() and not out.is_dir():
        raise UserError(
            f"--out {out} is a file; choose a new folder or the folder of an earlier run"
        )
    own = any((out / name).exists() for name in (MADE, STATES))
    refuse_foreign(out, "CreditBench run", MADE, own=own)
    with hold(out / ".lock", out):
        found = bench(settings, out)
    page = out / REPORT / PAGE
    errors().print(Text(summary(found)), soft_wrap=True)
    if args.json:
        print_document({"report": page, "results": found})
    else:
        console().out(page, highlight=False)


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings that the flags describe. Raises UserError, which names the flag, if a flag is invalid."""
    from sweet_rl_trainer.creditbench.data import FULL, QUICK
    from sweet_rl_trainer.creditbench.run import Settings

    for name in ("number", "read", "processes"):
        if getattr(args, name) is not None and getattr(args, name) < 1:
            raise UserError(f"--{name} {getattr(args, name)}: must be at least 1")
    critics = _critics(args.critic)
    if critics and args.policy is None:
        raise UserError("--critic: requires --policy, the model that the critics were trained from")
    for flag, folder in (
        ("--policy", args.policy),
        *(("--critic", each) for each in critics.values()),
    ):
        if folder is not None and not folder.is_dir():
            raise UserError(f"{flag} {folder}: no such folder")
    default = QUICK if args.quick else FULL
    return Settings(
        selection=type(default)(
            source=args.tasks or default.source,
            tasks=args.number or default.tasks,
            dialogues=default.dialogues,
        ),
        policy=args.policy,
        critics=critics,
        system=None if args.system is None else _text(args.system),
        read_tasks=args.read,
        processes=args.processes,
        command=_command(args),
    )


def _critics(texts: Sequence[str]) -> dict[str, Path]:
    """Return the critics' folders by name."""
    from sweet_rl_trainer.creditbench.run import POLICY

    found: dict[str, Path] = {}
    for text in texts:
        name, equals, folder = text.partition("=")
        if not (name and equals and folder):
            raise UserError(f"--critic {text}: expected NAME=FOLDER")
        if name in (*found, POLICY):
            raise UserError(
                f"--critic {text}: another model has the name {name}; choose a new name"
            )
        found[name] = Path(folder)
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise UserError(f"--system {path}: cannot be read: {cause}") from cause


def _command(args: argparse.Namespace) -> str:
    """Return the command line, with placeholders in place of this machine's paths."""
    words = ["sweet-rl creditbench"]
    words += ["--quick"] if args.quick else []
    words += [f"--tasks {quote(args.tasks)}"] if args.tasks else []
    words += [f"--number {args.number}"] if args.number else []
    words += ["--policy MODEL"] if args.policy else []
    words += [f"--critic {quote(each.partition('=')[0])}=FOLDER" for each in args.critic]
    words += ["--system FILE"] if args.system else []
    words += [f"--read {args.read}"] if args.read != READ_TASKS else []
    return " ".join(words)
