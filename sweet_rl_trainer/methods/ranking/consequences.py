"""Scores that are credit by consequence. Each candidate is sent once; no dialogue continues after the human's reply.

| the candidate | its score |
|---|---|
| is answered by the human | Φ(o_{t+1}) − Φ(o_t) − κ |
| ends the dialogue, as an answer or at the turn limit | R − Φ(o_t) |

Φ is a potential of the dialogue o_t before turn t (`methods.credit`), R the dialogue's reward, and κ the cost of a
question. So each different candidate costs one message of the human or one run of the hidden tests. By comparison, a
Monte-Carlo return of N continuations costs N dialogues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from colbench.task import Task
from sweet_rl_trainer.agents.continuations import Consequence, Opening
from sweet_rl_trainer.console import SizedIterable
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.pairs import SOLVED
from sweet_rl_trainer.methods.credit.advantage import answer_advantage, question_advantage
from sweet_rl_trainer.methods.credit.state import Potential, State
from sweet_rl_trainer.methods.ranking.turns import (
    Candidates,
    Scores,
    Turn,
    by_wording,
    encode_candidates,
    reply_lengths,
)

Play = Callable[[list[Opening]], Sequence[Consequence | None]]
"""A function that returns, for each opening, what follows its last reply; None if the dialogue was not scored."""
ByWording = Mapping[str, Consequence | None]


def score_by_consequences(
    turns: SizedIterable[Candidates],
    tasks: Mapping[str, Task],
    chat: Chat,
    play: Play,
    potential: Potential,
    *,
    cost: float,
    dropped: Counter[str],
) -> list[Scores | None]:
    """Return the scores of each turn: the credit of each candidate. Equal candidates of a turn are played only once.

    `tasks` is keyed by task hash, and `cost` is κ. A turn whose task is not in `tasks` gets None. A candidate has the
    score None if it could not be played, or if a state that its credit depends on has no potential. `dropped` counts
    these turns and candidates.
    """
    came = list(by_wording(turns, tasks, play))
    states = [
        state
        for each, outcomes in zip(turns, came, strict=True)
        if outcomes is not None
        for state in _states(before(each.turn, tasks), outcomes)
    ]
    values = iter(potential(states))
    found = [
        None if outcomes is None else _scores(each, outcomes, values, cost, chat)
        for each, outcomes in zip(turns, came, strict=True)
    ]
    dropped["turns of unknown tasks"] += found.count(None)
    lost = sum(each.scores.count(None) for each in found if each)
    dropped["candidates without a consequence or a potential"] += lost
    return found


def before(turn: Turn, tasks: Mapping[str, Task]) -> State:
    """Return the state before a turn."""
    trajectory = turn.trajectory
    return State(task=tasks[trajectory.task_hash], messages=trajectory.context(turn.number))


def _states(state: State, outcomes: ByWording) -> Iterator[State]:
    """Yield the state at a turn, then the state after each candidate to which the human replied."""
    yield state
    for came in outcomes.values():
        if came and came.heard is not None:
            yield state.after(came.said, came.heard)


def _scores(
    candidates: Candidates,
    outcomes: ByWording,
    values: Iterator[float | None],
    cost: float,
    chat: Chat,
) -> Scores:
    """Return a turn's scores. The next items of `values` are the potentials of the turn's `_states`, in order."""
    here = next(values)
    by_text = {text: _credit(here, came, values, cost) for text, came in outcomes.items()}
    return Scores(
        scores=tuple(by_text[reply.text.strip()] for reply in candidates.replies),
        lengths=reply_lengths(encode_candidates(candidates, chat, "sum")),
        solved=tuple(_solved(outcomes[reply.text.strip()]) for reply in candidates.replies),
    )


def _solved(came: Consequence | None) -> bool:
    return came is not None and came.reward is not None and came.reward >= SOLVED


def _credit(
    here: float | None, came: Consequence | None, values: Iterator[float | None], cost: float
) -> float | None:
    if came is None:
        return None
    if came.heard is None:
        return None if here is None or came.reward is None else answer_advantage(here, came.reward)
    after = next(values)
    return None if here is None or after is None else question_advantage(here, after, cost=cost)
