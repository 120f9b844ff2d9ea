"""The generator is deterministic and reports the tasks that it cannot make."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from msgspec import structs

from colbench.task import Task
from colbench_tasks.families import FAMILIES
from colbench_tasks.family import Family, statements
from colbench_tasks.generate import GeneratorError, expression, generate, mutants
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, _values: Mapping[str, Any]) -> tuple[int]:
    return (random.randrange(100),)


def family(code: str) -> Family:
    return Family(
        name="eggs",
        themes=themes("function | eggs\npay | eggs\ncost | duck_eggs"),
        requests=requests("I sell eggs.\nWe sell eggs.\n\nWhat do they cost?"),
        decisions=decisions("""
price: price, cost
? What does an egg cost?
- An egg is $value cents.
= 30 20 25 35 40 45 50 55 60 65 70 75

big: many, large order
? What about large orders?
- From $value eggs on, the whole price is halved.
= 10 15 20 25 30 35 40 45 50 60
> if $eggs >= $value:
>     price //= 2
- Large orders are like any other.
"""),
        code=code,
        draw=_draw,
    )


EGGS = family("""
def $function($eggs):
    price = $price * $eggs
    $big
    return price
""")


def test_a_seed_gives_the_same_tasks_and_another_seed_different_ones() -> None:
    one, again, other = (generate(EGGS, 2, seed) for seed in ("a", "a", "b"))
    assert one == again
    assert one != other
    assert one[0].hidden.reference.splitlines()[0] in ("def pay(eggs):", "def cost(duck_eggs):")


def test_generating_more_tasks_of_a_seed_keeps_the_first_ones() -> None:
    assert generate(EGGS, 6, "train")[:3] == generate(EGGS, 3, "train")


def test_no_two_tasks_have_the_same_request_or_design() -> None:
    tasks = generate(EGGS, 20, "train")
    assert len({task.request for task in tasks}) == 20
    assert len({task.hidden.reference for task in tasks}) == 20


@pytest.mark.parametrize(("number", "seed"), [(60, "a"), (119, "train"), (100_000, "train")])
def test_a_family_with_too_few_tasks_reports_about_how_many_it_has(number: int, seed: str) -> None:
    """Request more tasks than there are designs: 11 choices by 12 numbers make 132, one in eleven for tests."""
    with pytest.raises(
        GeneratorError, match="family eggs has only about .* request fewer tasks"
    ) as said:
        generate(EGGS, number, seed)
    about = int(str(said.value).partition("about ")[2].split()[0])
    assert 2 <= about <= (120 if seed == "train" else 12)


def test_training_and_test_share_no_request_and_no_design() -> None:
    made = FAMILIES["ballots"]
    train = generate(made, 300, "train")
    for seed in ("test", "another"):
        test = generate(made, 40, seed)
        for told in (lambda task: task.request, design_of):
            assert not set(map(told, train)) & set(map(told, test))


def design_of(task: Task) -> tuple[str, ...]:
    """Return the design of a task, independent of theme and wording: each decision's option and value."""
    family = FAMILIES[task.family]
    theme = next(t for t in family.themes if task.request.endswith(family.signature(t)))
    meant = []
    for decision, fact in zip(family.decisions, task.hidden.facts, strict=True):
        found = {words: choice for choice, words in statements(decision, theme)}[fact.statement]
        meant.append(f"{decision.options.index(found.option)} {found.value}")
    return tuple(meant)


@pytest.mark.parametrize("difficulty", [3, 4, 5, 6])
def test_difficulty_is_the_number_of_decisions_that_the_request_hides(difficulty: int) -> None:
    for task in generate(FAMILIES["parking"], 30, "dial", difficulty=difficulty):
        assert task.difficulty == difficulty
        for fact in task.hidden.facts:
            assert fact.stated == (f" {fact.statement} " in task.request)


def test_more_decisions_are_hidden_if_the_requested_number_is_guessable() -> None:
    hidden = [task.difficulty for task in generate(FAMILIES["bookings"], 30, "dial", difficulty=3)]
    assert min(filter(None, hidden)) == 4


def test_a_family_without_a_design_on_the_side_is_refused() -> None:
    tiny = family("""
def $function($eggs):
    return $price * $eggs
""")
    tiny = structs.replace(
        tiny,
        decisions=decisions("""
price: price, cost
? What does an egg cost?
- An egg is $value cents.
= 30 20
"""),
    )
    with pytest.raises(GeneratorError, match="eggs has only about 0 different tasks"):
        generate(tiny, 1, "a")


def test_a_decision_that_no_call_depends_on_is_named() -> None:
    dumb = family("""
def $function($eggs):
    price = $eggs
    $big
    price += 0 * $price
    return price
""")
    with pytest.raises(
        GeneratorError,
        match=r"about 0 .* if `price` is decided otherwise\); fix or leave out this family$",
    ):
        generate(dumb, 3, "a")


def test_mutants_change_one_decision_to_other_options_and_the_nearest_values() -> None:
    design = EGGS.usual()
    changed = [
        (name, [mutant[name].value, mutant[name].option.code])
        for name, mutant in mutants(EGGS, design)
    ]
    assert changed == [
        ("price", [25, "$value"]),
        ("price", [35, "$value"]),
        ("big", [15, "if $eggs >= $value:\n    price //= 2"]),
        ("big", [None, ""]),
    ]


def test_source_and_runnable_function_agree() -> None:
    for any_family in FAMILIES.values():
        theme, design = any_family.themes[-1], any_family.usual()
        namespace: dict[str, Any] = {}
        exec(any_family.source(theme, design), namespace)
        function = any_family.function(theme, design)
        values = {name: choice.value for name, choice in design.items()}
        for seed in range(20):
            arguments = any_family.draw(Random(seed), values)
            assert namespace[theme["function"]](*arguments) == function(*arguments)


def test_a_call_is_written_as_python() -> None:
    assert expression("f", ([1, None], "a'b", 0.5, {"x": (1, 2)})) == (
        "f([1, None], \"a'b\", 0.5, {'x': (1, 2)})"
    )


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_family_has_several_themes_and_wordings_and_many_designs(name: str) -> None:
    made = FAMILIES[name]
    assert len(made.themes) >= 3
    assert 3 <= len(made.decisions) <= 8
    space = 1
    for decision in made.decisions:
        choices = decision.choices()
        assert len(choices) >= 2
        assert len(decision.asks) >= 2
        assert all(len(option.says) >= 2 for option in decision.options)
        space *= len(choices)
    assert space >= 300


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_statement_of_a_family_has_only_one_meaning(name: str) -> None:
    made = FAMILIES[name]
    for theme in made.themes:
        for decision in made.decisions:
            meant: dict[str, Any] = {}
            for choice in decision.choices():
                for says in choice.option.says:
                    assert (
                        meant.setdefault(says.replace("$value", str(choice.value)), choice)
                        == choice
                    )
        assert made.code.strip().startswith("def $function(")
        assert theme["function"].isidentifier()
