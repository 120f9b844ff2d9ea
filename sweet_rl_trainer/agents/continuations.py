"""Continuations of dialogues: the harness repeats a recorded beginning, then an agent and a human continue.

The harness runs in a separate process, with these files:

FOLDER/DIGEST/plan.json         the scripts (recorded beginnings), and the agent and human that continue them (`replay`)
FOLDER/DIGEST/tasks.jsonl       a task for each script
FOLDER/DIGEST/run/              the run, which a second call resumes
FOLDER/DIGEST/run.config.json   the run's configuration
FOLDER/DIGEST/log.txt           the output of the run
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.config import RunConfig, digest
from colbench.errors import UserError
from colbench.rollout import Rollout
from colbench.run_folder import RunFolder
from colbench.task import Task, row_from_task
from sweet_rl_trainer.agents.dialogues import run_dialogues
from sweet_rl_trainer.agents.replay import Plan, Script, distinguishable

PLAN, TASKS, LOG, RUN = "plan.json", "tasks.jsonl", "log.txt", "run"
PREFIX = "sweet_rl_trainer.agents.replay"
SHOWN = 2000
"""Number of characters at the end of the log to show in an error."""


class Opening(Struct, frozen=True, kw_only=True):
    """The beginning of a dialogue, up to and including one of the agent's replies."""

    task: Task
    heard: tuple[str, ...]
    """The human's messages, the request first."""
    replies: tuple[str, ...]
    """The agent's replies as they were sampled, one for each message of the human."""


class Consequence(Struct, frozen=True, kw_only=True):
    """The consequence of an agent's reply: the human's next message, or the reward if the reply ended the dialogue."""

    said: str
    """The part of the reply that the human was shown."""
    heard: str | None
    """The human's next message; None if the reply ended the dialogue."""
    reward: float | None
    """The dialogue's reward; None if the reply did not end the dialogue.

    A reply ends the dialogue if it is an answer or if the turn limit is reached.
    """


Continuations = Callable[[Sequence[Opening], int], Sequence[Sequence[float]]]
"""A function of openings and a count N.

It returns, for each opening, the rewards of N continuations, or fewer rewards if continuations fail.
"""


class HarnessContinuations:
    """A `Continuations` function that runs and scores dialogues with the agent, human and settings of `config`.

    `config` is the configuration of the run whose dialogues are continued (`RunFolder(…).record().config`), except that
    `config.agent` is the agent that continues the dialogues. Finished dialogues are kept in `folder` and not run again.
    """

    def __init__(self, folder: Path, config: RunConfig) -> None:
        self.folder = folder
        self.config = config

    def __call__(self, openings: Sequence[Opening], count: int) -> list[list[float]]:
        """Return the rewards of each opening's continuations; leave out continuations without a reward.

        Raises UserError, with the end of the log, if the run fails or if no continuation has a reward.
        """
        return [list(map(_reward, each)) for each in self._scored(openings, count)]

    def consequences(self, openings: Sequence[Opening]) -> list[Consequence | None]:
        """Return the consequence of each opening's last reply; None if the dialogue failed or has no score.

        Each opening is continued once. Raises UserError in the same cases as `__call__`.
        """
        dialogues = self._scored(openings, 1)
        return [
            _consequence(found[0], len(opening.replies)) if found else None
            for opening, found in zip(openings, dialogues, strict=True)
        ]

    def _scored(self, openings: Sequence[Opening], count: int) -> list[list[Rollout]]:
        """Run `count` continuations per opening; return those with a reward. Raises UserError if none has a reward."""
        if not openings:
            return []
        plan = self._plan(openings, count)
        kept = self._beginning(Path(), plan).pins()
        folder = (self.folder / digest([msgspec.to_builtins(plan), kept])[:16]).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / PLAN).write_bytes(msgspec.json.encode(plan))
        (folder / TASKS).write_bytes(b"".join(_rows(openings, plan)))
        with (folder / LOG).open("wb") as log:
            code = run_dialogues(self._beginning(folder, plan), folder / RUN, log)
        found: dict[str, list[Rollout]] = {script.task_id: [] for script in plan.scripts}
        if code in (0, 1):
            for rollout in filter(_has_reward, RunFolder(folder / RUN).rollouts()):
                found[rollout.task_id].append(rollout)
        if not any(found.values()):
            said = (folder / LOG).read_text("utf-8", "replace")[-SHOWN:].strip()
            raise UserError(
                f"the continuations in {folder} produced no scored dialogue:\n{said or f'({LOG} is empty)'}"
            )
        return list(found.values())

    def _plan(self, openings: Sequence[Opening], count: int) -> Plan:
        config = self.config
        plan = Plan(
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
        return distinguishable(plan)

    def _beginning(self, folder: Path, plan: Plan) -> RunConfig:
        """Return the configuration of the run that plays `plan`; the plan's files are in `folder`."""
        return replace(
            self.config,
            domain=None,
            agent=f"{PREFIX}:PrefixAgent",
            human=f"{PREFIX}:PrefixHuman",
            agent_args={"plan": str(folder / PLAN)},
            human_args={"plan": str(folder / PLAN)},
            agent_prompt=None,
            human_prompt=None,
            tasks=str(folder / TASKS),
            trials=plan.trials,
            seed=plan.seed,
            limit=None,
            task_ids=(),
            record_tokens=False,
            baseline=None,
        )


def _arguments(given: dict[str, Any], prompt: str | None) -> dict[str, Any]:
    return {**given, "prompt": prompt} if prompt else given


def _rows(openings: Sequence[Opening], plan: Plan) -> Iterator[bytes]:
    for each, script in zip(openings, plan.scripts, strict=True):
        yield msgspec.json.encode(row_from_task(replace(each.task, id=script.task_id))) + b"\n"


def _has_reward(rollout: Rollout) -> bool:
    """Return False if the dialogue ended in a failure or has no score; `data.runs.read_run` has the same rule."""
    score = rollout.scores.get("default")
    return rollout.ended_by != "failure" and score is not None and score.value is not None


def _reward(rollout: Rollout) -> float:
    reward = rollout.scores["default"].value
    assert reward is not None  # noqa: S101 - `_has_reward`
    return reward


def _consequence(rollout: Rollout, turns: int) -> Consequence:
    last = rollout.turns[turns - 1]
    if len(rollout.turns) == turns:
        return Consequence(said=last.said, heard=None, reward=_reward(rollout))
    return Consequence(said=last.said, heard=last.human or "", reward=None)
