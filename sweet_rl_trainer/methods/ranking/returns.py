"""Monte-Carlo returns as scores of replies, computed from continued dialogues without a critic or a potential.

The score of a reply is the mean reward of dialogues that an agent continues after the reply. This score is unbiased for
every reply, but noisy if continuations are few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from colbench.task import Task
from sweet_rl_trainer.agents.continuations import Continuations, Opening
from sweet_rl_trainer.console import SizedIterable
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.dialogue_measures import mean
from sweet_rl_trainer.methods.ranking.turns import (
    Candidates,
    Scores,
    by_wording,
    encode_candidates,
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
    """Return the scores of each turn: for each candidate, the mean reward of `count` continuations after it.

    Equal candidates of a turn are continued only once. `tasks` is keyed by task hash. A turn whose task is not in
    `tasks` gets None. If none of a candidate's continuations has a reward, its score is None. `dropped` counts these
    turns and these candidates.
    """

    def play(openings: list[Opening]) -> Sequence[Sequence[float]]:
        return continuations(openings, count)

    found = [
        None if rewards is None else _scores(each, rewards, chat)
        for each, rewards in zip(turns, by_wording(turns, tasks, play), strict=True)
    ]
    dropped["turns of unknown tasks"] += found.count(None)
    dropped["candidates without a return"] += sum(each.scores.count(None) for each in found if each)
    return found


def _scores(candidates: Candidates, rewards: Mapping[str, Sequence[float]], chat: Chat) -> Scores:
    return Scores(
        scores=tuple(mean(rewards[reply.text.strip()]) for reply in candidates.replies),
        lengths=reply_lengths(encode_candidates(candidates, chat, "sum")),
    )
