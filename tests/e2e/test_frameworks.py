"""The tests of the framework adapters, in an environment with the frameworks.

`COLBENCH_FRAMEWORKS` names the Python of the environment that `frameworks.sh` makes. Without it, the tests are skipped.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[1] / "colbench_agents" / "frameworks"


def python() -> Path:
    """Return the Python in the environment variable. Without it, skip the test, or fail it in CI."""
    value = os.environ.get("COLBENCH_FRAMEWORKS")
    if not value:
        outcome = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        outcome("COLBENCH_FRAMEWORKS is not set; see tests/e2e/frameworks.sh")
    return Path(value).absolute()


@pytest.mark.parametrize(
    "selected",
    ["not slow and not weekly", pytest.param("slow or weekly", marks=pytest.mark.weekly)],
)
def test_the_tests_of_the_framework_adapters_pass_without_skips(selected: str) -> None:
    command = [python(), "-m", "pytest", "-p", "no:cacheprovider", "-m", selected, TESTS]
    root = TESTS.parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout.splitlines()[-1]
