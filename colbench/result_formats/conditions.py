"""The conditions of a run on which its results depend: runs with different conditions are not comparable."""

from __future__ import annotations

import msgspec

from colbench.config import RunConfig, settings
from colbench.errors import UserError
from colbench.numbers import count
from colbench.pins import flat_pins
from colbench.redaction import scrub
from colbench.run import Run
from colbench.shards import shard_name

STATED = {"human", "max_turns", "tasks"}
"""Settings that every exported file states, even if they have their defaults."""


def require_complete(run: Run) -> None:
    """Raise UserError if a planned dialogue of a run is missing, or has no score because something failed.

    A dialogue in which the agent failed has the score 0. Unjudged dialogues, in which nothing failed, are accepted.
    """
    unscored = sum(each.unscored for each in run.report.domains.values())
    planned = sum(each.cells for each in run.report.domains.values())
    if unscored:
        raise UserError(
            f"{run.path}: the run is incomplete: {unscored:,} of {count(planned, 'dialogue')} unscored; to finish it, "
            "repeat its `colbench eval` command"
        )


def selection(config: RunConfig) -> str:
    """Return how a run's dialogues were selected from its task source, in words; "" if all were selected."""
    parts = (
        f"{len(config.task_ids):,} chosen by ID" if config.task_ids else "",
        f"the first {config.limit:,}" if config.limit else "",
        shard_name(config.shard) if config.shard else "",
    )
    return ", ".join(filter(None, parts))


def unusual_settings(run: Run) -> dict[str, str]:
    """Return the settings that can change results and differ from their defaults, by name, such as `told`.

    Settings of the agent and settings in `STATED` are left out. URLs and folders in the values are shortened (`scrub`).
    """
    written = msgspec.json.encode(RunConfig().pins())
    usual = msgspec.json.decode(written)  # in the form in which pins are read
    agents = {name for name, each in settings().items() if each.group == "agent"}
    flat = flat_pins(
        {
            name: value
            for name, value in run.record.pins["config"].items()
            if name not in STATED | agents and value != usual.get(name)
        }
    )
    return {name: scrub(value) for name, value in flat.items()}
