"""`sweet-rl show`: list the shipped recipes, or print one."""

from __future__ import annotations

import argparse
from typing import Any

from colbench.command import describe


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "show", help="list the shipped recipes, or print one", description=describe(__doc__)
    )
    parser.add_argument("recipe", nargs="?", metavar="RECIPE", help="the recipe to print")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """List the recipes, or print one."""
    from sweet_rl_trainer.recipe_files import describe as summary
    from sweet_rl_trainer.recipe_files import shipped, text

    if args.recipe:
        print(text(args.recipe)[0], end="")
        return
    for name in shipped():
        print(f"{name:18} {summary(name)}")
