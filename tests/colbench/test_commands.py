"""Commands of other packages, which the metadata of the installed packages declares."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GREETER = """
def add_to(commands):
    parser = commands.add_parser("greet", help="says hello")
    parser.set_defaults(run=lambda args: print("hello") or 0)
"""
BROKEN = {
    "does not parse": "def add_to(:\n",
    "imports a missing package": "import a_package_that_nobody_has\n",
    "fails when it is added": "def add_to(commands):\n    raise RuntimeError('no commands today')\n",
}


def install(folder: Path, source: str) -> Path:
    """Write the package `greeter` 1.0 with the command `greet` into a folder, and return the folder."""
    information = folder / "greeter-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[colbench.commands]\ngreet = greeter_commands\n")
    (folder / "greeter_commands.py").write_text(source)
    return folder


INTERRUPTED = "raise KeyboardInterrupt\n"


def colbench(packages: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from colbench.cli import main; sys.exit(main())",
            *argv,
        ],
        env={
            **os.environ,
            "PYTHONPATH": f"{packages}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_command_of_another_package_becomes_a_colbench_command(tmp_path: Path) -> None:
    packages = install(tmp_path, GREETER)
    done = colbench(packages, "greet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")
    assert "says hello" in colbench(packages, "--help").stdout


@pytest.mark.parametrize("source", BROKEN.values(), ids=BROKEN)
def test_a_command_that_cannot_be_loaded_is_reported_and_breaks_no_other(
    tmp_path: Path, source: str
) -> None:
    packages = install(tmp_path, source)
    asked = colbench(packages, "greet", "--loudly", "you")
    assert asked.returncode == 2
    assert asked.stderr.startswith(
        "colbench: greet: this command of the package greeter 1.0 cannot be loaded"
    )
    assert "Traceback" not in asked.stderr
    other = colbench(packages, "agents", "list")
    assert (other.returncode, other.stderr) == (0, "")


def test_an_interruption_while_a_command_is_imported_is_reported_without_a_traceback(
    tmp_path: Path,
) -> None:
    done = colbench(install(tmp_path, INTERRUPTED), "greet")
    said = "colbench: interrupted; repeat the command to continue\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)
