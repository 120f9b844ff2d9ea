"""The command line as a user types it: what it prints, writes and returns, and its messages about mistakes."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from colbench.cli import main
from colbench.cli.evaluate import finish
from colbench.config import RunConfig
from colbench.domains.frontend.weights import ADDRESS
from colbench.evaluation import Evaluation, Observer
from colbench.export import encode_lines
from colbench.progress import Tally, steps
from colbench.registry import domain_names
from colbench.rollout import read_rollouts
from colbench.selection import load_tasks

AGENTS = """
import asyncio
from colbench.errors import SimulatorError
from colbench.messages import Message

class Slow:
    async def reply(self, dialogue):
        await asyncio.sleep(0.05)
        return "What is the rate?" if len(dialogue) < 5 else "I WANT TO ANSWER: def f(): return 1"

class Says:
    def __init__(self, *, answer: str = "", size: int = 0):
        self.answer = answer + "x" * size
    async def reply(self, dialogue):
        return "I WANT TO ANSWER: " + self.answer

class Asks:
    async def reply(self, dialogue):
        return "What is the rate?"

class Crashes:
    async def reply(self, dialogue):
        raise ValueError("boom")

class Hangs:
    async def reply(self, dialogue):
        await asyncio.sleep(60)

class NoStart(Asks):
    async def __aenter__(self):
        raise OSError("no license server")
    async def __aexit__(self, *error):
        pass

class NoStop(Says):
    async def __aenter__(self):
        return self
    async def __aexit__(self, *error):
        raise OSError("gone")

class Terminal(Says):
    async def reply(self, dialogue):
        return "\\x1b[2Jhello [/x]" if len(dialogue) == 1 else "I WANT TO ANSWER: \\x00"

class MuteHuman:
    async def respond(self, task, dialogue):
        raise SimulatorError("nothing to say")
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return an empty folder to work in, with a file of agents."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(AGENTS)
    return tmp_path


def colbench(*argv):
    return [sys.executable, "-m", "colbench.cli", *argv]


def report(folder="out"):
    return json.loads(Path(folder, "report.json").read_text())["domains"]["backend"]


def test_eval_runs_scores_and_reports_dialogues(here, capsys):
    assert main(["eval", "--limit", "4", "--out", "out"]) == 0
    printed = capsys.readouterr()
    assert "interviewer (colbench_agents.interviewer:Interviewer)" in printed.out
    assert "out/report.html" in printed.out
    assert "4/4" in printed.err
    numbers = report()
    assert (numbers["tasks"], numbers["trials"], numbers["unscored"]) == (4, 1, 0)
    assert numbers["value"].keys() & numbers["success_rate"].keys() >= {
        "mean",
        "low",
        "high",
    }
    record = json.loads(Path("out/run.json").read_text())
    assert record["pins"]["agent"]["class"] == "colbench_agents.interviewer:Interviewer"
    assert record["sandbox"].startswith("T")


def test_a_repeated_command_adds_nothing_and_a_larger_limit_only_new_dialogues(here, capsys):
    main(["eval", "--limit", "2", "--out", "out"])
    before = Path("out/rollouts.jsonl").read_bytes()
    assert main(["eval", "--limit", "2", "--out", "out"]) == 0
    assert Path("out/rollouts.jsonl").read_bytes() == before
    assert main(["eval", "--limit", "3", "--trials", "2", "--out", "out"]) == 0
    after = Path("out/rollouts.jsonl").read_bytes()
    assert after.startswith(before)
    assert (
        len({r.key for r in read_rollouts(Path("out/rollouts.jsonl"))}) == after.count(b"\n") == 6
    )


def test_a_smaller_selection_says_how_much_of_the_folder_the_report_covers(here, capsys):
    main(["eval", "--limit", "2", "--trials", "2", "--out", "out"])
    assert "note:" not in capsys.readouterr().err
    main(["eval", "--limit", "1", "--out", "out"])
    said = capsys.readouterr().err
    assert "note: the report covers 1 of the 4 dialogues in the folder; the others are not" in said


def test_a_repeated_command_without_out_finds_its_run(here, capsys):
    for _ in range(2):
        assert main(["eval", "--agent", "blank", "--limit", "2"]) == 0
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("blank-bundled-backend-")


def test_a_different_configuration_in_a_run_folder_is_refused_with_the_difference(here, capsys):
    main(["eval", "--limit", "1", "--out", "out"])
    assert main(["eval", "--limit", "1", "--out", "out", "--max-turns", "3"]) == 2
    assert "config.max_turns: 10 -> 3" in capsys.readouterr().err


def test_a_dry_run_prints_the_plan_and_writes_nothing(here, capsys):
    assert main(["eval", "--limit", "3", "--trials", "2", "--dry-run", "--out", "out"]) == 0
    assert "3 tasks x 2 = 6 dialogues" in capsys.readouterr().out
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("answer", "size"),
    [("", 0), ("not python at all", 0), ("```python\ndef f(", 0), ("x = 1 #", 1_000_000)],
    ids=["empty", "prose", "unclosed-fence", "one-megabyte"],
)
def test_an_answer_without_a_function_scores_zero_without_a_failure(here, capsys, answer, size):
    argv = ["--agent-arg", f"answer={answer}", "--agent-arg", f"size={size}"]
    assert main(["eval", "--agent", "mine.py:Says", *argv, "--limit", "1", "--out", "out"]) == 0
    (rollout,) = read_rollouts(Path("out/rollouts.jsonl"))
    assert {mode: score.value for mode, score in rollout.scores.items()} == {
        "default": 0.0,
        "official": 0.0,
    }
    assert rollout.failure is None


def test_a_crashing_agent_scores_zero_and_is_not_retried(here, capsys):
    for _ in range(2):
        assert main(["eval", "--agent", "mine.py:Crashes", "--limit", "2", "--out", "out"]) == 1
        assert "(2) failed in the agent's own code, for example: ValueError: boom (mine.py:" in (
            capsys.readouterr().err
        )
    assert Path("out/rollouts.jsonl").read_bytes().count(b"\n") == 2
    assert report()["value"]["mean"] == 0
    assert "ValueError: boom" in Path("out/report.json").read_text()


def test_an_agent_that_never_answers_in_time_gives_exit_code_1(here, capsys):
    flags = ["--dialogue-timeout", "0.2", "--limit", "2", "--out", "out"]
    assert main(["eval", "--agent", "mine.py:Hangs", *flags]) == 1
    said = "(2) failed because of the agent, for example: no answer in time; fix the agent"
    assert f"every dialogue so far {said}" in capsys.readouterr().err
    assert report()["value"]["mean"] == 0


@pytest.mark.slow
def test_a_failing_agent_start_exits_with_2_and_a_failing_stop_is_reported(here, capsys):
    assert main(["eval", "--agent", "mine.py:NoStart", "--limit", "1", "--out", "a"]) == 2
    assert (
        "--agent: the agent could not be started\nOSError: no license server"
        in capsys.readouterr().err
    )
    assert main(["eval", "--agent", "mine.py:NoStop", "--limit", "1", "--out", "b"]) == 0
    assert "stopping the agent failed: OSError: gone" in capsys.readouterr().err
    assert report("b")["value"]["mean"] == 0


@pytest.mark.slow
def test_a_changed_agent_file_is_a_different_configuration(here, capsys):
    argv = ["eval", "--agent", "mine.py:Says", "--limit", "1", "--out", "out"]
    assert main(argv) == 0
    Path("mine.py").write_text(AGENTS + "\n# changed\n")
    assert main(argv) == 2
    assert "agent.source (the content of its file, or of a local module" in capsys.readouterr().err


def test_recording_tokens_is_refused_for_an_agent_without_tokens(here, capsys):
    assert main(["eval", "--record-tokens"]) == 2
    assert "--record-tokens: interviewer does not record tokens" in capsys.readouterr().err


def test_control_characters_in_replies_are_not_printed(here, capsys):
    assert main(["eval", "--agent", "mine.py:Terminal", "--limit", "1", "--out", "out"]) == 0
    (task,) = load_tasks("bundled:backend", limit=1)
    assert main(["view", "out", "--task", task.id]) == 0
    printed = capsys.readouterr()
    assert "hello [/x]" in printed.out
    assert "\x1b[2J" not in printed.out + printed.err
    assert "\x00" not in printed.out


def test_control_characters_in_failures_and_program_output_are_not_printed(here, capsys):
    fails = 'class Fails:\n    async def reply(self, dialogue):\n        raise ValueError("\x1b[2Jboom")\n'
    Path("fails.py").write_text(fails)
    assert main(["eval", "--agent", "fails.py:Fails", "--limit", "1", "--out", "out"]) == 1
    assert main(["eval", "--agent", r"cmd:printf \'\\033[2Jboom\\n\'"]) == 2
    printed = capsys.readouterr()
    for said in (printed.out, printed.err):
        assert "[2Jboom" in said
        assert "\x1b" not in said


def test_a_task_whose_reference_fails_is_unjudged_and_not_scored(here, capsys):
    row = {"problem_description": "def f()", "ground_truth": "def f(): raise ValueError"}
    tests = {f"test{n}": "f()" for n in range(1, 11)}
    sound = {**row, "ground_truth": "def f(): return 1", "test_cases": tests}
    Path("odd.jsonl").write_text(json.dumps({**row, "test_cases": tests}))
    assert main(["eval", "--agent", "blank", "--tasks", "odd.jsonl", "--out", "out"]) == 1
    numbers = report()
    assert (numbers["unscored"], numbers["unjudged"], numbers["scored"]) == (0, 1, 0)
    printed, said = capsys.readouterr()
    assert "  1  no failures, but no test could be counted" in printed
    assert "1/1 · 0:00:00 left · 1 not judged\n" in said
    assert "unscored" not in said
    assert (
        "colbench: 1 dialogue not judged, because the reference cannot be compared; "
        "`colbench tasks validate odd.jsonl` shows why\n"
    ) in said
    with Path("odd.jsonl").open("a") as file:
        file.write("\n" + json.dumps(sound))
    assert main(["eval", "--agent", "blank", "--tasks", "odd.jsonl", "--out", "out"]) == 0
    assert "1 dialogue not judged" in capsys.readouterr().err


def test_a_different_selection_of_tasks_gets_its_own_run_folder(here, capsys):
    main(["eval", "--agent", "blank", "--limit", "3"])
    main(["eval", "--agent", "blank", "--limit", "2"])
    assert len(list(Path("runs").iterdir())) == 2


def test_unscored_dialogues_give_exit_code_1_and_are_retried(here, capsys):
    argv = [
        "eval",
        "--agent",
        "mine.py:Asks",
        "--human",
        "mine.py:MuteHuman",
        "--limit",
        "2",
        "--out",
        "out",
    ]
    assert main(argv) == 1
    assert "repeat the command to retry unscored dialogues" in capsys.readouterr().err
    assert report()["unscored"] == 2
    assert main(argv) == 1
    assert Path("out/rollouts.jsonl").read_bytes().count(b"\n") == 4


def test_the_advice_to_repeat_the_command_is_given_only_once(here, capsys):
    config = RunConfig(agent="mine.py:Asks", human="mine.py:MuteHuman", limit=1)
    evaluation = Evaluation(config, out=Path("out"))
    asyncio.run(evaluation.run(Observer()))
    assert finish(evaluation, advised=True) == 1
    assert "repeat the command" not in capsys.readouterr().err
    assert finish(evaluation) == 1
    assert capsys.readouterr().err.count("repeat the command") == 1


def test_a_run_killed_at_any_moment_loses_and_repeats_no_dialogue(here):
    argv = colbench(
        "eval", "--agent", "mine.py:Slow", "--limit", "15", "--concurrency", "2", "--out", "out"
    )
    path = Path("out/rollouts.jsonl")
    kept = b""
    for attempt in range(3):
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda least=attempt + 1: path.exists() and path.read_bytes().count(b"\n") > least)
        process.send_signal(signal.SIGKILL)
        process.wait()
        left = path.read_bytes()
        assert left.startswith(kept)
        kept = left[: left.rfind(b"\n") + 1]
    subprocess.run(argv, check=True, capture_output=True)
    content = path.read_bytes()
    assert content.startswith(kept)
    assert content.count(b"\n") == len({r.key for r in read_rollouts(path)}) == 15


@pytest.mark.slow
def test_an_interrupted_run_says_how_to_continue(here):
    argv = colbench(
        "eval", "--agent", "mine.py:Slow", "--limit", "60", "--concurrency", "1", "--out", "out"
    )
    path = Path("out/rollouts.jsonl")
    for number in (signal.SIGINT, signal.SIGTERM):
        before = path.read_bytes().count(b"\n") if path.exists() else 0
        process = subprocess.Popen(
            argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        wait_for(lambda n=before: path.exists() and path.read_bytes().count(b"\n") > n)
        process.send_signal(number)
        said = process.communicate()[1]
        assert said.endswith("interrupted; repeat the command to continue\n")
        assert "Traceback" not in said
        assert process.returncode == 128 + number


def test_score_keeps_the_rollouts_shows_the_delta_and_records_the_mode(here, capsys):
    main(["eval", "--limit", "3", "--out", "out"])
    before = read_rollouts(Path("out/rollouts.jsonl"))
    capsys.readouterr()
    assert main(["score", "out", "--scoring", "official"]) == 0
    printed = capsys.readouterr().out
    assert "+0.00" in printed
    assert "out/run.json: --scoring recorded for this and all later reports of the run; " in printed
    assert main(["score", "out"]) == 0
    assert "recorded" not in capsys.readouterr().out
    assert read_rollouts(Path("out/rollouts.jsonl")) == before
    assert report()["mode"] == "official"


def test_an_unknown_scoring_mode_is_refused_with_the_modes_of_the_domain(here, capsys):
    said = "--scoring strict: backend tasks are scored in default or official mode"
    assert main(["eval", "--limit", "1", "--out", "out", "--scoring", "strict"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("out").exists()
    main(["eval", "--limit", "1", "--agent", "blank", "--out", "out"])
    for command in ("report", "score"):
        assert main([command, "out", "--scoring", "strict"]) == 2
        assert said in capsys.readouterr().err


def test_report_prints_json(here, capsys):
    main(["eval", "--limit", "1", "--agent", "blank", "--out", "out"])
    capsys.readouterr()
    assert main(["report", "out", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["domains"]["backend"]["tasks"] == 1


def test_a_report_that_cannot_be_written_is_printed(here, capsys):
    main(["eval", "--limit", "1", "--agent", "blank", "--out", "out"])
    Path("out/report.json").unlink()
    Path("out/report.json").mkdir()
    capsys.readouterr()
    for flags, printed in (((), "tests passed"), (("--json",), '"tests_passed"')):
        assert main(["report", "out", *flags]) == 2
        found = capsys.readouterr()
        assert printed in found.out
        assert "report.html" not in found.out
        assert found.err == "colbench: out/report.json: cannot be written: Is a directory\n"


def test_a_run_whose_task_file_is_gone_names_the_file_and_no_flag(here, capsys):
    Path("rows.jsonl").write_bytes(b"".join(encode_lines(load_tasks("bundled:backend", limit=1))))
    main(["eval", "--agent", "blank", "--tasks", "rows.jsonl", "--out", "out"])
    Path("rows.jsonl").rename("moved.jsonl")
    for command in ("report", "score"):
        capsys.readouterr()
        assert main([command, "out"]) == 2
        assert capsys.readouterr().err == (
            f"colbench: out: the run's task file {here}/rows.jsonl does not exist; "
            "restore it, or put a copy at rows.jsonl in the current folder\n"
        )
    Path("moved.jsonl").rename("rows.jsonl")
    assert main(["report", "out"]) == 0


def test_a_run_folder_that_cannot_be_locked_is_named_without_a_flag(here, capsys):
    main(["eval", "--limit", "1", "--agent", "blank", "--out", "out"])
    Path("out/.lock").unlink()
    Path("out/.lock").mkdir()
    for command in ("score", "repair"):
        capsys.readouterr()
        assert main([command, "out"]) == 2
        assert capsys.readouterr().err == "colbench: out: cannot be written: Is a directory\n"


def test_a_dialogue_whose_line_is_truncated_is_run_again(here, capsys):
    main(["eval", "--limit", "2", "--out", "out"])
    path = Path("out/rollouts.jsonl")
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert main(["eval", "--limit", "2", "--out", "out"]) == 0
    assert path.read_bytes().count(b"\n") == 2
    assert path.read_bytes().startswith(whole.split(b"\n")[0])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["eval", "--agent", "nobody"],
            "--agent nobody: unknown, and not a Python module; installed:",
        ),
        (["eval", "--agent", "gpt-4o"], "for a model, write openai:MODEL or vllm:MODEL"),
        (["eval", "--agent", "mine.py:Nobody"], "mine.py has no `Nobody`"),
        (["eval", "--tasks", "none.jsonl"], "--tasks none.jsonl: neither a file"),
        (["eval", "--tasks", "bundled:nothing"], "nothing"),
        (["eval", "--task-ids", "no-such-task"], "--task-ids: bundled:backend has no no-such-task"),
        (["eval", "--out", "x" * 300], "--out xxx"),
        (["sweep", "none.toml"], "colbench: none.toml cannot be read: No such file"),
        (["sweep", "none.toml", "--out", "x" * 300], "--out xxx"),
        (["sweep", "none.toml", "--out", "mine.py"], "--out mine.py: this is not a folder"),
        (["eval", "--trials", "0"], "--trials: expected a whole number >= 1"),
        (["eval", "--agent", "openai:m@http://127.0.0.1:9/v1", "--limit", "1"], "tried 3 times"),
        (["eval", "--agent", "openai:m@nonsense", "--limit", "1"], "OPENAI_API_KEY"),
        (
            ["eval", "--human", "openai:m@http://127.0.0.1:9/v1", "--limit", "1"],
            "no model server answers at http://127.0.0.1:9/v1",
        ),
        (["eval", "--sandbox-tier", "T9"], "unknown sandbox tier T9; known: T0, T0b"),
        (["eval", "--sandbox-tier", "T2"], "T2 is unsafe; add --allow-unsafe-sandbox to use it"),
        (["tasks", "validate", "--sandbox-tier", "T9"], "unknown sandbox tier T9"),
        (["eval", "--sandbox-packages", "numpi"], "numpi is not installed; pip install numpi"),
        (
            ["tasks", "validate", "--sandbox-packages", "numpi"],
            "numpi is not installed; pip install numpi",
        ),
        (["score", "nowhere"], "nowhere is not a run folder"),
        (["report", "nowhere"], "nowhere is not a run folder"),
        (["view", "nowhere"], "nowhere is not a run folder"),
        (["tasks", "show", "no-such-task"], "bundled:backend has no task `no-such-task`"),
        (["tasks", "validate", "--tasks", "none.jsonl"], "none.jsonl: neither a file"),
    ],
)
def test_a_mistake_gives_one_clear_line_and_exit_code_2(here, capsys, monkeypatch, argv, message):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert error.splitlines()[-1].startswith("colbench: ")
    assert message in error
    assert "Traceback" not in error


def test_view_shows_the_named_task_and_trial(here, capsys):
    main(["eval", "--agent", "guesser", "--limit", "2", "--trials", "2", "--out", "out"])
    _, second = load_tasks("bundled:backend", limit=2)
    for words, trial in (((), 0), (("--trial", "1"), 1)):
        capsys.readouterr()
        assert main(["view", "out", "--task", second.id, *words]) == 0
        assert capsys.readouterr().out.startswith(f"{second.id}, trial {trial}")
    assert main(["view", "out", "--task", second.id, "--trial", "2"]) == 2
    assert capsys.readouterr().err == (
        f"colbench: out has no dialogue of {second.id}, trial 2; choose one of its trials: 0, 1\n"
    )


def test_view_prints_the_messages_the_answer_and_the_scores(here, capsys):
    main(["eval", "--limit", "1", "--out", "out"])
    (rollout,) = read_rollouts(Path("out/rollouts.jsonl"))
    capsys.readouterr()
    assert main(["view", "out", "--task", rollout.task_id]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert all(" ".join(turn.said.split()) in printed for turn in rollout.turns)
    assert rollout.turns[0].human in printed
    assert rollout.answer.splitlines()[0] in printed
    assert "default and official scoring: tests passed 100%" in printed


def test_tasks_are_listed_and_shown(here, capsys):
    assert main(["tasks", "list"]) == 0
    first = capsys.readouterr().out.split()[0]
    assert main(["tasks", "show", first]) == 0
    shown = capsys.readouterr().out
    assert "def " in shown
    assert main(["tasks", "show", first, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == first


def test_every_tasks_command_takes_the_source_as_an_argument_or_a_flag(here, capsys):
    row = {"problem_description": "p", "ground_truth": "def f(): return 1"}
    Path("own.jsonl").write_text(json.dumps(row | {"test_cases": {"test1": "f()"}}) + "\n")
    for given in (["own.jsonl"], ["--tasks", "own.jsonl"]):
        assert main(["tasks", "list", *given]) == 0
        listed = capsys.readouterr().out.split()
        assert listed[1:] == ["p"]
        assert main(["tasks", "show", listed[0], *given]) == 0
        assert "def f(): return 1" in capsys.readouterr().out
        assert main(["tasks", "validate", *given]) == 0
        assert main(["tasks", "export", *given, "--out", "out.jsonl", "--overwrite"]) == 0
        assert "out.jsonl: 1 task" in capsys.readouterr().err
        assert main(["tasks", "datasheet", *given, "--license", "CC0-1.0", "--sample", "0"]) == 0
        assert "own.jsonl" in capsys.readouterr().out


@pytest.mark.parametrize("action", ["list", "show an-id", "validate", "export", "datasheet"])
def test_two_task_sources_are_refused(here, capsys, action):
    out = ["--out", "x.jsonl"] if action == "export" else []
    argv = ["tasks", *action.split(), "own.jsonl", "--tasks", "other.jsonl", *out]
    assert main(argv) == 2
    assert "--tasks other.jsonl: cannot be combined with SOURCE" in capsys.readouterr().err


def test_agents_are_listed(capsys):
    assert main(["agents", "list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("blank", "guesser", "interviewer", "vllm:", "openai:"))
    assert "openai:MODEL[@URL]" in printed


def test_an_agent_is_described_with_its_arguments_and_their_defaults(here, capsys):
    assert main(["agents", "show", "demonstrator"]) == 0
    printed = capsys.readouterr().out
    assert "imperfect demonstrator" in printed
    assert re.search(r"^slips +true *$", printed, re.MULTILINE)
    Path("mine.py").write_text(
        'class Mine:\n    """Asks about [bold]."""\n'
        "    def __init__(self, *, most, style='[dim]', log=None): ...\n"
        "    async def reply(self, dialogue): ...\n"
    )
    assert main(["agents", "show", "mine.py:Mine", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "description": "Asks about [bold].",
        "arguments": {"most": "required", "style": "[dim]", "log": "not set"},
    }
    assert main(["agents", "show", "mine.py:Mine"]) == 0
    printed = capsys.readouterr().out
    assert "Asks about [bold]." in printed
    assert re.search(r"^style +\[dim\]", printed, re.MULTILINE)
    assert main(["agents", "show", "guessr"]) == 2
    assert "did you mean `guesser`?" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["openai", "azure"])
def test_only_arguments_that_a_user_can_pass_are_listed(name, capsys):
    assert main(["agents", "show", name, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {"prompt", "max_tokens", "api_key_env", "client"} <= shown["arguments"].keys()
    assert not {"spec", "azure", "fields"} & shown["arguments"].keys()
    assert not re.search(r"^ *(azure|fields): ", shown["description"], re.MULTILINE)


def test_the_description_of_an_agent_without_arguments_says_so(capsys):
    assert main(["agents", "show", "guesser"]) == 0
    assert "It has no arguments for --agent-arg." in capsys.readouterr().out


@pytest.mark.slow
def test_doctor_names_the_sandbox_that_runs_use_and_every_domain(capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "runs use T" in printed
    assert "ok  domain backend" in printed
    assert all(f"  domain {name}" in printed for name in domain_names())
    assert main(["doctor", "--json"]) == 0
    found = {each["what"]: each for each in json.loads(capsys.readouterr().out)}
    assert found["sandbox"]["works"] is True
    assert found["sandbox"]["text"].startswith("runs use T")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["validate", "--tasks", "x"], "validate: replaced by `colbench tasks validate`"),
        (
            ["sandbox", "attack", "--pages"],
            "sandbox attack: replaced by `colbench doctor --attack [code|pages]`",
        ),
        (["sandbox"], "sandbox: replaced by `colbench doctor --attack [code|pages]`"),
    ],
)
def test_an_old_command_names_its_replacement(capsys, old, new):
    assert main(old) == 2
    assert capsys.readouterr().err == f"colbench {new}\n"
    with pytest.raises(SystemExit):
        main(["--help"])
    assert not {"validate", "sandbox"} & set(re.findall(r"^ +(\w+)", capsys.readouterr().out, re.M))


def test_an_unknown_command_lists_only_the_current_commands(capsys):
    with pytest.raises(SystemExit):
        main(["foo"])
    said = capsys.readouterr().err
    assert "'tasks'" in said
    assert "'leaderboard'" in said
    assert not {"'validate'", "'sandbox'"} & set(re.findall(r"'\w+'", said))


@pytest.mark.slow
def test_doctor_tests_the_browser_and_explains_why_one_does_not_work(browser, monkeypatch, capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "ok  browser" in printed
    assert f"{browser}: Chromium" in " ".join(printed.split())
    monkeypatch.setenv("COLBENCH_BROWSER", "/bin/true")
    assert main(["doctor"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "-- browser /bin/true does not work; needed for frontend design" in printed
    assert "does not report a Chromium version; install a browser with `pip install" in printed


def test_doctor_reports_missing_and_present_clip_weights(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLBENCH_BROWSER", "none")
    assert main(["doctor"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"-- domain frontend [^;]*; still needs ([^;]*, )?browser \S+ playwright", printed
    )
    assert "-- CLIP weights not found; needed for the cosine" in printed
    assert "or pass it with --clip-weights" in printed
    assert f"fetched from {ADDRESS} at first use" in printed
    file = tmp_path / ".cache/clip/ViT-B-32.pt"
    file.parent.mkdir(parents=True)
    file.touch()
    assert main(["doctor"]) == 0
    assert "ok  CLIP weights" in capsys.readouterr().out


@pytest.mark.slow
def test_validate_reports_that_references_score_1_and_empty_answers_score_0(here, capsys):
    assert main(["tasks", "validate"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "references that score 1 1000 of 1000" in printed
    assert "tasks on which an empty answer scores 0 1000 of 1000" in printed


def test_validate_names_duplicate_rows(here, capsys):
    first, second = encode_lines(load_tasks("bundled:backend", limit=2))
    Path("rows.jsonl").write_bytes(first + second + first)
    name = load_tasks("rows.jsonl")[0].id
    assert main(["tasks", "validate", "rows.jsonl"]) == 0
    printed = capsys.readouterr().out
    assert f"{name}-2: duplicate of {name}\n" in printed
    assert re.search(r"tasks that are the same as an earlier one +1 of 3", printed)
    assert main(["tasks", "validate", "rows.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["repeated"] == {f"{name}-2": name}


def test_validate_names_facts_that_no_question_can_match(here, capsys):
    (row,) = encode_lines(load_tasks("bundled:backend", limit=1))
    fact = {"name": "cap", "topics": ["\u4e0a\u9650"], "statement": "At most 5."}
    Path("rows.jsonl").write_text(json.dumps(json.loads(row) | {"id": "t", "facts": [fact]}))
    assert main(["tasks", "validate", "rows.jsonl"]) == 0
    assert "t: no question can match cap; add topics or examples" in capsys.readouterr().out


BROKEN = {
    "problem_description": "Write it. The signature of the function is: def fee(a)",
    "ground_truth": "def fee(a):\n    raise ValueError",
    "test_cases": {"test1": "fee(1)"},
}
SOUND = BROKEN | {"ground_truth": "def fee(a):\n    return a"}


def write_rows(*rows):
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_validate_names_the_line_of_each_task_with_a_flaw(here, capsys):
    write_rows(SOUND, BROKEN)
    assert main(["tasks", "validate", "rows.jsonl"]) == 1
    name = load_tasks("rows.jsonl")[1].id
    assert f"rows.jsonl, line 2: {name}: cannot be scored (ValueError)" in capsys.readouterr().out
    assert main(["tasks", "validate", "rows.jsonl", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["lines"] == {name: 2}


def test_an_unknown_domain_in_a_row_is_reported_with_its_line(here, capsys):
    said = "rows.jsonl, line 2: unknown domain `backnd`; did you mean `backend`?"
    write_rows(SOUND, SOUND | {"domain": "backnd"})
    assert main(["tasks", "validate", "rows.jsonl"]) == 1
    printed = capsys.readouterr().out
    assert said in printed
    assert "rows.jsonl: 1 task, 1 malformed row" in printed
    assert main(["eval", "--tasks", "rows.jsonl", "--out", "out"]) == 2
    assert capsys.readouterr().err.startswith(f"colbench: {said}")
    assert not Path("out").exists()


def test_validate_lists_a_request_without_a_signature(here, capsys):
    write_rows(SOUND, SOUND | {"problem_description": "Write it."})
    assert main(["tasks", "validate", "rows.jsonl"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("the request does not state the signature of the function") == 1
    assert re.search(r"rows.jsonl, line 2: fee-\w+: the request does not state", printed)


def test_validate_says_why_the_official_mode_does_not_run_a_reference(here, capsys):
    write_rows(SOUND | {"ground_truth": "def fee(a):\n    return a  # sudo"})
    assert main(["tasks", "validate", "rows.jsonl"]) == 0
    said = "the reference scores 0.0 in official mode: the answer contains `sudo`"
    assert said in capsys.readouterr().out


def test_validate_prints_brackets_in_a_file_name(here, capsys):
    Path("rows[red].jsonl").write_bytes(
        b"".join(encode_lines(load_tasks("bundled:backend", limit=1)))
    )
    assert main(["tasks", "validate", "rows[red].jsonl"]) == 0
    assert "rows[red].jsonl: 1 task\n" in capsys.readouterr().out


def test_progress_without_a_terminal_is_printed_as_occasional_lines(capsys):
    with steps(every=0) as bar:
        step = bar("dialogues", 1200)
        step()
        step()
    with steps() as bar:
        bar("dialogues", 1)()
    assert capsys.readouterr().err == "dialogues: 1 of 1,200\ndialogues: 2 of 1,200\n"


def test_the_dialogue_rate_is_shown_after_some_seconds_and_a_new_dialogue():
    tally = Tally(RunConfig(), 2)
    assert "/min" not in tally.text()
    tally.start -= 60
    assert "/min" not in tally.text()
    tally.fresh = 3
    assert "3/min" in tally.text()


@pytest.mark.weekly
def test_validate_names_the_real_references_that_cannot_score_1(official_backend, capsys):
    """Find the four of the 400 rows: two import packages, one opens a database, one depends on hash order."""
    assert main(["tasks", "validate", "--tasks", str(official_backend), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["tasks"], found["default"], found["official"]) == (400, 396, 396)
    unsound = {check["id"]: check["flaws"] for check in found["flawed"] if check["default"] != 1}
    assert len(unsound) == 4
    assert sum("cannot be scored" in flaws[0] for flaws in unsound.values()) == 3
    assert sum("not return the same value twice" in flaws[0] for flaws in unsound.values()) == 1


def wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_the_help_line_of_tasks_names_every_action(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["tasks", "--help"])
    listed = capsys.readouterr().out.partition("\nactions:")[2]
    actions = re.findall(r"^ +([a-z]+)(?:  |$)", listed, re.MULTILINE)
    assert {"list", "synthesize", "datasheet"} <= set(actions)
    with pytest.raises(SystemExit):
        main(["--help"])
    (line,) = re.findall(r"^ +tasks .*", capsys.readouterr().out, re.MULTILINE)
    assert set(actions) <= set(re.findall(r"\w+", line))
