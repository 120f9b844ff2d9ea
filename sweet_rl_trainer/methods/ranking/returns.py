"""Monte-Carlo returns as scores: credit for a reply without any model of it, at the price of playing on.

What comes of a reply when an agent goes on after it: right on average, whatever the reply is like, but noisy where only
a few dialogues are played on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from colbench.task import Task
from sweet_rl_trainer.agents.continuations import Continuations
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.methods.ranking.turns import (
    Candidates,
    Scored,
    encode_candidates,
    opening,
    reply_lengths,
)


def score_by_returns(
    turns: Sequence[Candidates],
    tasks: Mapping[str, Task],
    chat: Chat,
    continuations: Continuations,
    *,
    count: int,
    dropped: Counter[str],
) -> list[Scored]:
    """The mean reward of `count` continuations after each candidate; the same words are played on once.

    `tasks` are by their hash. Turns of other tasks are left out, and a candidate without any continuation that has a
    reward has no score; both are counted in `dropped`.
    """
    known = [each for each in turns if each.turn.trajectory.task_hash in tasks]
    lost = Counter({"turns of unknown tasks": len(turns) - len(known)})
    wordings = [list(dict.fromkeys(map(str.strip, _texts(each)))) for each in known]
    openings = [
        opening(each.turn, text, tasks)
        for each, texts in zip(known, wordings, strict=True)
        for text in texts
    ]
    rewards = iter(continuations(openings, count))
    found = []
    for each, texts in zip(known, wordings, strict=True):
        by_text = {text: _mean(next(rewards)) for text in texts}
        scores = tuple(by_text[text.strip()] for text in _texts(each))
        lost["candidates without a return"] += scores.count(None)
        lengths = reply_lengths(encode_candidates(each, chat, "sum"))
        found.append(Scored(candidates=each, scores=scores, lengths=lengths))
    dropped += lost
    return found


def _texts(candidates: Candidates) -> list[str]:
    return [reply.text for reply in candidates.replies]


def _mean(rewards: Sequence[float]) -> float | None:
    return sum(rewards) / len(rewards) if rewards else None
