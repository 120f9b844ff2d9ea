"""The exact values of candidates, compared with dialogues with the rule-based human, scored in the sandbox."""

from __future__ import annotations

import asyncio
from math import sqrt
from random import Random
from statistics import fmean, stdev

import numpy as np
import pytest
from msgspec.structs import replace

from colbench.domains.backend.scorer import UnitTestScorer
from colbench.facts.human import answer as human_answer
from colbench.sandbox import CodeSandbox
from colbench_agents.reading import read
from colbench_tasks import designs
from colbench_tasks.family import statements
from sweet_rl_trainer.creditbench.beliefs import generator_belief
from sweet_rl_trainer.creditbench.on_policy import PRECISION, values_of
from sweet_rl_trainer.creditbench.play import Player
from sweet_rl_trainer.creditbench.states import BenchState, Candidate
from sweet_rl_trainer.creditbench.truths import COST, Truths
from sweet_rl_trainer.creditbench.values import answer_values, best_values

TURNS = 3
PLAYS = 60
STANDARD_ERRORS = 4
"""How many standard errors a mean may be from its expectation; the draws are the same in every run."""


def state_of(task, turns_left, *candidates, told=()):
    return BenchState(
        id="s", heard=(task.request,), said=(), told=told, turns_left=turns_left,
        candidates=candidates,
    )  # fmt: skip


def drawn(task, random):
    """Return another task with the same request and randomly drawn hidden facts."""
    design = designs.of(task)
    hidden = {fact.name for fact in task.hidden.facts if not fact.stated}
    chosen = dict(design.chosen)
    facts = [
        replace(fact, statement=_redrawn(fact.name, design, chosen, random))
        if fact.name in hidden
        else fact
        for fact in task.hidden.facts
    ]
    reference = design.source(chosen)
    made = replace(task.hidden, reference=reference, information=reference, facts=tuple(facts))
    return replace(task, hidden=made)


def _redrawn(name, design, chosen, random):
    """Draw another choice, and return what the human says about it."""
    decision = next(d for d in design.family.decisions if d.name == name)
    choice = chosen[name] = random.choice(random.choice(decision.options).choices())
    said = [words for each, words in statements(decision, design.theme) if each == choice]
    return random.choice(said)


def played(task, belief, values):
    """Ask the best questions, read the human's replies, and return the answer and the number of questions."""
    design, answers, turns = designs.of(task), values[1], len(values) - 1
    place, heard = [0] * len(belief.names), {}
    for left in range(turns, 0, -1):
        options = {None: answers[tuple(place)]}
        for axis, name in enumerate(belief.names):
            if not place[axis] and left > 1:
                index = tuple(slice(1, None) if a == axis else p for a, p in enumerate(place))
                after = (values[left - 1][index] * belief.weights[axis]).sum()
                options[name] = after - COST
        asked = max(options, key=options.get)
        if asked is None:
            break
        axis = belief.names.index(asked)
        reply = human_answer(task, design.questions[asked][0])
        decision = next(d for d in design.family.decisions if d.name == asked)
        choice = read(statements(decision, design.theme), reply)
        heard[asked] = choice
        place[axis] = 1 + belief.choices[axis].index(choice)
    choices = {
        name: heard.get(name) or (design.usual if name in belief.names else design.chosen)[name]
        for name in design.chosen
    }
    return design.source(choices), len(heard)


def test_the_best_policy_earns_its_exact_value_with_the_human_and_the_scorer(tasks):
    task, random = tasks[0], Random(5)
    belief = generator_belief(task)
    answers = answer_values(belief.outputs, belief.weights)
    values = best_values(answers, belief.weights, TURNS, COST)

    async def play():
        async with CodeSandbox() as box:
            scorer = UnitTestScorer(box, ("default",))
            rewards = []
            for _ in range(PLAYS):
                other = drawn(task, random)
                source, questions = played(other, belief, values)
                score = (await scorer.score(other, source))["default"]
                rewards.append(score.value - COST * questions)
            return rewards

    rewards = asyncio.run(play())
    expected = Truths(task).of(state_of(task, TURNS)).value["optimal tests"]
    assert stdev(rewards) > 0
    assert abs(fmean(rewards) - expected) <= STANDARD_ERRORS * stdev(rewards) / sqrt(PLAYS)


def test_candidates_are_worth_the_value_after_the_human_reply(tasks):
    task = tasks[0]
    belief, truths = generator_belief(task), Truths(task)
    first, second, *_ = belief.names
    ask = [
        Candidate(kind="relevant", text="?", told=(first,)),
        Candidate(kind="relevant", text="?", told=(first, second)),
        Candidate(kind="unanswerable", text="?"),
        Candidate(kind="answer", text="!", reward=0.0),
    ]
    found = truths.of(state_of(task, 3, *ask))
    one, two, useless, answer = found.candidates["optimal tests"]
    answers = answer_values(belief.outputs, belief.weights)
    after = best_values(answers, belief.weights, 3, COST)[2]
    zeros = (0,) * after.ndim
    both = np.einsum("ab,a,b->", after[1:, 1:, 0], *belief.weights[:2])
    assert one == pytest.approx((after[1:, 0, 0] * belief.weights[0]).sum() - COST, abs=1e-6)
    assert two == pytest.approx(both - COST, abs=1e-6)
    assert useless == pytest.approx(after[zeros] - COST, abs=1e-6)
    assert answer == pytest.approx(answers[zeros], abs=1e-6)
    assert found.value["optimal tests"] >= max(one, answer)
    last = truths.of(state_of(task, 1, *ask)).candidates["optimal tests"]
    assert last[:3] == (-COST, -COST, -COST)
    assert last[3] == answer


def test_a_wrong_answer_is_worth_the_tests_that_it_still_passes(tasks):
    """Compare with an enumeration of the remaining designs, running both functions."""
    task = tasks[0]
    design, belief = designs.of(task), generator_belief(task)
    name = belief.names[0]
    decision = next(d for d in design.family.decisions if d.name == name)
    wrong = next(n for n, c in enumerate(decision.choices()) if c != design.chosen[name])
    slip = Candidate(kind="wrong answer", text="!", reward=0.0, slip=(name, wrong))
    found = Truths(task).of(state_of(task, 2, slip, told=(name,)))

    def returned(choices):
        namespace = {}
        exec(design.source({**design.chosen, **choices}), namespace)
        return [eval(call, dict(namespace)) for call in task.hidden.tests]

    usual = {each: design.usual[each] for each in belief.names[1:]}
    written = returned({name: decision.choices()[wrong], **usual})
    total = 0.0
    for place in np.ndindex(belief.outputs.shape[2:]):
        rest = zip(belief.names[1:], belief.choices[1:], belief.weights[1:], place, strict=True)
        possible, chance = {}, 1.0
        for each, choices, weights, taken in rest:
            possible[each] = choices[taken]
            chance *= weights[taken]
        right = returned({name: design.chosen[name], **possible})
        total += chance * fmean(a == b for a, b in zip(written, right, strict=True))
    assert found.candidates["optimal tests"] == (pytest.approx(total, abs=1e-6),)


@pytest.mark.weekly
def test_continuations_with_the_human_have_the_exact_mean_reward(benches):
    for bench in benches:
        player = Player(bench.task)
        for state, truth in zip(bench.states[:2], bench.truths, strict=False):
            exact = truth.candidates["hindsight tests"]
            for candidate, value in zip(state.candidates, exact, strict=True):
                if candidate.reward is not None:
                    assert candidate.reward == value
                    continue
                random = Random(candidate.text)
                found = [player.continued(random, state, candidate) for _ in range(1500)]
                error = (stdev(found) + 1e-9) / sqrt(len(found))
                assert abs(fmean(found) - value) <= STANDARD_ERRORS * error


def test_a_task_without_tests_is_not_said_to_lack_a_family(tasks):
    task = replace(tasks[0], hidden=replace(tasks[0].hidden, tests=()))
    with pytest.raises(ValueError, match="lacks hidden tests"):
        Player(task)


def test_monte_carlo_values_have_the_required_precision(benches):
    bench = benches[0]
    bench = replace(bench, states=bench.states[-1:], truths=bench.truths[-1:])
    found = values_of(bench)
    exact = bench.truths[0].candidates["hindsight tests"]
    questions = [n for n, c in enumerate(bench.states[0].candidates) if c.reward is None]
    assert [each.candidate for each in found.values] == questions
    for each in found.values:
        assert each.half_width <= PRECISION
        assert abs(each.mean - exact[each.candidate]) <= 2 * each.half_width + 1e-6
