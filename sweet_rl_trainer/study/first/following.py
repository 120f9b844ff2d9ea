"""What a policy's success goes with: the measures of the scores that it learnt from, over methods."""

from __future__ import annotations

from collections.abc import Callable

from colbench.numbers import p_value, signed
from sweet_rl_trainer.methods.critic.correlation import correlation
from sweet_rl_trainer.study.first.methods import METHODS, RETURNS, Method
from sweet_rl_trainer.study.first.results import ANY, KINDS, Credit, Critic, Results
from sweet_rl_trainer.study.first.tables import find, on_tests
from sweet_rl_trainer.study.text import table

SCORING = ("critic.", "rank.scores", "rank.calibrate")
"""Where the settings begin that change scores alone."""
FEWEST = 4
"""Methods, below which a correlation says nothing."""
Measure = Callable[[Critic, Credit], float | None]


def followed(results: Results) -> str | None:
    """Return a table of Spearman's correlations of the first seed; None with too few methods."""
    from scipy.stats import spearmanr

    known = [found for each in METHODS if (found := _first(results, each))]
    lines = []
    for name, measure in _measures().items():
        pairs = [
            (value, success)
            for critic, credit, success in known
            if (value := measure(critic, credit)) is not None
        ]
        if len(pairs) >= FEWEST:
            values, successes = zip(*pairs, strict=True)
            rank = correlation(values, successes).spearman
            if rank is not None:  # the measure and success both vary
                p = spearmanr(values, successes).pvalue
                lines.append([name, f"{len(pairs)}", signed(rank, 2), p_value(p)])
    return table(("of the scores", "methods ", "with success ", "p "), lines) if lines else None


def _measures() -> dict[str, Measure]:
    shares = {
        f"agreement with returns, {kind}": (
            lambda _, credit, kind=kind: next(
                (each.share[0] for each in credit.agreements if each.kind == kind), None
            )
        )
        for kind in sorted(KINDS, key=lambda kind: kind != ANY)
    }
    return {
        **shares,
        "pair accuracy": lambda critic, _: critic.accuracy and critic.accuracy[0],
        "pair accuracy, equally many turns": lambda critic, _: critic.matched and critic.matched[0],
        "success of the best of all n": lambda critic, _: (
            critic.best_of[-1][1] if critic.best_of else None
        ),
    }


def _first(results: Results, method: Method) -> tuple[Critic, Credit, float] | None:
    """Return the first seed's values of a method that differs from SWEET-RL only in its scores."""
    if method.goal != "actor" or method.name == RETURNS:
        return None
    if not all(key.startswith(SCORING) for key in method.changes):
        return None
    tests = on_tests(results, method.name)
    seed = min(tests, default=0)
    place = (method.name, seed)
    critics = {(each.method, each.seed): each for each in results.critics}
    credits = {(each.method, each.seed): each for each in results.credits}
    success = find({seed: tests[seed]}) if tests else None
    if place not in critics or place not in credits or not success:
        return None
    critic = critics[place]
    if method.changes.get("rank.calibrate"):
        # of replies alone: the scores that it learnt from are not those of dialogues
        critic = Critic(method=critic.method, seed=critic.seed)
    return critic, credits[place], success.seeds[seed]
