"""The limit on open files: it is raised where that is allowed, and a run that needs more is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
from colbench.cli import main
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
code = main(["eval", "--limit", "80", "--trials", "2", "--concurrency", "150", "--out", "run", *sys.argv[3:]])
print("soft", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
sys.exit(code)
"""
AGENT = """
print('{"type": "ready", "protocol": "colbench-agent/1", "name": "silent"}', flush=True)
input()
"""


def evaluate(cwd, soft, hard, *flags):
    argv = [sys.executable, "-c", PROGRAM, str(soft), str(hard), *flags]
    return subprocess.run(argv, cwd=cwd, check=False, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_a_low_limit_is_raised_to_the_hard_limit(tmp_path):
    ended = evaluate(tmp_path, 64, 900, "--agent", "blank")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith("soft 900\n")


def test_a_run_that_needs_too_many_files_is_refused_with_a_concurrency_that_fits(tmp_path):
    ended = evaluate(tmp_path, 64, 500, "--agent", "blank")
    assert ended.returncode == 2
    assert "--concurrency 150: about 650 open files are needed" in ended.stderr
    assert "the limit of this process is 500" in ended.stderr
    assert "use --concurrency 100" in ended.stderr
    assert not (tmp_path / "run").exists()


def test_a_cmd_agent_needs_more_open_files(tmp_path):
    (tmp_path / "agent.py").write_text(AGENT)
    ended = evaluate(tmp_path, 64, 900, "--agent", f"cmd:{sys.executable} agent.py")
    assert ended.returncode == 2
    assert "--concurrency 150: about 1400 open files are needed" in ended.stderr
    assert "the limit of this process is 900" in ended.stderr
