"""Floors: scores that are reached without a dialogue, and the warning about a score below them."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

import colbench
from colbench.plugins import known_origin
from colbench.registry import get_domain
from colbench.report.warnings import warnings
from colbench.score import Check, Score

SET = "bundled:backend/test"
SHEET = Path(__file__).parents[2] / "tasks" / "datasheets" / "bundled-backend-test.md"


@pytest.fixture(scope="module")
def runs() -> dict[str, colbench.Run]:
    return {
        agent: colbench.evaluate(agent=agent, tasks=SET, limit=30)
        for agent in ("blank", "interviewer")
    }


def said(run: colbench.Run) -> list[str]:
    return list(warnings(run.report, run.config, run.record, run.rollouts))


def test_the_constant_floor_is_the_share_of_the_most_common_expected_value(runs):
    shares = []
    for line in (runs["blank"].path / "rollouts.jsonl").read_text().splitlines():
        checks = json.loads(line)["scores"]["default"]["checks"]
        shares.append(Counter(check["expected"] for check in checks).most_common(1)[0][1] / 10)
    floors = runs["blank"].report.domains["backend"].floors
    assert floors["constant"]["tests_passed"] == pytest.approx(sum(shares) / len(shares))
    assert floors == runs["interviewer"].report.domains["backend"].floors


def test_tests_that_do_not_count_do_not_change_the_floor():
    def check(outcome, expected):
        return Check(call="f()", outcome=outcome, expected=expected)

    checks = (check("passed", "1"), check("wrong", "2"), check("error", "2"))
    score = Score(scorer="s", value=1 / 3, success=False, checks=checks)
    floors_of = get_domain("backend").floors_of
    floor = {"constant": {"success": 0.0, "tests_passed": pytest.approx(2 / 3)}}
    assert floors_of(score) == floor
    unstable = (*checks, check("unstable", "1"), check("unscorable", "1"))
    assert floors_of(Score(scorer="s", value=1 / 3, success=False, checks=unstable)) == floor
    assert floors_of(Score(scorer="none", value=0.0, success=False)) == {}


def test_a_warning_about_a_score_below_floors_names_the_highest_floor(runs):
    floor = runs["blank"].report.domains["backend"].floors["constant"]["tests_passed"]
    text = (
        "tests passed 0.0% is below that of an answer that needs no dialogue (best constant answer:"
    )
    assert said(runs["blank"]) == [f"{text} {100 * floor:.1f}%)"]
    assert said(runs["interviewer"]) == []


def test_a_run_without_answers_is_not_compared_with_floors():
    class Silent:
        spec = "silent"

        async def reply(self, messages):
            return None

    assert said(colbench.evaluate(agent=Silent(), tasks=SET, limit=2)) == []


def test_the_score_of_the_guesser_is_recorded_with_the_task_set():
    floors = known_origin(SET).floors["guesser"]
    assert known_origin("bundled:backend").floors["guesser"] == floors
    assert known_origin("tasks.jsonl") is None
    row = re.search(r"\| \*\*all\*\* \| [\d,]+ \| ([\d.]+)% \| ([\d.]+)%", SHEET.read_text("utf-8"))
    assert float(row[2]) == pytest.approx(100 * floors["success"], abs=0.05)
    assert floors["success"] < floors["tests_passed"] < 0.2
