"""The rule-based human for tasks with facts: it understands paraphrases and reveals no other facts."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from colbench.facts.human import (
    NO_CODE,
    REST_UNKNOWN,
    UNKNOWN,
    WHAT,
    FactsHuman,
    answer,
    questions,
)
from colbench.facts.words import stem
from colbench.messages import Message
from colbench.task import Fact, Hidden, Task
from colbench_tasks.bundled import SETS, load

HERE = Path(__file__).parent
TASKS = load("backend/test")[: 4 * len(SETS["backend/test"].families)]
"""Four tasks of each family."""
UNRELATED = (HERE / "unrelated.txt").read_text("utf-8").splitlines()
FISHING = (
    "Tell me everything.",
    "What are all the rules?",
    "Please list all the requirements in detail.",
    "What else should I know?",
    "Give me the full specification.",
    "Is there anything else?",
    "Can you describe the exact logic?",
    "Show me the reference implementation.",
    "Are there any special cases or edge cases?",
    "What exactly should the function do?",
    "Could you give me some examples?",
)
STALL = Task(
    id="stall",
    domain="backend",
    request="What does a customer pay at my stall? The signature of the function is: def pay(eggs)",
    hidden=Hidden(
        reference="def pay(eggs):\n    return 30 * eggs",
        tests=("pay(1)",),
        facts=(
            Fact(name="price", topics=("price", "cost of an egg"), statement="An egg is 30 cents."),
            Fact(name="box", topics=("box", "size of a box"), statement="A box holds 6 of them."),
            Fact(
                name="rebate",
                topics=("discount", "rebate"),
                statement="From 20 on, 5 percent are off.",
            ),
        ),
    ),
)


def paraphrases() -> dict[tuple[str, str], list[str]]:
    """Return questions worded differently from the topics, by family and fact."""
    found: dict[tuple[str, str], list[str]] = {}
    for line in (HERE / "paraphrases.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            family, fact = line.strip("[]").split(".")
            asked = found[family, fact] = []
        else:
            asked.append(line)
    return found


def given(task: Task, said: str) -> list[str]:
    """Return the names of the facts in the human's reply to a message."""
    reply = answer(task, said)
    return [fact.name for fact in task.hidden.facts if fact.statement in reply]


def test_a_paraphrased_question_gets_exactly_its_fact() -> None:
    asked = paraphrases()
    hits = [
        given(task, question) == [fact.name]
        for task in TASKS
        for fact in task.hidden.facts
        for question in asked.get((task.family, fact.name), ())
    ]
    assert len(hits) > 2000
    assert sum(hits) / len(hits) >= 0.98


@pytest.mark.weekly
def test_an_unrelated_question_gets_no_fact() -> None:
    leaks = [bool(given(task, question)) for task in TASKS for question in UNRELATED]
    assert len(leaks) > 10000
    assert sum(leaks) / len(leaks) <= 0.01


@pytest.mark.parametrize("fishing", FISHING)
def test_a_fishing_question_is_answered_with_a_counter_question(fishing: str) -> None:
    assert {answer(task, fishing) for task in TASKS} <= set(WHAT)


def test_a_fishing_question_full_of_topics_gets_one_fact_at_most() -> None:
    fishing = "Tell me everything about the price, the box, the discount and all other rules."
    assert len(given(STALL, fishing)) <= 1


def test_several_questions_get_two_facts_at_most_in_the_order_asked() -> None:
    said = "1. What about a discount?\n2. What is the price?\n3. How big is a box?"
    assert answer(STALL, said) == "From 20 on, 5 percent are off. An egg is 30 cents."


def test_two_questions_in_one_sentence_get_both_answers() -> None:
    assert given(STALL, "What is the price and how large is a box?") == ["price", "box"]


def test_the_reply_admits_an_unanswerable_second_question() -> None:
    said = "What is the price? Do you sell milk?"
    assert answer(STALL, said) == f"An egg is 30 cents. {REST_UNKNOWN}"


def test_replies_on_bundled_tasks_have_at_most_2_sentences_and_400_characters() -> None:
    for task in TASKS:
        asked = " ".join(f"What about the {fact.topics[0]}?" for fact in task.hidden.facts)
        reply = answer(task, asked)
        assert len(re.findall(r"[.?!](?=\s|$)", reply)) <= 2
        assert len(reply) <= 400


def test_a_question_that_refers_to_the_previous_sentence_is_understood() -> None:
    assert given(STALL, "One more thing about the discount. How is that handled?") == ["rebate"]


def test_text_before_a_colon_belongs_to_the_question() -> None:
    assert given(STALL, "The box: how large?") == ["box"]


def test_a_guessed_number_does_not_reveal_a_fact() -> None:
    assert given(STALL, "Is it 30?") == []
    assert given(STALL, "Is it 6?") == []


def test_statements_get_no_fact() -> None:
    assert answer(STALL, "I assume that the price is 10 and a box holds 12.") in WHAT
    assert answer(STALL, "Thank you!") in WHAT


@pytest.mark.parametrize(
    "said",
    [
        "```python\ndef pay(eggs):\n    return eggs * price\n```\nIs this right?",
        "def pay(eggs):\n    price = 30\n    return eggs * price\nDoes this look correct?",
        "Here you are:\n```\nprice = 30",
        "return total  # is there a discount?",
        "rate = 0.1  # is there a discount?",
    ],
)
def test_a_message_with_code_gets_the_no_code_reply(said: str) -> None:
    assert answer(STALL, said) == NO_CODE


@pytest.mark.parametrize(
    "said",
    [
        "When must the function\nreturn the discount?",
        "return format: is there a discount?\r\n",
        "import duties aside, is there a discount?",
    ],
)
def test_a_line_that_ends_with_a_question_mark_is_not_code(said: str) -> None:
    assert given(STALL, said) == ["rebate"]


@pytest.mark.parametrize("said", ["", "?", "   ", "???\n\n", "```", "\x00", "what " * 20000])
def test_odd_messages_get_a_short_reply(said: str) -> None:
    assert answer(STALL, said) in (*WHAT, NO_CODE)


@pytest.mark.parametrize("part", ["a? ", "\n", " ", "x", "```", "if a:\n", "and what ", "a = 1\n"])
@pytest.mark.usefixtures("soon")
def test_a_message_of_one_megabyte_is_answered_quickly(part: str) -> None:
    assert len(answer(STALL, part * (1_000_000 // len(part)))) < 100


def test_long_messages_are_not_kept_in_memory() -> None:
    answer(STALL, "Is there a minimum?")
    tracemalloc.start()
    for number in range(20):
        answer(STALL, f"{'x' * 1_000_000} What is the maximum of {number}?")
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 5_000_000


def test_unknown_replies_vary_but_stay_the_same_for_the_same_question() -> None:
    asked = [f"Do you sell {thing}?" for thing in ("milk", "cheese", "ham", "rope", "ink", "tea")]
    replies = [answer(STALL, question) for question in asked]
    assert set(replies) <= set(UNKNOWN)
    assert len(set(replies)) > 1
    assert replies == [answer(STALL, question.upper()) for question in asked]


def test_the_reply_depends_only_on_the_last_message() -> None:
    human = FactsHuman()
    asked = Message(role="assistant", content="How big is a box?")
    other = Message(role="assistant", content="What is the price?")
    one, two = (
        asyncio.run(human.respond(STALL, [Message(role="user", content=STALL.request), *said]))
        for said in ([asked], [other, asked])
    )
    assert one == two == Message(role="user", content="A box holds 6 of them.")


def test_questions_are_found_with_and_without_a_question_mark() -> None:
    said = "Thanks, that helps. Tell me the price. I see: is there a discount? Okay."
    assert questions(said) == ["Tell me the price.", "I see: is there a discount?"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("rounding", "rounded"), ("penalties", "penalty"), ("capped", "cap"), ("prices", "price")],
)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_the_first_question_in_a_process_is_matched_like_later_ones():
    asked = """
from colbench.facts.match import Matcher
matcher = Matcher([["What form does the result have?", "How should the output look?"]])
question = "Why do you demand to return?"
assert matcher.best(question) == matcher.best(question)
"""
    subprocess.run([sys.executable, "-c", asked], check=True)
