"""`sweet-rl run`: run the stages of a recipe, up to a checkpoint that a server can load.

Calling the command again repeats only what changed, and continues an interrupted run.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.command import describe
from colbench.console import add_output_flags
from colbench.errors import UserError

if TYPE_CHECKING:
    from sweet_rl_trainer.pipeline.recipe import Recipe

FOLDER = "training"


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "run",
        help="run all stages of a recipe, or only up to a given stage",
        description=describe(__doc__),
    )
    add = parser.add_argument
    add("recipe", metavar="RECIPE", help="a shipped recipe (`sweet-rl show`) or a TOML file")
    add(
        "--until",
        metavar="STAGE",
        help="stop after this stage (default: the last one of the recipe's method); `sweet-rl show` lists all stages",
    )
    add(
        "--model", metavar="MODEL", help="model.name: a folder, or OWNER/NAME[@REVISION] on the Hub"
    )
    add("--runs", metavar="DIR", nargs="+", help="data.runs: run folders of `colbench eval`")
    add(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="override a setting of the recipe, such as critic.train.beta=0.2; may be repeated",
    )
    add(
        "--iterations",
        metavar="N",
        type=int,
        help="repeat the method N times; each iteration's policy collects the dialogues of the next iteration",
    )
    add(
        "--executor",
        metavar="NAME",
        help="executor: where dialogues run and are scored, such as ray:ADDRESS (the same values as "
        "for `colbench eval`)",
    )
    add(
        "--out", metavar="DIR", type=Path, help=f"folder for all outputs (default: {FOLDER}/RECIPE)"
    )
    add(
        "--dry-run",
        action="store_true",
        help="print the plan (each stage's number of training examples, tokens and steps, and its memory), and exit",
    )
    add_output_flags(parser, document="the stages and the result, or the plan,")
    parser.set_defaults(run=run)


def recipe_of(args: argparse.Namespace) -> Recipe:
    """Return the recipe with the changes that the flags make."""
    from sweet_rl_trainer.pipeline.read import read

    changes = dict[str, Any]()
    if args.model is not None:
        changes["model.name"] = args.model
    if args.runs is not None:
        changes["data.runs"] = args.runs
    if args.executor is not None:
        changes["executor"] = args.executor
    if args.iterations is not None:
        changes["iterations"] = args.iterations
    return read(args.recipe, args.set, changes)


def run(args: argparse.Namespace) -> int:
    """Run the stages, or print the plan; return the exit code."""
    from sweet_rl_trainer.console import quiet

    quiet()
    from colbench.run_folder import hold
    from sweet_rl_trainer.cli import dry_run, progress
    from sweet_rl_trainer.pipeline.amounts import missing
    from sweet_rl_trainer.pipeline.page import Run, write_page
    from sweet_rl_trainer.pipeline.plan import plan
    from sweet_rl_trainer.pipeline.read import paper_recipe
    from sweet_rl_trainer.pipeline.stage import refuse_foreign_folder

    recipe = recipe_of(args)
    out: Path = args.out or Path(FOLDER) / Path(args.recipe).stem
    refuse_foreign_folder(out)
    paper = paper_recipe(recipe.domain)
    stages = plan(recipe, args.until, offline=True)
    if args.dry_run:
        return dry_run.show(recipe, paper, stages, out, as_json=args.json)
    if lacks := missing(stages, out):
        raise UserError("\n".join(lacks))
    if any(stage.planned_only for stage in stages):
        stages = plan(recipe, args.until)
    with hold(out / ".lock", out):
        goal = args.until or recipe.method
        page = Run(recipe=recipe, paper=paper, goal=goal, stages=stages, out=out)
        progress.run_all(stages, out, partial(write_page, page))
    progress.show_result(page, as_json=args.json)
    return 0
