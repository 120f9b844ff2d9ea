"""`sweet-rl show`: list the shipped recipes and the stages of the methods, or print a recipe."""

from __future__ import annotations

import argparse
from typing import Any

from colbench.command import describe
from colbench.console import print_document


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "show", help="list recipes and stages, or print a recipe", description=describe(__doc__)
    )
    parser.add_argument("recipe", nargs="?", metavar="RECIPE", help="the recipe to print")
    parser.add_argument(
        "--json", action="store_true", help="print the lists or the recipe as one JSON document"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """List the recipes and the stages, or print a recipe."""
    from sweet_rl_trainer.pipeline.recipe_files import describe as summary
    from sweet_rl_trainer.pipeline.recipe_files import shipped, tables, text

    if args.recipe and args.json:
        print_document(tables(args.recipe)[0])
        return
    if args.recipe:
        print(text(args.recipe)[0], end="")
        return
    from sweet_rl_trainer.pipeline.method import goals

    recipes, stages = {name: summary(name) for name in shipped()}, goals()
    if args.json:
        print_document({"recipes": recipes, "stages": stages})
        return
    width = max(map(len, (*recipes, *stages)))
    for heading, lines in (("recipes", recipes), ("stages, for --until", stages)):
        print(f"{heading}:")
        for name, what in lines.items():
            print(f"  {name:{width}}  {what}")
