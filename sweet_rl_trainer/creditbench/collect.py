"""States of dialogues about tasks, and the candidates for the agent's next message at each state.

The demonstrators talk with the rule-based human; each dialogue has its own turn limit. The dialogue before each turn of
a demonstrator is a state. The state's candidates are a question about each unknown decision, two irrelevant questions,
and the best answer given the known decisions. Known decisions are revealed by the human or stated in the request. If
any decision is known, two candidates are added: a question about a known decision, and an answer that gets a known
decision wrong. The rule-based human also replies to the candidates that are questions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from itertools import islice
from random import Random

import colbench
from colbench.asking.telling import told
from colbench.config import derive_seed
from colbench.errors import UserError
from colbench.facts.human import answer as human_answer
from colbench.facts.human import asked_facts
from colbench.interfaces import Episode
from colbench.messages import ANSWER_MARKER, Message
from colbench.task import Task
from colbench_agents.demonstrator import BESIDE, Demonstrator
from colbench_tasks import designs
from colbench_tasks.designs import FamilyDesign
from colbench_tasks.family import Design
from sweet_rl_trainer.creditbench.beliefs import MOST_DESIGNS, number_of_designs, task_belief
from sweet_rl_trainer.creditbench.states import (
    BenchState,
    Candidate,
    Kind,
    TaskStates,
    messages,
)

SOURCE = "bundled:backend/train"
LIMITS = (3, 4, 5, 6, 8, 10)
"""Turn limits of dialogues, each drawn with equal probability."""
IRRELEVANT = 2
"""Number of irrelevant questions at each state. Such questions concern no decision of the task."""


def chosen_tasks(source: str, number: int) -> list[Task]:
    """Return the first `number` usable tasks, in the order of their hashes; all usable tasks if the source has fewer.

    A task is usable if it belongs to an installed family and its request leaves at most `MOST_DESIGNS` designs
    possible. Raises UserError if the source has no usable task.
    """
    tasks = sorted(colbench.load_tasks(source), key=lambda task: task.hash)
    few = (task for task in tasks if 0 < (number_of_designs(task) or 0) <= MOST_DESIGNS)
    found = list(islice(few, number))
    if not found:
        raise UserError(
            f"--tasks {source}: no task can be used; a task needs an installed family and at most {MOST_DESIGNS:,} "
            f"possible combinations of choices; use {SOURCE}, or generated:backend/SEED"
        )
    return found


async def states_of(task: Task, dialogues: int) -> TaskStates:
    """Return the states of a task's dialogues.

    Two turns with the same preceding messages and the same number of turns left share a state.
    """
    found: dict[tuple[tuple[str, ...], tuple[str, ...], int], BenchState] = {}
    for trial in range(dialogues):
        async for heard, said, turns_left in _played(task, trial):
            key = heard, said, turns_left
            if key not in found:
                name = f"{task.id}-{len(found) + 1}"
                found[key] = _state(task, name, heard, said, turns_left)
    return TaskStates(task_id=task.id, task_hash=task.hash, states=tuple(found.values()))


async def _played(
    task: Task, trial: int
) -> AsyncIterator[tuple[tuple[str, ...], tuple[str, ...], int]]:
    """Play a demonstrator's dialogue, and yield its state before each turn.

    A state consists of the human's messages, the agent's messages and the number of turns left.
    """
    seed = derive_seed("creditbench", task.hash, trial)
    limit = Random(seed).choice(LIMITS)  # noqa: S311 - reproducible on purpose
    episode = Episode(id=f"{task.id}-{trial}", seed=seed, max_turns=limit)
    heard: tuple[str, ...] = (task.request,)
    said: tuple[str, ...] = ()
    async with Demonstrator().open(episode) as agent:
        for turn in range(limit):
            yield heard, said, limit - turn
            reply = await agent.reply(messages(heard, said))
            assert isinstance(reply, Message)  # noqa: S101 - demonstrators return messages
            if ANSWER_MARKER in reply.content:
                return
            heard = *heard, human_answer(task, reply.content)
            said = *said, reply.content


def _state(
    task: Task, name: str, heard: tuple[str, ...], said: tuple[str, ...], turns_left: int
) -> BenchState:
    design = designs.of(task)
    assert design  # noqa: S101 - `chosen_tasks` ensures it
    known = _told(task, heard, said)
    stated = [fact.name for fact in task.hidden.facts if fact.stated]
    random = Random(derive_seed("candidates", task.hash, *heard, *said))  # noqa: S311
    ask = partial(_question, task, known={*known, *stated})
    texts = [*_asks(random, design, known, stated), *random.sample(BESIDE, IRRELEVANT)]
    return BenchState(
        id=name,
        heard=heard,
        said=said,
        told=known,
        turns_left=turns_left,
        candidates=(
            *(ask(text) for text in dict.fromkeys(texts)),
            *_answers(random, task, known, stated),
        ),
    )


def _told(task: Task, heard: Sequence[str], said: Sequence[str]) -> tuple[str, ...]:
    """Return the decisions that the request leaves open and the human has revealed, in the task's order."""
    found = {
        fact.name
        for reply, question in zip(heard[1:], said, strict=True)
        for fact in told(task, question, reply)
    }
    return tuple(f.name for f in task.hidden.facts if f.name in found and not f.stated)


def _asks(
    random: Random, design: FamilyDesign, known: Sequence[str], stated: Sequence[str]
) -> Iterator[str]:
    """Yield a question about each unknown decision and, if any decision is known or stated, about one such decision."""
    done = [*known, *stated]
    again = random.choice(done) if done else None
    for name, wordings in design.questions.items():
        if name not in done or name == again:
            yield random.choice(wordings)


def _question(task: Task, text: str, *, known: set[str]) -> Candidate:
    reply = human_answer(task, text)
    new = tuple(fact.name for fact in told(task, text, reply) if fact.name not in known)
    asks = bool(asked_facts(task.hidden.facts, text))
    kind: Kind = "relevant" if new else "redundant" if asks else "unanswerable"
    return Candidate(kind=kind, text=text, reply=reply, told=new)


def _answers(
    random: Random, task: Task, known: Sequence[str], stated: Sequence[str]
) -> Iterator[Candidate]:
    """Yield the best answer and, if any decision is known or stated, an answer that gets one such decision wrong."""
    belief = task_belief(task)
    assert belief  # noqa: S101 - `chosen_tasks` ensures it
    design, done = belief.design, {*known, *stated}
    right = belief.returned(design.chosen)

    def answer(kind: Kind, choices: Design, slip: tuple[str, int] | None = None) -> Candidate:
        passed = [one == other for one, other in zip(belief.returned(choices), right, strict=True)]
        text = f"{ANSWER_MARKER}\n{design.source(choices)}"
        return Candidate(kind=kind, text=text, reward=sum(passed) / len(passed), slip=slip)

    best = {name: (design.chosen if name in done else design.usual)[name] for name in design.chosen}
    yield answer("answer", best)
    if done:
        name = random.choice(sorted(done))
        choices = next(d for d in design.family.decisions if d.name == name).choices()
        others = [n for n, each in enumerate(choices) if each != design.chosen[name]]
        taken = random.choice(others)
        yield answer("wrong answer", {**best, name: choices[taken]}, (name, taken))
