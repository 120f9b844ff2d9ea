"""docs/library.md: its code is run as it stands, from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

DOC = Path(__file__).parents[2] / "docs" / "library.md"
BLOCK = re.compile(r"```python\n(.*?)```", re.S)


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(DOC.read_text("utf-8"))
    assert len(blocks) == 6
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    printed = capsys.readouterr().out
    assert "True 0.0" in printed
    assert names["run"].path == Path("my-run")
