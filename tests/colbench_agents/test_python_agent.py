"""Python agents in their own process: they work as in the process of the run, and their failures do no more harm."""

from __future__ import annotations

import json
import os
import re
import shutil
import textwrap
from pathlib import Path

import pytest

from colbench.agent_process.python import PythonAgent
from colbench.cli import main
from colbench.errors import UserError
from colbench.messages import Usage
from colbench.participants import describe_for
from colbench.plugins import is_foreign, resolve
from colbench.rollout import read_rollouts
from colbench.sandbox.agent import why_not_open

AGENTS = """
import asyncio, os, signal, sys, time
from contextlib import asynccontextmanager
from colbench.clock import waiting
from colbench.errors import EndpointError, UserError
from colbench.messages import Message, Usage
from colbench.models.servers import current_servers

ANSWER = "I WANT TO ANSWER: "

class Remembers:
    domains = ("backend",)

    def __init__(self, *, greeting="hi"):
        self.greeting = greeting

    def describe(self):
        return {"greeting": self.greeting}

    def describe_domain(self, domain):
        return {"for": domain}

    @asynccontextmanager
    async def open(self, episode):
        yield Memory(self.greeting, episode)

class Memory:
    def __init__(self, greeting, episode):
        self.greeting, self.episode, self.said = greeting, episode, 0

    async def reply(self, dialogue):
        self.said += 1
        text = f"{self.greeting} {self.said} {self.episode.seed} {self.episode.max_turns} {len(dialogue)}"
        usage = Usage(prompt_tokens=7, completion_tokens=self.said, requests=1)
        content = (ANSWER if self.said == 2 else "") + text
        return Message(role="assistant", content=content, thoughts="hm", usage=usage)

class Noisy:
    async def reply(self, dialogue):
        print("to standard output")
        os.system("echo from a child")
        assert sys.stdin.read() == ""
        return ANSWER + "x"

class Fails:
    def __init__(self, *, how):
        self.how = how

    async def reply(self, dialogue):
        exec(self.how)
        return ANSWER + "x"

class Gives:
    replies = 0

    def __init__(self, *, what):
        self.what = what

    async def reply(self, dialogue):
        self.replies += 1
        return eval(self.what) if self.replies == 1 else ANSWER + "x"

class FailsToClose:
    @asynccontextmanager
    async def open(self, episode):
        yield Gives(what="ANSWER + 'x'")
        raise ValueError("in use")

class Waits:
    async def reply(self, dialogue):
        with waiting():
            await asyncio.sleep(1.5)
        return ANSWER + "x"

class Refused:
    async def reply(self, dialogue):
        servers = current_servers()
        server = servers.join("http://busy.example/v1", 4)
        with waiting(), server.backing_off("a rate limit"):
            await asyncio.sleep(4.5)
        servers.leave(server)
        return ANSWER + "x"

class Blocks:
    turn = 0

    async def reply(self, dialogue):
        self.turn += 1
        if self.turn == 1:
            while True:
                pass
        return ANSWER + "x"

class Stubborn:
    async def reply(self, dialogue):
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                pass

class NoStart:
    async def __aenter__(self):
        raise OSError("no license server")

    async def reply(self, dialogue):
        return ANSWER + "x"

class NoStop(NoStart):
    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        raise OSError("gone")

class Broken:
    def __init__(self):
        raise RuntimeError("no weights")

    async def reply(self, dialogue):
        return ""

class Dies:
    def __init__(self):
        os._exit(3)

    async def reply(self, dialogue):
        return ""

class Looks:
    def use_renderer(self, renderer):
        pass

    async def reply(self, dialogue):
        return ""
"""


@pytest.fixture
def agent_of(tmp_path):
    """Return a function that makes the agent of a name, with arguments, in its own process."""
    file = tmp_path / "mine.py"
    file.write_text(textwrap.dedent(AGENTS))

    def make(name: str, **args) -> PythonAgent:
        return PythonAgent(f"{file}:{name}", args, patience=900.0)

    return make


async def test_a_dialogue_is_the_same_as_in_the_process_of_the_run(play, agent_of):
    apart = agent_of("Remembers", greeting="hello")
    here = resolve("agent", apart.spec, {"greeting": "hello"})
    assert apart.domains == here.domains
    assert describe_for(apart, ["backend"]) == describe_for(here, ["backend"])
    rollouts = [*await play(apart, dialogues=2), *await play(_Entered(here), dialogues=2)]
    turns = {
        (r.task_id, tuple((t.raw, t.thoughts, t.agent_usage) for t in r.turns)) for r in rollouts
    }
    assert len(rollouts) == 4
    assert len(turns) == 2
    assert rollouts[0].turns[1].agent_usage == Usage(
        prompt_tokens=7, completion_tokens=2, requests=1
    )


class _Entered:
    """An agent as a context manager."""

    def __init__(self, agent) -> None:
        self.open = agent.open

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        return None


async def test_output_of_the_agent_and_its_children_goes_to_the_log(play, agent_of, tmp_path):
    agent = agent_of("Noisy")
    agent.use_log_folder(tmp_path / "log")
    (done,) = await play(agent)
    assert done.answer == "x"
    log = (tmp_path / "log" / "stderr.log").read_text()
    assert "shared to standard output\n" in log
    assert "shared from a child\n" in log


@pytest.mark.parametrize(
    ("how", "boundary", "kind", "reason"),
    [
        ("raise ValueError('boom')", "agent", "exception", r"^ValueError: boom \(mine.py:\d+\)$"),
        ("sys.exit(3)", "agent", "exception", "^RuntimeError: the code raised SystemExit: 3"),
        ("raise EndpointError('gone', kind='overload')", "endpoint", "overload", "^gone$"),
        (
            "print('bye', file=sys.stderr); os._exit(5)",
            "agent",
            "exception",
            "end of its standard error: bye",
        ),
        ("raise asyncio.CancelledError", "agent", "exception", "the code canceled itself"),
    ],
)
async def test_a_failure_keeps_its_boundary_kind_and_reason(
    play, agent_of, how, boundary, kind, reason
):
    (done,) = await play(agent_of("Fails", how=how))
    assert (done.failure.boundary, done.failure.kind) == (boundary, kind)
    assert re.search(reason, done.failure.reason)


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("3", "returned int; it must return a Message with text, or a str"),
        ("'x' * 5_000_000", "it sent a reply of more than 4194304 bytes"),
        ("Message(role='assistant', content='', usage=Usage(prompt_tokens=-1))", "prompt_tokens"),
    ],
)
async def test_an_invalid_reply_fails_only_its_dialogue_with_the_reason(
    play, agent_of, what, reason
):
    rollouts = await play(agent_of("Gives", what=what), dialogues=2, concurrency=1)
    failed, other = sorted(rollouts, key=lambda rollout: rollout.answer or "")
    assert reason in failed.failure.reason
    assert (other.failure, other.answer) == (None, "x")


async def test_an_answer_counts_even_if_closing_the_agent_fails(play, agent_of, tmp_path):
    agent = agent_of("FailsToClose")
    agent.use_log_folder(tmp_path / "log")
    (done,) = await play(agent)
    assert (done.answer, done.failure) == ("x", None)
    log = (tmp_path / "log" / "stderr.log").read_text()
    assert "shared closing the agent failed: ValueError: in use" in log


async def test_the_traceback_of_an_exception_is_in_the_log_and_does_not_explain_a_later_crash(
    play, agent_of, tmp_path
):
    agent = agent_of("Fails", how="'abc'.index('x') if '0' in dialogue[0].content else os.abort()")
    agent.use_log_folder(tmp_path / "log")
    first, second = [await play(agent, request=f"def f{n}(x)?") for n in range(2)]
    assert "ValueError: substring not found" in first[0].failure.reason
    log = (tmp_path / "log" / "stderr.log").read_text()
    assert f"shared | {first[0].key[:16]} Traceback (most recent call last):" in log
    assert "in reply" in log
    assert "signal 6 ended it" in second[0].failure.reason
    assert "substring" not in second[0].failure.reason


async def test_a_user_error_stops_the_run(play, agent_of):
    with pytest.raises(UserError, match="^the key is refused$"):
        await play(agent_of("Fails", how="raise UserError('the key is refused')"))


async def test_waiting_for_a_model_server_does_not_use_the_dialogue_time(play, agent_of):
    (done,) = await play(agent_of("Waits"), seconds=0.8)
    assert done.failure is None


async def test_a_blocking_dialogue_is_located_and_the_others_continue(play, agent_of):
    rollouts = await play(agent_of("Blocks"), dialogues=3, seconds=2.0)
    failed = [rollout.failure.reason for rollout in rollouts if rollout.failure]
    assert len(failed) == 1
    assert "no answer in time: mine.py:" in failed[0]
    assert "blocked the event loop" in failed[0]


@pytest.mark.slow
async def test_a_call_that_ignores_cancellation_is_abandoned(play, agent_of):
    (done,) = await play(agent_of("Stubborn"), seconds=0.5)
    assert "after CancelledError, so the call was abandoned" in done.failure.reason


@pytest.mark.slow
async def test_a_stopped_process_times_out_and_is_replaced(play, agent_of, tmp_path):
    mark = str(tmp_path / "stopped")
    how = f"os.path.exists({mark!r}) or (open({mark!r}, 'w'), os.kill(os.getpid(), signal.SIGSTOP))"
    agent = agent_of("Fails", how=how)
    rollouts = await play(agent, dialogues=2, seconds=0.5, concurrency=1)
    first, second = sorted(rollouts, key=lambda rollout: rollout.task_id)
    assert first.failure.kind == "timeout"
    assert second.failure is None


async def test_a_failure_to_start_is_a_user_error_and_a_failure_to_stop_is_logged(
    play, agent_of, caplog
):
    with pytest.raises(UserError, match="could not be started\nOSError: no license server"):
        await play(agent_of("NoStart"))
    await play(agent_of("NoStop"))
    assert "stopping the agent failed: OSError: gone" in caplog.text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Broken", r"building it failed\nRuntimeError: no weights \(mine.py:\d+\)$"),
        ("Nobody", "mine.py has no `Nobody`; the file defines "),
        ("Fails", "'how'; arguments for --agent-arg NAME=VALUE: how$"),
        ("Looks", "add --in-process$"),
        ("Dies", ":Dies: it ended with code 3$"),
    ],
)
def test_an_agent_that_cannot_be_built_is_a_user_error(agent_of, name, message):
    with pytest.raises(UserError, match=message):
        _ = agent_of(name).ready


@pytest.mark.parametrize(
    ("spec", "foreign"),
    [
        ("interviewer", False),
        ("openai:gpt", False),
        ("cmd:true", False),
        ("colbench_agents.blank:Blank", False),
        ("sweet_rl_trainer.agents.local:LocalAgent", False),
        ("my_package.agents:Agent", True),
        ("nobody", False),
        ("no_such_file.py:Agent", False),
    ],
)
def test_only_third_party_code_is_foreign(spec, foreign):
    assert is_foreign("agent", spec) == foreign


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (
        "class Mine:\n    async def reply(self, dialogue):\n        return 'I WANT TO ANSWER: x'\n"
    )
    (tmp_path / "mine.py").write_text(text)
    return tmp_path


def process_of(out: str) -> str:
    return json.loads(Path(out, "run.json").read_text())["pins"]["agent"]["process"]


def test_the_process_is_recorded_and_pins_the_run(here, capsys):
    argv = ["eval", "--agent", "mine.py:Mine", "--limit", "1", "--out", "out"]
    assert main([*argv, "--in-process"]) == 0
    assert process_of("out") == "in-process"
    assert main(argv) == 2
    assert "agent.process: in-process -> own process" in capsys.readouterr().err
    assert main(["eval", "--limit", "1", "--out", "ours"]) == 0
    assert process_of("ours") == "in-process"


@pytest.mark.slow
def test_the_wait_for_the_agents_model_server_is_shown_during_the_run(agent_of, tmp_path, capsys):
    agent_of("Refused")
    spec = f"{tmp_path / 'mine.py'}:Refused"
    assert main(["eval", "--agent", spec, "--limit", "1", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().err
    assert re.search(r"waiting: http://busy\.example/v1: 1 request waiting for \d s: a rate", shown)


def test_an_agent_without_bubblewrap_runs_in_its_own_process_with_a_warning(
    here, monkeypatch, capsys
):
    (here / "bin").mkdir()
    (here / "bin" / "git").symlink_to(shutil.which("git"))
    monkeypatch.setenv("PATH", str(here / "bin"))
    assert main(["eval", "--agent", "mine.py:Mine", "--limit", "1", "--out", "out"]) == 0
    assert process_of("out") == "own process"
    said = capsys.readouterr()
    assert "is not isolated from the tasks: bubblewrap is not installed" in said.err
    assert "process own process\n" in said.out
    assert "own process" in Path("out/report.html").read_text()


def test_agent_sandbox_with_in_process_is_refused(here, capsys):
    flags = ["--in-process", "--agent-sandbox"]
    assert main(["eval", "--agent", "mine.py:Mine", *flags, "--out", "out"]) == 2
    assert "--agent-sandbox: cannot be combined with --in-process" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("nowhere", "the folder .*nowhere does not exist"),
        ("runs", "this folder is hidden from agents"),
    ],
)
def test_agent_write_needs_an_existing_folder_that_is_not_hidden(here, capsys, folder, message):
    if why_not_open():
        pytest.skip("nothing can be isolated here")
    (here / "runs").mkdir()
    argv = ["eval", "--agent", "mine.py:Mine", "--agent-write", folder, "--out", "out"]
    assert main([*argv, "--dry-run"]) == 2
    assert re.search(f"--agent-write {folder}: {message}", capsys.readouterr().err)


def test_an_agent_in_a_folder_of_runs_is_not_isolated(here, capsys):
    (here / "runs").mkdir()
    (here / "mine.py").rename(here / "runs" / "mine.py")
    assert main(["eval", "--agent", "runs/mine.py:Mine", "--dry-run", "--limit", "1"]) == 0
    said = capsys.readouterr()
    assert "is not isolated from the tasks" in said.err
    assert "process own process\n" in said.out


@pytest.mark.slow
def test_an_isolated_agent_writes_only_to_the_agent_write_folder(here, capsys):
    text = (here / "mine.py").read_text().replace("return", "open('logs/said', 'a'); return")
    (here / "mine.py").write_text(text)
    (here / "logs").mkdir()
    argv = ["eval", "--agent", "mine.py:Mine", "--limit", "1"]
    assert main([*argv, "--out", "a"]) == 1
    if process_of("a") == "own process":
        pytest.skip("nothing can be isolated here")
    (rollout,) = read_rollouts(Path("a/rollouts.jsonl"))
    assert "Read-only file system" in rollout.failure.reason
    assert rollout.failure.reason.endswith("lets an isolated agent write to that folder")
    assert main([*argv, "--agent-write", "logs", "--out", "b"]) == 0
    assert (here / "logs" / "said").exists()


def test_a_file_name_that_is_not_unicode_does_not_stop_an_isolated_agent(here, capsys):
    Path(os.fsdecode(bytes(here) + b"/\xff.txt")).touch()
    assert main(["eval", "--agent", "mine.py:Mine", "--limit", "1", "--out", "a"]) == 0
    (rollout,) = read_rollouts(Path("a/rollouts.jsonl"))
    assert rollout.answer == "x"


@pytest.mark.parametrize(
    "learned",
    ["self.learned = {}", "self.learned = lambda lesson: None"],
    ids=["an attribute", "another method"],
)
def test_an_agent_may_use_the_name_learned_for_something_else(here, learned):
    Path("mine.py").write_text(
        "class Mine:\n"
        f"    def __init__(self):\n        {learned}\n"
        "    async def reply(self, dialogue):\n        return 'I WANT TO ANSWER: x = 1'\n"
    )
    argv = ["eval", "--agent", "mine.py:Mine", "--limit", "2", "--dialogue-timeout", "60"]
    assert main([*argv, "--out", "out"]) == 0
    assert main([*argv, "--in-process", "--out", "in-process"]) == 0


@pytest.mark.parametrize("flags", [["--agent", "guesser"], ["--agent", "cmd:cat"]])
def test_agent_write_is_refused_for_an_agent_that_is_not_isolated(here, capsys, flags):
    assert main(["eval", *flags, "--agent-write", ".", "--out", "out"]) == 2
    assert "--agent-write: applies only to a Python agent" in capsys.readouterr().err


def test_agent_write_is_refused_for_an_agent_in_a_sandbox(here, capsys):
    assert main(["eval", "--agent", "cmd:cat", "--agent-sandbox", "--agent-write", "."]) == 2
    assert (
        "--agent-write: cannot be combined with --agent-sandbox, because" in capsys.readouterr().err
    )


def test_single_process_is_read_from_an_agent_in_its_own_process(here, capsys):
    Path("mine.py").write_text(
        "class Mine:\n"
        "    single_process = 'it learns across dialogues'\n"
        "    async def reply(self, dialogue):\n        return 'I WANT TO ANSWER: x = 1'\n"
    )
    assert main(["eval", "--agent", "mine.py:Mine", "--limit", "2", "--processes", "2"]) == 2
    said = "--processes 2: the agent needs a run with a single process: it learns across dialogues"
    assert said in capsys.readouterr().err
