from __future__ import annotations

import json

import pytest

from colbench.errors import DataError
from colbench.report.read import read_report

HALF = {"mean": 0.5, "low": 0.25, "high": 0.75, "method": "bootstrap"}
TENTH = {"mean": 0.1, "low": 0.0, "high": 0.2, "method": "bootstrap"}
NONE = {"mean": None, "low": None, "high": None, "method": "none"}


def old(lead: str, success: dict, **more: object) -> dict:
    """Return the report on a domain in format 1."""
    rates = {"success_rate": success, lead: TENTH}
    mode = {"scored": 2, "unscored": 1, "unscored_as_zero": rates, "pass_k": [], **rates, **more}
    budget = {"turn": 1, "success_rate": success, "answered": 1.0}
    rest = {
        "mode": "default", "tasks": 3, "trials": 1, "cells": 3, "missing": 1, "unjudged": 0,
        "scorers": {"s": 2}, "modes": {"default": mode}, "distribution": [0] * 11,
        "delta": {"mode": "official", "base": "default", "cells": 2, "differing": 0,
                  "value": TENTH, "success_rate": success},
        "by_turn": [{**budget, "value": TENTH} if success == NONE else budget],
        "ended_by": {"answer": 2, "limit": 0, "failure": 0},
        "turns": {"mean": HALF, "distribution": [2]}, "words": {"human": HALF, "agent": HALF},
        "tokens": {"agent": None, "human": None}, "cost": {"agent": None, "human": None},
        "leaks": None, "failures": {}, "wall_seconds": 1.0, "floors": {}, "notes": [],
        "win_rate": None,
    }  # fmt: skip
    return {**mode, **rest}


@pytest.fixture
def write(tmp_path):
    def write(content: object) -> str:
        path = tmp_path / "report.json"
        path.write_text(json.dumps(content))
        return str(path)

    return write


def report(domains: dict) -> dict:
    head = {"agent": "a", "human": "h", "tasks": "t", "seed": 0, "max_turns": 1, "ignored": 0}
    return {"schema": "colbench.report/1", **head, "domains": domains, "warnings": []}


def test_a_report_of_format_1_is_read_with_the_current_names(write):
    read = read_report(write(report({"backend": old("tests_passed", HALF)})))
    assert read.schema == "colbench.report/2"
    domain = read.domains["backend"]
    assert (domain.lead, read.value.mean, read.success_rate.mean) == ("tests_passed", 0.1, 0.5)
    assert domain.unscored_as_zero.value.mean == 0.1
    assert domain.modes["default"].value.mean == 0.1
    assert {name: mean.mean for name, mean in read.metrics.items()} == {
        "success": 0.5,
        "tests_passed": 0.1,
    }
    assert domain.by_turn[0].success_rate.mean == 0.5


def test_an_empty_success_rate_of_format_1_becomes_none(write):
    metrics = {"cosine": TENTH, "layout": HALF}
    read = read_report(write(report({"frontend": old("cosine", NONE, metrics=metrics)})))
    domain = read.domains["frontend"]
    assert (domain.lead, domain.success_rate, domain.delta.success_rate) == ("cosine", None, None)
    assert list(domain.metrics) == ["cosine", "layout"]
    assert domain.by_turn[0].success_rate is None
    assert domain.by_turn[0].value.mean == 0.1


@pytest.mark.parametrize(
    "content", [[], {}, {"schema": "colbench.report/2"}, report({"backend": {}})]
)
def test_an_invalid_report_is_refused_with_its_file_name(write, content):
    with pytest.raises(DataError, match=r"report\.json: "):
        read_report(write(content))


def test_a_missing_report_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_report(tmp_path / "report.json")
