"""ColBench in Inspect AI and in verifiers: an agent has the same dialogues and scores as in ColBench itself.

`COLBENCH_HARNESSES` names the folder with the environments that `harnesses.sh` makes. The agent is a model behind the
scripted server, and everything runs as a command. These environments lack the packages for pages (mainly PyTorch).
They find these in the environment of the tests, after their own packages.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from code_blocks import blocks

from colbench.config import derive_seed
from colbench.messages import ANSWER_MARKER, PUBLIC_MARKER, Message
from colbench.models.openai_chat import EMPTY_TRIES
from colbench.models.scripted_server import Fault, ScriptedServer
from colbench.rollout import Rollout, read_rollouts
from colbench_agents.interviewer import Interviewer

pytestmark = pytest.mark.slow

TASKS = 20
TRIALS = 2
TURNS = 5
MANNERS = 6

Rollouts = dict[tuple[str, int], Rollout]
"""Rollouts by task and trial."""


@pytest.fixture(scope="module")
def harnesses() -> Path:
    value = os.environ.get("COLBENCH_HARNESSES")
    if not value:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "COLBENCH_HARNESSES is not set"
        )
    return Path(value).absolute()


class Wanted(NamedTuple):
    """The settings of a run, without its agent."""

    domain: str = "backend"
    tasks: int = TASKS
    trials: int = 1
    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed


class Played(NamedTuple):
    """The rollouts of one run, and how often each list of messages was sent to the model."""

    rollouts: Rollouts
    heard: Counter[str]


async def play_in_all(
    harnesses: Path, folder: Path, script: Callable[[Sequence[Message]], str], wanted: Wanted
) -> dict[str, Played]:
    """Return the same run in ColBench, Inspect, and verifiers, each with its own server."""
    played = {}
    for play in (natively, in_inspect, in_verifiers):
        own = folder / play.__name__
        own.mkdir()
        async with ScriptedServer(script) as server:
            found = await play(harnesses, server, own, wanted)
        heard = Counter(json.dumps(sent["messages"]) for sent in server.requests)
        played[play.__name__] = Played(found, heard)
    return played


def interviewer(messages: Sequence[Message], questions: int = 3) -> str:
    """Ask this many questions, and guess the rest."""
    reply = Interviewer(max_questions=questions).reply(messages[1:])
    try:
        reply.send(None)
    except StopIteration as done:
        return done.value.content
    raise AssertionError("an interviewer waits for nothing")


def manner(request: str) -> int:
    return derive_seed(request) % MANNERS


def eccentric(messages: Sequence[Message]) -> str:
    """Reply by task: with few or many questions, private text, no answer, silence at first, or extra white space."""
    mine = manner(messages[1].content)
    reply = interviewer(messages, mine)
    return {
        1: f"They said: {messages[-1].content}. {ANSWER_MARKER} no\n{PUBLIC_MARKER} {reply}",
        2: reply.replace(ANSWER_MARKER, "Like this?"),
        3: reply if len(messages) > 2 else "",
        4: f" \n{reply} \n\n",
    }.get(mine, reply)


@pytest.fixture(scope="module")
def runs(
    harnesses: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Played]]:
    folder = tmp_path_factory.mktemp("runs")
    return folder, asyncio.run(play_in_all(harnesses, folder, eccentric, Wanted(trials=TRIALS)))


def test_an_agent_has_the_same_dialogues_and_scores_in_every_harness(
    runs: tuple[Path, dict[str, Played]],
):
    native, *others = runs[1].values()
    assert len(native.rollouts) == TASKS * TRIALS
    assert {manner(rollout.request) for rollout in native.rollouts.values()} == set(range(MANNERS))
    values = {rollout.scores["default"].value for rollout in native.rollouts.values()}
    assert len(values) > 3, "an agent all of whose scores are alike shows little"
    silent = sum(not rollout.turns[0].raw.strip() for rollout in native.rollouts.values())
    assert silent
    for other in others:
        compare(other.rollouts, native.rollouts)
        assert other.heard.keys() == native.heard.keys()
        again = native.heard.total() - other.heard.total()
        assert again == silent * (EMPTY_TRIES - 1), "only ColBench asks again for an empty reply"


def compare(rollouts: Rollouts, native: Rollouts) -> None:
    assert rollouts.keys() == native.keys()
    for cell, rollout in rollouts.items():
        assert what_was_said(rollout) == what_was_said(native[cell]), cell
        assert rollout.scores == native[cell].scores, cell


def what_was_said(rollout: Rollout) -> Any:
    said = [(turn.raw.strip(), turn.said, turn.human, turn.leak) for turn in rollout.turns]
    return said, rollout.answer, rollout.ended_by, rollout.request, rollout.seed


def test_the_metrics_of_inspect_are_the_means_of_the_scores(runs: tuple[Path, dict[str, Played]]):
    folder, played = runs
    log = log_of_inspect(folder / "in_inspect")
    metrics = {score["name"]: score["metrics"] for score in log["results"]["scores"]}
    rollouts = played["natively"].rollouts.values()
    verdicts = [rollout.scores["default"] for rollout in rollouts]
    solved = sum(bool(verdict.success) for verdict in verdicts) / len(verdicts)
    passed = sum(verdict.value or 0.0 for verdict in verdicts) / len(verdicts)
    assert metrics["success"]["mean"]["value"] == pytest.approx(solved)
    assert metrics["tests_passed"]["mean"]["value"] == pytest.approx(passed)
    assert 0 < metrics["tests_passed"]["stderr"]["value"] < 0.5
    assert metrics["tests_passed"]["stderr"]["params"] == {"cluster": "task"}


def test_a_score_of_inspect_says_which_tests_failed(runs: tuple[Path, dict[str, Played]]):
    for sample in log_of_inspect(runs[0] / "in_inspect")["samples"]:
        score = sample["scores"]["backend"]
        said = score.get("explanation", "")
        assert ("expected" in said) == (score["value"]["success"] < 1)


def designer(messages: Sequence[Message]) -> str:
    """Ask, show a page in a code block and one next to private text, and give an empty answer or none."""
    mine = derive_seed(messages[1].content)
    page = "<html><body style='background: #%06x'><h1>{}</h1></body></html>" % (mine % (1 << 24))
    turn = sum(message.role == "assistant" for message in messages)
    return [
        "What colour is it?",
        f"Like this?\n```html\n{page.format('Boats')}\n```",
        f"It is {messages[-1].content!r}. {PUBLIC_MARKER} {page.format(messages[1].content)}",
        ANSWER_MARKER if mine % 2 else "Is that all?",
        "Goodbye.",
    ][turn]


@pytest.mark.weekly
async def test_pages_have_the_same_dialogues_and_scores_in_every_harness(
    harnesses: Path, tmp_path: Path, browser: Path, tiny_clip: Path
):
    settings = {
        "browser": str(browser),
        "browser_workers": 1,
        "clip_weights": str(tiny_clip),
        "allow_other_clip": True,
        "limit": 2,
    }
    wanted = Wanted("frontend", tasks=2, settings=settings)
    played = await play_in_all(harnesses, tmp_path, designer, wanted)
    native, inspect, verifiers = played.values()
    values = {rollout.scores["default"].value for rollout in native.rollouts.values()}
    assert len(values) == 2
    assert None not in values
    compare(inspect.rollouts, native.rollouts)
    compare(verifiers.rollouts, native.rollouts)
    assert verifiers.heard == native.heard
    shown = [heard for heard in inspect.heard if "data:image/png" in heard]
    assert len(shown) >= 2, "here the model was shown pictures of its pages"


@pytest.mark.weekly
async def test_a_verifiers_episode_without_a_cosine_fails_instead_of_scoring_0(
    harnesses: Path, tmp_path: Path, browser: Path
):
    settings = {"browser": str(browser), "browser_workers": 1}
    wanted = Wanted("frontend", tasks=1, settings=settings)
    async with ScriptedServer(designer) as server:
        found = await in_verifiers(harnesses, server, tmp_path, wanted)
    assert found == {}
    (trace,) = json.loads(lines_of_verifiers(tmp_path)[0])["traces"]
    assert trace["errors"][0]["message"].startswith(
        "the reward is missing, because cosine has no value"
    )


@pytest.mark.weekly
async def test_a_model_error_fails_the_episodes_instead_of_scoring_0(
    harnesses: Path, tmp_path: Path
):
    refused = Fault(status=400, body='{"error": {"message": "no such thing"}}')
    async with ScriptedServer(interviewer, fault=lambda _: refused) as server:
        assert await in_inspect(harnesses, server, tmp_path, Wanted(tasks=2)) == {}
        assert await in_verifiers(harnesses, server, tmp_path, Wanted(tasks=2)) == {}
    log = log_of_inspect(tmp_path)
    assert log["status"] == "error"
    assert log["samples"]
    assert all("no such thing" in sample["error"]["message"] for sample in log["samples"])


TOO_LONG = {
    "message": "This model's maximum context length is 9.",
    "code": "context_length_exceeded",
}


@pytest.mark.weekly
async def test_a_dialogue_cut_by_a_limit_or_the_context_is_the_agents_failure(
    harnesses: Path, tmp_path: Path
):
    refused = Fault(status=400, body=json.dumps({"error": TOO_LONG}))
    async with ScriptedServer(interviewer, fault=lambda n: refused if n == 1 else None) as server:
        rollouts = await in_inspect(harnesses, server, tmp_path, Wanted(tasks=2), "--turn-limit=2")
    failures = [rollout.failure for rollout in rollouts.values() if rollout.failure]
    assert {failure.boundary for failure in failures} == {"agent"}
    assert sorted(failure.reason for failure in failures) == [
        "a limit of Inspect ended the dialogue",
        f"the dialogue is too long for the model: {TOO_LONG['message']}",
    ]
    assert [rollout.scores["default"].value for rollout in rollouts.values()] == [0.0, 0.0]


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("command_line", "blame"),
    [
        (
            "inspect/bin/inspect eval colbench/backend --model=mockllm/model -T domain=frontend",
            "domain: already set by the name of the Inspect task; choose one of these tasks instead",
        ),
        (
            "verifiers/bin/vf-eval colbench-verifiers -m m --env.taskset.human nobody",
            "--human nobody: unknown",
        ),
    ],
)
async def test_an_invalid_setting_is_reported_without_a_traceback(
    harnesses: Path, command_line: str, blame: str
):
    program, *words = command_line.split()
    with pytest.raises(AssertionError) as refusal:
        await command(harnesses / program, *words)
    assert blame in str(refusal.value)
    assert "Traceback" not in str(refusal.value)


@pytest.mark.weekly
async def test_the_examples_of_the_documentation_run_as_written(harnesses: Path, tmp_path: Path):
    """Let Inspect log no scores, so that the rollouts have the scores of `inspect score`."""
    async with ScriptedServer(interviewer, model="my-model") as server:
        for block in blocks("docs/other-harnesses.md"):
            name = "inspect" if re.search(r"^inspect|inspect_ai", block.text, re.M) else "verifiers"
            at = harnesses / name / "bin"
            program = {"bash": "/bin/bash", "python": at / "python"}[block.language]
            script = block.text.replace("http://localhost:8000/v1", server.base_url)
            path = f"{at}{os.pathsep}{os.environ['PATH']}"
            env = {"PATH": path, "INSPECT_EVAL_NO_SCORE": "true"}
            await command(program, "-c", script, cwd=tmp_path, env=env)
    kept = read_rollouts(tmp_path / "rollouts.jsonl")
    assert len(kept) == 6
    assert all(rollout.scores for rollout in kept)
    assert len(lines_of_verifiers(tmp_path / "outputs")) == 3


async def natively(_: Path, server: ScriptedServer, folder: Path, wanted: Wanted) -> Rollouts:
    agent = ("--agent", f"openai:{server.model}@{server.base_url}", "--agent-arg", "seed=false")
    number = {"limit": wanted.tasks, "trials": wanted.trials, "max_turns": TURNS}
    config = folder / "config.toml"
    given = {"domain": wanted.domain, **number, **wanted.settings}
    config.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items()))
    colbench = Path(sys.executable).with_name("colbench")
    await command(
        *(colbench, "eval", *agent, "--config", config, "--out", folder / "run"),
        env=isolated_environment(folder),
    )
    return by_cell(read_rollouts(folder / "run" / "rollouts.jsonl"))


async def in_inspect(
    harnesses: Path, server: ScriptedServer, folder: Path, wanted: Wanted, *more: str
) -> Rollouts:
    """Return the rollouts in the log of a run; in frontend tasks, the model sees pictures of its pages."""
    model = (f"--model=openai-api/local/{server.model}", f"--model-base-url={server.base_url}")
    pictures = {"pictures": True} if wanted.domain == "frontend" else {}
    given = {"max_turns": TURNS, **wanted.settings, **pictures}
    await command(
        *(harnesses / "inspect" / "bin" / "inspect", "eval", f"colbench/{wanted.domain}", *model),
        *(f"--limit={wanted.tasks}", f"--epochs={wanted.trials}", "--log-dir", folder / "logs"),
        *("--log-format=json", "--display=plain", *more),
        *(word for name, value in given.items() for word in ("-T", f"{name}={value}")),
        env=isolated_environment(folder),
    )
    scores = [sample.get("scores") for sample in log_of_inspect(folder)["samples"]]
    (scorer,) = {name for each in scores if each for name in each} or {""}
    kept = [each[scorer]["metadata"]["colbench_rollout"] for each in scores if each]
    return by_cell(msgspec.convert(kept, list[Rollout]))


def log_of_inspect(folder: Path) -> Any:
    """Return the only log in a folder."""
    (log,) = (folder / "logs").iterdir()
    return json.loads(log.read_text())


async def in_verifiers(
    harnesses: Path, server: ScriptedServer, folder: Path, wanted: Wanted
) -> Rollouts:
    """Check the rewards of the episodes that did not fail, and return their rollouts."""
    await command(
        *(harnesses / "verifiers" / "bin" / "vf-eval", "colbench-verifiers", "-m", server.model),
        *("--client.base-url", server.base_url, "--client.api-key-var", "LOCAL_API_KEY"),
        *("-n", wanted.tasks, "-r", wanted.trials, "--env.taskset.max-turns", TURNS),
        *("--env.taskset.domain", wanted.domain),
        *("--env.taskset.settings", json.dumps(wanted.settings)),
        *("--no-push", "--no-rich", "-o", folder, "--run.name", "verifiers"),
        env=isolated_environment(folder),
    )
    found = []
    traces = (trace for line in lines_of_verifiers(folder) for trace in json.loads(line)["traces"])
    for trace in (trace for trace in traces if trace["ok"]):
        rollout = msgspec.convert(trace["info"]["rollout"], Rollout)
        found.append(rollout)
        verdict = rollout.scores["default"]
        backend = wanted.domain == "backend"
        reward = {"success": float(bool(verdict.success))} if backend else {"cosine": verdict.value}
        assert trace["rewards"] == {
            name: {"score": value, "weight": 1.0} for name, value in reward.items()
        }
        assert trace["metrics"] == ({"tests_passed": verdict.value} if backend else {})
    return by_cell(found)


def lines_of_verifiers(folder: Path) -> list[str]:
    """Return the episodes of the only run in a folder."""
    (traces,) = folder.glob("*/traces.jsonl")
    return traces.read_text().splitlines()


def by_cell(rollouts: Sequence[Rollout]) -> Rollouts:
    return {(rollout.task_id, rollout.trial): rollout for rollout in rollouts}


def isolated_environment(folder: Path) -> dict[str, str]:
    """Return variables for an empty home, a separate cache, and the tests' packages after the harness's."""
    site = folder / "site"
    site.mkdir(exist_ok=True)
    packages = sysconfig.get_path("purelib")
    site.joinpath("sitecustomize.py").write_text(f"import sys\nsys.path.append({packages!r})\n")
    return {
        "HOME": str(folder),
        "COLBENCH_CACHE": str(folder.parent / "cache"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH")))),
    }


async def command(*words: Any, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Return the output of a command, which must succeed."""
    process = await asyncio.create_subprocess_exec(
        *map(str, words),
        cwd=cwd,
        env={**os.environ, "LOCAL_API_KEY": "none", "COLUMNS": "1000", **(env or {})},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, complained = await process.communicate()
    assert process.returncode == 0, f"{said.decode()}\n{complained.decode()}"
    return said.decode()
