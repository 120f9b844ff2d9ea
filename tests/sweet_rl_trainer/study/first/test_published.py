"""The published reports, rebuilt from the results that are stored next to them."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("matplotlib", reason="matplotlib is not installed (colbench[train])")

from sweet_rl_trainer.study.first.report import CHARTS, PAGE, write
from sweet_rl_trainer.study.first.stored import decode

pytestmark = pytest.mark.weekly

DOCS = Path(__file__).parents[4] / "docs"


def stored(folder):
    return gzip.decompress((folder / CHARTS / "results.json.gz").read_bytes())


def drawn(chart):
    """Return a chart's texts and its places; releases of matplotlib write the same ones in other bytes."""
    elements = list(ElementTree.parse(chart).getroot().iter())
    texts = [each.text for each in elements if each.tag.endswith("}text")]
    places = [each.get(name, "") for each in elements for name in ("d", "x", "y")]
    return texts, [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", " ".join(places))]


@pytest.mark.parametrize("folder", [DOCS, DOCS / "finetuned"], ids=["cpu", "cpu-finetuned"])
def test_a_published_report_is_that_of_its_stored_results(folder, tmp_path):
    page = write(decode(stored(folder)), tmp_path)
    assert page.read_text() == (folder / PAGE).read_text()
    charts = {each.name for each in (folder / CHARTS).glob("*.svg")}
    assert charts == {each.name for each in (tmp_path / CHARTS).glob("*.svg")}
    for name in charts:
        texts, places = drawn(folder / CHARTS / name)
        found_texts, found_places = drawn(tmp_path / CHARTS / name)
        assert found_texts == texts
        assert found_places == pytest.approx(places, abs=0.5)


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
