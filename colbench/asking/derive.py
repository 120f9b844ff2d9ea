"""The questions and revealed decisions of a dialogue, turn by turn, and the measures of its questions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from colbench.asking.answer import guessed, ignored
from colbench.asking.telling import told
from colbench.facts.human import MOST_FACTS
from colbench.registry import get_domain
from colbench.rollout import Asking, Rollout, Turn
from colbench.task import Fact, Task

READ = 50_000
"""Maximum number of characters that are analyzed in one of the agent's messages."""


def with_asking(task: Task, rollout: Rollout) -> Rollout:
    """Return a rollout with its questions analyzed.

    The results are the field `asking`, and the fields `asked` and `told` of each turn.

    Everything is derived from the task, the messages and the verdict; stored values are replaced. If the task's
    decisions are not known, `asking` becomes None and the turns stay unchanged. If the dialogue ended in a failure that
    the agent did not cause, only `asking` becomes None.
    """
    decisions = get_domain(task.domain).decisions(task)
    if not decisions:
        return replace(rollout, asking=None)
    turns = tuple(_marked(task, turn) for turn in rollout.turns)
    marked = replace(rollout, turns=turns)
    return replace(marked, asking=_asking(task, decisions, marked))


def complete(tasks: Iterable[Task], rollouts: Iterable[Rollout]) -> list[Rollout]:
    """Return the rollouts in the same order, after an analysis of all questions that were never analyzed.

    Older versions of ColBench wrote rollouts without this analysis. A rollout stays unchanged if `tasks` lacks its task
    or contains another version of the task.
    """
    by_hash = {task.hash: task for task in tasks}
    return [completed(by_hash.get(each.task_hash), each) for each in rollouts]


def completed(task: Task | None, rollout: Rollout) -> Rollout:
    """Return the rollout, with its questions analyzed (`with_asking`) if they were never analyzed before.

    The rollout stays unchanged if `task` is None or another version of the rollout's task.
    """
    unmarked = rollout.asking is None and all(turn.asked is None for turn in rollout.turns)
    if not unmarked or task is None or task.hash != rollout.task_hash:
        return rollout
    return with_asking(task, rollout)


def _marked(task: Task, turn: Turn) -> Turn:
    said, reply = turn.said[:READ], turn.human
    asked = tuple(fact.name for fact in get_domain(task.domain).asked(task, said))
    if reply is None:
        return replace(turn, asked=asked, told=None)
    return replace(turn, asked=asked, told=tuple(fact.name for fact in told(task, said, reply)))


class _Question(Struct, frozen=True):
    """The properties of one question."""

    asked: frozenset[str]
    told: frozenset[str]
    known: frozenset[str]
    """Decisions already known when the question was asked, including the decisions that the request states."""


def _asking(task: Task, decisions: Sequence[Fact], rollout: Rollout) -> Asking | None:
    """Return the measures of a dialogue's questions. Every turn must already have its `asked` and `told`.

    Return None if the dialogue ended in a failure that the agent did not cause.
    """
    if rollout.ended_by == "failure" and not rollout.agent_failed:
        return None
    stated = frozenset(f.name for f in decisions if f.stated or f.statement in rollout.request)
    hidden = [fact for fact in decisions if fact.name not in stated]
    questions = _questions(rollout.turns, stated)
    known = stated.union(*(question.told for question in questions))
    heard = [fact for fact in hidden if fact.name in known]
    untold = [fact for fact in hidden if fact.name not in known]
    guesses, faults = _in_answer(task, rollout, untold, heard)
    everything = stated.union(fact.name for fact in hidden)
    return Asking(
        questions=len(questions),
        hits=sum(bool(q.told - q.known) for q in questions),
        redundant=sum(
            bool(q.asked) and q.asked <= q.known and q.told <= q.known for q in questions
        ),
        unanswerable=sum(not q.asked and not q.told for q in questions),
        late=sum(q.known >= everything for q in questions),
        hidden=len(hidden),
        told=len(heard),
        needed_questions=math.ceil(len(hidden) / MOST_FACTS),
        guessed=_names(guesses),
        ignored=_names(faults),
        estimated=not task.hidden.facts,
    )


def _in_answer(
    task: Task, rollout: Rollout, untold: Collection[Fact], heard: Collection[Fact]
) -> tuple[Iterable[Fact], Iterable[Fact]]:
    """Return the unrevealed decisions that the answer gets right, and the revealed decisions that it contradicts.

    A successful answer gets all unrevealed decisions right, and contradicts none. Without an answer, both results are
    empty.
    """
    if not rollout.answer:
        return (), ()
    if _is_right(rollout):
        return untold, ()
    domain = get_domain(task.domain)
    used = domain.items(domain.source(rollout.answer))
    return guessed(task, used, untold), ignored(task, used, heard)


def _questions(turns: Sequence[Turn], known: frozenset[str]) -> list[_Question]:
    """Return the agent's questions, which are the turns that the human replied to."""
    found = []
    for turn in turns:
        if turn.human is not None:
            told = frozenset(turn.told or ())
            found.append(_Question(frozenset(turn.asked or ()), told, known))
            known |= told
    return found


def _is_right(rollout: Rollout) -> bool:
    score = rollout.scores.get("default")
    return bool(score and score.success)


def _names(facts: Iterable[Fact]) -> tuple[str, ...]:
    return tuple(fact.name for fact in facts)
