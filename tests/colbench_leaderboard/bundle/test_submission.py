"""`submission.toml`: its template, its checks, and its questions in the terminal."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib

import pytest

from colbench.cli import main
from colbench.errors import DataError
from colbench_leaderboard.bundle.schema import Submission
from colbench_leaderboard.bundle.submission import QUESTIONS, read_submission, template, to_toml


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("models", "score = 0.9\nmodels", "`score`: scores are not submitted"),
        ("models", "[results]\nmodels", "`results`: scores are not submitted"),
        ('tools = "none"', 'tools = "none"\nmyRank = 1', "myRank` (keys after [disclosures] belong to this table):"),
        ("models", "colour = 1\nmodels", "unknown key `colour`; known keys: name, organization"),
        ('tools = "none"', 'tools = "none"\nlink = ""', "`disclosures.link` (keys after [disclosures] belong to this"),
        ('tools = "none"', "", "these questions have no answer:\n  disclosures.tools: tools that the system uses"),
        ('name = "Guesser"', 'name = ""', "these questions have no answer:\n  name: name of the system"),
        ('"open"', '"best"', '`track` ("standard" (all tasks of a bundled'),
        ("= false\nhuman", '= "no"\nhuman', "`disclosures.trained_on_colbench` (true if the system was trained"),
        ('name = "Guesser"', 'name = "Gu\u202eesser"', "`name` contains an invisible character: U+202E"),
        ("models = []", "models = [{}]", "these questions have no answer:\n  models.name: a model's name"),
        ("models = []", "models = 3", "`models` (the models that the system uses"),
        ("[disclosures]", "[disclosures", "is not valid TOML"),
    ],
)  # fmt: skip
def test_mistakes_in_the_metadata_are_reported_with_file_and_key(old, new, said, meta):
    text = meta.read_text()
    assert old in text
    meta.write_text(text.replace(old, new, 1))
    with pytest.raises(DataError) as caught:
        read_submission(meta)
    assert str(meta) in str(caught.value)
    assert said in str(caught.value)


def test_a_model_is_read(meta):
    model = '[[models]]\nname = "org/model-8b"\nopen_weights = true\n\n[disclosures]'
    text = meta.read_text().replace("models = []\n", "").replace("[disclosures]", model)
    meta.write_text(text)
    (found,) = read_submission(meta).models
    assert (found.name, found.open_weights, found.revision) == ("org/model-8b", True, "")


def test_the_template_asks_every_question_and_is_refused_until_answered(tmp_path, capsys):
    out = tmp_path / "submission.toml"
    assert main(["submit", "pack", "--template", str(out)]) == 0
    assert f"then run colbench submit pack RUN --meta {out}\n" in capsys.readouterr().out
    text = out.read_text()
    for question in QUESTIONS.values():
        assert question in text
    with pytest.raises(DataError, match="no answer"):
        read_submission(out)
    assert main(["submit", "pack", "--template", str(out)]) == 2
    assert f"--template {out}: already exists; pass it with --meta" in capsys.readouterr().err
    assert main(["submit", "pack", "--template", "-"]) == 0
    assert capsys.readouterr().out == text


def test_values_survive_a_round_trip_through_toml():
    values = {
        "name": 'A "quoted" \\ name',
        "organization": "Ö",
        "authors": ["one", "two"],
        "contact": "c",
        "track": "open",
        "description": "two\nlines",
        "link": "",
        "license": "CC0-1.0",
        "models": [{"name": "m", "revision": "", "open_weights": False, "license": ""}] * 2,
        "disclosures": {
            "trained_on_colbench": True,
            "training_notes": "all",
            "human_in_the_loop": False,
            "tools": "none",
        },
    }
    assert tomllib.loads(to_toml(values)) == values
    assert tomllib.loads(to_toml({**values, "models": []})) == {**values, "models": []}
    assert set(values) == set(Submission.__struct_fields__) - {"schema"}


def test_a_missing_file_is_reported_with_the_command_that_creates_it(tmp_path):
    meta = tmp_path / "about me.toml"
    with pytest.raises(DataError) as caught:
        read_submission(meta)
    command = f"colbench submit pack RUN --template '{meta}'"
    assert str(caught.value) == f"--meta: {meta} does not exist; create it with `{command}`"


def test_the_template_of_an_unfinished_run_comes_with_the_command_that_finishes_it(
    run, tmp_path, capsys
):
    part, out = shutil.copytree(run, tmp_path / "part"), tmp_path / "submission.toml"
    lines = (part / "rollouts.jsonl").read_text().splitlines(keepends=True)
    (part / "rollouts.jsonl").write_text("".join(lines[:1]))
    assert main(["submit", "pack", str(part), "--template", str(out)]) == 0
    printed = capsys.readouterr().out
    assert " dialogues are missing or unfinished: " in printed
    assert f"--out {part}" in printed


def test_the_template_of_a_run_names_the_track_for_which_it_qualifies(run, tmp_path, capsys):
    out = tmp_path / "submission.toml"
    assert main(["submit", "pack", str(run), "--template", str(out)]) == 0
    assert f"then run colbench submit pack {run} --meta {out}\n" in capsys.readouterr().out
    text = out.read_text()
    assert tomllib.loads(text)["track"] == "open"
    reasons = (
        '# This run does not qualify for "standard":\n'
        "#   it has 3 of the 1000 tasks of bundled:backend\n"
        'track = "open"\n'
    )
    assert reasons in text
    assert tomllib.loads(template())["track"] == "standard"
    assert main(["submit", "pack", str(tmp_path / "nowhere"), "--template", "-"]) == 2
    assert "is not a run folder" in capsys.readouterr().err


ANSWERS = """Asker
My group
A. Person
B. Person

me@example.org
open
Asks.
https://example.org/asker
CC0-1.0
org/model\u200b
org/model
main
y
Apache-2.0

y

n
none
"""


def test_interactive_answers_are_saved_and_packed(run, tmp_path):
    meta, out = tmp_path / "submission.toml", tmp_path / "bundle"
    command = [sys.executable, "-m", "colbench.cli", "submit", "pack", str(run), "--interactive"]
    command += ["--meta", str(meta), "--out", str(out)]

    def ask():
        return subprocess.run(command, input=ANSWERS, capture_output=True, text=True, check=False)

    asked = ask()
    assert asked.returncode == 0, asked.stderr
    assert "That contains an invisible character: U+200B." in asked.stdout
    submission = read_submission(meta)
    assert submission.authors == ("A. Person", "B. Person")
    assert [model.name for model in submission.models] == ["org/model"]
    assert submission.disclosures.trained_on_colbench is True
    assert submission.disclosures.training_notes == ""
    assert (out / "MANIFEST.sha256").exists()
    again = ask()
    assert again.returncode == 2
    assert f"already exists; to use it, pass --meta {meta} without --interactive" in again.stderr


def test_ending_the_input_early_gives_no_traceback_and_writes_no_file(run, tmp_path):
    command = [sys.executable, "-m", "colbench.cli", "submit", "pack", str(run), "--interactive"]
    command += ["--meta", str(tmp_path / "submission.toml")]
    asked = subprocess.run(command, input="Asker\n", capture_output=True, text=True, check=False)
    assert asked.returncode == 2
    assert "Traceback" not in asked.stderr
    assert not (tmp_path / "submission.toml").exists()


@pytest.mark.parametrize(
    ("folder", "meta", "said"),
    [
        ("nowhere", "submission.toml", "is not a run folder"),
        ("", "no/where.toml", "does not exist"),
    ],
)
def test_wrong_paths_are_reported_before_the_first_question(
    folder, meta, said, run, tmp_path, capsys
):
    where = tmp_path / folder if folder else run
    command = ["submit", "pack", str(where), "--interactive", "--meta", str(tmp_path / meta)]
    assert main(command) == 2
    asked = capsys.readouterr()
    assert said in asked.err
    assert "Name of the system" not in asked.out
