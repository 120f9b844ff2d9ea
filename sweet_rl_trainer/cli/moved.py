"""Old spellings of commands, each with the command line that replaces it."""

from __future__ import annotations

from sweet_rl_trainer.cli.run import UNTIL

MOVED = {
    **{stage: f"sweet-rl run RECIPE --until {stage}" for stage in UNTIL},
    "recipes": "sweet-rl show",
    "reproduce": "sweet-rl study",
}
