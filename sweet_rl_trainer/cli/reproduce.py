"""`sweet-rl reproduce`: the paper's comparison in small, with error bars."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

SCALES = ("cpu", "cpu-finetuned", "gpu")
THREADS = "OMP_NUM_THREADS"
"""Of a process, read when PyTorch is imported. Sums depend on it, and numbers shall not depend on the machine."""


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    text = (
        "the paper's comparison in small: a base from nothing, all methods, several seeds, a report"
    )
    parser = commands.add_parser(
        "reproduce", help=text, description=f"{text[0].upper()}{text[1:]}."
    )
    add = parser.add_argument
    add(
        "--scale",
        choices=SCALES,
        default="cpu",
        help="what is compared, and how large (default: cpu)",
    )
    add("--seeds", metavar="N", type=int, default=3, help="seeds, from 0 on (default: 3)")
    add(
        "--quick",
        action="store_true",
        help="of scale cpu, in a few minutes, to see that all parts work",
    )
    add(
        "--only",
        metavar="METHOD",
        action="append",
        default=[],
        help="this row alone; may be repeated",
    )
    add(
        "--out",
        metavar="DIR",
        type=Path,
        help="where everything goes (default: training/reproduce-SCALE, of --quick training/reproduce-cpu-quick)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Do the study, and write its report after each part."""
    from sweet_rl_trainer.quiet import quiet

    os.environ[THREADS] = "1"
    quiet()
    from rich.console import Console

    from colbench.errors import UserError
    from sweet_rl_trainer.study import report
    from sweet_rl_trainer.study.run import run as study
    from sweet_rl_trainer.study.scales import read

    if args.seeds < 1:
        raise UserError(f"--seeds {args.seeds}: at least 1")
    if args.quick and args.scale != "cpu":
        raise UserError(f"--quick: of scale cpu only; leave out --scale {args.scale}, or --quick")
    name = f"{args.scale}-quick" if args.quick else args.scale
    scale = read(name)
    out: Path = args.out or Path("training") / f"reproduce-{name}"
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out}: is a file; name a folder, new or that of the study")
    console = Console(stderr=True)
    for results in study(name, scale, out, seeds=args.seeds, only=args.only):
        report.write(results, out / "report")
    console.print(report.summary(results))
    print(out / "report" / report.PAGE)
