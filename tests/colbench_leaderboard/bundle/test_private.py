"""Bundles contain no paths, addresses, or secrets of the machine."""

from __future__ import annotations

import json

import pytest

from colbench.cli import main
from colbench.run_folder import RunFolder
from colbench_leaderboard.bundle.redaction import find_secret, public_record

SECRET = "correct-horse-battery"
TALKATIVE = """
class Agent:
    def __init__(self, *, password: str = "", temperature: float = 0.0, auth_level: int = 0):
        self.password = password
    def describe(self):
        return {
            "weights": "/home/somebody/weights/model.bin",
            "server": "https://me:secret@10.0.0.7:8000/v1",
            "command": "serve --api-key " + self.password,
            "version": "2",
        }
    async def reply(self, dialogue):
        raise ValueError("cannot read /home/somebody/cache/x.json from http://10.0.0.7:8000/v1")

class Leaks:
    async def reply(self, dialogue):
        return "I WANT TO ANSWER: key = 'sk-" + "a1B2" * 10 + "'"

class LeaksAtTheStartOfALine:
    async def reply(self, dialogue):
        return "I WANT TO ANSWER:\\nsk-" + "a1B2" * 10

class LeaksInABlob:
    async def reply(self, dialogue):
        return "I WANT TO ANSWER:" + " x" * 10_000 + "\\tsk-" + "a1B2" * 10

class LeaksQuotedValue:
    async def reply(self, dialogue):
        return "I WANT TO ANSWER: pass\\"word\\\\é-0123"
"""


@pytest.fixture
def agents(tmp_path):
    path = tmp_path / "private" / "mine.py"
    path.parent.mkdir()
    path.write_text(TALKATIVE)
    return path


def evaluated(agents, name, *flags):
    out = agents.parent / "run"
    main(["eval", "--agent", f"{agents}:{name}", "--limit", "1", *flags, "--out", str(out)])
    return out


def test_paths_addresses_and_private_arguments_are_not_packed(agents, meta, tmp_path, capsys):
    flags = [
        f"--agent-arg=password={SECRET}",
        "--agent-arg=temperature=0.5",
        "--agent-arg=auth_level=3",
    ]
    flags += ["--agent-price", "1,2", "--human-price", "3,4", "--clip-weights", "/home/me/w"]
    run = evaluated(agents, "Agent", *flags)
    record = json.loads((run / "run.json").read_text())
    record["config"] |= {"ceiling": "/home/me/ceiling", "executor": "ray:ray://10.0.0.7:10001"}
    (run / "run.json").write_text(json.dumps(record))
    out = tmp_path / "bundle"
    capsys.readouterr()
    assert main(["submit", "pack", str(run), "--meta", str(meta), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    sent = "".join(path.read_text() for path in out.rglob("*") if path.is_file())
    for private in (
        SECRET,
        "somebody/",
        str(tmp_path),
        "10.0.0.7",
        "secret@",
        "/home",
        "serve --api",
    ):
        assert private not in sent
    lock = json.loads((out / "lock.json").read_text())
    assert lock["config"]["agent"] == "mine.py:Agent"
    assert lock["config"]["agent_args"] == {"temperature": 0.5}
    assert lock["config"]["agent_price"] == [1.0, 2.0]  # the cost on the board depends on it
    assert lock["config"]["human_price"] is None
    assert lock["pins"]["config"]["agent_args"] == {"temperature": 0.5}
    assert lock["pins"]["agent"]["weights"] == "model.bin"
    assert lock["pins"]["agent"]["version"] == "2"
    assert lock["pins"]["agent"]["process"].startswith("own process")
    assert lock["pins"]["agent"]["source"].startswith("sha256:")
    kept_back = ("human_price", "ceiling", "clip_weights", "executor")
    for name in ("agent_args.password", *kept_back, "agent.command"):
        assert name in said
    (line,) = (out / "trajectories" / "000.jsonl").read_text().splitlines()
    assert "cannot read x.json from http:…" in json.loads(line)["failure"]["reason"]


@pytest.mark.parametrize("name", ["Leaks", "LeaksAtTheStartOfALine", "LeaksInABlob"])
def test_a_transcript_with_an_api_key_is_not_packed(agents, meta, capsys, name):
    run = evaluated(agents, name)
    capsys.readouterr()
    assert main(["submit", "pack", str(run), "--meta", str(meta)]) == 2
    said = capsys.readouterr().err
    assert "contains what looks like an API key" in said
    assert "a1B2" not in said
    assert not (run / "bundle").exists()


def test_the_value_of_a_secret_variable_is_refused_and_not_printed(run, meta, monkeypatch, capsys):
    monkeypatch.setenv("MY_API_KEY", "somebody@example.org")  # contained in the metadata
    assert main(["submit", "pack", str(run), "--meta", str(meta)]) == 2
    said = capsys.readouterr().err
    assert "the value of the environment variable MY_API_KEY" in said
    assert "somebody@" not in said


def test_a_secret_value_that_json_would_escape_is_refused(agents, meta, monkeypatch, capsys):
    run = evaluated(agents, "LeaksQuotedValue")
    monkeypatch.setenv("MY_PASSWORD", 'pass"word\\é-0123')
    assert main(["submit", "pack", str(run), "--meta", str(meta)]) == 2
    assert "the value of the environment variable MY_PASSWORD" in capsys.readouterr().err


def test_dialogues_that_name_the_home_folder_are_counted(agents, meta, monkeypatch, capsys):
    monkeypatch.setenv("HOME", "/somewhere/somebody")
    agents.write_text(
        "class Agent:\n    async def reply(self, dialogue):\n"
        '        return "I WANT TO ANSWER: open(\\"/somewhere/somebody/notes\\")"\n'
    )
    run = evaluated(agents, "Agent")
    capsys.readouterr()
    assert main(["submit", "pack", str(run), "--meta", str(meta), "--dry-run"]) == 0
    assert "1 dialogue with the path of your home folder in the text" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a hf_" + "aB3" * 12, "a Hugging Face token"),
        ("ghp_" + "a1B2" * 9, "a GitHub token"),
        ("AKIA" + "ABCD" * 4, "an AWS key"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "a private key"),
        ("print('key:\\nsk-" + "a1B2" * 10 + "')", "an API key"),
        ("the task-based risk-averse sk-learn way", ""),
        ("hf_home and ghp", ""),
    ],
)
def test_secrets_are_recognized_by_their_format(text, found):
    assert find_secret(text, {}) == found


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("API_KEY", "a long enough value", "the value of the environment variable API_KEY"),
        ("API_KEY", "EMPTY", ""),
        ("HOME_PAGE", "a long enough value", ""),
        (
            "AUTHORIZATION",
            "a long enough value",
            "the value of the environment variable AUTHORIZATION",
        ),
        ("GIT_AUTHOR_EMAIL", "somebody@example.org", ""),
    ],
)
def test_only_long_values_of_variables_with_secretive_names_are_secrets(name, value, found):
    assert find_secret(f"It is {value}.", {name: value}) == found


def test_a_models_folder_is_not_in_the_description_of_the_agent(run, copied):
    def change(record):
        record["config"]["agent"] = "vllm:runs/customer/model-8b"
        record["pins"]["agent"] = {"model": "runs/customer/model-8b"}

    record = RunFolder(copied(run, change)).record()
    assert public_record(record).pins["agent"] == {"model": "model-8b"}
