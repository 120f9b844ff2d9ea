"""Old spellings of commands, each with the command line that replaces it."""

from __future__ import annotations

STAGES = "critic", "diagnose", "sample", "rank", "actor", "rft", "mtdpo", "grpo"
"""Stages that used to be commands."""
MOVED = {
    **{stage: f"sweet-rl run RECIPE --until {stage}" for stage in STAGES},
    "recipes": "sweet-rl show",
    "reproduce": "sweet-rl study",
}
