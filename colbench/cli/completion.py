"""`colbench completion`: print the script that completes commands, flags and values in your shell."""

from __future__ import annotations

import argparse
from typing import Any

from colbench.command import describe

SHELLS = ("bash", "zsh", "fish")
PROGRAMS = ("colbench", "sweet-rl")


def add_to(commands: Any) -> None:
    """Add the command `completion` to the parser."""
    parser = commands.add_parser("completion", description=describe(__doc__))
    parser.add_argument("shell", choices=SHELLS, help="your shell")
    parser.add_argument(
        "--program",
        choices=PROGRAMS,
        default=PROGRAMS[0],
        help=f"the program whose command lines are completed (default: {PROGRAMS[0]})",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from colbench.completion import script

    print(script(args.program, args.shell), end="")
    return 0
