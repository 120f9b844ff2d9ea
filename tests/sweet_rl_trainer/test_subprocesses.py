"""Child processes exit with their parent, however it ends, and write to the given files."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.command import run as run_command
from colbench.errors import WorkerError
from sweet_rl_trainer.fork_server import ForkServer, Request
from sweet_rl_trainer.subprocesses import run

PARENT = """
import sys
from sweet_rl_trainer.subprocesses import run
sys.exit(run("sleeper", sys.argv[2:], launcher=sys.argv[1].split()))
"""
CHILD = """
import os, sys, time
from sweet_rl_trainer.subprocesses import exit_with_parent

def main(arguments):
    exit_with_parent()
    print(os.getpid(), arguments, flush=True)
    time.sleep(float(arguments[0]))
    return 3

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""
LAUNCHER = """
import runpy, sys
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def start(folder, seconds, launcher):
    (folder / "sleeper.py").write_text(CHILD)
    (folder / "launcher.py").write_text(LAUNCHER)
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, launcher, str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
    )


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("launcher", [pytest.param("", marks=pytest.mark.weekly), "launcher"])
def test_a_program_gets_its_arguments_and_its_exit_code_is_returned(launcher, tmp_path):
    with start(tmp_path, 0.1, launcher) as parent:
        assert parent.stdout.readline().split(maxsplit=1)[1].strip() == "['0.1']"
        assert parent.wait() == 3


@pytest.mark.parametrize("launcher", [pytest.param("", marks=pytest.mark.slow), "launcher"])
def test_a_child_does_not_outlive_a_killed_parent(launcher, tmp_path):
    with start(tmp_path, 600, launcher) as parent:
        pid = int(parent.stdout.readline().split()[0])
        assert alive(pid)
        parent.kill()
        deadline = time.monotonic() + 30
        while alive(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not alive(pid)


def test_a_child_has_the_current_environment_and_folder_and_the_given_files(tmp_path, monkeypatch):
    (tmp_path / "sayer.py").write_text(
        "import os, sys\n"
        "def main(arguments):\n"
        "    print(os.environ['SAID'], os.getcwd())\n"
        "    os.write(2, b'error')\n"
        "    return 0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    for said in ("one", "two"):
        monkeypatch.setenv("SAID", said)
        with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
            assert run("sayer", (), stdout=out, stderr=err) == 0
        assert (tmp_path / "out").read_text() == f"{said} {tmp_path}\n"
        assert (tmp_path / "err").read_text() == "error"


RESTARTED = """
import os
from sweet_rl_trainer.fork_server import Request, restart

restart(
    Request(
        program="package.sayer",
        arguments=["it's", 'a "b"'],
        environment={**os.environ, "SAID": "one"},
        folder=".",
        path=["elsewhere", *__import__("sys").path],
    )
)
"""


def test_a_child_that_cannot_use_the_gpu_runs_its_program_in_a_new_interpreter(tmp_path):
    package = tmp_path / "elsewhere" / "package"
    package.mkdir(parents=True)
    (package / "sayer.py").write_text(
        "import os, sys\n"
        "def main(arguments):\n"
        "    print(os.getpid(), arguments, os.environ['SAID'], 'torch' in sys.modules)\n"
        "    return 3\n"
    )
    command = [sys.executable, "-c", RESTARTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        (line,) = process.stdout
        assert process.wait() == 3
    arguments = ["it's", 'a "b"']
    assert line.strip() == f"{process.pid} {arguments} one False"


KILLED = """
import os, signal, socket

connection = socket.socket(fileno=os.dup(0))
length = int.from_bytes(connection.recv(8))
connection.recv(length, socket.{flag})
os.kill(os.getpid(), signal.SIGKILL)
"""
"""A stand-in for the first package that the server imports: it kills the server during the request."""


@pytest.mark.parametrize("flag", ["MSG_PEEK", "MSG_WAITALL"], ids=["starting", "running"])
def test_a_killed_server_is_an_error_in_one_line(flag, tmp_path, monkeypatch, capsys):
    (tmp_path / "transformers.py").write_text(KILLED.format(flag=flag))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    server = ForkServer()
    request = Request(program="never", arguments=[], environment={}, folder=".", path=[])
    with pytest.raises(WorkerError, match="ended with code -9, .* out of memory; repeat the comm"):
        server.run(request, (0, 1, 2))
    assert run_command("sweet-rl", lambda: server.run(request, (0, 1, 2))) == 1  # killed before
    assert capsys.readouterr().err.startswith("sweet-rl: worker: the process that starts the st")
