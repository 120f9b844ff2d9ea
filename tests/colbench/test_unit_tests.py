"""The backend scorer: default and official mode, tests that are left out, invalid answers, and runs of references."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio
from msgspec.structs import replace

from colbench.domains.backend.answers import MAX_ANSWER
from colbench.domains.backend.references import References
from colbench.domains.backend.scorer import UnitTestScorer
from colbench.sandbox import CallResult, CodeSandbox, Limits
from colbench.task import Hidden, Task

pytestmark = pytest.mark.asyncio(loop_scope="module")
DOUBLE = "def f(x):\n    return x * 2"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def box():
    async with CodeSandbox(2, limits=Limits(cpu_seconds=0.3)) as box:
        yield box


@pytest.fixture
def scorer(box):
    return UnitTestScorer(box)


def task(reference=DOUBLE, *calls):
    hidden = Hidden(reference=reference, tests=calls or ("f(1)", "f(2)", "f('a')", "f([])"))
    return Task(id="t", domain="backend", request="Write def f(x)", hidden=hidden)


async def values(scorer, answer, *of):
    scores = await scorer.score(task(*of), answer)
    return scores["default"].value, scores["official"].value


async def test_a_right_answer_passes_every_test_in_both_modes(scorer, box):
    scores = await scorer.score(task(), "```python\ndef f(y): return y + y\n```")
    for mode, score in scores.items():
        assert score.scorer == f"unit-tests/{mode}/2"
        assert (score.value, score.success, score.note) == (1.0, True, "")
        assert score.environment == box.environment
        assert [check.outcome for check in score.checks] == ["passed"] * 4
    assert [check.expected for check in score.checks] == ["2", "4", "'aa'", "[]"]


async def test_a_partly_right_answer_gets_partial_credit_and_detailed_checks(scorer):
    answer = """
def f(x):
    if x == 1: return 3
    if x == 2:
        while True: pass
    return x + x if isinstance(x, list) else x - x
"""
    score = (await scorer.score(task(), answer))["default"]
    assert (score.value, score.success) == (0.25, False)
    assert score.checks[1].outcome == "timeout"  # by the wall clock, on a loaded machine
    assert [
        (check.outcome, check.actual) for check in score.checks if check.outcome != "timeout"
    ] == [
        ("wrong", "3"),
        ("error", "TypeError: unsupported operand type(s) for -: 'str' and 'str'"),
        ("passed", "[]"),
    ]


@pytest.mark.parametrize(
    "answer",
    [
        "import math\ndef f(x): return math.prod([2]) * x",
        "def twice(x): return 2 * x\ndef f(x): return twice(x)",
        "FACTOR = 2\ndef f(x): return FACTOR * x",
        "def f(x, n=2): return x * 0 if n == 0 else x + f(x, n - 1)",
    ],
)
async def test_official_mode_hides_top_level_names_from_functions(scorer, answer):
    assert await values(scorer, answer, DOUBLE, "f(2)", "f(3)") == (1.0, 0.0)


@pytest.mark.parametrize(
    "answer",
    [
        "def f(x):\n    import math\n    return math.prod([2]) * x",
        "def f(x):\n    def twice(y): return 2 * y\n    return twice(x)",
        "FACTOR = 2\ndef f(x, factor=FACTOR): return factor * x",
        "def f(x: int) -> int:\n    return int(x) * 2",
    ],
)
async def test_official_mode_accepts_names_defined_inside_the_function(scorer, answer):
    assert await values(scorer, answer, DOUBLE, "f(2)", "f(3)") == (1.0, 1.0)


@pytest.mark.parametrize("annotation", ["int", "Node | None", "list[Node]"])
async def test_dataclasses_with_string_annotations_work_in_both_modes(scorer, annotation):
    answer = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\n"
        f"class Node:\n    value: {annotation}\ndef f(x, kind=Node):\n    return kind(x).value * 2"
    )
    assert await values(scorer, answer, DOUBLE, "f(2)", "f(3)") == (1.0, 1.0)


async def test_own_classes_cannot_be_compared_even_inside_a_loaded_module(scorer):
    reference = (
        "import enum, sys, types\nclass Color(enum.Enum):\n    RED = 1\n"
        "module = sys.modules.setdefault(__name__, types.ModuleType(__name__))\n"
        "module.Color = Color\ndef f(x):\n    return [Color, Color.RED][x]"
    )
    found = await scorer.validate(task(reference, "f(0)", "f(1)"))
    assert [call for call, _ in found.unscorable] == ["f(0)", "f(1)"]


@pytest.mark.parametrize(
    "text", ["import os", "import sys", "exit(", "sudo", "transformers", "argparse"]
)
async def test_official_mode_scores_0_for_a_banned_text(scorer, text):
    scores = await scorer.score(task(), f"{DOUBLE}  # {text}")
    assert scores["default"].value == 1.0
    assert scores["official"].value == 0.0
    assert scores["official"].note == f"the answer contains `{text}`"
    assert {check.outcome for check in scores["official"].checks} == {"skipped"}


async def test_none_matches_in_default_mode_but_never_in_official_mode(scorer):
    reference = "def f(x):\n    return None if x else 1"
    assert await values(scorer, reference, reference, "f(0)", "f(1)") == (1.0, 0.5)


async def test_equality_follows_python_and_nan_matches_in_default_mode_only(scorer):
    assert await values(
        scorer, "def f(x): return float(x)", "def f(x): return x", "f(1)", "f(True)"
    ) == (1.0, 1.0)
    nan = "def f(x): return float('nan')"
    assert await values(scorer, nan, nan, "f(1)") == (1.0, 0.0)


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        ("", "the answer is empty"),
        (" \n\t", "the answer is empty"),
        ("Here it is:\n```python\n\n```", "the answer's code block is empty"),
        ("x" * 10**6, f"the answer has 1000000 characters; at most {MAX_ANSWER} are run"),
        (
            "I do not know, sorry!",
            "the answer is not valid Python: SyntaxError: invalid syntax (<answer>, line 1)",
        ),
        (
            "\0",
            "the answer is not valid Python: SyntaxError: source code string cannot contain null bytes",
        ),
        ("\ud800", "the answer is not valid Python: UnicodeEncodeError"),
    ],
)
async def test_an_empty_or_invalid_answer_scores_0_with_a_note(scorer, answer, note):
    for score in (await scorer.score(task(), answer)).values():
        assert score.value == 0.0
        assert score.success is False
        assert score.note.startswith(note)
        assert len(score.checks) == 4


async def test_an_unclosed_fence_extends_to_the_end_in_both_modes(scorer):
    assert await values(scorer, f"Here it is:\n```python\n{DOUBLE}\n") == (1.0, 1.0)


@pytest.mark.parametrize(
    "answer",
    [
        "class Any:\n    def __eq__(self, other): return True\ndef f(x): return Any()",
        "class Any(str):\n    def __eq__(self, other): return True\ndef f(x): return Any('')",
        "class Meta(type):\n    def __eq__(self, other): return True\nclass Any(metaclass=Meta): pass\n"
        "def f(x): return Any",
    ],
)
async def test_an_object_that_equals_everything_matches_nothing(scorer, answer):
    assert await values(scorer, answer) == (0.0, 0.0)


@pytest.mark.parametrize(
    "body",
    [
        "random.random()",
        "time.time()",
        "str(uuid.uuid4())",
        "list({'a', 'b', 'c', 'd'})",
        "datetime.date.today().year",
    ],
)
async def test_a_call_that_is_not_reproducible_is_left_out_with_a_note(scorer, body):
    reference = f"def f(x):\n    import random, time, uuid, datetime\n    return {body} if x else 1"
    for score in (
        await scorer.score(task(reference, "f(0)", "f(1)"), "def f(x): return 1")
    ).values():
        assert (score.value, score.success) == (1.0, True)
        assert [check.outcome for check in score.checks] == ["passed", "unstable"]
        assert score.note == "1 of 2 tests left out: the reference is unstable there"


@pytest.mark.parametrize("body", ["1 / 0", "print", "(n for n in 'ab')", "[object()]"])
async def test_a_call_without_a_comparable_value_is_left_out_of_default_mode(scorer, body):
    reference = f"def f(x): return ({body}) if x else 1"
    scores = await scorer.score(task(reference, "f(0)", "f(1)"), "def f(x): return 1")
    assert [check.outcome for check in scores["default"].checks] == ["passed", "unscorable"]
    assert scores["default"].value == 1.0
    assert [check.outcome for check in scores["official"].checks] == ["passed", "wrong"]
    assert scores["official"].value == 0.5


class StalledOnce:
    """A sandbox on a machine that stalls during the first jobs: all of their calls time out."""

    def __init__(self, box):
        self.box = box
        self.runs = 0

    async def run(self, jobs):
        self.runs += 1
        results = await self.box.run(jobs)
        if self.runs > 1:
            return results
        late = CallResult(status="timeout")
        return [
            replace(each, calls={name: (late,) * len(found) for name, found in each.calls.items()})
            for each in results
        ]


async def test_a_reference_that_times_out_once_is_run_again(box):
    stalled = StalledOnce(box)
    (expected,) = await References(stalled).of(task("def f(x): return x", "f(3)"))
    assert (expected.standing, expected.shown, stalled.runs) == ("stable", "3", 2)


async def test_a_task_without_scorable_tests_is_not_scored(scorer):
    scores = await scorer.score(task("def f(x): return 1 / 0", "f(0)"), DOUBLE)
    assert (scores["default"].value, scores["default"].success) == (None, None)
    assert scores["default"].note == "1 of 1 test left out: the reference is unscorable there"


class CountingBox:
    """The real sandbox, which counts the jobs with a given source."""

    def __init__(self, box, source):
        self.box, self.source, self.count = box, source, 0
        self.environment = box.environment

    async def run(self, jobs):
        self.count += sum(job.source == self.source for job in jobs)
        return await self.box.run(jobs)

    async def run_one(self, job):
        return await self.box.run_one(job)


async def test_a_reference_runs_twice_regardless_of_the_number_of_answers(box):
    counting = CountingBox(box, DOUBLE)
    scorer = UnitTestScorer(counting)
    await asyncio.gather(*(scorer.score(task(), f"def f(x): return {n}") for n in range(20)))
    assert counting.count == 2


async def test_a_canceled_scoring_does_not_affect_the_others(scorer):
    scorings = [asyncio.create_task(scorer.score(task(), DOUBLE)) for _ in range(2)]
    await asyncio.sleep(0)
    scorings[0].cancel()
    assert (await scorings[1])["default"].value == 1.0


async def test_expected_values_are_not_in_the_process_of_the_candidate(scorer):
    """Let the answer search every object that it can reach for the number that the reference returns."""
    reference = "def f(x): return int('1234' + '5678') + x"
    answer = """
def f(x):
    import gc
    for thing in gc.get_objects():
        parts = thing.values() if type(thing) is dict else thing if type(thing) in (list, tuple) else ()
        for part in list(parts):
            if type(part) is int and part > 9_999_999 and part - x == int('1234' + '5678'):
                return part
            if type(part) is str and " ".join(["return", "int"]) in part:
                return part
"""
    scores = await scorer.score(task(reference, "f(1)", "f(2)"), answer)
    assert [check.actual for check in scores["default"].checks] == ["None", "None"]


async def test_validation_reports_unstable_and_unscorable_calls_and_constant_tasks(scorer):
    reference = (
        "def f(x):\n    import random\n    return random.random() if x == 0 else 1 // (x - 1)"
    )
    found = await scorer.validate(task(reference, "f(0)", "f(1)", "f(9)", "f(5)"))
    assert found.unstable == ("f(0)",)
    assert found.unscorable == (("f(1)", "ZeroDivisionError: integer division or modulo by zero"),)
    assert found.scores["default"].value == 1.0
    assert found.constant
    assert not (await scorer.validate(task())).constant
