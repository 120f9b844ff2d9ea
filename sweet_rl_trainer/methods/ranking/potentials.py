"""The potentials `facts` and `gain`, which rate dialogues (`methods.credit`), by default in the unit of the reward."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from colbench.task import Task
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.credit.facts import FactsPotential
from sweet_rl_trainer.methods.credit.gain import GainPotential
from sweet_rl_trainer.methods.credit.scale import Line, NoScaleError, Scaled, fit
from sweet_rl_trainer.methods.credit.state import Potential, State, states_of
from sweet_rl_trainer.methods.ranking.critic_settings import CriticSettings
from sweet_rl_trainer.methods.ranking.rank_settings import RankSettings
from sweet_rl_trainer.methods.ranking.score import Consequences
from sweet_rl_trainer.pipeline.base import REFERENCES, chat_of, model_in
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Job

Ends = Sequence[tuple[State, float]]
"""For each dialogue that ended with an answer: the state before the answer, and the dialogue's reward."""


@contextmanager
def potential(
    scores: Consequences, job: Job, recipe: Recipe, ends: Callable[[], Ends]
) -> Iterator[tuple[Potential, Line | None]]:
    """Yield the potential for `scores`, and the line that maps the potential to the reward.

    If `rank.scale` is "none", the potential is in its own unit, and the line is None. The table `[rank]` sets
    `told_later` (for `facts`), `scale` and `row_tokens`. The reference model of `gain` is the model from which training
    starts. `ends` is called only if a line is fitted. Raises NoScaleError if no line can be fitted.
    """
    settings = recipe.table(RankSettings)
    relative = scores == "gain"
    with _raw(scores, job, recipe) as (raw, now):
        if settings.scale == "none":
            yield raw, None
        else:
            line = _line(now, ends(), relative=relative)
            yield Scaled(raw, line, relative=relative), line


def ends_of(dialogues: Iterable[Trajectory], tasks: Mapping[str, Task]) -> Ends:
    """Return two values for each dialogue that ended with an answer: the state before the answer, and the reward.

    Dialogues about tasks that are not in `tasks`, which is keyed by task hash, are left out.
    """
    return [
        (states_of(each, tasks[each.task_hash])[-1], each.reward)
        for each in dialogues
        if each.ended_by == "answer" and each.task_hash in tasks
    ]


def _line(now: Potential, ends: Ends, *, relative: bool) -> Line:
    try:
        return fit(now, ends, relative=relative)
    except NoScaleError as cause:
        raise NoScaleError(
            f'rank.scale "fit": {cause}; collect more dialogues, or set rank.scale="none" to use the potential unscaled'
        ) from cause


@contextmanager
def _raw(scores: Consequences, job: Job, recipe: Recipe) -> Iterator[tuple[Potential, Potential]]:
    """Yield two potentials in their own unit: the one that rates states, and the one to which the line is fitted.

    For `facts`, the second potential assumes that the agent answers now. For `gain`, the two are the same.
    """
    settings = recipe.table(RankSettings)
    if scores == "facts":
        yield FactsPotential(told_later=settings.told_later), FactsPotential(told_later=0.0)
        return
    from sweet_rl_trainer.methods.ranking.scorers import Scorers

    base = model_in(job.inputs["model"])
    with Scorers(recipe, base, job.shared / REFERENCES) as scorers:
        gain = GainPotential(
            scorers.reference(),
            chat_of(base, recipe.model),
            budget=settings.row_tokens,
            max_length=recipe.table(CriticSettings).max_length,
        )
        yield gain, gain
