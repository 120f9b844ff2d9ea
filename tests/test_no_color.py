"""Both programs print no colors if NO_COLOR is set, even if FORCE_COLOR is set too."""

import os
import re
import subprocess
import sys

import pytest

COLOR = re.compile(r"\x1b\[(?:\d+;)*(?:3\d|4\d|9\d|10\d)[;\dm]")
COLORFUL = [
    "colbench.cli agents check guesser",
    pytest.param(
        "sweet_rl_trainer.cli run tiny-cpu --set data.runs=[] --set collect=[] --dry-run",
        marks=pytest.mark.weekly,  # imports torch twice
    ),
]


def printed(line, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    done = subprocess.run(
        [sys.executable, "-m", *line.split()],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "FORCE_COLOR": "1", **variables},
    )
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("line", COLORFUL)
def test_no_color_is_honored(line):
    if line.startswith("sweet"):
        pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
        pytest.importorskip("transformers", reason="transformers is not installed")
    assert COLOR.search(printed(line))
    assert not COLOR.search(printed(line, NO_COLOR="1"))
