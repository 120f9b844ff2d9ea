"""The sandbox of programs under test: everything that reveals a task outside the sandbox is out of reach inside it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

import colbench_tasks
from colbench.config import RunConfig
from colbench.errors import SandboxError
from colbench.sandbox.agent import (
    AgentSandbox,
    Hidden,
    OpenSandbox,
    find_hidden,
)
from colbench.sandbox.agent.probe import _run as run_self_test
from colbench.sandbox.agent.view import View

ROOT = Path(__file__).parents[2]
PRYING = Path(__file__).with_name("prying_program.py")
PACKAGE = Path(colbench_tasks.__file__).parent
WORD = "xyzzy-4711"
NOTHING = Hidden(places=(), checkouts=())
ONLY_AS_ROOT = {"writing into the system", "writing a setting of the kernel"}
NOT_EVERYWHERE = {
    "a socket to the hypervisor",
    "io_uring",
    "tracing process 1",
    "namespaces of its own",
    "a server by IPv6",
    "the history of the checkout",
}
"""Accesses that a kernel or a machine may refuse outside the sandbox, too."""
INSIDE_ALONE = {"words of process 1", "the task file from the root of process 1"}


@contextmanager
def listening(family: int, address: object) -> Iterator[socket.socket]:
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen()
        yield listener


@contextmanager
def answering_datagrams() -> Iterator[int]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def answer() -> None:
            said, sender = server.recvfrom(16)
            while said:
                server.sendto(b"pong", sender)
                said, sender = server.recvfrom(16)

        answering = Thread(target=answer)
        answering.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.sendto(b"", server.getsockname())
            answering.join()


def own_address() -> str:
    """Return an address of this machine other than the loopback address, if it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            any_socket.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return any_socket.getsockname()[0]


@pytest.fixture
def prying(tmp_path, monkeypatch):
    """Yield a folder with a program, a task file, links to it, and runs, while servers run for the program to find."""
    own, other = tmp_path / "own", tmp_path / "other"
    for folder in (own / "out", own / "runs" / "later", other):
        folder.mkdir(parents=True)
    shutil.copy(PRYING, own)
    for file in ("tasks.jsonl", "out/rollouts.jsonl", "runs/later/rollouts.jsonl"):
        (own / file).write_text(WORD)
    (own / "notes.txt").hardlink_to(own / "tasks.jsonl")
    (own / "link.jsonl").symlink_to("tasks.jsonl")
    (other / "secret.txt").write_text(WORD)
    monkeypatch.chdir(own)
    monkeypatch.setenv("COLBENCH_TEST_SECRET", WORD)
    with (
        listening(socket.AF_INET6, ("::", 0)) as tcp,
        listening(socket.AF_UNIX, f"\0{tmp_path}"),
        listening(socket.AF_UNIX, str(other / "socket")),
        answering_datagrams() as udp,
        open(own / "tasks.jsonl") as tasks,
        subprocess.Popen(["sleep", "100"]) as harness,
    ):
        os.set_inheritable(tasks.fileno(), True)
        plan = {
            "word": WORD,
            "tasks": str(own / "tasks.jsonl"),
            "out": str(own / "out"),
            "secret": str(other / "secret.txt"),
            "package": str(PACKAGE),
            "checkout": str(ROOT),
            "harness": harness.pid,
            "tcp": tcp.getsockname()[1],
            "udp": udp,
            "address": own_address(),
            "abstract": str(tmp_path),
            "unix": str(other / "socket"),
            "hostname": socket.gethostname(),
        }
        (own / "plan.json").write_text(json.dumps(plan))
        yield own
        harness.kill()


@pytest.mark.slow
def test_the_sandbox_blocks_every_attempt_to_reveal_a_task(run, prying):
    command = [sys.executable, str(prying / PRYING.name)]
    outside = json.loads(run(command, prying))
    (prying / "left").unlink()
    Path("/usr/colbench-left").unlink(missing_ok=True)
    hidden = find_hidden(RunConfig(tasks="tasks.jsonl"), Path("out"))
    inside = json.loads(run(command, prying, AgentSandbox(command, hidden=hidden)))
    assert [name for name, reached in inside.items() if reached] == []
    not_here = NOT_EVERYWHERE | INSIDE_ALONE | (ONLY_AS_ROOT if os.getuid() else set())
    unreached = {name for name, reached in outside.items() if not reached}
    assert unreached <= not_here, "every attempt succeeds where nothing stops it"


def test_a_variable_is_passed_by_name_with_the_files_it_names(run, tmp_path, monkeypatch):
    (tmp_path / "certificates").mkdir()
    (tmp_path / "certificates" / "ca.pem").write_text("mine")
    monkeypatch.setenv("MY_CA", str(tmp_path / "certificates" / "ca.pem"))
    monkeypatch.setenv("MY_KEY", "sk-1")
    command = ["sh", "-c", 'cat "$MY_CA"; echo " $MY_KEY $HOME $COLBENCH_TEST"']
    monkeypatch.setenv("COLBENCH_TEST", "not for it")
    box = AgentSandbox(command, hidden=NOTHING, environment=("MY_CA", "MY_KEY"))
    assert run(command, tmp_path, box) == "mine sk-1 /tmp/home \n"


def test_home_and_tmp_are_private_and_writable(run):
    command = ["sh", "-c", "echo x >~/a; echo y >/tmp/b; cat ~/a /tmp/b; ls /tmp"]
    said = run(command, Path("/usr"), AgentSandbox(command, hidden=NOTHING))
    assert said.split() == ["x", "y", "b", "home"]
    assert not Path("/tmp/home/a").exists()


def test_an_agents_folder_and_packages_are_visible_and_other_files_hidden(run, tmp_path):
    package = tmp_path / "package"
    for file in ("dist/agent.sh", "dist/helper.sh", "package.json", "node_modules/x.js", "secret"):
        (package / file).parent.mkdir(parents=True, exist_ok=True)
        (package / file).write_text("cd $(dirname $0); ls -R $(realpath ..)")
    (tmp_path / "link").symlink_to(package / "dist")
    command = ["sh", str(tmp_path / "link" / "agent.sh")]
    said = run(command, tmp_path, AgentSandbox(command, hidden=NOTHING))
    assert {"agent.sh", "helper.sh", "package.json", "x.js"} <= set(said.split())
    assert "secret" not in said.split()


def test_only_the_named_file_of_a_checkout_or_home_folder_is_visible(run, tmp_path, monkeypatch):
    checkout = tmp_path / "checkout"
    for file in ("agent.sh", "other.txt", "tasks/colbench_tasks/__init__.py", "sub/agent.sh"):
        (checkout / file).parent.mkdir(parents=True, exist_ok=True)
        (checkout / file).write_text("ls $(dirname $0)")
    hidden = find_hidden(RunConfig(tasks="bundled:backend"), None)
    for folder, shown in ((checkout, "agent.sh"), (checkout / "sub", "agent.sh")):
        command = ["sh", str(folder / "agent.sh")]
        assert run(command, tmp_path, AgentSandbox(command, hidden=hidden)).split() == [shown]
    monkeypatch.setenv("HOME", str(checkout / "sub"))
    (checkout / "sub" / "mail").write_text("private")
    command = ["sh", str(checkout / "sub" / "agent.sh")]
    assert run(command, tmp_path, AgentSandbox(command, hidden=NOTHING)).split() == ["agent.sh"]


def test_the_default_caches_are_hidden_even_if_the_run_uses_another_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setenv("COLBENCH_CACHE", str(tmp_path / "mine"))
    hidden = find_hidden(RunConfig(), None)
    for folder in (".cache/colbench", "caches/colbench", "mine"):
        assert hidden.holds(tmp_path / folder / "tasks.jsonl")


def test_a_task_file_replaced_during_the_run_stays_hidden(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    look = "print(sorted(os.listdir()), flush=True)"
    (tmp_path / "agent.py").write_text(f"import os; {look}; input(); {look}")
    (tmp_path / "tasks.jsonl").write_text("old")
    command = [sys.executable, "-S", "agent.py"]
    box = AgentSandbox(command, hidden=find_hidden(RunConfig(tasks="tasks.jsonl"), None))
    with subprocess.Popen(
        [*box.prefix(), *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as agent:
        assert agent.stdin
        assert agent.stdout
        seen = [agent.stdout.readline()]
        (tmp_path / "tasks.new").write_text("new")
        (tmp_path / "tasks.new").rename(tmp_path / "tasks.jsonl")
        agent.stdin.write("\n")
        agent.stdin.close()
        seen.append(agent.stdout.readline())
    assert seen == ["['agent.py']\n"] * 2


def test_a_self_test_that_hangs_has_a_short_reason(tmp_path, monkeypatch):
    program = tmp_path / "bwrap"
    program.write_text('#!/bin/sh\n[ "$1" = --version ] || exec sleep 3\necho bubblewrap 0.9.0\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(SandboxError, match=r"^the self-test did not end within 0\.5 s$"):
        run_self_test(AgentSandbox(["true"], hidden=NOTHING), ["true"], seconds=0.5)


class FolderSandbox(OpenSandbox):
    """A sandbox whose agent's own files are only those in the current folder, so that few files are searched."""

    @property
    def view(self):
        return View(system=("/",), own=(os.getcwd(),), links=())


def test_a_warning_names_a_task_file_with_a_hard_link_that_the_agent_can_read(
    tmp_path, monkeypatch, caplog
):
    programs, own, other = (tmp_path / name for name in ("bin", "own", "other"))
    for folder in (programs, own, other):
        folder.mkdir()
    (programs / "bwrap").write_text("#!/bin/sh\necho bubblewrap 0.9.0\n")
    (programs / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    monkeypatch.chdir(own)
    file = own / "tasks.jsonl"
    file.write_text("{}")
    (own / "copies").mkdir()
    (own / "copies" / "hidden.jsonl").hardlink_to(file)
    sandbox = FolderSandbox(["true"], hidden=Hidden(places=(file,), checkouts=()))
    sandbox.prefix()
    assert caplog.messages == []
    (other / "visible.jsonl").hardlink_to(file)
    sandbox.prefix()
    (warning,) = caplog.messages
    assert warning.startswith(f"{file} is hidden from the agent, but has hard links elsewhere")
