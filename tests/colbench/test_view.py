"""A dialogue in the terminal: `colbench view RUN --task ID`."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from colbench.cli.view import show
from colbench.rollout import Asking, Rollout, Turn
from colbench.score import Check, Score
from colbench.task import Fact, Hidden, Task

FACTS = tuple(
    Fact(name=name, topics=(name,), statement=f"The {name} is {value}.")
    for name, value in (("limit", 12), ("order", "random"), ("unit", "euro"))
)
TASK = Task(
    id="t",
    domain="backend",
    request="Pick some.",
    hidden=Hidden(reference="def pick(): return 12", facts=FACTS),
)
CODE = "def pick(): return 1"
ASKED = (
    Turn(raw="Limit?", said="Limit?", human=FACTS[0].statement, asked=("limit",), told=("limit",)),
    Turn(raw="And?", said="And?", human="I don't know.", asked=(), told=()),
)


def score(mode: str, *checks: Check, note: str = "") -> Score:
    return Score(scorer=f"t/{mode}", value=0.0, success=False, checks=checks, note=note)


def rollout(last: Turn, ended_by: str = "answer", **scores: Score) -> Rollout:
    return Rollout(
        key="k",
        task_id="t",
        task_hash=TASK.hash,
        domain="backend",
        trial=0,
        seed=0,
        request=TASK.request,
        turns=(*ASKED, last),
        answer=CODE,
        ended_by=ended_by,
        scores=scores,
        asking=Asking(questions=2, hidden=3, told=1, guessed=("unit",)),
    )


def shown(capsys: pytest.CaptureFixture[str], dialogue: Rollout, task: Task | None = TASK) -> str:
    show(dialogue, task)
    return capsys.readouterr().out


ANSWER = Turn(raw=f"ANSWER:\n{CODE}", said="", asked=())


def test_replies_show_revealed_facts_and_the_end_shows_unrevealed_ones(capsys):
    out = shown(capsys, rollout(ANSWER))
    assert [line for line in out.splitlines() if line.startswith("revealed")] == [
        "revealed: limit",
        "revealed: nothing",
    ]
    assert out.endswith(
        "never revealed\n  order: The order is random.\n  unit: The unit is euro. (guessed right)\n"
    )


def test_a_fact_that_was_revealed_before_is_marked(capsys):
    again = replace(ASKED[1], told=("limit", "order"))
    dialogue = replace(rollout(ANSWER), turns=(ASKED[0], again, ASKED[0], ANSWER))
    lines = shown(capsys, dialogue).splitlines()
    assert [line for line in lines if line.startswith("revealed")] == [
        "revealed: limit",
        "revealed: order; revealed again: limit",
        "revealed again: limit",
    ]


def test_unrevealed_facts_are_left_out_if_the_task_is_unknown(capsys):
    assert "never revealed" not in shown(capsys, rollout(ANSWER), None)


def test_scoring_modes_with_the_same_result_are_shown_together(capsys):
    wrong = Check(call="pick()", outcome="wrong", expected="12", actual="1")
    same = {mode: score(mode, wrong) for mode in ("default", "official")}
    out = shown(capsys, rollout(ANSWER, **same))
    assert out.count("wrong: pick(): expected 12, got 1") == 1
    assert "default and official scoring: tests passed 0%" in out
    same["official"] = score("official", wrong, note="banned")
    out = shown(capsys, rollout(ANSWER, **same))
    assert "default scoring: tests passed 0%\n" in out
    assert "official scoring: tests passed 0%; banned\n" in out


def test_tests_with_the_same_error_share_a_line_and_wrong_values_do_not(capsys):
    def checks(outcome: str, actual: str) -> list[Check]:
        return [
            Check(call=f"pick({n})", outcome=outcome, expected="1", actual=actual) for n in range(3)
        ]

    verdict = score("default", *checks("error", "NameError: x"), *checks("wrong", "None"))
    out = shown(capsys, rollout(ANSWER, default=verdict))
    assert "  error: pick(0): expected 1, got NameError: x (and 2 more)\n" in out
    assert out.count("error:") == 1
    assert out.count("wrong:") == 3


def test_the_answer_at_the_turn_limit_is_shown_once(capsys):
    out = shown(capsys, rollout(Turn(raw=CODE, said=CODE), "limit"))
    assert out.count(CODE) == 1
    assert "agent, answer\n" in out
