"""Continuations by the harness: `colbench eval` in a process of its own, with dialogues that begin by a script.

FOLDER/DIGEST/plan.json     the scripts, and who goes on after them (`prefix`)
FOLDER/DIGEST/tasks.jsonl   a task for each
FOLDER/DIGEST/run/          the run, which a second call goes on with
FOLDER/DIGEST/log.txt       what the command said
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from colbench.config import EXECUTION, RunConfig, digest
from colbench.errors import UserError
from colbench.rollout import Rollout
from colbench.run_folder import RunFolder
from colbench.task import row_from_task
from sweet_rl_trainer.critic.montecarlo import Opening
from sweet_rl_trainer.critic.prefix import Plan, Script

MODULE = "sweet_rl_trainer.critic.prefix"
KEPT = (
    "max_turns",
    "concurrency",
    "dialogue_timeout",
    "sandbox_workers",
    "sandbox_packages",
    "allow_unsafe_sandbox",
    "browser",
    "browser_workers",
    "clip_weights",
    "clip_device",
    "allow_other_clip",
)
"""Fields of a run's configuration that are handed on as they are."""
SHOWN = 2000
"""Characters of the log that an error shows, from its end."""


class HarnessContinuations:
    """`montecarlo.Continuations` by `config`'s agent and human, scored as its run was.

    `config` is that of the run whose dialogues are continued (`RunFolder(…).record().config`), its agent replaced by
    whatever shall go on. What was played is kept in `folder` and not played again.
    """

    def __init__(self, folder: Path, config: RunConfig) -> None:
        self.folder = folder
        self.config = config

    def __call__(self, openings: Sequence[Opening], count: int) -> list[list[float]]:
        """The rewards of each opening's continuations, those that have one.

        Raises UserError, with the end of the log, if the command fails or nothing has a reward.
        """
        if not openings:
            return []
        plan = self._plan(openings, count)
        pins = {name: value for name, value in self._kept().items() if name not in EXECUTION}
        folder = (self.folder / digest([msgspec.to_builtins(plan), pins])[:16]).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "plan.json").write_bytes(msgspec.json.encode(plan))
        (folder / "tasks.jsonl").write_bytes(b"".join(_rows(openings, plan)))
        code = self._evaluate(folder, count)
        rewards: dict[str, list[float]] = {script.task_id: [] for script in plan.scripts}
        if code in (0, 1):
            for rollout in RunFolder(folder / "run").rollouts():
                rewards[rollout.task_id] += _reward(rollout)
        if not any(rewards.values()):
            said = (folder / "log.txt").read_text("utf-8", "replace")[-SHOWN:].strip()
            raise UserError(f"the continuations in {folder} came to nothing:\n{said}")
        return list(rewards.values())

    def _plan(self, openings: Sequence[Opening], count: int) -> Plan:
        config = self.config
        return Plan(
            agent=config.agent,
            agent_args=_arguments(config.agent_args, config.agent_prompt),
            human=config.human,
            human_args=_arguments(config.human_args, config.human_prompt),
            seed=config.seed,
            trials=count,
            scripts=tuple(
                Script(
                    task_id=f"{each.task.id}-opening-{number}",
                    task_hash=each.task.hash,
                    heard=each.heard,
                    replies=each.replies,
                )
                for number, each in enumerate(openings, 1)
            ),
        )

    def _evaluate(self, folder: Path, count: int) -> int:
        plan = f"plan={folder / 'plan.json'}"
        command = [
            *(sys.executable, "-m", "colbench.cli", "eval", "--tasks", str(folder / "tasks.jsonl")),
            *("--agent", f"{MODULE}:PrefixAgent", "--agent-arg", plan),
            *("--human", f"{MODULE}:PrefixHuman", "--human-arg", plan),
            *("--seed", str(self.config.seed), "--trials", str(count)),
            *("--out", str(folder / "run"), *_flags(self._kept())),
        ]
        with (folder / "log.txt").open("wb") as log:
            return subprocess.run(  # noqa: S603 - our own command
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_environment(),
                check=False,
            ).returncode

    def _kept(self) -> dict[str, Any]:
        return {field: getattr(self.config, field) for field in KEPT}


def _arguments(given: dict[str, Any], prompt: str | None) -> dict[str, Any]:
    return {**given, "prompt": prompt} if prompt else given


def _flags(kept: dict[str, Any]) -> Iterator[str]:
    """The flags of what is not as it is by default."""
    for field, value in kept.items():
        if value == getattr(RunConfig(), field):
            continue
        yield "--" + field.replace("_", "-")
        if value is not True:
            yield ",".join(value) if isinstance(value, tuple) else str(value)


def _environment() -> dict[str, str]:
    """Ours, without the variables that would stand for other flags of the command."""
    flags = {f"COLBENCH_{field.upper()}" for field in RunConfig.__struct_fields__}
    return {name: value for name, value in os.environ.items() if name not in flags}


def _rows(openings: Sequence[Opening], plan: Plan) -> Iterator[bytes]:
    for each, script in zip(openings, plan.scripts, strict=True):
        yield msgspec.json.encode(row_from_task(replace(each.task, id=script.task_id))) + b"\n"


def _reward(rollout: Rollout) -> list[float]:
    """As in `trajectories.read_run`: none where the agent broke off by failing."""
    score = rollout.scores.get("default")
    if rollout.ended_by == "failure" or score is None or score.value is None:
        return []
    return [score.value]
