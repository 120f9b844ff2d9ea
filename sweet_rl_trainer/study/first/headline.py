"""What the numbers say, in sentences: each is computed, and hedged by its interval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from colbench.numbers import count, percent, percent_with_range, points_with_range
from colbench.stats import ALPHA
from sweet_rl_trainer.study.first.comparison import RIVALS, points_by_seed
from sweet_rl_trainer.study.first.curves import ends
from sweet_rl_trainer.study.first.exchanges import parts
from sweet_rl_trainer.study.first.judges import Bounds, distinct, distinct_timings, judges, shown
from sweet_rl_trainer.study.first.methods import METHODS, NAMED, RETURNS, TURNS, Method
from sweet_rl_trainer.study.first.results import Results
from sweet_rl_trainer.study.first.tables import (
    Difference,
    Ordering,
    adjusted_p,
    against,
    difference,
    find,
    full_label,
    on_tests,
    orderings,
    rows_of,
    side,
)
from sweet_rl_trainer.study.text import escape, listed

TRAINED = "rft", "mtdpo", "sweet"
"""The paper's trainings."""
SCORES = "sweet", "no-privileged", "pmi", RETURNS, TURNS.name
"""The critic, what it is held against, and counting: of all others the tables tell."""


def sentences(results: Results) -> list[str]:
    """Return the findings as Markdown; a finding is left out if its numbers are missing."""
    found = [
        *_sweet(results),
        *_best(results),
        *_exchanged(results),
        *_remedies(results),
        *_alike(results),
        *_beginnings(results),
        *_endings(results),
        *_orderings(results),
        *_critics(results),
        *_timing(results),
    ]
    return found or ["There is nothing to compare on the test tasks yet."]


def _name(method: Method) -> str:
    return escape(full_label(method))


def _best(results: Results) -> Iterator[str]:
    """Yield the best of the paper's methods, and the next one."""
    tests = {
        each.name: (each, by_seed, found)
        for each in METHODS
        if each.group == "main"
        and (by_seed := on_tests(results, each.name))
        and (found := find(by_seed))
    }
    ranked = sorted(tests.values(), key=lambda each: -(each[2].success.mean or 0.0))
    if len(ranked) < 2:
        return
    (best, mine, found), (second, theirs, next_one) = ranked[:2]
    if found.success.mean == next_one.success.mean:
        alike = [_name(each) for each, _, one in ranked if one.success.mean == found.success.mean]
        yield (
            f"Of the paper's methods, {listed(alike)} have the highest success on the test tasks, "
            f"all the same: {percent_with_range(found.success)}."
        )
        return
    ahead = difference(mine, theirs)
    told = f"; against {_name(second)}, the next: {_ahead(ahead)}" if ahead else ""
    yield (
        f"Of the paper's methods, **{_name(best)}** has the highest success on the test tasks: "
        f"{percent_with_range(found.success)}{told}."
    )


def _ahead(found: Difference) -> str:
    again = f", by seed {points_by_seed(found)}" if found.repeated else ""
    return f"{points_with_range(found.points)} points by task{again}: **{found.verdict}**"


def _sweet(results: Results) -> Iterator[str]:
    """Yield SWEET-RL against the paper's baselines."""
    mine = on_tests(results, "sweet")
    for name in ("mtdpo", "rft", "zero-shot"):
        found = difference(mine, on_tests(results, name))
        if found:
            alike = sum(value > 0 for value in found.seeds)
            yield (
                f"SWEET-RL against {_name(NAMED[name])}: {_ahead(found)}; higher in {alike} of "
                f"{count(len(found.seeds), 'seed')}."
            )


def _exchanged(results: Results) -> Iterator[str]:
    """Yield how much of each difference to SWEET-RL is due to asking, and how much to writing."""
    for each in parts(results):
        if each.other == "sweet":
            yield (
                f"Of the {points_with_range(each.whole.points)} points of {_name(NAMED[each.one])} over SWEET-RL, "
                f"{points_with_range(each.writing.points)} are by what is written, "
                f"{points_with_range(each.asking.points)} by what is "
                f"asked (answers exchanged; by task)."
            )


def _orderings(results: Results) -> Iterator[str]:
    """Yield the orderings; those from several seeds are counted separately."""
    found = orderings(results)
    if all(each.verdict == "missing" for each in found):
        return
    known = [(each, each.ours.repeated) for each in found if each.ours]
    kinds = {
        "with several seeds": [each for each, repeated in known if repeated],
        "with one seed, which says nothing of other trainings": [
            each for each, repeated in known if not repeated
        ],
    }
    said = [f"{label}, {len(some)}: {_counted(some)}" for label, some in kinds.items() if some]
    if lacking := len(found) - len(known):
        said.append(f"{lacking} missing")
    told = "; ".join(said)
    clear = [each for each in found if each.paper > each.noise]
    yield (
        f"Of {count(len(found), 'ordering')} that the paper's numbers imply, {told}. Of the {len(clear)} "
        f"that stand out of the paper's own noise: {_counted(clear)}."
    )


def _counted(found: Sequence[Ordering]) -> str:
    verdicts = [each.verdict for each in found]
    kinds = ("as in the paper", "reversed", "not decided", "missing")
    return ", ".join(f"{verdicts.count(kind)} {kind}" for kind in kinds if kind in verdicts)


def _remedies(results: Results) -> Iterator[str]:
    """Yield the variants of SWEET-RL against both rivals, with p adjusted for their number."""
    for rival in RIVALS:
        found = against(results, rival)
        adjusted = adjusted_p(found)
        remedies = {name: each for name, each in found.items() if NAMED[name].group == "remedy"}
        sides: dict[str, list[str]] = {}
        for name, each in remedies.items():
            verdict = each.verdict if adjusted[name] < ALPHA else "not decided"
            sides.setdefault(verdict, []).append(_name(NAMED[name]))
        if sides:
            told = " — ".join(
                f"{verdict}: {'; '.join(sides[verdict])}" for verdict in sorted(sides)
            )
            single = not any(each.repeated for each in remedies.values())
            rests = " (one seed each)" if single else ""
            yield f"Remedies{rests} against {_name(NAMED[rival])}, with p adjusted for all methods: {told}."


def _alike(results: Results) -> Iterator[str]:
    """Yield the rows that equal the base's or another method's."""
    trained = [method for method in METHODS if method.goal]
    for each in trained:
        if refused := [str(row.seed) for row in rows_of(results, each.name) if not row.step]:
            yield (
                f"**No checkpoint of {_name(each)} was better than the base** on the validation tasks (seed "
                f"{listed(refused)}): its row is the base's."
            )
    for one, other in combinations(trained, 2):
        mine, theirs = (
            {row.seed: row.test for row in rows_of(results, each.name) if row.test and row.step}
            for each in (one, other)
        )
        seeds = mine.keys() & theirs.keys()
        if seeds and all(mine[seed] == theirs[seed] for seed in seeds):
            yield (
                f"**{_name(other)} is {_name(one)} over again**: on the test tasks all their dialogues came out the "
                f"same, so what sets them apart had no effect."
            )


def _beginnings(results: Results) -> Iterator[str]:
    """Yield the success after the first steps of training."""
    found = {name: each for name in TRAINED if (each := ends(results, name))}
    firsts = {step for each in found.values() for step in each.steps[0]}
    if len(found) > 1 and len(firsts) == 1:
        (step,) = firsts
        told = ", ".join(
            f"{_name(NAMED[name])} {percent_with_range(each.first.success)}"
            for name, each in found.items()
        )
        yield f"After the first {count(step, 'step')}, on the validation tasks: {told}."


def _endings(results: Results) -> Iterator[str]:
    """Yield the success of SWEET-RL at the chosen checkpoints and at the end of training."""
    if found := ends(results, "sweet"):
        chosen, last = found.chosen, found.last
        yield (
            f"SWEET-RL, on the validation tasks: {percent_with_range(chosen.success)} at the chosen checkpoints, "
            f"{percent_with_range(last.success)} at the end of training, where "
            f"{percent(last.unanswered)} of the dialogues have no answer."
        )


def _critics(results: Results) -> Iterator[str]:
    """Yield the critics against chance, and against the scores that need no training."""
    known = [each for each in distinct(judges(results)) if each.accuracy]
    found = [each for each in known if each.method.name in SCORES]
    if told := _sides([(each.method, each.accuracy) for each in found if each.accuracy]):
        yield f"Pair accuracy of scores against 50 %, by the interval: {told}."
    if told := _sides([(each.method, each.matched) for each in found if each.matched]):
        yield f"The same where both dialogues have equally many turns: {told}."
    highest = _highest([(each.method, each.accuracy) for each in known])
    if len(known) > len(found) and highest:
        again = _highest([(each.method, each.matched) for each in known])
        among = f"; with equally many turns, {again}" if again else ""
        yield f"Of all scores, those not named here too, the highest pair accuracy has {highest}{among}."


def _highest(shares: Iterable[tuple[Method, Bounds | None]]) -> str | None:
    known = [(method, bounds) for method, bounds in shares if bounds]
    if not known:
        return None
    method, bounds = max(known, key=lambda each: each[1][0])
    return f"{_name(method)}: {shown(bounds)}"


def _sides(shares: Iterable[tuple[Method, Bounds]]) -> str:
    """Return the scores grouped by the position of their interval."""
    by_side: dict[str, list[str]] = {}
    for method, bounds in shares:
        named = f"{_name(method)} ({percent(bounds[0])})"
        by_side.setdefault(side(*bounds[1:], level=0.5), []).append(named)
    return " — ".join(
        f"{verdict}: {'; '.join(names)}" for verdict, names in sorted(by_side.items())
    )


def _timing(results: Results) -> Iterator[str]:
    """Yield the share of cases in which scores favor an answer when everything is known."""
    known = [
        f"{_name(each.method)} {percent(timing[0][0])}"
        for each in distinct_timings(judges(results))
        if each.method.name in SCORES
        and (timing := {n: share for n, share, _ in each.timing})
        and 0 in timing
    ]
    if known:
        yield (
            "Where nothing is hidden any more, an answer scores higher than another reply in so many cases (50 % is "
            f"indifference; below it scores favour asking on): {'; '.join(known)}."
        )
