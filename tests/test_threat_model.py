"""docs/threat-model.md names tests; each of them exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_test_that_the_threat_model_names_exists():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "threat-model.md").read_text("utf-8")))
    files = (ROOT / "tests").rglob("test_*.py")
    defined = {
        name for path in files for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
    }
    assert len(named) > 40
    assert sorted(named - defined) == []
