"""`colbench agents new`: every kind of package passes its own tests and lint, and the printed commands work."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from code_blocks import blocks
from msgspec import Struct

import colbench
from colbench.cli import main
from colbench.cli.agents.new import KINDS
from colbench.cli.files import made_whole
from colbench.rollout import read_rollouts

BIN = Path(sys.executable).parent


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new(name: str, kind: str, *more: str) -> int:
    return main(["agents", "new", name, "--kind", kind, *more])


def run(*words: object, **more: object) -> str:
    """Return the output of a command, which must succeed."""
    command = [str(word) for word in words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Package(Struct, frozen=True):
    """A generated package, which is installed if its kind requires it."""

    kind: str
    folder: Path
    printed: str
    env: dict[str, str]


@pytest.fixture(scope="module", params=KINDS)
def package(request, tmp_path_factory) -> Package:
    kind, here = request.param, tmp_path_factory.mktemp(request.param)
    printed = run(BIN / "colbench", "agents", "new", "my-agent", "--kind", kind, cwd=here)
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    if kind == "python":  # install with the packages of this machine
        offline = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
        pip = (sys.executable, "-m", "pip", "install", *offline)
        run(*pip, "--target", here / "site", here / "my-agent")
        env["PYTHONPATH"] = str(here / "site")
    return Package(kind, here / "my-agent", printed, env)


def commands(printed: str) -> list[str]:
    """Return the commands that the output suggests as next steps."""
    return [line.strip() for line in printed.partition("\nNext:\n")[2].splitlines()]


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.mark.weekly
def test_the_package_passes_its_own_tests_without_warnings(package: Package):
    plain = ("-W", "error", "-p", "no:asyncio")  # an optional plug-in
    printed = run(sys.executable, "-m", "pytest", *plain, cwd=package.folder, env=package.env)
    assert re.search(r"= [34] passed in ", printed)


@pytest.mark.weekly
def test_the_printed_next_commands_work(package: Package):
    port = free_port()
    lines = [line.replace("8000", port) for line in commands(package.printed)]
    assert len(lines) == 3
    done_before = ("pip install", "colbench agents check")  # by the fixture and the package's tests
    lines = [line for line in lines if not line.startswith(done_before)]
    end = "trap 'kill $! 2>/dev/null || true' EXIT"  # stops the server in the background
    run("sh", "-ec", "\n".join([end, *lines]), cwd=package.folder.parent, env=package.env)
    [file] = package.folder.glob("runs/*/rollouts.jsonl")
    done = read_rollouts(file)
    assert len(done) == 20
    for rollout in done:
        name = rollout.request.partition("def ")[2].partition("(")[0]
        assert (rollout.failure, len(rollout.turns)) == (None, 2)
        assert rollout.answer == f"def {name}(*args):\n    return None"


def test_the_guide_has_the_printed_commands(here, capsys):
    guide = [each.commands for each in blocks("docs/agents.md")]
    [[first, *rest]] = (
        each for each in guide if each and each[0].startswith("colbench agents new")
    )
    assert main(first.split()[1:]) == 0
    assert rest == commands(capsys.readouterr().out)


def test_the_class_works_as_an_agent_without_installation(here):
    assert new("My_Bot7", "python") == 0
    spec = "My_Bot7/src/my_bot7/agent.py:Agent"
    assert spec.partition("/")[2] in Path("My_Bot7/README.md").read_text("utf-8")
    assert main(["eval", "--agent", spec, "--limit", "1", "--out", "run"]) == 0
    [rollout] = read_rollouts(Path("run/rollouts.jsonl"))
    assert rollout.failure is None


@pytest.mark.parametrize("kind", KINDS)
def test_generated_files_are_filled_in_and_pass_lint_and_format_checks(here, kind):
    new("my-agent", kind)
    for file in here.rglob("*"):
        assert "$" not in str(file)
        assert ".tmpl" not in str(file)
        if file.is_file() and file.name != "ci.yml":
            assert "$" not in file.read_text("utf-8")
    rules = ("--select", "E,F,W,I,B,UP,SIM,RUF,PT")
    run(BIN / "ruff", "check", "--isolated", *rules, cwd=here / "my-agent")
    run(BIN / "ruff", "format", "--isolated", "--check", cwd=here / "my-agent")
    assert list(here.iterdir()) == [here / "my-agent"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_ci_workflow_installs_and_tests_as_the_readme_says(here, kind):
    new("my-agent", kind)
    workflow = yaml.safe_load(Path("my-agent/.github/workflows/ci.yml").read_text("utf-8"))
    job = workflow["jobs"]["test"]
    steps = job["steps"]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", s["uses"]) for s in steps if "uses" in s)
    assert steps[1]["with"] == {"python-version": "${{ matrix.python-version }}"}
    assert all(isinstance(each, str) for each in job["strategy"]["matrix"]["python-version"])
    runs = [step["run"] for step in steps if "run" in step]
    assert runs == [KINDS[kind].install, "pytest"]
    assert "\n".join(runs) in Path("my-agent/README.md").read_text("utf-8")


def test_the_package_requires_at_least_this_version_of_colbench(here):
    wanted = f"colbench>={colbench.__version__}"
    new("my-agent", "python")
    project = tomllib.loads(Path("my-agent/pyproject.toml").read_text("utf-8"))["project"]
    assert project["dependencies"] == [wanted]
    assert project["entry-points"]["colbench.agents"] == {"my-agent": "my_agent:Agent"}
    for kind in ("stdio", "http"):
        new(f"my-{kind}", kind)
        assert wanted in Path(f"my-{kind}/requirements-test.txt").read_text("utf-8").splitlines()
        assert "colbench." not in Path(f"my-{kind}/agent.py").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("4you", "use letters from a to z"),
        ("my agent", "use letters from a to z"),
        ("my-agent-", "use letters from a to z"),
        ("../up", "use letters from a to z"),
        ("a.b", "use letters from a to z"),
        ("größe", "use letters from a to z"),
        ("my-agent\n", "use letters from a to z"),
        ("Class", "NAME Class: this is a Python keyword; choose another name, such as Class-agent"),
        ("Interviewer", "--agent interviewer already exists (colbench_agents.interviewer:"),
        ("http", "--agent http already exists"),
        ("json", "a Python module json already exists"),
        (
            "sys",
            "a Python module sys already exists (built-in); choose another name, such as sys-agent",
        ),
        ("colbench", "a Python module colbench already exists"),
    ],
)
def test_an_invalid_name_is_refused_with_the_reason(here, capsys, name, why):
    assert new(name, "python") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"colbench: NAME {name}: ")
    assert why in error
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("name", ["json", "class"])
def test_a_program_may_have_the_name_of_a_module_or_keyword(here, name):
    assert new(name, "stdio") == 0


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("full", "--to full: the folder is not empty; use a new or empty folder"),
        ("full/file", "--to full/file: this is not a folder; use a new or empty folder"),
        ("none/deep", "--to none/deep: the folder none does not exist"),
        ("x" * 300, "cannot be created: File name too long"),
    ],
)
def test_an_unusable_folder_is_refused_and_no_file_is_changed(here, capsys, to, why):
    (here / "full").mkdir()
    (here / "full" / "file").write_text("mine")
    assert new("my-agent", "stdio", "--to", to) == 2
    assert why in capsys.readouterr().err
    assert [path.name for path in here.rglob("*")] == ["full", "file"]
    assert (here / "full" / "file").read_text() == "mine"


def test_an_empty_folder_is_filled_without_being_replaced(here, capsys):
    before = here.stat().st_ino
    assert new("my-agent", "http", "--to", ".") == 0
    assert here.stat().st_ino == before
    assert Path("agent.py").is_file()
    assert not list(here.glob("*.part"))
    assert new("my-agent", "http", "--to", ".") == 2


def test_an_empty_folder_that_cannot_be_written_is_reported_as_such(here, capsys):
    folder = here / ("x" * 250)  # the name of the temporary folder in it is too long
    folder.mkdir()
    assert new("my-agent", "stdio", "--to", folder.name) == 2
    assert "cannot be written: File name too long" in capsys.readouterr().err


@pytest.mark.parametrize("there", [False, True])
def test_an_unfinished_package_leaves_no_files(here, there):
    folder = here / "folder"
    if there:
        folder.mkdir()
    with pytest.raises(ZeroDivisionError), made_whole(folder, flag="--to") as part:
        (part / "file").write_text(str(1 // 0))
    assert list(here.rglob("*")) == ([folder] if there else [])
