"""The leak audit, compared with shares counted manually."""

from __future__ import annotations

import pytest

from colbench.leaks import audit, audit_turns
from colbench.rollout import Leak, Turn
from colbench.task import Fact, Hidden, Task

REQUEST = "Write a fare function. def fare(distance, night)"
REFERENCE = """\
def fare(distance, night):
    base_fee = 4
    total_fare = base_fee + 2.5 * distance
    if night:
        total_fare = total_fare * 1.2
        label = 'night rate'
    return total_fare
"""
# Hidden: identifiers base_fee, total_fare, label; numbers 4, 2.5, 1.2; text "night rate".


def task(reference: str = REFERENCE, request: str = REQUEST, domain: str = "backend") -> Task:
    return Task(id="t", domain=domain, request=request, hidden=Hidden(reference=reference))


def leak(question: str, reply: str, of: Task | None = None) -> Leak:
    return audit(of or task(), question, reply)


def test_an_uninformative_reply_leaks_nothing() -> None:
    assert leak("What is the fee?", "I don't know.") == Leak(identifiers=0, literals=0, ngrams=0)


def test_identifiers_count_as_written_and_as_words() -> None:
    assert leak("How much?", "The base fee is what you start with.").identifiers == 1 / 3
    assert leak("How much?", "Use base_fee and total_fare.").identifiers == 2 / 3


def test_identifiers_in_the_request_are_not_hidden() -> None:
    assert leak("How?", "Take the fare, the distance and the night.").identifiers == 0


def test_items_named_in_the_question_are_not_leaked() -> None:
    reply = "The base fee is 4."
    assert leak("What is the base fee, 4 or 5?", reply) == Leak(identifiers=0, literals=0, ngrams=0)
    assert leak("What is the base fee?", reply).literals == 1 / 4


@pytest.mark.parametrize("reply", ["20% more", "you add 20 percent", "times 1.2", "120 per cent"])
def test_numbers_are_compared_by_value_also_as_percentages(reply: str) -> None:
    assert leak("And at night?", reply).literals == 1 / 4


def test_a_number_is_not_found_inside_another() -> None:
    assert leak("How much?", "It is 14, 2.55 or 41.").literals == 0


def test_a_string_leaks_only_if_all_its_words_appear_in_order() -> None:
    assert leak("Which label?", "It says “Night Rate” then.").literals == 1 / 4
    assert leak("Which label?", "The rate at night.").literals == 0


def test_quoting_the_code_leaks_its_ngrams() -> None:
    small = task("def f(a):\n    b = a + 3\n    return b\n", "def f(a)")
    # 13 tokens (def f ( a ) : b = a + 3 return b), so 10 runs of four; the request holds the first two.
    assert leak("?", "b = a + 3", small).ngrams == 2 / 8
    assert leak("?", small.hidden.reference, small) == Leak(identifiers=0, literals=1, ngrams=1)


def test_a_reply_with_the_whole_reference_leaks_everything() -> None:
    assert leak("?", REFERENCE) == Leak(identifiers=1, literals=1, ngrams=1)


def test_turns_add_up_leaks_and_count_each_item_once() -> None:
    turns = [
        Turn(raw="", said="What is the base fee?", human="The base fee is 4."),
        Turn(raw="", said="And at night?", human="Add 20 percent to base fee and total fare, 4."),
        Turn(raw="", said="I WANT TO ANSWER:"),
    ]
    audited = audit_turns(task(), turns)
    assert [turn.leak and turn.leak.literals for turn in audited] == [1 / 4, 1 / 4, None]
    assert [turn.leak and turn.leak.identifiers for turn in audited] == [0, 1 / 3, None]


@pytest.mark.parametrize("reference", ["def (", "\0", "(" * 5000, "", "x = '''", "9" * 5000])
def test_a_malformed_reference_can_be_audited(reference: str) -> None:
    assert leak("?", "nothing", task(reference)).ngrams == 0


def test_a_reference_that_is_not_valid_python_is_read_by_its_tokens() -> None:
    broken = task("def f(:\n    rate_now = 'night bus' + 7", "r")
    # Identifiers f (a single letter, left out) and rate_now; literals 7 and "night bus".
    assert leak("?", "The rate now is 7.", broken) == Leak(identifiers=1, literals=0.5, ngrams=0)


def test_a_page_leaks_classes_visible_texts_and_tokens() -> None:
    page = '<body class="bg-red"><h1 class="big">Our Menu</h1><p>Soup</p></body>'
    design = task(page, "A page with soup", "frontend")
    found = leak("What is wrong?", "The heading should read Our Menu, and be big.", design)
    assert (found.identifiers, found.literals, found.ngrams) == (1 / 2, 1, 0)


def with_facts() -> Task:
    facts = (
        Fact(name="fee", topics=("base fee", "start"), statement="You start with 4."),
        Fact(name="night", topics=("night", "late"), statement="At night it is 20 percent more."),
    )
    hidden = Hidden(reference=REFERENCE, facts=facts)
    return Task(id="t", domain="backend", request=REQUEST, hidden=hidden)


def test_a_fact_that_was_asked_for_is_not_a_leak() -> None:
    assert leak("What does it start at?", "You start with 4.", with_facts()).literals == 0
    assert (
        leak(
            "Is the nightly price higher?", "At night it is 20 percent more.", with_facts()
        ).literals
        == 0
    )


def test_unrequested_facts_in_a_reply_are_a_leak() -> None:
    reply = "You start with 4, and at night it is 20 percent more."
    assert leak("What does it start at?", reply, with_facts()).literals == 1 / 4
    assert leak("Hello?", reply, with_facts()).literals == 2 / 4


TOPICS = ("cheap minimum", "", "fee fee", "the rate", "a a a", "distance rate fee")


@pytest.mark.parametrize(
    "question",
    [
        "What is the fee?",
        "A minimum rate?",
        "cheapest minimum",
        "distances, rates and fees",
        "",
        "a",
    ],
)
@pytest.mark.parametrize("topics", [TOPICS[:1], TOPICS[2:], TOPICS[3:], TOPICS[5:], TOPICS])
def test_a_fact_is_asked_for_if_a_question_has_all_stems_of_a_topic(
    question: str, topics: tuple[str, ...]
) -> None:
    """Compare the audit with the definition: the content of a fact that was asked for is not a leak."""
    fact = Fact(name="f", topics=topics, statement="It is 2.5 a distance, 1.2 at night.")
    hidden = Hidden(reference=REFERENCE, facts=(fact,))
    of = Task(id="t", domain="backend", request=REQUEST, hidden=hidden)

    def stems(text: str) -> set[str]:
        return {word.strip("?,")[:5] for word in text.lower().split()}

    asked = any(stems(topic) <= stems(question) for topic in topics)
    assert (leak(question, "It is 2.5.", of).literals == 0) == asked
