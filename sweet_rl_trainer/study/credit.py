"""Whether credit goes where it is due: scores of candidates against what came of them when the dialogue went on.

FOLDER/credit.json   `results.Agreement` for each kind of two candidates
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from colbench.messages import ANSWER_MARKER
from colbench.stats import mean_interval
from sweet_rl_trainer.methods.critic.montecarlo import agree
from sweet_rl_trainer.methods.ranking.files import read_scored
from sweet_rl_trainer.pipeline import inputs, stage
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Job
from sweet_rl_trainer.study.judges import bounds
from sweet_rl_trainer.study.results import ANSWERS, ANY, KINDS, ONE_OF_EACH, OTHERS, Agreement

if TYPE_CHECKING:
    from sweet_rl_trainer.methods.ranking.turns import Scored

CREDIT = "credit.json"
RANKED, RETURNED = "ranked", "returned"
"""Inputs: the same candidates, with a method's scores and with their returns; the others are those of the dialogues.

Without a method's scores, every reply that is no answer is above every answer, and all else is equal.
"""


def credit(job: Job, recipe: Recipe) -> dict[str, Any]:
    """Count, and say the share over all kinds."""
    dialogues = inputs.load(recipe.data, job.inputs).by_id
    returned = read_scored(job.inputs[RETURNED], dialogues)
    if RANKED in job.inputs:
        scored = read_scored(job.inputs[RANKED], dialogues)
    else:
        scored = [questions_first(each) for each in returned]
    found = agreements(scored, returned)
    (job.folder / CREDIT).write_bytes(msgspec.json.encode(found))
    return {"agreement": next((each.share[0] for each in found if each.kind == ANY), None)}


def read(folder: Path) -> tuple[Agreement, ...]:
    """Read the agreements of a stage. Raises DataError if the file is damaged."""
    return stage.read(folder / CREDIT, tuple[Agreement, ...])


def questions_first(returned: Scored) -> Scored:
    """Return the same candidates with scores that put every other reply above every answer."""
    return replace(
        returned,
        scores=tuple(float(ANSWER_MARKER not in each.text) for each in returned.candidates.replies),
    )


def agreements(scored: Iterable[Scored], returned: Iterable[Scored]) -> tuple[Agreement, ...]:
    """Return how often the better of two candidates of a turn with different returns has the higher score.

    A tie is half. Each task counts the same, within it each turn, and within that each pair of candidates. Kinds
    without any pair are left out.
    """
    by_turn = {_turn(each): each for each in returned}
    found: dict[str, dict[str, list[float]]] = {kind: defaultdict(list) for kind in KINDS}
    counts = dict.fromkeys(KINDS, 0)
    for each in scored:
        for kind, right in _by_kind(each, by_turn[_turn(each)]).items():
            found[kind][each.candidates.turn.trajectory.task_hash].append(sum(right) / len(right))
            counts[kind] += len(right)
    return tuple(
        Agreement(
            kind=kind, pairs=counts[kind], share=bounds(mean_interval(list(by_task.values())))
        )
        for kind, by_task in found.items()
        if by_task
    )


def _by_kind(scored: Scored, returned: Scored) -> dict[str, list[float]]:
    """Return, by kind, the agreement of scores and returns for every two candidates of a turn."""
    found: dict[str, list[float]] = defaultdict(list)
    for kind, right in _pairs(scored, returned):
        found[kind].append(right)
        found[ANY].append(right)
    return found


def _pairs(scored: Scored, returned: Scored) -> Iterator[tuple[str, float]]:
    """Yield the kind and the agreement of every two scored candidates with different returns."""
    known = [
        (ANSWER_MARKER in reply.text, score, value)
        for reply, score, value in zip(
            scored.candidates.replies, scored.scores, returned.scores, strict=True
        )
        if score is not None and value is not None
    ]
    for (one, score, value), (other, second, worse) in combinations(known, 2):
        right = agree((score, second), (value, worse))
        if right is not None:
            yield (OTHERS, ONE_OF_EACH, ANSWERS)[one + other], right


def _turn(scored: Scored) -> tuple[str, int]:
    turn = scored.candidates.turn
    return turn.trajectory.id, turn.number
