"""The dialogues of several runs on the same tasks, side by side, as compressed blocks of HTML.

Only the dialogues of one block are in memory at a time. The page's script unpacks a block when one of its tasks is
opened, so thousands of dialogues add only their compressed size to the page. The templates escape every text.
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from jinja2 import Template
from msgspec import Struct

from colbench.asking.derive import completed
from colbench.comparison.domain import Cells, outcome
from colbench.comparison.model import DomainComparison, RunName, TaskDifference
from colbench.comparison.text import OUTCOMES, measured
from colbench.domain import Domain
from colbench.numbers import count
from colbench.report.dialogue_stats import DialogueStats, hidden_decisions
from colbench.rollout import Rollout
from colbench.rollout_file import RolloutReader
from colbench.task import Task

BLOCK = 20
"""Number of tasks in a block."""
LONGEST = 50_000
"""Maximum number of characters of each text on the page; the rest of a longer text is left out."""


class Message(Struct, frozen=True, kw_only=True):
    """One message of a dialogue."""

    role: str
    who: str
    text: str
    decisions: str = ""
    """The decisions that the message asks for or reveals, in words."""


class Dialogue(Struct, frozen=True, kw_only=True):
    """One run's dialogue on a task."""

    run: RunName
    messages: Sequence[Message]
    answer: str
    score: str
    outcome: str
    """`succeeded` or the failure class, such as `guessed`; empty if unscored or if the domain has no success metric."""
    verdict: str
    """The outcome in words."""
    remarks: Sequence[str]
    failed: Sequence[str]
    """The tests that the answer did not pass."""


class RunDialogues(NamedTuple):
    """The dialogues of a run on the common tasks, each read from the run's file when it is needed."""

    name: RunName
    cells: Cells
    reader: RolloutReader


class SideBySide:
    """A builder of HTML with the dialogues on each task; `tasks` maps IDs to the tasks that can still be loaded."""

    def __init__(
        self,
        domain: Domain,
        comparison: DomainComparison,
        runs: Sequence[RunDialogues],
        tasks: Mapping[str, Task],
    ) -> None:
        self._domain, self._comparison = domain, comparison
        self._runs, self._tasks = runs, tasks

    def blocks(self, differing: Sequence[TaskDifference], template: Template) -> Iterator[str]:
        """Yield the tasks' HTML in the given order, `BLOCK` tasks per string.

        Each string is a JSON list, gzipped and encoded in base64.
        """
        for start in range(0, len(differing), BLOCK):
            parts = [
                template.render(
                    task=self._tasks.get(each.task_id),
                    trials=self.trials(each),
                    cut=_cut,
                    language=self._domain.language,
                )
                for each in differing[start : start + BLOCK]
            ]
            packed = gzip.compress(msgspec.json.encode(parts), mtime=0)
            yield b64encode(packed).decode("ascii")

    def trials(self, task: TaskDifference) -> dict[int, list[Dialogue | None]]:
        """Return the dialogues on a task by trial, one for each run; None for a missing dialogue."""
        rows = [run.cells[task.task_id, task.task_hash] for run in self._runs]
        return {
            trial: [
                self._dialogue(run, row[trial]) if trial in row else None
                for run, row in zip(self._runs, rows, strict=True)
            ]
            for trial in sorted({trial for row in rows for trial in row})
        }

    def _dialogue(self, run: RunDialogues, stats: DialogueStats) -> Dialogue:
        mode, rollout = self._comparison.mode, run.reader.at(stats.place)
        rollout, score = self._complete(rollout), rollout.scores.get(mode)
        found = outcome(stats, mode) if self._domain.success else None
        lead = self._comparison.measure(self._comparison.value)
        value = (self._domain.metric(lead.name) or self._domain.primary).of(score)
        return Dialogue(
            run=run.name,
            messages=list(_messages(rollout, self._domain)),
            answer=_cut(rollout.answer or ""),
            score=f"{lead.label} {measured(lead, value)}",
            outcome=found or "",
            verdict=OUTCOMES.get(found or "", ""),
            remarks=list(self._remarks(rollout)),
            failed=[_cut(each) for each in score.failed_checks()] if score else [],
        )

    def _complete(self, rollout: Rollout) -> Rollout:
        return completed(self._tasks.get(rollout.task_id), rollout)

    def _remarks(self, rollout: Rollout) -> Iterator[str]:
        if rollout.failure:
            yield f"Failure of the {rollout.failure.boundary}: {rollout.failure.reason}"
        if rollout.ended_by == "limit":
            yield "The turn limit was reached."
        asking, task = rollout.asking, self._tasks.get(rollout.task_id)
        if asking is None:
            return
        questions = count(asking.questions, "question")
        yield f"The agent learned {asking.told} of {asking.hidden} hidden decisions in {questions}"
        told = {name for turn in rollout.turns for name in turn.told or ()}
        hidden = hidden_decisions(rollout, task) if task else ()
        if untold := [name for name in hidden if name not in told]:
            yield f"Never revealed: {_names(untold)}"
        if asking.guessed:
            yield f"Guessed right: {_names(asking.guessed)}"
        if asking.ignored:
            yield f"Revealed but ignored: {_names(asking.ignored)}"


def _messages(rollout: Rollout, domain: Domain) -> Iterator[Message]:
    yield Message(role="human", who="Human", text=_cut(rollout.request))
    for number, turn in enumerate(rollout.turns, start=1):
        last = number == len(rollout.turns) and rollout.ended_by == "answer"
        words = domain.readable(turn.said).strip()
        shown = "" if words == turn.said.strip() else f"[shows a {domain.noun}]"
        said = "\n\n".join(filter(None, (words, shown, "[gives the answer]" if last else "")))
        yield Message(
            role="agent",
            who=f"Agent, turn {number}",
            text=_cut(said) or "[says nothing]",
            decisions=f"asks for {_names(turn.asked)}" if turn.asked else "",
        )
        if turn.human is not None:
            told = f"reveals {_names(turn.told)}" if turn.told else ""
            yield Message(role="human", who="Human", text=_cut(turn.human), decisions=told)


def _names(decisions: Sequence[str]) -> str:
    return ", ".join(each.replace("_", " ") for each in decisions)


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n[{len(text) - LONGEST:,} more characters are left out]"
