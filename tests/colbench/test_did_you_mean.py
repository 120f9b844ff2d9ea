from pathlib import Path

import pytest

from colbench.cli import main

CASES = {
    "eval --agent intervewer": "interviewer",
    "eval --human keyles": "keyless",
    "eval --tasks bundeld:backend": "bundled:backend",
    "eval --tasks bundled:backnd": "bundled:backend",
    "eval --domain frontnd": "frontend",
    "eval --scoring oficial": "official",
    "eval --task-ids parkin-test-0001": "parking-test-0001",
    "eval --agent openia:gpt-4o": "openai:gpt-4o",
    "eval --agent opanai:ok@http://host:8000/v1": "openai:ok@http://host:8000/v1",
    "eval --agent ok@http://host:8000/v1": "openai:ok@http://host:8000/v1",
    "eval --agent opanai": "openai:…",
    "eval --human olenai:ok": "openai:ok",
    "eval --tasks official:backend/tst": "official:backend/test",
    "eval --tasks generated:backend/x?numbr=3": "number",
    "tasks show parkin-test-0001": "parking-test-0001",
}
MISSPELLED_WORDS = {
    "evl": "eval",
    "evaluate": "eval",
    "tasks lst": "list",
    "eval --agnt guesser": "--agent",
}


@pytest.mark.parametrize(("line", "meant"), CASES.items())
def test_a_misspelled_value_is_an_error_that_names_the_likely_one(line, meant, capsys):
    assert main(line.split()) == 2
    assert f"did you mean `{meant}`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "eval --tasks bundled:backendd",
            "did you mean `bundled:backend`? Available: bundled:backend, bundled:backend/test, ",
        ),
        ("eval --domain frontends", "did you mean `frontend`? Installed: backend, frontend"),
        ("eval --scorers no", "unknown scorer; installed: "),
    ],
)
def test_text_after_a_suggestion_begins_a_new_sentence(line, said, capsys):
    assert main(line.split()) == 2
    assert said in capsys.readouterr().err


def test_a_flag_that_resembles_no_other_is_refused_without_a_suggestion(capsys):
    with pytest.raises(SystemExit):
        main(["view", "runs/mine", "--json"])
    assert capsys.readouterr().err.endswith("unrecognized arguments: --json\n")


@pytest.mark.parametrize(("line", "meant"), MISSPELLED_WORDS.items())
def test_a_misspelled_command_or_flag_is_an_error_that_names_the_likely_one(line, meant, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(line.split())
    assert stopped.value.code == 2
    assert f"did you mean `{meant}`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "report runs/min",
            "runs/min is not a run folder: it does not exist; did you mean `runs/mine`?",
        ),
        ("report runs/other", "runs/other is not a run folder: it does not exist\n"),
        ("report nowhere/min", "nowhere/min is not a run folder: it does not exist\n"),
        ("report runs", "runs is not a run folder: it contains runs; choose one: runs/mine\n"),
        ("report runs/notes", "runs/notes is not a run folder: run.json cannot be read"),
        (
            "eval --agent my_agnt.py:MyAgent",
            "my_agnt.py does not exist; did you mean `my_agent.py`?",
        ),
        ("eval --agent my_agent.py:MyAgnt", "my_agent.py has no `MyAgnt`; did you mean `MyAgent`?"),
        ("eval --agent my_agent.py", "choose the agent with my_agent.py:MyAgent\n"),
        (
            "eval --human my_agent.py",
            "choose the human with my_agent.py:NAME; the file defines MyAgent\n",
        ),
    ],
)
def test_a_misspelled_path_or_attribute_is_an_error_that_names_the_likely_one(
    line, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "notes"):
        Path("runs", name).mkdir(parents=True)
    Path("runs/mine/run.json").touch()
    Path("my_agent.py").write_text("class MyAgent:\n    def reply(self, dialogue): ...\n")
    assert main(line.split()) == 2
    assert said in capsys.readouterr().err
