"""`sweet-rl study`: repeat the paper's comparison at a small scale.

A base made from nothing, all methods, several seeds, and a report with error bars.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from colbench.command import describe

SCALES = ("cpu", "cpu-finetuned", "gpu")
THREADS = "OMP_NUM_THREADS"
"""Threads of a process, read when PyTorch is imported. Sums depend on it; results must not depend on the machine."""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "study",
        help="repeat the paper's comparison at a small scale",
        description=describe(__doc__),
    )
    add = parser.add_argument
    add(
        "--scale",
        choices=SCALES,
        default="cpu",
        help="the size of the comparison (default: cpu)",
    )
    add("--seeds", metavar="N", type=int, default=3, help="number of seeds, from 0 (default: 3)")
    add(
        "--quick",
        action="store_true",
        help="with scale cpu: a few minutes, to see that all parts work",
    )
    add(
        "--only",
        metavar="METHOD",
        action="append",
        default=[],
        help="only this row; may be repeated",
    )
    add(
        "--out",
        metavar="DIR",
        type=Path,
        help="folder for all outputs (default: training/study-SCALE, or training/study-cpu-quick)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the study, and write its report after each part."""
    from sweet_rl_trainer.console import quiet

    os.environ[THREADS] = "1"
    quiet()
    from rich.console import Console

    from colbench.errors import UserError
    from sweet_rl_trainer.pipeline.stage import refuse_foreign_folder
    from sweet_rl_trainer.study import report
    from sweet_rl_trainer.study.run import PROMPT
    from sweet_rl_trainer.study.run import run as study
    from sweet_rl_trainer.study.scales import read

    if args.seeds < 1:
        raise UserError(f"--seeds {args.seeds}: at least 1")
    if args.quick and args.scale != "cpu":
        raise UserError(f"--quick: only with scale cpu; leave out --scale {args.scale}, or --quick")
    name = f"{args.scale}-quick" if args.quick else args.scale
    scale = read(name)
    out: Path = args.out or Path("training") / f"study-{name}"
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out}: is a file; name a new folder, or that of the study")
    refuse_foreign_folder(out, mark=PROMPT)
    console = Console(stderr=True)
    for results in study(name, scale, out, seeds=args.seeds, only=args.only):
        report.write(results, out / "report")
    console.print(report.summary(results))
    print(out / "report" / report.PAGE)
