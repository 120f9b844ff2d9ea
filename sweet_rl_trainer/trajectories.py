"""Trajectories: recorded dialogues with their rewards, from run folders of the harness and from the official files.

A trajectory keeps both what the agent said (`messages`, as it was sampled) and what of it the agent saw again in
its later prompts (`said`): the harness and the released data do not play an agent's private part back to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from colbench.errors import DataError
from colbench.messages import ANSWER_MARKER, PUBLIC_MARKER, Message, Sampled
from colbench.rollout import Rollout
from colbench.run_folder import RunFolder
from colbench.task import Task
from colbench_tasks.trajectories import Trajectory as Recorded
from sweet_rl_trainer import runs

EndedBy = Literal["answer", "limit", "unknown"]
OFFICIAL_LIMIT = 10
"""Turns after which a dialogue of the official files ended (paper, section 5)."""


class Trajectory(Struct, frozen=True, kw_only=True):
    """One dialogue, what it was about and what it was worth."""

    id: str
    """Where it is from: task and trial of a run, or file and line. The same wherever the run's folder is, as order and
    draws go by it; a rollout's key is not, if it has the path of a model in it."""
    task_id: str
    task_hash: str
    domain: str
    privileged: str
    """The information c that only a critic may see: the task's reference."""
    messages: tuple[Message, ...]
    """The system message, if there was one, then user and assistant in turn, an assistant message last; what the
    assistant said is as it was sampled."""
    said: tuple[str, ...]
    """For each turn, what the agent's later prompts hold of it: without the private part."""
    reward: float
    """The domain's primary metric, such as the share of hidden tests passed."""
    ended_by: EndedBy
    prompts: tuple[str, ...] = ()
    """The recorded prompt string of each turn; empty where they were not recorded."""
    sampled: tuple[Sampled | None, ...] = ()
    """The tokens of each turn; empty where none were recorded."""

    @property
    def replies(self) -> tuple[str, ...]:
        """What the agent said, turn by turn, as it was sampled."""
        return tuple(each.content for each in self.messages if each.role == "assistant")

    def context(self, turn: int) -> tuple[Message, ...]:
        """The messages that the agent saw before a turn (from 0), the last one the human's."""
        first = next(n for n, each in enumerate(self.messages) if each.role == "assistant")
        before = self.messages[: first + 2 * turn]
        said = iter(self.said)
        return tuple(
            replace(each, content=next(said), sampled=None) if each.role == "assistant" else each
            for each in before
        )


def read_run(
    folder: Path,
    *,
    tasks: Sequence[Task] | None = None,
    system: str | None = None,
    dropped: Counter[str] | None = None,
) -> list[Trajectory]:
    """The scored dialogues of a run, rewarded by the default scoring mode.

    `tasks` are those that the run was made of, by default found again by the source in `run.json`; a rollout's task
    is the one with its hash. Rollouts do not hold the agent's system prompt: it is `system` (`{max_turns}` in it
    becomes the run's number of turns; "" is none), by default that of `runs.system_prompt`. Nor do they hold the
    pictures that an agent was shown; it is as if there had been none.
    Dialogues without a reward, and those that the agent broke off by failing, are left out and counted by reason in
    `dropped`. Raises DataError if a task is missing or changed, or if nothing is left.
    """
    files = RunFolder(folder)
    record, rollouts = files.record(), files.rollouts()
    if tasks is None:
        tasks = runs.tasks(record, folder)
    by_hash = _tasks_of(rollouts, tasks, folder)
    lost = Counter[str]()
    kept = [rollout for rollout in rollouts if _usable(rollout, lost)]
    if dropped is not None:
        dropped += lost
    if not kept:
        raise DataError(_nothing(folder, lost))
    domains = {rollout.domain for rollout in kept}
    prompts = {
        domain: runs.system_prompt(record, domain, system, folder) for domain in sorted(domains)
    }
    return [_from_rollout(each, by_hash[each.task_hash], prompts[each.domain]) for each in kept]


def _tasks_of(rollouts: Iterable[Rollout], tasks: Sequence[Task], folder: Path) -> dict[str, Task]:
    by_hash = {task.hash: task for task in tasks}
    known = {task.id for task in tasks}
    absent = {each.task_id: each for each in rollouts if each.task_hash not in by_hash}
    changed = sorted(absent.keys() & known)
    missing = sorted(absent.keys() - known)
    if absent:
        what = [
            f"{len(names)} of its tasks {verb} (such as {names[0]})"
            for names, verb in ((missing, "are missing"), (changed, "have changed"))
            if names
        ]
        raise DataError(
            f"{folder}: {' and '.join(what)}; give the tasks that the run was made of as they were"
        )
    return by_hash


def _usable(rollout: Rollout, lost: Counter[str]) -> bool:
    score = rollout.scores.get("default")
    if rollout.ended_by == "failure" or not rollout.turns:
        lost["the dialogue failed"] += 1
    elif score is None or score.value is None:
        lost["no reward"] += 1
    else:
        return True
    return False


def _nothing(folder: Path, lost: Mapping[str, int]) -> str:
    counts = ", ".join(f"{reason}: {count}" for reason, count in lost.items()) or "it is empty"
    return (
        f"{folder} holds no rollout with a reward ({counts}); `colbench score {folder}` scores answers, "
        "and the same `colbench eval` goes on with what is missing"
    )


def _from_rollout(rollout: Rollout, task: Task, system: str) -> Trajectory:
    score = rollout.scores["default"].value
    if score is None or rollout.ended_by == "failure":
        raise ValueError(f"rollout {rollout.key} has no reward")
    sampled = tuple(turn.sampled for turn in rollout.turns)
    heard = [rollout.request, *(turn.human or "" for turn in rollout.turns[:-1])]
    return Trajectory(
        id=f"{rollout.task_id}/{rollout.trial}",
        task_id=rollout.task_id,
        task_hash=rollout.task_hash,
        domain=rollout.domain,
        privileged=task.hidden.reference,
        messages=_messages(system, heard, [turn.raw for turn in rollout.turns]),
        said=tuple(turn.said for turn in rollout.turns),
        reward=score,
        ended_by=rollout.ended_by,
        sampled=sampled if any(sampled) else (),
    )


def from_official(
    recorded: Iterable[Recorded], *, system: str = "", dropped: Counter[str] | None = None
) -> Iterator[Trajectory]:
    """The trajectories of official files, as `colbench_tasks.trajectories` reads them.

    The files hold no system message beside the prompt strings: `system` is what to render where no prompt string was
    recorded. One without reward is left out and counted in `dropped`. A dialogue without the answer marker ended at
    the limit if it has ten turns; else it is unknown why it did.
    """
    for each in recorded:
        if each.reward is None:
            if dropped is not None:
                dropped["no reward"] += 1
            continue
        prompts = tuple(turn.prompt for turn in each.turns)
        heard = [each.task.request, *(turn.human or "" for turn in each.turns[:-1])]
        yield Trajectory(
            id=each.place,
            task_id=each.task.id,
            task_hash=each.task.hash,
            domain=each.task.domain,
            privileged=each.task.hidden.reference,
            messages=_messages(system, heard, [turn.raw for turn in each.turns]),
            said=tuple(turn.said for turn in each.turns),
            reward=each.reward,
            ended_by=_ended_by([turn.raw for turn in each.turns]),
            prompts=prompts if all(prompts) else (),
        )


def _ended_by(replies: Sequence[str]) -> EndedBy:
    last = replies[-1]
    public = last.partition(PUBLIC_MARKER)[2] if PUBLIC_MARKER in last else last
    if ANSWER_MARKER in public:
        return "answer"
    return "limit" if len(replies) == OFFICIAL_LIMIT else "unknown"


def _messages(system: str, heard: Sequence[str], said: Sequence[str]) -> tuple[Message, ...]:
    first = [Message(role="system", content=system)] if system else []
    turns = [
        message
        for human, agent in zip(heard, said, strict=True)
        for message in (
            Message(role="user", content=human),
            Message(role="assistant", content=agent),
        )
    ]
    return (*first, *turns)
