"""Tasks of a family, from a seed. Every task is proved: each decision changes the output of some call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any

from colbench.config import derive_seed
from colbench.task import Fact, Hidden, Task
from colbench_tasks.family import Choice, Decision, Design, Family, Theme, fill, statement

CALLS = 10
DISTINCT_OUTPUTS = 4
"""At least so many different values among a task's calls."""
DRAWS = 400
CLOSINGS = (
    "Please help me write it.",
    "Can you write it for me?",
    "Could you help me with that?",
    "I know how we do it here, so just ask me.",
    "Ask me whatever you need to know.",
    "I can tell you more if you ask.",
    "Please write this function for me.",
    "I would be glad about some help.",
    "It only has to do what we have always done by hand.",
    "Can you take care of it?",
)

Arguments = tuple[Any, ...]


class GeneratorError(Exception):
    """A family cannot make a valid task; its author has to mend it."""


def generate(family: Family, number: int, seed: str) -> list[Task]:
    """The first `number` tasks of a family under a seed's name; no two share request or design.

    A design that no ten calls can show is passed over. Raises GeneratorError, with the last reason,
    when most attempts end that way.
    """
    requests: set[str] = set()
    designs: set[str] = set()
    tasks: list[Task] = []
    reason = "designs repeat"
    for attempt in range(5 * number + 10):
        random = Random(derive_seed(seed, family.name, attempt))  # noqa: S311 - reproducible on purpose
        theme = random.choice(family.themes)
        design = {d.name: _choice(random, d) for d in family.decisions}
        request, key = _request(random, family, theme), family.source(family.themes[0], design)
        if request in requests or key in designs:
            continue
        try:
            hidden = _hidden(random, family, theme, design)
        except GeneratorError as cause:
            reason = str(cause)
            continue
        requests.add(request)
        designs.add(key)
        name = f"{family.name}-{len(tasks):04}"
        tasks.append(
            Task(id=name, domain="backend", request=request, hidden=hidden, family=family.name)
        )
        if len(tasks) == number:
            return tasks
    raise GeneratorError(f"{family.name}: only {len(tasks)} of {number} tasks: {reason}")


def _hidden(random: Random, family: Family, theme: Theme, design: Design) -> Hidden:
    reference = family.source(theme, design)
    calls = prove(random, family, theme, design)
    return Hidden(
        reference=reference,
        tests=tuple(expression(theme["function"], arguments) for arguments in calls),
        information=reference,
        facts=tuple(_fact(random, d, theme, design[d.name]) for d in family.decisions),
    )


def _choice(random: Random, decision: Decision) -> Choice:
    return random.choice(random.choice(decision.options).choices())


def _request(random: Random, family: Family, theme: Theme) -> str:
    parts = [fill(random.choice(wordings), theme) for wordings in family.requests]
    head = family.signature(theme)
    return " ".join([*parts, random.choice(CLOSINGS), f"The signature of the function is: {head}"])


def _fact(random: Random, decision: Decision, theme: Theme, choice: Choice) -> Fact:
    says = statement(random.choice(choice.option.says), theme, choice)
    topics, examples = (
        tuple(fill(text, theme) for text in texts)
        for texts in (decision.topics, (*decision.asks, *decision.examples))
    )
    return Fact(name=decision.name, topics=topics, examples=examples, statement=says)


def expression(function: str, arguments: Arguments) -> str:
    """A call with literal arguments, as Python source."""
    return f"{function}({', '.join(map(repr, arguments))})"


def mutants(family: Family, design: Design) -> Iterator[tuple[str, Design]]:
    """Designs that differ in one decision, with its name: each other option, and the nearest other values."""
    for decision in family.decisions:
        chosen = design[decision.name]
        for option in decision.options:
            choices = option.choices()
            same = option is chosen.option
            for choice in _neighbours(choices, chosen) if same else choices[:1]:
                yield decision.name, {**design, decision.name: choice}


def _neighbours(choices: tuple[Choice, ...], chosen: Choice) -> list[Choice]:
    ordered = sorted(choices, key=lambda choice: (str(type(choice.value)), choice.value))
    place = ordered.index(chosen)
    return ordered[max(0, place - 1) : place] + ordered[place + 1 : place + 2]


def prove(random: Random, family: Family, theme: Theme, design: Design) -> list[Arguments]:
    """Arguments of ten calls which between them tell the design from each of its mutants.

    Raises GeneratorError naming a decision that the family's calls do not show.
    """
    reference = family.function(theme, design)
    values = {name: choice.value for name, choice in design.items()}
    unseen = ""
    for _ in range(5):
        rivals = [(name, family.function(theme, m)) for name, m in mutants(family, design)]
        pool = (family.draw(random, values) for _ in range(DRAWS))
        calls, needed = _telling(reference, rivals, pool)
        if not rivals and needed <= CALLS <= len(calls):
            calls = calls[:CALLS]
            random.shuffle(calls)
            if len({repr(reference(*call)) for call in calls}) >= DISTINCT_OUTPUTS:
                return calls
        unseen = rivals[0][0] if rivals else "outputs too alike, or too many calls needed"
    raise GeneratorError(f"{family.name}: {unseen}: not shown by the calls of {values}")


def _telling(
    reference: Callable[..., Any],
    rivals: list[tuple[str, Callable[..., Any]]],
    pool: Iterable[Arguments],
) -> tuple[list[Arguments], int]:
    """Different calls, and how many of them it takes to tell the reference from its rivals.

    First come those, then calls with new outputs, then the others. Rivals that are told apart are struck off.
    """
    telling: list[Arguments] = []
    fresh: list[Arguments] = []
    others: list[Arguments] = []
    outputs: set[str] = set()
    for call in _distinct(pool):
        value = reference(*call)
        alike = [rival for rival in rivals if rival[1](*call) == value]
        if len(alike) < len(rivals):
            rivals[:] = alike
            telling.append(call)
        else:
            (others if repr(value) in outputs else fresh).append(call)
        outputs.add(repr(value))
        if not rivals and len(telling) + len(fresh) >= CALLS:
            break
    return telling + fresh + others, len(telling)


def _distinct(calls: Iterable[Arguments]) -> Iterator[Arguments]:
    seen: set[str] = set()
    for call in calls:
        if repr(call) not in seen:
            seen.add(repr(call))
            yield call
