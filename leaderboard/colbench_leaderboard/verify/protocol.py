"""Checks of the protocol: could `colbench.dialogue` have written the transcript?

The checks use the harness's own code to derive the text that the human saw, and the scored answer, from the agent's raw
output.
"""

from __future__ import annotations

from collections.abc import Iterator

from colbench.dialogue import read_move
from colbench.messages import ANSWER_MARKER
from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench.task import Task
from colbench_leaderboard.bundle.read import Cell
from colbench_leaderboard.verify.findings import Findings

Flaw = tuple[str, str]
"""The name of a rule, and a description of its violation."""


def check(cell: Cell, task: Task, max_turns: int, findings: Findings) -> None:
    """Add a finding for each rule of the protocol that the dialogue of a cell breaks."""
    for rule, message in flaws(cell.rollout, task, max_turns):
        findings.add(rule, f"{task.id}: {message}", cell.file, cell.line)
    if any(ANSWER_MARKER in (turn.human or "") for turn in cell.rollout.turns):
        message = f"{task.id}: the human writes `{ANSWER_MARKER}`, which only an agent may do"
        findings.add("audit.human-role", message, cell.file, cell.line)


def flaws(rollout: Rollout, task: Task, max_turns: int) -> Iterator[Flaw]:
    """Yield the flaws of a dialogue: everything in it that the harness would not have written."""
    if rollout.request != task.request:
        yield "protocol.request", "the first message is not the task's request"
    if len(rollout.turns) > max_turns:
        yield "protocol.turns", f"{len(rollout.turns)} turns; at most {max_turns} are allowed"
    for number, turn in enumerate(rollout.turns, start=1):
        if turn.said != read_move(turn.raw).said:
            yield (
                "protocol.said",
                f"turn {number}: `said` differs from what `raw` shows to the human",
            )
    yield from _middle(rollout)
    yield from (
        _failed(rollout) if rollout.ended_by == "failure" else _ended(rollout, task, max_turns)
    )


def _middle(rollout: Rollout) -> Iterator[Flaw]:
    for number, turn in enumerate(rollout.turns[:-1], start=1):
        if turn.human is None:
            yield "protocol.human", f"turn {number}: the human did not reply, but more turns follow"
        if read_move(turn.raw).answer is not None:
            yield "protocol.early-end", f"turn {number} contains the answer, but more turns follow"


def _failed(rollout: Rollout) -> Iterator[Flaw]:
    if rollout.answer is not None:
        yield "protocol.end", "ended by a failure, but has an answer"
    if rollout.failure is None:
        yield "protocol.failure", "ended by a failure that is not recorded"


def _ended(rollout: Rollout, task: Task, max_turns: int) -> Iterator[Flaw]:
    if not rollout.turns:
        yield "protocol.end", f"ended by `{rollout.ended_by}` without a turn"
        return
    last = rollout.turns[-1]
    move = read_move(last.raw)
    if last.human is not None:
        yield "protocol.human", "the human replies after the end of the dialogue"
    if rollout.failure is not None and rollout.failure.boundary in (
        "agent",
        "endpoint",
        "simulator",
    ):
        message = f"failed at the {rollout.failure.boundary}, but ended by `{rollout.ended_by}`"
        yield "protocol.failure", message
    if rollout.ended_by == "answer" and move.answer is None:
        yield "protocol.end", "ended by an answer, but the last turn has none"
        return
    if rollout.ended_by == "limit" and move.answer is not None:
        yield "protocol.end", "ended by the turn limit, but the last turn contains an answer"
        return
    if rollout.ended_by == "limit" and len(rollout.turns) < max_turns:
        yield (
            "protocol.end",
            f"ended by the turn limit after {len(rollout.turns)} of {max_turns} turns",
        )
    text = move.said if move.answer is None else move.answer
    shown = [turn.said for turn in rollout.turns]
    if rollout.answer != get_domain(task.domain).committed(text, shown):
        yield "protocol.answer", "`answer` differs from the answer of the last turn"
