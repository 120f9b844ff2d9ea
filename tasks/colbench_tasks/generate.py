"""Generation of a family's tasks from a seed. In every task, each decision changes the output of at least one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from math import prod
from random import Random
from typing import Any, TypeVar

from msgspec import Struct

from colbench.config import derive_seed
from colbench.task import Fact, Hidden, Task
from colbench_tasks.family import Choice, Decision, Design, Family, Theme, fill, statement
from colbench_tasks.splits import Split, share, side, split_of

CALLS = 10
DISTINCT_OUTPUTS = 4
"""The minimum number of different values that a task's calls return."""
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

STATED = (
    "This much is clear:",
    "I already wrote down:",
    "What I can say right away:",
    "One thing is settled:",
    "Here is what we agreed on so far:",
    "To begin with:",
)
"""Introductions to the decisions that the request states."""
FEWEST_HIDDEN = 3
FRUITLESS = 200
"""The number of successive attempts without a new task after which a family counts as exhausted."""
GUESSED = 0.05
"""The maximum probability of guessing all hidden decisions, unless every decision is hidden."""

Arguments = tuple[Any, ...]
Drawn = TypeVar("Drawn")


class GeneratorError(Exception):
    """An error for a family that cannot make a valid task, or has fewer tasks than requested."""


class Draft(Struct, frozen=True, kw_only=True):
    """A task before its calls are drawn."""

    family: Family
    theme: Theme
    design: Design
    says: Mapping[str, str]
    """The statement of each decision, by the decision's name."""
    hidden: frozenset[str]
    """The names of the decisions that the request does not state."""
    request: str


def generate(
    family: Family, number: int, seed: str, *, difficulty: int | None = None
) -> list[Task]:
    """Return the tasks of `stream` as a list."""
    return list(stream(family, number, seed, difficulty=difficulty))


def stream(
    family: Family, number: int, seed: str, *, difficulty: int | None = None
) -> Iterator[Task]:
    """Yield the first `number` tasks of a family for a seed; no two have the same request or design.

    `difficulty` is the minimum number of decisions to hide in each task (see `hide`). By default, it is drawn for each
    task, from `FEWEST_HIDDEN` to the number of the family's decisions. If the family has fewer than `FEWEST_HIDDEN`
    decisions, all are hidden. A design is skipped if `prove` does not find ten calls that verify it. Raises
    GeneratorError before the first task if the family has too few designs. Raises GeneratorError later if most
    attempts, or the last `FRUITLESS` attempts, yield no new task. This later error contains the message of the last
    attempt that raised GeneratorError. If no attempt raised GeneratorError, the message is that designs repeat.
    """
    designs_there = prod(len(d.choices()) for d in family.decisions) * share(split_of(seed))
    if number > designs_there:
        raise too_few(family.name, int(designs_there), "it has no more designs")
    requests: set[str] = set()
    designs: set[str] = set()
    made = last = 0
    reason = "designs repeat"
    for attempt in range(5 * number + 10):
        if attempt - last > FRUITLESS:
            break
        random = Random(derive_seed(seed, family.name, attempt))  # noqa: S311 - reproducible on purpose
        try:
            draft = _draft(random, family, split_of(seed), difficulty)
            key = _key(family, draft.design)
            if draft.request in requests or key in designs:
                continue
            hidden = _hidden(random, draft)
        except GeneratorError as cause:
            reason = str(cause)
            continue
        requests.add(draft.request)
        designs.add(key)
        name = f"{family.name}-{seed}-{made:04}"
        yield Task(
            id=name, domain=family.domain, request=draft.request, hidden=hidden, family=family.name
        )
        made, last = made + 1, attempt
        if made == number:
            return
    raise too_few(family.name, made, reason)


def too_few(family: str, made: int, reason: str) -> GeneratorError:
    """Return the error for a family that has fewer tasks than requested."""
    fix = "request fewer tasks or more families" if made else "fix or leave out this family"
    return GeneratorError(
        f"family {family} has only about {made:,} different tasks ({reason}); {fix}"
    )


def _draft(random: Random, family: Family, split: Split, difficulty: int | None) -> Draft:
    """Draw a design and a request that both belong to this split."""
    theme = random.choice(family.themes)
    design = _on_side(
        split,
        lambda: {d.name: _choice(random, d) for d in family.decisions},
        lambda design: _key(family, design),
    )
    most = len(design)
    hidden = hide(random, family, difficulty or random.randint(min(FEWEST_HIDDEN, most), most))

    def words() -> tuple[dict[str, str], str]:
        says = {
            name: _says(random, theme, choice, name in hidden) for name, choice in design.items()
        }
        stated = [said for name, said in says.items() if name not in hidden]
        return says, _request(random, family, theme, stated)

    says, request = _on_side(split, words, lambda drawn: drawn[1])
    return Draft(
        family=family, theme=theme, design=design, says=says, hidden=hidden, request=request
    )


def _says(random: Random, theme: Theme, choice: Choice, hidden: bool) -> str:
    """Return a sentence that states a choice.

    The wording is random if `hidden`. Otherwise, it is the first wording, which is the clearest.
    """
    wordings = choice.option.says
    return statement(random.choice(wordings) if hidden else wordings[0], theme, choice)


def _on_side(split: Split, draw: Callable[[], Drawn], written: Callable[[Drawn], str]) -> Drawn:
    """Return the first result of `draw` that belongs to this split.

    The text `written(result)` determines the split of a result (`colbench_tasks.splits.side`). Raises GeneratorError
    after `DRAWS` draws.
    """
    for _ in range(DRAWS):
        drawn = draw()
        if side(written(drawn)) == split:
            return drawn
    raise GeneratorError(
        f"{DRAWS} designs or requests were drawn, but none belongs to the {split} split"
    )


def _key(family: Family, design: Design) -> str:
    """Return a key that two tasks of a family share if they have the same design, even if theme and wording differ."""
    choices = (
        f"{d.name} {d.options.index(design[d.name].option)} {design[d.name].value!r}"
        for d in family.decisions
    )
    return f"{family.name}: {', '.join(choices)}"


def hide(random: Random, family: Family, number: int) -> frozenset[str]:
    """Draw `number` decisions to hide, or more (up to all) if guesses would be right too often (`GUESSED`)."""
    for size in range(number, len(family.decisions)):
        groups = [
            group
            for group in combinations(family.decisions, size)
            if prod(map(_guessed, group)) <= GUESSED
        ]
        if groups:
            return frozenset(decision.name for decision in random.choice(groups))
    return frozenset(decision.name for decision in family.decisions)


def _guessed(decision: Decision) -> float:
    """Return the probability with which the most likely choice of a decision is drawn."""
    return 1 / len(decision.options) / min(len(option.choices()) for option in decision.options)


def _hidden(random: Random, draft: Draft) -> Hidden:
    reference = draft.family.source(draft.theme, draft.design)
    calls = prove(random, draft.family, draft.theme, draft.design)
    return Hidden(
        reference=reference,
        tests=tuple(expression(draft.theme["function"], arguments) for arguments in calls),
        information=reference,
        facts=tuple(_fact(draft, decision) for decision in draft.family.decisions),
    )


def _choice(random: Random, decision: Decision) -> Choice:
    return random.choice(random.choice(decision.options).choices())


def _request(random: Random, family: Family, theme: Theme, stated: list[str]) -> str:
    parts = [fill(random.choice(wordings), theme) for wordings in family.requests]
    if stated:
        parts += [random.choice(STATED), *stated]
    head = family.signature(theme)
    return " ".join([*parts, random.choice(CLOSINGS), f"The signature of the function is: {head}"])


def _fact(draft: Draft, decision: Decision) -> Fact:
    topics, examples = (
        tuple(fill(text, draft.theme) for text in texts)
        for texts in (decision.topics, (*decision.asks, *decision.examples))
    )
    return Fact(
        name=decision.name,
        topics=topics,
        examples=examples,
        statement=draft.says[decision.name],
        stated=decision.name not in draft.hidden,
    )


def expression(function: str, arguments: Arguments) -> str:
    """Return a call with literal arguments as Python source."""
    return f"{function}({', '.join(map(repr, arguments))})"


def mutants(family: Family, design: Design) -> Iterator[tuple[str, Design]]:
    """Yield pairs of a decision's name and a design that differs from `design` in exactly this decision.

    The changed decision has either another option, with that option's first value, or the same option with the next
    smaller or larger value.
    """
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
    """Return the arguments of ten calls that together distinguish the design from each of its mutants.

    The calls return at least `DISTINCT_OUTPUTS` different values. Raises GeneratorError if no such calls are found; if
    a decision changes no output, the error names that decision.
    """
    reference = family.function(theme, design)
    values = {name: choice.value for name, choice in design.items()}
    lacking = ""
    for _ in range(5):
        rivals = [(name, family.function(theme, m)) for name, m in mutants(family, design)]
        pool = (family.draw(random, values) for _ in range(DRAWS))
        calls, needed = _telling(reference, rivals, pool)
        if not rivals and needed <= CALLS <= len(calls):
            calls = calls[:CALLS]
            random.shuffle(calls)
            if len({repr(reference(*call)) for call in calls}) >= DISTINCT_OUTPUTS:
                return calls
        lacking = (
            f"no random call returns another value if `{rivals[0][0]}` is decided otherwise"
            if rivals
            else f"random calls or their values are too similar, or more than {CALLS} calls are needed"
        )
    raise GeneratorError(f"{family.name}: no test calls found for the design {values}: {lacking}")


def _telling(
    reference: Callable[..., Any],
    rivals: list[tuple[str, Callable[..., Any]]],
    pool: Iterable[Arguments],
) -> tuple[list[Arguments], int]:
    """Return distinct calls from the pool, and how many of them distinguish the reference from a rival.

    `rivals`: pairs of a changed decision's name and the function with this change. A rival is removed from the list as
    soon as a call distinguishes it from the reference. The distinguishing calls come first in the result, then calls
    with new outputs, then the others.
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
