"""`colbench play`: take part in dialogues yourself, as the agent or as the human, and see what they are worth."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.flags import add_config_flags, read_config

PERSON = "person"
"""What stands in the record for who sits at the terminal."""
WEEK = 7 * 24 * 3600.0
BASE = RunConfig(concurrency=1, sandbox_workers=1, browser_workers=1, dialogue_timeout=WEEK)
FLAGS = (
    "domain",
    "tasks",
    "task_ids",
    "seed",
    "max_turns",
    "human",
    "human_args",
    "human_prompt",
    "agent",
    "agent_args",
    "agent_prompt",
    "scoring",
    "sandbox_packages",
    "allow_unsafe_sandbox",
    "browser",
    "clip_weights",
    "clip_device",
    "allow_other_clip",
)


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("play", help="be the agent or the human", description=__doc__)
    parser.add_argument(
        "--as",
        dest="role",
        choices=("agent", "human"),
        default="agent",
        help="who you are (default: the agent); the other side is --human or --agent",
    )
    add_config_flags(parser, only=FLAGS)
    parser.add_argument(
        "--out", metavar="DIR", help="the run's folder, to go on with it (default: runs/…)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Play until there is no task left, or the person leaves. Returns the exit code."""
    from colbench.cli.evaluate import stoppable
    from colbench.cli.play.keyboard import Keyboard
    from colbench.cli.play.session import PlaySession

    taken = [name for name in ("", "_args", "_prompt") if getattr(args, args.role + name)]
    if taken:
        raise UserError(
            f"--{args.role}: that is you; leave it out, or take the other part with --as"
        )
    part: dict[str, Any] = {args.role: PERSON, f"{args.role}_args": {}, f"{args.role}_prompt": None}
    config = replace(read_config(args, base=BASE), **part)
    session = PlaySession(config, Path(args.out) if args.out else None, args.role, Keyboard())
    session.show_plan()
    try:
        asyncio.run(stoppable(session.play()))
    except (KeyboardInterrupt, asyncio.CancelledError):
        session.finish()
        raise
    return session.finish()
