"""`sweet-rl run`: run the stages of a recipe, up to a checkpoint that a server loads.

A second call repeats only what changed, and a call after an interruption continues.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.command import describe

if TYPE_CHECKING:
    from sweet_rl_trainer.recipe import Recipe

UNTIL = {
    "critic": "train the critic (phase 1)",
    "diagnose": "measure the critic on held-out tasks",
    "sample": "sample candidate replies for the turns of the dialogues",
    "rank": "score the candidates with the critic, and pair them",
    "actor": "train the actor on the pairs (phase 2), and export it",
    "rft": "train the baseline by imitation of successful dialogues, and export it",
    "mtdpo": "train the baseline by DPO on pairs of whole dialogues, and export it",
    "grpo": "train the baseline by GRPO on dialogues of the model itself, and export it",
}
"""The stages at which a run can end; a baseline replaces the recipe's method."""
FOLDER = "training"


def add_to(commands: Any) -> None:
    """Add the command."""
    stages = "".join(f"\n  {stage:<10}{text}" for stage, text in UNTIL.items())
    parser = commands.add_parser(
        "run",
        help="run the stages of a recipe, all or up to one",
        description=describe(__doc__),
        epilog=f"stages:{stages}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("recipe", metavar="RECIPE", help="a shipped recipe (`sweet-rl show`) or a TOML file")
    add(
        "--until",
        metavar="STAGE",
        choices=tuple(UNTIL),
        help=f"stop after this stage: {', '.join(UNTIL)} (default: the last one of the recipe's method)",
    )
    add(
        "--model", metavar="MODEL", help="model.name: a folder, or OWNER/NAME[@REVISION] on the hub"
    )
    add("--runs", metavar="DIR", nargs="+", help="data.runs: run folders of `colbench eval`")
    add(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="another setting of the recipe, such as critic.train.beta=0.2; may be repeated",
    )
    add(
        "--iterations",
        metavar="N",
        type=int,
        help="repeat the method N times; each actor samples for the next one",
    )
    add(
        "--out", metavar="DIR", type=Path, help=f"folder for all outputs (default: {FOLDER}/RECIPE)"
    )
    add(
        "--dry-run",
        action="store_true",
        help="print the plan, with examples, tokens, steps and memory, and stop",
    )
    parser.set_defaults(run=run)


def recipe_of(args: argparse.Namespace) -> Recipe:
    """Return the recipe with the changes that the flags make."""
    from sweet_rl_trainer.recipe import read

    changes = dict[str, Any]()
    if args.model is not None:
        changes["model.name"] = args.model
    if args.runs is not None:
        changes["data.runs"] = args.runs
    if args.iterations is not None:
        changes["iterations"] = args.iterations
    return read(args.recipe, args.set, changes)


def run(args: argparse.Namespace) -> None:
    """Run the stages, or print the plan."""
    from sweet_rl_trainer.quiet import quiet

    quiet()
    from colbench.run_folder import hold
    from sweet_rl_trainer.cli import dry_run, progress
    from sweet_rl_trainer.stages.plan import plan

    recipe = recipe_of(args)
    out: Path = args.out or Path(FOLDER) / Path(args.recipe).stem
    stages = plan(recipe, args.until)
    if args.dry_run:
        dry_run.show(recipe, stages, out)
        return
    with hold(out / ".lock", out):
        progress.run_all(stages, out)
    progress.show_result(stages, out)
