"""The rule-based agents: asking pays, guessing does not."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from colbench.errors import UserError
from colbench.facts.human import FactsHuman
from colbench.messages import Message
from colbench.task import Hidden, Task
from colbench_agents.blank import Blank
from colbench_agents.cheat import Cheat
from colbench_agents.interviewer import MARKER, Interviewer, recognize, stated
from colbench_agents.reading import read
from colbench_tasks.bundled import lines, load
from colbench_tasks.families import FAMILIES
from colbench_tasks.family import Choice, fill, statements
from colbench_tasks.generate import generate

TURNS = 10
FOREIGN = Task(
    id="foreign",
    domain="backend",
    request="I need help with eggs. The signature of the function is: def count_eggs(hens, days=7)",
    hidden=Hidden(reference="def count_eggs(hens, days=7):\n    return hens * days"),
)


async def talk(task: Task, agent: Any, human: Any = None) -> tuple[list[Message], str]:
    """Return the dialogue and the answer; the answer is empty if none came within TURNS turns."""
    dialogue = [Message(role="user", content=task.request)]
    for _ in range(TURNS):
        said = await agent.reply(tuple(dialogue))
        before, marker, code = said.content.partition(MARKER)
        if marker:
            assert before == ""
            return dialogue, code.strip()
        dialogue += [said, await (human or FactsHuman()).respond(task, [*dialogue, said])]
    return dialogue, ""


def outputs(code: str, task: Task) -> list[Any]:
    """Return the values of a task's calls; only for code that this project wrote."""
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    return [eval(call, dict(namespace)) for call in task.hidden.tests]


def solves(code: str, task: Task) -> bool:
    return outputs(code, task) == outputs(task.hidden.reference, task)


@pytest.mark.weekly
async def test_the_interviewer_solves_the_bundled_tasks_within_ten_turns() -> None:
    wins = []
    for task in load("backend"):
        dialogue, code = await talk(task, Interviewer())
        assert len(dialogue) // 2 + 1 <= TURNS
        wins.append(solves(code, task))
    assert sum(wins) / len(wins) >= 0.99


@pytest.mark.slow
async def test_the_guesser_answers_at_once_and_solves_almost_no_task() -> None:
    wins = []
    for task in load("backend"):
        dialogue, code = await talk(task, Interviewer(max_questions=0))
        assert len(dialogue) == 1
        wins.append(solves(code, task))
    assert sum(wins) / len(wins) <= 0.05


@pytest.mark.weekly
def test_the_best_constant_guess_per_decision_solves_almost_no_task() -> None:
    """Answer with what the request states, and otherwise with the most frequent choice in the training set."""
    usual: dict[str, Counter[Any]] = defaultdict(Counter)
    for family in FAMILIES.values():
        for task in generate(family, 40, "train"):
            for name, choice in chosen(task).items():
                usual[f"{family.name}.{name}"][choice] += 1
    wins = []
    for task in load("backend"):
        family, theme = recognize(task.request) or pytest.fail(task.request)
        design = {
            decision.name: usual[f"{family.name}.{decision.name}"].most_common(1)[0][0]
            for decision in family.decisions
        }
        design |= stated(task.request, family, theme)
        wins.append(solves(family.source(theme, design), task))
    assert sum(wins) / len(wins) <= 0.05


def chosen(task: Task) -> dict[str, Choice]:
    """Return the design of a task, read from the statements of its facts."""
    family, theme = recognize(task.request) or pytest.fail(task.request)
    return {
        decision.name: {words: choice for choice, words in statements(decision, theme)}[
            fact.statement
        ]
        for decision, fact in zip(family.decisions, task.hidden.facts, strict=True)
    }


def test_only_the_stated_facts_are_read_from_a_request() -> None:
    for task in load("backend"):
        family, theme = recognize(task.request) or pytest.fail(task.request)
        known = {fact.name for fact in task.hidden.facts if fact.stated}
        design = chosen(task)
        assert stated(task.request, family, theme) == {name: design[name] for name in known}


@pytest.mark.weekly
async def test_a_forbidden_question_loses_only_tasks_with_an_unusual_choice() -> None:
    for task in load("backend")[::5]:
        family, design = FAMILIES[task.family], chosen(task)
        for fact in task.hidden.facts:
            if not fact.stated:
                _, code = await talk(task, Interviewer(never_asks=fact.name))
                guessed = design[fact.name] == family.usual()[fact.name]
                assert solves(code, task) == guessed, (task.id, fact.name)


async def test_fewer_questions_solve_fewer_tasks() -> None:
    rates = []
    for most in (0, 3, 9):
        tasks = load("backend")[:76]
        answers = [(await talk(task, Interviewer(max_questions=most)))[1] for task in tasks]
        rates.append(sum(map(solves, answers, tasks)) / len(tasks))
    assert rates[0] < 0.1
    assert rates[1] < 0.5
    assert rates[2] > 0.95


async def test_leaves_skips_that_many_questions_which_vary_by_request() -> None:
    left = Counter()
    for task in generate(FAMILIES["grading"], 8, "leaves"):
        asked, _ = await talk(task, Interviewer())
        fewer, _ = await talk(task, Interviewer(leaves=2))
        assert len(fewer) == len(asked) - 4
        left.update({said.content for said in asked} - {said.content for said in fewer})
    assert len(left) > 4  # the skipped questions vary by request


async def test_the_cheat_asks_like_the_interviewer_and_answers_with_the_reference(
    tmp_path: Path,
) -> None:
    tasks = generate(FAMILIES["grading"], 3, "cheat")
    source = tmp_path / "tasks.jsonl"
    source.write_bytes(lines(tasks))
    for task in tasks:
        asked, code = await talk(task, Cheat(tasks=str(source), leaves=2))
        assert asked == (await talk(task, Interviewer(leaves=2)))[0]
        assert code == task.hidden.reference.strip()


def test_every_sentence_of_every_choice_is_read_as_that_choice() -> None:
    for family in FAMILIES.values():
        for decision in family.decisions:
            wordings = list(statements(decision, family.themes[0]))
            for choice, words in wordings:
                assert read(wordings, f"{words} I don't know the rest.") == choice


def test_unrelated_words_are_read_as_no_choice() -> None:
    for family in FAMILIES.values():
        for decision in family.decisions:
            for words in ("I don't know.", "What exactly do you want to know?", ""):
                assert read(statements(decision, family.themes[0]), words) is None


async def test_a_question_that_is_not_understood_is_repeated_in_other_words() -> None:
    class Deaf:
        async def respond(self, task: Task, dialogue: Any) -> Message:
            return Message(role="user", content="I don't know.")

    task = next(task for task in load("backend") if task.difficulty == 5)
    dialogue, code = await talk(task, Interviewer(), Deaf())
    asked = [message.content for message in dialogue[1::2]]
    assert len(asked) == len(set(asked)) == 9
    assert code == (await talk(task, Interviewer(max_questions=0)))[1]


async def test_the_interviewer_depends_only_on_the_dialogue() -> None:
    task = load("backend")[5]
    dialogue, _ = await talk(task, Interviewer())
    for length in range(1, len(dialogue), 2):
        again = await Interviewer().reply(dialogue[:length])
        assert again == await Interviewer().reply(dialogue[:length])
        if length < len(dialogue) - 1:
            assert again == dialogue[length]


async def test_the_interviewer_asks_and_answers_with_the_right_name_on_other_tasks() -> None:
    class Person:
        async def respond(self, task: Task, dialogue: Any) -> Message:
            return Message(role="user", content="It should return 7 for everybody.")

    dialogue, code = await talk(FOREIGN, Interviewer(), Person())
    assert len(dialogue) > 1
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    assert namespace["count_eggs"](3, days=2) == 7


@pytest.mark.parametrize(
    "request_", ["", "def", "def (", "Write me something. def 1x(a)", "ÄÖ def f("]
)
async def test_odd_requests_get_code_that_compiles(request_: str) -> None:
    reply = await Interviewer(max_questions=0).reply([Message(role="user", content=request_)])
    compile(reply.content.removeprefix(MARKER).strip(), "<answer>", "exec")


def test_every_signature_belongs_to_one_theme() -> None:
    signatures = [f.signature(theme) for f in FAMILIES.values() for theme in f.themes]
    assert len(signatures) == len(set(signatures))


def test_questions_contain_no_hidden_value() -> None:
    for family in FAMILIES.values():
        for decision in family.decisions:
            for question in decision.asks:
                assert "$value" not in question
                assert fill(question, family.themes[0]).endswith("?")


def test_an_unknown_decision_in_never_asks_is_a_user_error() -> None:
    with pytest.raises(UserError, match="never_asks: 'color' is not a decision of any"):
        Interviewer(never_asks="rounding,color")


@pytest.mark.parametrize("most", [-1, 2.5, "three", None])
def test_an_invalid_max_questions_is_a_user_error(most: Any) -> None:
    with pytest.raises(UserError, match="max_questions"):
        Interviewer(max_questions=most)


async def test_blank_gives_an_empty_answer_at_once() -> None:
    dialogue, code = await talk(FOREIGN, Blank())
    assert (len(dialogue), code) == (1, "")
