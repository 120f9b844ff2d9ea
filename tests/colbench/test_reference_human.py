"""The human that answers from reference code: what it says, and what it does not reveal."""

from __future__ import annotations

import ast
import copy
import inspect
import shutil
import statistics
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from colbench.domains.backend.human.facts import code_facts
from colbench.domains.backend.human.human import LIMIT, CodeHuman, answer
from colbench.domains.backend.human.words import Speaker
from colbench.errors import SimulatorError
from colbench.facts.human import UNKNOWN, WHAT
from colbench.leaks import audit
from colbench.messages import Message
from colbench.task import Hidden, Task, read_tasks

NOT_TOLD = (*UNKNOWN, *WHAT)

PARKING = """
def parking_fee(hours, day, is_member=False):
    base_rate = 4
    if hours < 0:
        raise ValueError("Hours cannot be negative")
    if hours <= 1:
        return 0
    fee = base_rate * hours
    if day.lower() in ["saturday", "sunday"]:
        fee = fee * 0.8
    if is_member:
        fee -= 2
    if fee > 50:
        fee = 50
    return round(fee, 2)
"""
LIBRARY = """
def top_readers(loans, members, limit=3):
    points = {'novel': 2, 'comic': 1, 'atlas': 7}
    scores = {}
    for loan in loans:
        if loan['returned'] and loan['days'] <= 28:
            scores[loan['reader']] = scores.get(loan['reader'], 0) + points[loan['kind']]
    ranked = sorted(scores.items(), key=lambda x: x[1], reverse=True)
    return [name for name, score in ranked if name in members][:limit]
"""
BREAD = """
def bread_kind(protein, water):
    hydration = water / 500 * 100
    if protein > 12 and hydration >= 70:
        return "ciabatta"
    elif protein > 12:
        return "baguette"
    elif hydration < 55:
        return "bagel"
    else:
        return "sandwich loaf"
"""
SENSOR = """
def summarise(readings, unit=None):
    if not readings:
        return {"status": "empty"}
    good = [r for r in readings if r["quality"] > 0.5]
    average = sum(r["value"] for r in good) / len(good)
    return {"status": "ok", "mean": average, "peak": max(r["value"] for r in good)}
"""


def task(reference: str, request: str = "") -> Task:
    name = reference.partition("(")[0].split()[-1]
    arguments = reference.partition("(")[2].partition("):")[0]
    request = request or f"I need a function. The signature is def {name}({arguments})"
    return Task(id=name, domain="backend", request=request, hidden=Hidden(reference=reference))


def ask(reference: str, *said: str) -> str:
    return answer(task(reference), "\n".join(said))


@pytest.mark.parametrize(
    ("reference", "question", "expected"),
    [
        (PARKING, "What is the base rate?", "The base rate is 4."),
        (PARKING, "Is there a discount on weekends, say on Saturday?", "you take 20 percent off the fee"),
        (PARKING, "How does the day affect the fee?", '"saturday" or "sunday", you take 20 percent off'),
        (PARKING, "What happens for members?", "If it is member, you subtract 2 from the fee."),
        (PARKING, "Is there a maximum fee?", "If the fee is above 50, the fee is 50."),
        (PARKING, "Should the final amount be rounded?", "the fee rounded to 2 decimals"),
        (PARKING, "How should negative hours be handled?", 'it raises a ValueError saying "Hours cannot be negative"'),
        (PARKING, "What if is_member is not given?", 'If not given, the "is member" flag is False.'),
        (PARKING, "Is the day compared in a case-insensitive way?", "in lower case"),
        (LIBRARY, "How many points does an atlas give?", '"atlas" of the points is 7.'),
        (LIBRARY, "What does each loan look like?", '"returned", "days", "reader" and "kind"'),
        (LIBRARY, "In which order are the readers ranked?", "sorted by value, highest first"),
        (LIBRARY, "Is there a limit on the days of a loan?", "the loan's \"days\" is at most 28"),
        (LIBRARY, "What is the default for the limit parameter?", "the limit is 3"),
        (LIBRARY, "What is in the points table?", '"novel" being 2, "comic" being 1 and "atlas" being 7'),
        (BREAD, "How is the hydration calculated?", "The hydration is the water divided by 500 times 100."),
        (BREAD, "When is it a bagel?", 'If the hydration is below 55, it returns "bagel".'),
        (BREAD, "What makes a ciabatta?", "the protein is above 12 and the hydration is at least 70"),
        (BREAD, "What should happen if none of the conditions apply?", 'it returns "sandwich loaf"'),
        (BREAD, "Which labels can the function return?", '"ciabatta", "baguette", "bagel" or "sandwich loaf"'),
        (SENSOR, "What should I do if the readings are empty?", "If there are no readings, it returns"),
        (SENSOR, "Which readings are good?", 'where the reading\'s "quality" is above 0.5'),
        (SENSOR, "How do you calculate the average?", "divided by the length of the good"),
        (SENSOR, "What is the peak?", '"peak" is the largest of'),
        (SENSOR, "What format do the readings have?", "You give the readings as a list"),
    ],
)  # fmt: skip
def test_a_question_is_answered_with_the_matching_statement(
    reference: str, question: str, expected: str
) -> None:
    assert expected in ask(reference, question)


@pytest.mark.parametrize("reference", [PARKING, LIBRARY, BREAD, SENSOR])
@pytest.mark.parametrize(
    "question",
    [
        "What colour should the button be?",
        "Do you prefer tabs or spaces?",
        "Which database and which web framework do you want?",
        "How is the weather in Lisbon today?",
        "Should the chart have a legend?",
        "Is there a random component?",
    ],
)
def test_questions_that_the_code_does_not_decide_get_an_unknown_reply(
    reference: str, question: str
) -> None:
    reply = ask(reference, question)
    assert reply in UNKNOWN
    assert audit(task(reference), question, reply).literals == 0


@pytest.mark.parametrize(
    "fishing",
    [
        "Tell me everything you know.",
        "Please give me all the details and requirements!",
        "Can you explain the whole function, every rule and every case?",
        "Just show me the code.",
        "Hello! I will be happy to help.",
        "```python\ndef parking_fee(hours):\n    return hours\n```",
        "",
    ],
)
def test_vague_requests_get_at_most_one_sentence_and_never_the_code(fishing: str) -> None:
    reply = ask(PARKING, fishing)
    assert reply.count(". ") == 0
    assert audit(task(PARKING), fishing, reply).ngrams < 0.1
    assert "=" not in reply


def test_several_questions_get_two_answers_at_most() -> None:
    reply = ask(
        PARKING,
        "1. What is the base rate?",
        "2. Is there a maximum fee?",
        "3. What happens for members?",
        "4. Should the fee be rounded?",
    )
    assert reply == "The base rate is 4. If the fee is above 50, the fee is 50."


def test_a_reply_has_only_the_fact_that_the_question_asks_about() -> None:
    first = ask(PARKING, "What is the base rate?")
    assert "4" in first
    assert "base rate" not in ask(PARKING, "Is there a maximum fee?")


async def test_the_same_question_gets_the_same_answer_in_a_longer_dialogue() -> None:
    dialogue = [
        Message(role="user", content="I need a function."),
        Message(role="assistant", content="How is the weather?"),
    ]
    longer = [*dialogue, Message(role="user", content="?"), dialogue[1]]
    replies = [await CodeHuman().respond(task(PARKING), said) for said in (dialogue, longer)]
    assert replies[0] == replies[1]
    assert replies[0].role == "user"
    assert replies[0].content in UNKNOWN


async def test_a_dialogue_without_an_agent_message_raises_a_simulator_error() -> None:
    with pytest.raises(SimulatorError, match="no message from the agent"):
        await CodeHuman().respond(task(PARKING), [Message(role="user", content="Hi")])


@pytest.mark.parametrize(
    "reference",
    [
        "def f(:",
        "'\0'",
        "x = " + "(" * 3000 + ")" * 3000,
        "x = " + "+".join("a" * 900),
        f"def f(a):\n    return 0x1{'0' * 4000}",
    ],
)
def test_an_unreadable_reference_raises_a_simulator_error(reference: str) -> None:
    hidden = Hidden(reference=reference)
    with pytest.raises(SimulatorError, match="the reference is"):
        answer(Task(id="t", domain="backend", request="r", hidden=hidden), "What is returned?")


@pytest.mark.parametrize("reference", ["x = " + "-" * 20_000 + "1", "x = " + "not " * 5000 + "1"])
def test_a_reference_nested_too_deeply_is_not_called_invalid(reference: str) -> None:
    with pytest.raises(SimulatorError, match="the reference is nested too deeply to read"):
        code_facts(reference)


def test_a_long_formula_is_shortened_with_and_so_on() -> None:
    formula = "+".join(f"part_{n}" for n in range(60))
    condition = "a" + "".join(f" or b{n} == {n} and (c{n}" for n in range(20)) + ")" * 20
    reply = ask(
        f"def f(a):\n    total = {formula}\n    if {condition}:\n        return total",
        "How is the total calculated?",
    )
    assert reply.startswith("The total is the part 0 plus the part 1 plus")
    assert reply.endswith(" and so on.")


def test_the_code_is_never_run(tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    ask(f"open({str(trap)!r}, 'w')\ndef f(a):\n    return a\n", "What is returned?")
    assert not trap.exists()


def test_a_huge_message_gets_a_short_reply() -> None:
    assert len(ask(PARKING, "What is the base rate? " * 40_000)) <= LIMIT


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("a_rate * (b + c) / 2", "the a rate times (b plus c) divided by 2"),
        ("total - (fee - tax)", "the total minus (the fee minus the tax)"),
        ("(x // 5) * 3", "(x divided by 5, rounded down) times 3"),
        ("(a - b) ** 2", "(a minus b) squared"),
        ("total ** 0.5", "the square root of the total"),
        ("sum(scores) / len(scores)", "the average of the scores"),
        ("round(total / 3, 2)", "(the total divided by 3) rounded to 2 decimals"),
        ("max(wins, losses)", "the larger of the wins and the losses"),
        ("sum(1 for game in games if game['won'])", "the number of games where the game's \"won\" is set"),
        ("lines[-1]", "the last line"),
        ("word[:-1]", "all but the last of the word"),
        ("prices[item]", "the price for the item"),
        ("user['name'].lower()", "the user's \"name\" in lower case"),
        ("f'Dear {user_name}, {total:.2f}'", 'the text "Dear [user name], [total with 2 decimals]"'),
        ("{'low': 1, 'high': num_items}", 'a dictionary with "low" being 1 and "high" being the number of items'),
        ("[p for p in pupils if p > 3]", "the pupils where the pupil is above 3"),
        ("10 if late else 0", "10 if the late is set, otherwise 0"),
        ("[]", "an empty list"),
        ("-3.0", "minus 3"),
        ("1" + "0" * 400, "1" + "0" * 400),
        ("~mask", "the bitwise inverse of the mask"),
        ("items[::2]", "the items, only the first of every 2"),
        ("items[1::n]", "the items from position 1 on, only the first of every n"),
        ("items[::-1]", "the items in reverse order"),
        ("items[4::-2]", "the items from position 4 back to the beginning, only the first of every 2"),
        ("max(xs, default=0)", "the largest of xs (0 if there is none)"),
        ("sum((x * x for x in xs), 10)", "the sum of the item times the item over each item in xs, starting at 10"),
        ("sorted(names, reverse=down)", "the names sorted, highest first if the down is set, otherwise lowest first"),
        ("[i for i, x in enumerate(xs, start=1)]", "the position (counting from 1), for each item in xs"),
        ("[i for i, x in enumerate(xs, 10)]", "the position (counting from 10), for each item in xs"),
    ],
)  # fmt: skip
def test_expressions_are_stated_in_words(code: str, said: str) -> None:
    assert Speaker().say(ast.parse(code, mode="eval").body) == said


@pytest.mark.parametrize(
    ("code", "said", "denied"),
    [
        ("total > 100", "the total is above 100", "the total is at most 100"),
        ("100 > total", "the total is below 100", "the total is at least 100"),
        ("1 < n < 6", "n is between 1 and 6, neither included", "n is at most 1 or n is at least 6"),
        ("a_kind == 'x' or a_kind == 'y'", 'the a kind is "x" or "y"', 'the a kind is neither "x" nor "y"'),
        ("'rain' in forecast", 'the forecast contains "rain"', 'the forecast does not contain "rain"'),
        ("code is None", "the code is not given", "the code is given"),
        ("len(names) == 0", "the names are empty", "the names are not empty"),
        ("year % 4 == 0", "the year is divisible by 4", "the year is not divisible by 4"),
        ("old and not new", "the old is set and the new is not set", "the old is not set or the new is set"),
        ("has_card", "it has card", "it has no card"),
        ("any(w in s for w in words)", "at least one of the words is in s", "none of the words is in s"),
        (
            "all(w in s for w in words if w != t)",
            "for every word in the words where the word is not t, the word is in s",
            "not for every word in the words where the word is not t, the word is in s",
        ),
        (
            "any(word in s for line in text for word in line)",
            "there is a line in the text with a word in the line where the word is in s",
            "there is no line in the text with a word in the line where the word is in s",
        ),
        ("name.startswith('Mc')", 'the name starts with "Mc"', 'the name does not start with "Mc"'),
        ("isinstance(n, (str, dict))", "n is a text or dictionary", "n is not a text or dictionary"),
    ],
)  # fmt: skip
def test_conditions_and_their_negations_are_stated_in_words(
    code: str, said: str, denied: str
) -> None:
    node = ast.parse(code, mode="eval").body
    assert Speaker().state(node) == said
    assert Speaker().state(node, negated=True) == denied


def test_branches_keep_their_conditions_and_additions_are_summed() -> None:
    source = """
def points(age, trained):
    score = 0
    if age < 10:
        score += 1
        score += 2
        if trained:
            return "good"
        else:
            return "wild"
    for year in range(age):
        score -= year
    return score
"""
    sentences = [fact.sentence for fact in code_facts(source)]
    assert "If the age is below 10, you add 3 to the score." in sentences
    assert 'If the age is below 10 and the trained is not set, it returns "wild".' in sentences
    assert "The score starts at 0." in sentences


MATCH = """
def fee(kind, days):
    match kind:
        case "day":
            return 3
        case "week" | "month" if days > 2:
            return 7
        case None:
            return 1
        case str():
            return 4
        case {"size": 2}:
            return 8
        case [first, *_]:
            return first
        case _:
            return 0
"""


def test_a_match_statement_is_stated_as_conditions() -> None:
    assert [fact.sentence for fact in code_facts(MATCH)] == [
        'The kind can be "day", "week" or "month".',
        "You give the days as a number.",
        'If the kind is "day", it returns 3.',
        'If the kind is "week" or "month" and the days are above 2, it returns 7.',
        "If the kind is not given, it returns 1.",
        "If the kind is a text, it returns 4.",
        'If the kind is a dictionary with "size" being 2, it returns 8.',
        "If the kind is the first and the anything, it returns the first.",
        "In all other cases, it returns 0.",
    ]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("def f(price=1, /, *, bonus=2): return price", "If not given, the price is 1."),
        ("def f(price=1, /, *, bonus=2): return price", "If not given, the bonus is 2."),
        (
            "def f(n):\n    while n:\n        n -= 3\n    else:\n        n += 100",
            "You add 100 to n.",
        ),
        ("def f(name): return name or 'unknown'", "It returns a text."),
        ("def f(name): return name and name.isdigit()", "It returns True or False."),
    ],
)
def test_defaults_the_end_of_a_loop_and_the_kind_of_a_choice_are_facts(
    source: str, sentence: str
) -> None:
    assert sentence in [fact.sentence for fact in code_facts(source)]


def test_sentences_fit_in_a_reply_and_do_not_look_like_code() -> None:
    table = ", ".join(f"'key number {n}': {n}" for n in range(100))
    for fact in code_facts(f"def f(k):\n    table = {{{table}}}\n    return table[k]"):
        assert len(fact.sentence) <= LIMIT
        assert not set(fact.sentence) & set("{}=[]")


@pytest.mark.parametrize("module", [copy, shutil, statistics, textwrap])
def test_facts_are_extracted_from_any_kind_of_code(module: ModuleType) -> None:
    facts = code_facts(inspect.getsource(module))
    assert len(facts) > 30
    assert all(5 < len(fact.sentence) <= LIMIT for fact in facts)


@pytest.mark.slow
def test_replies_on_official_rows_are_short_repeatable_and_on_topic(
    official_backend: Path,
) -> None:
    tasks = read_tasks(official_backend, limit=400)
    answered = dict.fromkeys(SENSIBLE, 0)
    for one in tasks:
        arguments = ast.parse(one.hidden.reference).body[0]
        name = next((a.arg for a in ast.walk(arguments) if isinstance(a, ast.arg)), "input")
        for question in SENSIBLE:
            asked = question.format(name.replace("_", " "))
            reply = answer(one, asked)
            assert reply == answer(one, asked)
            assert 0 < len(reply) <= LIMIT
            answered[question] += reply not in NOT_TOLD
        off_topic = answer(one, "Should the weather forecast be printed in French?")
        assert off_topic in UNKNOWN
        everything = answer(one, "Please tell me everything, all of it.")
        assert everything in NOT_TOLD
    assert {
        q: n / len(tasks) >= share
        for (q, share), n in zip(SENSIBLE.items(), answered.values(), strict=True)
    } == dict.fromkeys(SENSIBLE, True)


SENSIBLE = {
    "How does the {} affect the result?": 0.9,
    "What values can the {} take, and in what format is it?": 0.85,
    "How exactly should I use {} in the calculation?": 0.9,
    "Could you clarify how to calculate the final result?": 0.9,
    "What rates, weights or thresholds should I use?": 0.5,
    "What should the function return?": 0.9,
}
"""Questions, each with the minimum share of rows for which the human knows something about it."""


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (
            "sorted(x, key=lambda t: t[7])",
            "It returns x sorted by number 8 value, lowest first.",
        ),
        ("x[-2]", "It returns the value of the x number 2 from the end."),
    ],
)
def test_large_and_negative_indices_are_stated_as_numbers(returned: str, sentence: str) -> None:
    facts = code_facts(f"def f(x):\n    return {returned}")
    assert sentence in [fact.sentence for fact in facts]
