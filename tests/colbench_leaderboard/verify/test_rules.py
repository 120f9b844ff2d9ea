"""The tables of all rules in docs/leaderboard.md are complete, with the severity of each rule."""

from __future__ import annotations

import re
from pathlib import Path

import colbench_leaderboard
from colbench_leaderboard.verify.findings import RULES

PACKAGE = Path(colbench_leaderboard.__file__).parent
DOCS = PACKAGE.parents[1] / "docs/leaderboard.md"
NAME = r"(?:archive|manifest|blob|words|json|schema|submission|trajectories)\.[a-z]+(?:-[a-z]+)*"
FILES = {"submission.json", "submission.toml"}


def table() -> dict[str, str]:
    """Return the severity of each rule in the tables."""
    rows = re.findall(r"^\| (`[^|]+`) \| (refusal|flag|note) \|", DOCS.read_text("utf-8"), re.M)
    return {rule: severity for rules, severity in rows for rule in re.findall(r"`([^`]+)`", rules)}


def test_every_verification_rule_is_in_the_tables_with_its_severity():
    told = {rule: severity for rule, severity in table().items() if rule in RULES}
    assert told == RULES


def test_every_rule_of_reading_bundles_is_in_the_tables():
    sources = [path.read_text("utf-8") for path in (PACKAGE / "bundle").glob("*.py")]
    raised = {rule for source in sources for rule in re.findall(rf"\"({NAME})\"", source)} - FILES
    assert len(raised) > 20
    assert raised <= table().keys()


def test_the_tables_contain_no_unknown_rule():
    text = "".join(path.read_text("utf-8") for path in (PACKAGE / "bundle").glob("*.py"))
    made = {f"schema.{kind}" for kind in ("submission", "lock", "trajectory")}
    for rule in table().keys() - RULES.keys() - made:
        assert rule in text, rule


def test_the_verifier_uses_exactly_the_registered_rules():
    sources = [path.read_text("utf-8") for path in (PACKAGE / "verify").glob("*.py")]
    used = {
        rule
        for source in sources
        for rule in re.findall(r"\"((?:lock|grid|protocol|replay|score|audit)\.[a-z-]+)\"", source)
    }
    assert used == RULES.keys()
