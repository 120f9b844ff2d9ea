"""The commands: all of a recipe, or what leads to one of its stages. They share their flags."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sweet_rl_trainer.recipe import Recipe

COMMANDS = {
    "run": "all stages of the recipe's method, to a checkpoint that a server loads",
    "critic": "train the critic (phase 1)",
    "diagnose": "the critic, and what it is worth on held-out tasks",
    "sample": "candidate replies for the turns of the dialogues",
    "rank": "the critic's scores of the candidates, and pairs of them",
    "actor": "train the actor on the pairs (phase 2), and export it",
    "rft": "the baseline: imitation of successful dialogues",
    "mtdpo": "the baseline: DPO on pairs of whole dialogues",
    "grpo": "the baseline: GRPO on dialogues of the model in training, through TRL",
}
FOLDER = "training"


def add_to(commands: Any) -> None:
    """Add the commands to a parser."""
    for name, text in COMMANDS.items():
        parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        _add_flags(parser)
        parser.set_defaults(run=run, goal=None if name == "run" else name)
    parser = commands.add_parser("recipes", help="the recipes that are shipped")
    parser.add_argument("recipe", nargs="?", metavar="RECIPE", help="show this one")
    parser.set_defaults(run=recipes)


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("recipe", metavar="RECIPE", help="a shipped recipe (`sweet-rl recipes`) or a TOML file")
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
        "--iterations", metavar="N", type=int, help="each time, the actor is the next one's sampler"
    )
    add("--out", metavar="DIR", type=Path, help=f"where all outputs go (default: {FOLDER}/RECIPE)")
    add(
        "--dry-run",
        action="store_true",
        help="print the plan, with examples, tokens, steps and memory, and stop",
    )


def recipe_of(args: argparse.Namespace) -> Recipe:
    """The recipe with what the flags change."""
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
    """Do the stages, or say what would be done."""
    from sweet_rl_trainer.quiet import quiet

    quiet()
    from colbench.run_folder import hold
    from sweet_rl_trainer.cli import dry_run, show
    from sweet_rl_trainer.stages.plan import plan

    recipe = recipe_of(args)
    out: Path = args.out or Path(FOLDER) / Path(args.recipe).stem
    stages = plan(recipe, args.goal)
    if args.dry_run:
        dry_run.show(recipe, stages, out)
        return
    with hold(out / ".lock", out):
        show.progress(stages, out)
    show.result(stages, out)


def recipes(args: argparse.Namespace) -> None:
    """List the shipped recipes, or print one."""
    from sweet_rl_trainer.recipe import describe, shipped, text

    if args.recipe:
        print(text(args.recipe)[0], end="")
        return
    for name in shipped():
        print(f"{name:18} {describe(name)}")
