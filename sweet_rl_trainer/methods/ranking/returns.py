"""Monte-Carlo returns as scores: credit for a reply without any model of it, at the price of continuing dialogues.

The score of a reply is the mean reward of dialogues that an agent continues after it: unbiased for any reply, but noisy
with few continuations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from colbench.task import Task
from sweet_rl_trainer.agents.continuations import Continuations
from sweet_rl_trainer.console import SizedIterable
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.dialogue_measures import mean
from sweet_rl_trainer.methods.ranking.turns import (
    Candidates,
    Scores,
    encode_candidates,
    opening,
    reply_lengths,
)


def score_by_returns(
    turns: SizedIterable[Candidates],
    tasks: Mapping[str, Task],
    chat: Chat,
    continuations: Continuations,
    *,
    count: int,
    dropped: Counter[str],
) -> list[Scores | None]:
    """Return the mean reward of `count` continuations after each candidate; the same words are continued once.

    `tasks` are by their hash. Turns of other tasks have None, and a candidate without any continuation that has a
    reward has no score; both are counted in `dropped`.
    """
    openings = [
        opening(each.turn, text, tasks)
        for each in turns
        if each.turn.trajectory.task_hash in tasks
        for text in _wordings(each)
    ]
    rewards = iter(continuations(openings, count))
    found = list[Scores | None]()
    for each in turns:
        if each.turn.trajectory.task_hash not in tasks:
            found.append(None)
            continue
        by_text = {text: mean(next(rewards)) for text in _wordings(each)}
        scores = tuple(by_text[text.strip()] for text in _texts(each))
        found.append(
            Scores(scores=scores, lengths=reply_lengths(encode_candidates(each, chat, "sum")))
        )
    dropped["turns of unknown tasks"] += found.count(None)
    dropped["candidates without a return"] += sum(each.scores.count(None) for each in found if each)
    return found


def _wordings(candidates: Candidates) -> list[str]:
    """Return the different replies."""
    return list(dict.fromkeys(map(str.strip, _texts(candidates))))


def _texts(candidates: Candidates) -> list[str]:
    return [reply.text for reply in candidates.replies]
