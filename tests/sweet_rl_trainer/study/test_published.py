"""The published reports, rebuilt from the results that are stored next to them."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.study.report import CHARTS, PAGE, write
from sweet_rl_trainer.study.stored import decode

DOCS = Path(__file__).parents[3] / "docs"


def stored(folder):
    return gzip.decompress((folder / CHARTS / "results.json.gz").read_bytes())


@pytest.mark.parametrize("folder", [DOCS, DOCS / "finetuned"], ids=["cpu", "cpu-finetuned"])
def test_a_published_report_is_that_of_its_stored_results(folder, tmp_path):
    page = write(decode(stored(folder)), tmp_path)
    assert page.read_text() == (folder / PAGE).read_text()
    for chart in (folder / CHARTS).glob("*.svg"):
        assert (tmp_path / CHARTS / chart.name).read_text() == chart.read_text()


def test_results_of_schema_1_get_the_present_names():
    content = stored(DOCS)
    former, found = msgspec.json.decode(content), decode(content)
    assert "schema" not in former
    assert found.schema == "colbench.study/2"
    assert "no-hidden" in former["study"]["methods"]
    assert "no-privileged" in found.study["methods"]
    assert {row.method for row in found.rows} >= {"sweet", "no-privileged"}
    assert found.study["base"]["collect_privileged"] == former["study"]["base"]["told"]
    assert found.study["base"]["rft"]["privileged"] == former["study"]["base"]["rft"]["told"]
    assert decode(msgspec.json.encode(found)) == found


def test_results_of_an_unknown_schema_are_refused():
    with pytest.raises(msgspec.ValidationError, match="schema colbench.study/3, expected"):
        decode(b'{"schema": "colbench.study/3"}')
