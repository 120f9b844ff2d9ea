"""The recipe for new backend tasks: the required form of a reply, and the detection of near duplicates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from colbench.interfaces import RejectedError
from colbench.task import Task, read_tasks, task_from_row
from colbench_tasks.synthesis.duplicates import (
    FUNCTIONS,
    NearDuplicates,
    code_shingles,
    minhash,
    request_shingles,
)
from colbench_tasks.synthesis.recipe import LONGEST_TEXT, BackendRecipe

REFERENCE = """def boat_fee(minutes, member):
    fee = -(-minutes // 20) * 350
    if member:
        fee = fee * 3 // 4
    return min(fee, 2400)
"""
DRAFT = {
    "request": "We lend boats. Tell me what somebody owes in cents, from minutes and membership.",
    "signature": "def boat_fee(minutes, member)",
    "reference": REFERENCE,
    "calls": [f"boat_fee({minutes}, {minutes % 2 == 0})" for minutes in range(5, 205, 20)],
}


def read(**changes):
    return BackendRecipe().read(json.dumps({**DRAFT, **changes}))


def reason(reply):
    with pytest.raises(RejectedError) as caught:
        BackendRecipe().read(reply)
    return caught.value.reason, caught.value.detail


def reason_of(**changes):
    return reason(json.dumps({**DRAFT, **changes}))


def test_a_reply_becomes_a_task_whose_request_ends_with_the_signature():
    task = read()
    assert (
        task.request == f"{DRAFT['request']} The signature of the function is: {DRAFT['signature']}"
    )
    assert task.hidden.reference == REFERENCE.strip()
    assert list(task.hidden.tests) == DRAFT["calls"]
    assert task.function_name == "boat_fee"


@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```", "<think>a boat</think>\n\n{}", " {}\n"])
def test_the_json_may_be_in_a_code_fence_or_follow_thoughts(form):
    assert BackendRecipe().read(form.replace("{}", json.dumps(DRAFT))) == read()


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot.",
        f"Here it is: {json.dumps(DRAFT)}",
        json.dumps(DRAFT)[:-5],
        json.dumps([DRAFT]),
        json.dumps({**DRAFT, "calls": "boat_fee(1, True)"}),
        json.dumps({**DRAFT, "hint": "ask about members"}),
        json.dumps({key: value for key, value in DRAFT.items() if key != "signature"}),
        json.dumps({**DRAFT, "request": "  "}),
        json.dumps({**DRAFT, "reference": REFERENCE + "#" * 10_000}),
    ],
)
def test_a_reply_that_is_not_the_required_json_is_malformed(reply):
    assert reason(reply)[0] == "malformed"


@pytest.mark.parametrize(
    "changes",
    [
        {"reference": "def boat_fee(minutes, member)\n    return 1"},
        {"reference": "import math\n" + REFERENCE},
        {"reference": REFERENCE + "\nRATE = 350"},
        {"reference": "boat_fee = lambda minutes, member: minutes"},
        {"reference": REFERENCE.replace("def boat_fee", "async def boat_fee")},
        {"reference": REFERENCE.replace("boat_fee", "ship_fee")},
        {"reference": REFERENCE.replace("(minutes, member)", "(minutes, guest)")},
        {"reference": REFERENCE.replace("(minutes, member)", "(minutes, member=False)")},
        {"reference": REFERENCE.replace("(minutes, member)", "(minutes, *member)")},
        {"reference": "(" * 5_000 + ")" * 5_000},
        {"signature": "boat_fee(minutes, member)"},
        {"signature": "def boat_fee(minutes, member=True)"},
        {"signature": "def boat_fee(minutes, member): return 5\nx = 1"},
        {"signature": ""},
    ],
)
def test_a_reference_must_be_one_function_with_the_given_signature(changes):
    assert reason_of(**changes)[0] == "not_a_function"


@pytest.mark.parametrize(
    "signature",
    ["def boat_fee(minutes: int, member: bool) -> int", "def boat_fee(minutes, member):"],
)
def test_a_signature_may_have_annotations_and_a_colon(signature):
    assert read(signature=signature).request.endswith(signature.removesuffix(":"))


@pytest.mark.parametrize(
    "last",
    [
        "boat_fee(5,False)",
        "boat_fee(member=False, minutes=5)",
        "boat_fee(5)",
        "boat_fee(5, True, 1)",
        "boat_fee(5, minutes=5)",
        "boat_fee(minutes=5, guest=True)",
        "boat_fee(*[5, True])",
        "boat_fee(**{'minutes': 5, 'member': True})",
        "boat_fee(2 + 3, True)",
        "boat_fee(open('x'), True)",
        "ship_fee(5, True)",
        "boat_fee(5, True) + 1",
        "boat_fee(5, True); boat_fee(6, True)",
        "boat_fee(",
        "boat_fee(" + "[" * 9_000 + "]" * 9_000 + ", True)",
    ],
)
def test_calls_must_be_distinct_and_valid_with_literal_arguments(last):
    calls = DRAFT["calls"]
    assert reason_of(calls=[*calls[:-1], last])[0] == "bad_calls"


def test_invalid_python_is_reported_with_the_part_that_contains_it():
    for changes, part in (
        ({"reference": "def boat_fee("}, "the reference"),
        ({"signature": "boat fee"}, "the signature"),
        ({"calls": [*DRAFT["calls"][:-1], "boat_fee("]}, "the call boat_fee("),
    ):
        assert reason_of(**changes)[1].startswith(f"{part} is not valid Python: ")


@pytest.mark.parametrize("number", [0, 9, 11])
def test_a_reply_must_have_exactly_ten_calls(number):
    calls = [f"boat_fee({minutes}, True)" for minutes in range(number)]
    assert reason_of(calls=calls) == ("bad_calls", f"there are {number} calls, not 10")


def test_the_prompt_has_the_start_of_the_text_and_the_schema_has_four_fields():
    recipe = BackendRecipe()
    system, user = recipe.messages("x" * 10_000)
    assert system.content == recipe.prompt
    assert user.content.count("x") == LONGEST_TEXT + "The text".count("x")
    assert set(recipe.schema["properties"]) == set(recipe.schema["required"]) == set(DRAFT)
    assert recipe.schema["additionalProperties"] is False


def backend(request: str, reference: str, name: str = "one") -> Task:
    row = {
        "problem_description": request,
        "ground_truth": reference,
        "test_cases": {"test1": "f()"},
    }
    return task_from_row({**row, "id": name})


def test_requests_are_compared_by_their_runs_of_three_words():
    one = request_shingles("the cat sat on the mat. The signature of it: def f(a)")
    two = request_shingles("The cat sat on a mat! The signature of it: def g(b)")
    tail = {("the", "signature", "of"), ("signature", "of", "it"), ("mat", "the", "signature")}
    same = tail | {("the", "cat", "sat"), ("cat", "sat", "on")}
    assert one & two == same
    assert len(one | two) == len(same) + 2 * 3


def test_code_shingles_ignore_names_layout_comments_and_annotations():
    one = "def fee(minutes, member):\n    'What it costs.'\n    total: int = minutes * 3  # rate\n    return total"
    two = "def toll(a: int, b: bool) -> int:\n  x = (a * 3)\n\n  return x"
    other = "def toll(a, b):\n  x = a * 4\n  return x"
    assert code_shingles(one) == code_shingles(two)
    assert code_shingles(one) != code_shingles(other)


def test_a_near_duplicate_is_found_by_its_request_or_by_its_reference():
    known = NearDuplicates()
    request = "We lend boats on the lake and I want to know what each of the guests owes us"
    known.add(backend(f"{request} def boat_fee(a, b)", REFERENCE, "boats"))
    known.add(task_from_row({"problem_description": request, "ground_truth": "<p>", "id": "page"}))
    renamed = REFERENCE.replace("minutes", "n").replace("member", "m").replace("boat_fee", "f")
    like = known.like(backend(f"{request} today def f(x)", "def f(x): return x"))
    assert like == "the request has a similarity of 94% to that of boats"  # 15 of 16 runs
    assert known.like(backend("Something else def f(n, m)", renamed)) == (
        "the reference has a similarity of 100% to that of boats"
    )
    assert known.like(backend("Something else def f(n)", "def f(n): return n")) == ""


@pytest.mark.parametrize("common", [0, 20, 50, 80, 100])
def test_minhash_estimates_jaccards_index(common):
    one = frozenset((f"word{n}",) for n in range(100))
    two = frozenset((f"word{n}",) for n in range(100 - common, 200 - common))
    jaccard = common / (200 - common)
    agreed = (minhash(one) == minhash(two)).sum() / FUNCTIONS
    assert agreed == pytest.approx(jaccard, abs=4 * (jaccard * (1 - jaccard) / FUNCTIONS) ** 0.5)


def test_the_index_finds_the_same_duplicates_as_all_pairwise_comparisons(official_backend: Path):
    tasks = read_tasks(official_backend, limit=150)
    known, seen, hits = NearDuplicates(), [], 0
    for task in tasks:
        shingles = request_shingles(task.request), code_shingles(task.hidden.reference)
        near = any(
            len(a & b) / len(a | b) >= limit
            for earlier in seen
            for a, b, limit in zip(shingles, earlier, (0.5, 0.8), strict=True)
        )
        assert bool(known.like(task)) == near
        hits += near
        known.add(task)
        seen.append(shingles)
    assert hits
