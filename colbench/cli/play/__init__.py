"""`colbench play`: play the agent or the human in dialogues yourself, and see the scores."""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from colbench.command import describe
from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.flags import add_config_flags, read_config

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
    "sandbox_tier",
    "sandbox_packages",
    "allow_unsafe_sandbox",
    "browser",
    "clip_weights",
    "clip_device",
    "allow_other_clip",
)


def add_to(commands: Any) -> None:
    """Add the command `play` to the parser."""
    parser = commands.add_parser("play", description=describe(__doc__))
    parser.add_argument(
        "--as",
        dest="role",
        choices=("agent", "human"),
        default="agent",
        help="your role (default: agent); --human or --agent sets who plays the other role",
    )
    add_config_flags(parser, only=FLAGS)
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder of the run (default: a folder in runs/, named after the settings); a run with the same settings "
        "is continued",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Play until no task is left or the person quits.

    Return 1 if a dialogue is unscored, or if no dialogue of a played domain is scored. Return 0 otherwise, or
    if nothing was played.
    """
    from colbench.cli.play.keyboard import Keyboard
    from colbench.cli.play.session import PlaySession

    for name, flag in (("", ""), ("_args", "-arg"), ("_prompt", "-prompt")):
        if getattr(args, args.role + name):
            raise UserError(
                f"--{args.role}{flag}: you play the {args.role} yourself; leave this flag out, or "
                "take the other role with --as"
            )
    own: dict[str, Any] = {f"{args.role}_args": {}, f"{args.role}_prompt": None}
    config = replace(read_config(args, base=BASE), **own)
    session = PlaySession(config, Path(args.out) if args.out else None, args.role, Keyboard())
    session.show_plan()
    try:
        asyncio.run(_stoppable(session.play()))
    except (KeyboardInterrupt, asyncio.CancelledError):
        session.finish()
        raise
    return session.finish()


async def _stoppable(work: Coroutine[Any, Any, None]) -> None:
    """Await `work`. SIGTERM cancels it, so that everything shuts down cleanly."""
    task = asyncio.current_task()
    if task:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await work
