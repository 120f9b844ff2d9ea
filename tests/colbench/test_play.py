"""`colbench play`: a person as agent or as human, through a pipe and in a terminal; the result is an ordinary run."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from colbench.cli import main
from colbench.cli.play import BASE
from colbench.cli.play.keyboard import Keyboard
from colbench.cli.play.pen import is_code
from colbench.cli.play.session import PlaySession
from colbench.plugins import resolve_tasks
from colbench.rollout import read_rollouts

TASKS = "parking-test-0001,adverts-test-0000"
REFERENCE = {task.id: task.hidden.reference for task in resolve_tasks("bundled:backend")}
ANSWER = f"I WANT TO ANSWER:\n{REFERENCE['parking-test-0001']}\n.\n"
SECONDS = 60.0
"""Maximum time to wait for a process; each takes about three seconds."""


@pytest.fixture
def here(tmp_path, cache, monkeypatch):
    """Return an empty folder to work in, with a render cache that is not the user's, and without an editor."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLBENCH_CACHE", str(cache))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def play(*argv, lines="", code=0):
    """Play through a pipe, and return what was printed."""
    done = subprocess.run(
        [sys.executable, "-m", "colbench.cli", "play", *argv],
        input=lines.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        check=False,
    )
    said = done.stdout.decode()
    assert done.returncode == code, said
    return said


def played(folder="out"):
    return read_rollouts(Path(folder, "rollouts.jsonl"))


def record(folder="out"):
    return json.loads(Path(folder, "run.json").read_text())


def test_a_played_dialogue_is_an_ordinary_run(here, capsys):
    said = play("--task-ids", TASKS, "--out", "out", lines=f"Is parking free at first?\n\n{ANSWER}")
    assert "We look after the lockers" in said
    assert said.index("your turn, 1 of 10") < said.index("your turn, 2 of 10")
    assert "tests passed 100%" in said
    (rollout,) = played()
    assert (rollout.task_id, rollout.ended_by) == ("parking-test-0001", "answer")
    assert rollout.turns[0].said == "Is parking free at first?"
    assert rollout.turns[0].human
    assert rollout.answer == REFERENCE["parking-test-0001"].strip()
    assert rollout.scores["default"].success
    assert record()["config"]["task_ids"] == ["parking-test-0001"]
    assert record()["pins"]["agent"]["class"] == "colbench.cli.play.person:PersonAgent"
    for command in (["view", "out", "--list"], ["score", "out"], ["report", "out"]):
        assert main(command) == 0
    numbers = json.loads(Path("out/report.json").read_text())["domains"]["backend"]
    assert (numbers["tasks"], numbers["unscored"], numbers["success_rate"]["mean"]) == (1, 0, 1)


@pytest.mark.slow
def test_playing_again_continues_with_the_task_that_was_not_finished(here):
    argv = ("--task-ids", TASKS, "--out", "out")
    play(*argv, lines=f"{ANSWER}\nWhat does a word cost?\n\n/quit\n")
    assert [rollout.task_id for rollout in played()] == ["parking-test-0001"]
    said = play(
        *argv, lines="I WANT TO ANSWER:\ndef screen_price(message, runs):\n\n    return 1\n.\n"
    )
    assert "We look after the lockers" not in said
    assert "All tasks have been played." in said
    first, second = played()
    assert (first.task_id, second.task_id) == tuple(TASKS.split(","))
    assert second.answer == "def screen_price(message, runs):\n\n    return 1"
    assert sorted(record()["config"]["task_ids"]) == sorted(TASKS.split(","))
    assert main(["report", "out"]) == 0


def test_failed_tests_are_shown_only_at_the_end(here):
    said = play("--task-ids", TASKS, "--max-turns", "2", lines="What?\n\nno code\n\n")
    before, _, after = said.partition("the end")
    assert "expected 8512" not in before
    assert "locker_charge(1991, True): expected 8512" in after
    assert "the last: what you write now is your answer" in before


def test_an_interrupt_ends_the_process_while_its_input_pipe_stays_open(here):
    argv = [sys.executable, "-m", "colbench.cli", "play"]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(argv, **streams) as process:
        while b"your turn" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
        assert process.stderr.read().decode().startswith("colbench: interrupted")


def test_a_dialogue_without_any_input_is_not_kept(here):
    assert "is not kept" in play("--out", "out", lines="")
    assert not played()


def test_the_seed_decides_the_order_of_the_tasks():
    def first(seed, **options):
        config = replace(BASE, seed=seed, **options)
        return [task.id for task in PlaySession(config, None, "agent", Keyboard()).queue[:5]]

    assert first(1) == first(1, max_turns=3) == first(1, scoring="official")
    assert first(1) != first(2) != first(3)
    assert first(1, task_ids=tuple(TASKS.split(","))) == TASKS.split(",")


def test_messages_and_answers_can_come_from_files(here):
    Path("ask.txt").write_text("Is there\n\na grace period?\n")
    Path("answer.py").write_text(REFERENCE["parking-test-0001"])
    lines = "/edit nowhere.txt\n/edit ask.txt\n/answer answer.py\n"
    said = play("--task-ids", TASKS, "--out", "out", lines=lines)
    assert "nowhere.txt: cannot be read" in said
    (rollout,) = played()
    assert rollout.turns[0].said == "Is there\n\na grace period?"
    assert rollout.scores["default"].success


def test_an_answer_can_be_pasted_without_an_editor_and_must_not_be_empty(here):
    lines = "/help\n/nonsense\n/answer\n.\n/answer\ndef f():\n\n    return '/quit'\n.\n"
    said = play("--task-ids", TASKS, "--out", "out", lines=lines)
    assert "Unknown command /nonsense" in said
    assert "nothing was sent" in said
    assert played()[0].answer == "def f():\n\n    return '/quit'"


def test_a_person_as_human_sees_the_hidden_information_and_replies_freely(here):
    code = REFERENCE["parking-test-0001"]
    lines = f"/hidden\n25 minutes.\n\n```\n{code}\n```\n\n/answer\n" + "Nothing.\n\n" * 3
    argv = ("--as", "human", "--task-ids", TASKS, "--max-turns", "5", "--out", "out")
    said = play(*argv, lines=lines)
    brief = said[: said.index("the agent has had 1 of 5")]
    assert "Every block costs 80 cents." in brief
    assert "return fee" in brief
    assert said.count("Every block costs 80 cents.") == 2
    assert "Unknown command /answer" in said
    (rollout,) = played()
    assert [turn.human for turn in rollout.turns[:2]] == ["25 minutes.", f"```\n{code}\n```"]
    assert rollout.turns[1].leak.identifiers > 0
    assert record()["config"]["human"] == "person"
    assert record()["pins"]["agent"]["class"].endswith("Interviewer")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (
            ["--agent", "blank"],
            "--agent: you play the agent yourself; leave this flag out, or take the other role with --as",
        ),
        (["--as", "human", "--human-arg", "a=b"], "--human-arg: you play the human yourself"),
        (["--task-ids", "nothing"], "--task-ids: bundled:backend has no nothing"),
        (["--as", "human", "--agent", "designer"], "supports frontend tasks"),
        (["--human", "nobody"], "--human nobody: unknown"),
    ],
)
def test_wrong_flags_exit_with_code_2_and_a_one_line_message(here, capsys, argv, said):
    assert main(["play", *argv]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_a_folder_of_another_run_is_refused(here, capsys):
    assert main(["eval", "--agent", "blank", "--limit", "1", "--out", "out"]) == 0
    before = Path("out/report.json").read_bytes()
    assert "a different configuration" in play("--out", "out", lines="/quit\n", code=2)
    assert Path("out/report.json").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("What is the price?\n", False),
        ("I WANT TO ANSWER:\n", True),
        ("like this:\n```python\nx = 1\n", True),
        ("like this:\n```python\nx = 1\n```\n", False),
        ("<!DOCTYPE html>\n<html>\n<body>\n", True),
        ("<html>\n<body></body></html>\n", False),
        ("<html></html> and <html>\n", True),
        ("is it < or <= ?\n", False),
    ],
)
def test_empty_lines_do_not_end_code_or_pages(text, code):
    assert is_code(text) is code


class Terminal:
    """`colbench play` in its own terminal."""

    def __init__(self, *argv, width=80, **environment):
        self.pid, self.tty = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm", **environment})
            for name in (
                "COLUMNS",
                "LINES",
            ):  # readline, which pytest loads, sets them without changing `os.environ`
                os.unsetenv(name)
            os.execv(sys.executable, [sys.executable, "-m", "colbench.cli", "play", *argv])
        fcntl.ioctl(self.tty, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        self.settings = termios.tcgetattr(self.tty)
        self.screen = ""
        self._read = 0

    def type(self, text, after):
        """Type `text` once `after` appears in the new part of the screen and the command waits for a line."""
        end = time.monotonic() + SECONDS
        while after not in self.screen[self._read :]:
            assert self._more(), self.screen
            assert time.monotonic() < end, self.screen
        while termios.tcgetattr(self.tty)[3] & termios.ICANON:
            assert time.monotonic() < end, self.screen
            time.sleep(0.01)
        self._read = len(self.screen)
        os.write(self.tty, text.encode())

    def close(self):
        """Wait for the end, and return the exit code and the terminal's settings at that time."""
        while self._more():
            pass
        settings = termios.tcgetattr(self.tty)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.tty)
        return os.waitstatus_to_exitcode(status), settings

    def _more(self):
        """Read more of the screen, and return True if the other side is still there."""
        ready, _, _ = select.select([self.tty], [], [], SECONDS)
        assert ready, self.screen
        try:
            self.screen += os.read(self.tty, 1 << 16).decode(errors="replace")
        except OSError:  # Linux reports in this way that no process has the terminal open
            return False
        return True


def test_a_terminal_supports_editing_pasting_and_its_full_width(here):
    terminal = Terminal("--task-ids", TASKS, "--out", "out", width=120)
    terminal.type("Is there a grace\x7f\x7f\x7f\x7f\x7fprice?\r", after="> ")
    terminal.type("\r", after="\n  ")
    terminal.type(
        "\x1b[200~I WANT TO ANSWER:\ndef f():\n\n    return 1\x1b[201~\r", after="2 of 10"
    )
    terminal.type(".\r", after="ends the message.")
    terminal.type("/quit\r", after="next task")
    code, settings = terminal.close()
    assert (code, settings) == (0, terminal.settings)
    (rollout,) = played()
    assert rollout.turns[0].said == "Is there a price?"
    assert rollout.answer.startswith("def f():")
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.screen).split("\r\n")
    assert max(len(line) for line in lines if line.startswith(("your turn", "the end"))) == 120


def test_ctrl_c_keeps_finished_dialogues_and_restores_the_terminal(here):
    terminal = Terminal("--task-ids", TASKS, "--out", "out")
    terminal.type("\x04", after="> ")
    assert terminal.close()[0] == 0
    terminal = Terminal("--task-ids", TASKS, "--out", "out")
    terminal.type("I WANT TO ANSWER: x\r", after="> ")
    terminal.type("\x04", after="ends the message.")
    terminal.type("\r", after="next task")
    terminal.type("half a wo\x03", after="> ")
    code, settings = terminal.close()
    assert (code, settings) == (130, terminal.settings)
    assert "repeat the command to continue" in terminal.screen
    assert [rollout.task_id for rollout in played()] == ["parking-test-0001"]
    assert record()["config"]["task_ids"] == ["parking-test-0001"]
    assert Path("out/report.html").exists()


@pytest.mark.weekly
def test_the_editor_starts_with_the_signature_and_its_failure_is_reported(here):
    script = here / "editor.sh"
    script.write_text('#!/bin/sh\ncp "$1" seen.txt\nsed -i "s/^    $/    return 7/" "$1"\n')
    script.chmod(0o755)
    argv = ("--task-ids", TASKS, "--out", "out")
    terminal = Terminal(*argv, EDITOR="false")
    terminal.type("/answer\r", after="> ")
    terminal.type("/quit\r", after="the editor `false`: exited with code 1; set VISUAL or EDITOR")
    assert terminal.close()[0] == 0
    terminal = Terminal(*argv, EDITOR=str(script))
    terminal.type("/answer\r", after="> ")
    terminal.type("/quit\r", after="next task")
    assert terminal.close()[0] == 0
    signature = "def locker_charge(minutes_used, is_member):\n    "
    assert Path("seen.txt").read_text() == signature
    assert played()[0].answer == f"{signature}return 7"


PAGE = "<html>\n<body style='background: navy'>\n\n<h1>Boats</h1>\n</body>\n</html>\n\n"


@pytest.mark.slow
def test_a_persons_page_is_rendered_and_scored(here, browser):
    lines = f"What colour is it?\n\n{PAGE}/answer\n.\n"
    said = play("--domain", "frontend", "--browser", str(browser), "--out", "out", lines=lines)
    (rollout,) = played()
    name = f"out/pages/{rollout.task_id}-turn-2.png"
    assert f"your page as the human sees it: {name}" in said
    assert Path(name).read_bytes().startswith(b"\x89PNG")
    assert rollout.answer == PAGE.strip()
    assert rollout.scores["default"].metrics["ssim"] > 0
    assert Path("out/gallery.html").exists()


@pytest.mark.slow
def test_a_person_as_human_gets_pictures_of_both_pages(here, browser):
    argv = ("--as", "human", "--domain", "frontend", "--max-turns", "2", "--browser", str(browser))
    said = play(*argv, "--out", "out", lines="It should be white.\n\n")
    (rollout,) = played()
    for what in ("target", "turn-1"):
        name = f"out/pages/{rollout.task_id}-{what}.png"
        assert name in said
        assert Path(name).read_bytes().startswith(b"\x89PNG")
    assert rollout.turns[0].human == "It should be white."
    assert "<body" not in said
