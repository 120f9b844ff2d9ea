"""Exact values, compared with an enumeration of designs and policies that does not use lattices."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from colbench_tasks import designs
from sweet_rl_trainer.creditbench.beliefs import generator_belief, number_of_designs, task_belief
from sweet_rl_trainer.creditbench.truths import DEMONSTRATOR
from sweet_rl_trainer.creditbench.values import Asker, answer_values, asker_values, best_values

COST = Fraction(1, 100)


class World:
    """All designs of a task as lists of what their functions return, with their probabilities."""

    def __init__(self, task):
        design = designs.of(task)
        self.names = [fact.name for fact in task.hidden.facts if not fact.stated]
        decisions = [d for d in design.family.decisions if d.name in self.names]
        self.names = [d.name for d in decisions]
        self.design, self.tests = design, task.hidden.tests
        self.usual = tuple(d.choices()[0] for d in decisions)
        self.weight, self.outputs = {}, {}
        for options in product(*(d.options for d in decisions)):
            for choices in product(*(option.choices() for option in options)):
                chance = Fraction(1)
                for decision, option in zip(decisions, options, strict=True):
                    chance *= Fraction(1, len(decision.options) * len(option.choices()))
                self.weight[choices] = chance
                self.outputs[choices] = self.run(choices)

    def run(self, choices):
        chosen = {**self.design.chosen, **dict(zip(self.names, choices, strict=True))}
        namespace = {}
        exec(self.design.source(chosen), namespace)
        return [eval(test, dict(namespace)) for test in self.tests]

    def answered(self, known, possible):
        """Return the expected share of tests of the best answer, over the possible designs."""
        told = dict(known)
        written = tuple(told.get(n, usual) for n, usual in enumerate(self.usual))
        total = sum(self.weight[each] for each in possible)
        passed = sum(
            self.weight[each]
            * Fraction(
                sum(a == b for a, b in zip(self.outputs[written], self.outputs[each], strict=True)),
                len(self.tests),
            )
            for each in possible
        )
        return passed / total

    def after(self, known, possible, asked):
        """Yield each possible reply of the human, with its probability."""
        total = sum(self.weight[each] for each in possible)
        for choice in {each[asked]: None for each in possible}:
            left = [each for each in possible if each[asked] == choice]
            chance = sum(self.weight[each] for each in left) / total
            yield chance, (*known, (asked, choice)), left

    def best(self, turns, known=(), possible=None):
        possible = list(self.weight) if possible is None else possible
        if turns == 0:
            return Fraction(0)
        values = [self.answered(known, possible)]
        for asked in set(range(len(self.names))) - {place for place, _ in known}:
            values.append(
                sum(
                    c * self.best(turns - 1, k, p) for c, k, p in self.after(known, possible, asked)
                )
                - COST
            )
        values.append(self.best(turns - 1, known, possible) - COST)  # a useless question
        return max(values)

    def followed(self, asker, turns, known=(), possible=None):
        possible = list(self.weight) if possible is None else possible
        if turns == 0:
            return 0.0
        untold = set(range(len(self.names))) - {place for place, _ in known}
        answers = asker.haste if untold else 1 - asker.lingers
        if turns == 1:
            answers = asker.mindful + (1 - asker.mindful) * answers
        focus = asker.focus if untold else 0.0
        value = answers * float(self.answered(known, possible))
        useless = self.followed(asker, turns - 1, known, possible) - float(COST)
        value += (1 - answers) * (1 - focus) * useless
        for asked in untold:
            told = sum(
                float(c) * self.followed(asker, turns - 1, k, p)
                for c, k, p in self.after(known, possible, asked)
            )
            value += (1 - answers) * focus / len(untold) * (told - float(COST))
        return value


@pytest.fixture(scope="module")
def small(tasks):
    """Return a task with few designs."""
    return min(tasks, key=number_of_designs)


@pytest.fixture(scope="module")
def world(small):
    return World(small)


@pytest.fixture(scope="module")
def belief(small):
    return generator_belief(small)


def test_the_belief_is_the_distribution_that_tasks_are_drawn_from(world, belief):
    assert belief.names == tuple(world.names)
    for place, choices in enumerate(product(*belief.choices)):
        at = np.unravel_index(place, belief.outputs.shape[1:])
        chance = np.prod([w[n] for w, n in zip(belief.weights, at, strict=True)])
        assert chance == pytest.approx(float(world.weight[choices]))
    assert sum(world.weight.values()) == 1
    assert all(sum(each) == pytest.approx(1) for each in belief.weights)


def test_outputs_of_two_designs_are_equal_where_their_functions_agree(world, belief):
    places = list(np.ndindex(belief.outputs.shape[1:]))
    choices = list(product(*belief.choices))
    for one, place in zip(choices, places, strict=True):
        other, there = choices[0], places[0]
        same = belief.outputs[(slice(None), *place)] == belief.outputs[(slice(None), *there)]
        assert same.tolist() == [
            a == b for a, b in zip(world.outputs[one], world.outputs[other], strict=True)
        ]


@pytest.mark.parametrize("turns", [1, 2, 3, 4, 5])
def test_the_best_value_is_the_maximum_over_all_policies(world, belief, turns):
    answers = answer_values(belief.outputs, belief.weights)
    found = best_values(answers, belief.weights, turns, float(COST))[turns]
    assert found[(0,) * found.ndim] == pytest.approx(float(world.best(turns)), abs=1e-12)


@pytest.mark.parametrize("turns", [1, 2, 3, 4])
def test_the_value_of_a_policy_is_the_mean_over_all_of_its_dialogues(world, belief, turns):
    answers = answer_values(belief.outputs, belief.weights)
    for asker in (DEMONSTRATOR, Asker(haste=0.5, focus=1.0, lingers=0.3, mindful=0.0)):
        found = asker_values(answers, belief.weights, asker, turns, float(COST))[turns]
        expected = world.followed(asker, turns)
        assert found[(0,) * found.ndim] == pytest.approx(expected, abs=1e-12)


def test_values_after_a_told_decision_cover_only_matching_designs(world, belief):
    answers = answer_values(belief.outputs, belief.weights)
    best = best_values(answers, belief.weights, 3, float(COST))
    choice = belief.choices[0][-1]
    possible = [each for each in world.weight if each[0] == choice]
    place = (len(belief.choices[0]), *(0 for _ in belief.names[1:]))
    assert answers[place] == pytest.approx(float(world.answered(((0, choice),), possible)))
    assert best[3][place] == pytest.approx(float(world.best(3, ((0, choice),), possible)))


def test_success_values_require_that_all_tests_pass(belief):
    success = answer_values(belief.outputs, belief.weights, "success")
    tests = answer_values(belief.outputs, belief.weights, "tests")
    assert success[belief.actual] == tests[belief.actual] == 1
    assert (success <= tests + 1e-12).all()
    assert success.flat[0] < tests.flat[0]


def test_the_hindsight_belief_is_certain_of_the_chosen_design(small):
    belief = task_belief(small)
    design = designs.of(small)
    assert all(len(each) <= 2 for each in belief.choices)
    for name, choices, weights in zip(belief.names, belief.choices, belief.weights, strict=True):
        assert choices[int(np.argmax(weights))] == design.chosen[name]
        assert max(weights) == 1
