"""`sweet-rl study`: compare training methods in a world, which consists of tasks, a small base model and settings.

The study trains the base model from random or pretrained weights. It then trains this model further with each arm (a
method with its settings) and several seeds, and writes a report with intervals. A study continues where it was stopped,
and can be started several times in parallel, once for each core.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from colbench.command import describe
from colbench.console import add_output_flags, console, errors, print_document

WORLDS = ("population", "finetuned", "asking", "smollm2")
QUICK = "quick"
THREADS = "OMP_NUM_THREADS"
"""Environment variable for the number of threads of a process, read when PyTorch is imported.

The study sets it to 1: the number affects sums, and results must not depend on the machine.
"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "study",
        help="compare training methods with a small model and several seeds",
        description=describe(__doc__),
    )
    add = parser.add_argument
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--world",
        choices=WORLDS,
        default="asking",
        help="the tasks, the base model and the settings of the study (default: asking)",
    )
    which.add_argument(
        "--quick",
        action="store_true",
        help="run a smaller world, which takes a few minutes, to check that all parts work",
    )
    add(
        "--model",
        metavar="MODEL",
        default="",
        help="folder or Hub ID of the pretrained model (world smollm2 only)",
    )
    add(
        "--seeds",
        metavar="N",
        type=int,
        default=6,
        help="number of seeds; they are 0 to N-1 (default: 6)",
    )
    add(
        "--only",
        metavar="ARM",
        action="append",
        default=[],
        help="run only this arm; may be repeated",
    )
    add(
        "--out",
        metavar="DIR",
        type=Path,
        help="folder for all outputs (default: training/study-WORLD, or training/study-quick)",
    )
    add_output_flags(parser, document="the results")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the study, and write its report after each part."""
    from sweet_rl_trainer.console import quiet

    os.environ[THREADS] = "1"
    quiet()
    from colbench.errors import UserError
    from sweet_rl_trainer.pipeline.stage import refuse_foreign_folder
    from sweet_rl_trainer.study import report
    from sweet_rl_trainer.study.run import PROMPT
    from sweet_rl_trainer.study.run import run as study
    from sweet_rl_trainer.study.world import read

    if args.seeds < 1:
        raise UserError(f"--seeds {args.seeds}: must be at least 1")
    name = QUICK if args.quick else args.world
    world = read(name, model=args.model)
    out: Path = args.out or Path("training") / f"study-{name}"
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out} is a file; choose a new folder or the folder of the study")
    refuse_foreign_folder(out, mark=PROMPT)
    for results in study(name, world, out, seeds=args.seeds, only=args.only):
        report.write(results, out / "report")
    page = out / "report" / report.PAGE
    errors().print(report.console_table(results))
    if args.json:
        print_document({"report": page, "results": results})
    else:
        console().out(page, highlight=False)
