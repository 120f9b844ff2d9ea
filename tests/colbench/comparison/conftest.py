"""Real runs of bundled agents, and changed copies of runs, for comparisons."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import colbench
from colbench.rollout import Rollout, encode_rollout

Change = Callable[[Rollout], Rollout | None]


def changed_copy(run: colbench.Run, out: Path, change: Change) -> colbench.Run:
    """Copy a run with changed rollouts; `change` returns None for a rollout to leave out."""
    copy = run.save(out)
    changed = [each for rollout in run.rollouts if (each := change(rollout)) is not None]
    copy.folder.write("rollouts.jsonl", b"".join(map(encode_rollout, changed)))
    return colbench.load_run(out)


@pytest.fixture
def rewrite(tmp_path) -> Callable[[colbench.Run, Change], colbench.Run]:
    """Return a function that copies a run with changed rollouts."""
    number = itertools.count()
    return lambda run, change: changed_copy(run, tmp_path / f"changed-{next(number)}", change)


@pytest.fixture
def with_record(tmp_path) -> Callable[..., colbench.Run]:
    """Return a function that copies a run with changed fields of `run.json`; `config_pins` are pinned settings."""
    number = itertools.count()

    def copy(run: colbench.Run, config_pins=None, pins=None, **changes) -> colbench.Run:
        target = run.save(tmp_path / f"record-{next(number)}")
        known = run.record.pins
        pinned = {**known, **(pins or {}), "config": {**known["config"], **(config_pins or {})}}
        target.folder.save(replace(run.record, pins=pinned, **changes))
        return colbench.load_run(target.path)

    return copy


@pytest.fixture(scope="session")
def played(tmp_path_factory) -> dict[str, colbench.Run]:
    """Return runs by name: three agents on 16 tasks, two trials each."""
    folder = tmp_path_factory.mktemp("runs")
    return {
        agent: colbench.evaluate(
            agent=agent, tasks="bundled:backend", limit=16, trials=2, out=folder / agent
        )
        for agent in ("interviewer", "demonstrator", "guesser")
    }
