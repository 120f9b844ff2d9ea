"""`colbench submit pack`: the contents of a bundle, and the runs that are refused."""

from __future__ import annotations

import json
import re
import shlex
import tarfile
import tomllib

import pytest
from msgspec.structs import replace

from colbench import evaluate_async
from colbench.cli import main
from colbench.models.scripted_server import ScriptedServer
from colbench.rollout import encode_rollout, read_rollouts
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.bundle.tracks import departures


def pack(run, meta, *flags):
    return main(["submit", "pack", str(run), "--meta", str(meta), *flags])


def refused(run, meta, capsys, *flags):
    """Return the message for a refused run, after checking that nothing was written."""
    capsys.readouterr()
    assert pack(run, meta, *flags) == 2
    assert not (run / "bundle").exists()
    assert not [path for path in run.iterdir() if path.name.startswith(".colbench-pack")]
    return capsys.readouterr().err


def track(meta, name):
    meta.write_text(re.sub(r"track = .*", f'track = "{name}"', meta.read_text()))
    return meta


def test_packing_is_deterministic_and_archives_contain_the_same_files_as_folders(
    run, meta, tmp_path
):
    contents = set()
    for name in ("one.tar.gz", "two.tar.gz"):
        assert pack(run, meta, "--out", str(tmp_path / name)) == 0
        contents.add((tmp_path / name).read_bytes())
    assert len(contents) == 1
    assert pack(run, meta, "--out", str(tmp_path / "folder")) == 0
    with tarfile.open(tmp_path / "one.tar.gz") as archive:
        members = archive.getmembers()
        for member in members:
            assert (
                archive.extractfile(member).read()
                == (tmp_path / "folder" / member.name).read_bytes()
            )
    assert [m.name for m in members] == sorted(m.name for m in members)
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode) for m in members} == {
        (0, 0, 0, "", "", 0o644)
    }


def test_a_dry_run_shows_what_is_sent_and_writes_nothing(run, meta, tmp_path, capsys):
    capsys.readouterr()
    assert pack(run, meta, "--out", str(tmp_path / "bundle"), "--dry-run") == 0
    said = capsys.readouterr().out
    assert "3 tasks x 2 = 6 dialogues, verbatim" in said
    assert "not sent" in said
    assert "CC-BY-4.0" in said
    assert not (tmp_path / "bundle").exists()


def test_packing_again_changes_nothing_and_never_overwrites_other_files(
    run, meta, tmp_path, capsys
):
    out = tmp_path / "bundle"
    assert pack(run, meta, "--out", str(out)) == 0
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    assert pack(run, meta, "--out", str(out)) == 0
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    meta.write_text(meta.read_text().replace("Guesser", "Other"))
    capsys.readouterr()
    assert pack(run, meta, "--out", str(out)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""  # no plan of a bundle that is not written
    assert "is not this bundle" in captured.err
    mine = tmp_path / "mine.tar.gz"
    mine.write_text("mine")
    assert "is not this bundle" in refused(run, meta, capsys, "--out", str(mine))
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("name", ["mine.zip", "mine.tar", "mine.tgz", "mine.TAR.GZ"])
def test_a_name_of_another_kind_of_archive_is_refused(run, meta, tmp_path, capsys, name):
    out = tmp_path / name
    said = refused(run, meta, capsys, "--out", str(out))
    assert (
        f"--out {out}: a bundle is a folder or a .tar.gz archive; use a name that ends in" in said
    )
    assert not out.exists()


def test_dialogues_outside_the_tasks_and_trials_of_the_run_are_not_sent(
    run, meta, copied, tmp_path, capsys
):
    fewer = copied(run, lambda record: record["config"].update(trials=1))
    assert pack(fewer, meta, "--out", str(tmp_path / "bundle")) == 0
    assert "3 dialogues outside the tasks and trials of the run" in capsys.readouterr().out
    with read_bundle(tmp_path / "bundle") as bundle:
        assert [cell.rollout.trial for cell in bundle.cells()] == [0, 0, 0]
        assert bundle.lock.tasks.trials == 1


def test_a_run_with_told_all_is_refused_even_for_the_open_track(meta, tmp_path, capsys):
    run = tmp_path / "told"
    main(["eval", "--agent", "guesser", "--limit", "1", "--told", "all", "--out", str(run)])
    assert "run again without this flag" in refused(run, track(meta, "open"), capsys)


def test_an_unfinished_run_is_refused_with_the_command_that_finishes_it(run, meta, copied, capsys):
    short = copied(run)
    rollouts = sorted(read_rollouts(run / "rollouts.jsonl"), key=lambda one: one.trial)
    (short / "rollouts.jsonl").write_bytes(b"".join(map(encode_rollout, rollouts[:-2])))
    said = refused(short, meta, capsys)
    assert "2 of 6 dialogues are missing or unfinished: trial 1 of " in said
    assert rollouts[-1].task_id in said
    command = shlex.split(next(line for line in said.splitlines() if "colbench eval" in line))
    assert main(command[1:]) == 0
    assert pack(short, meta) == 0


def test_a_dialogue_that_failed_outside_the_agent_counts_as_missing(run, meta, copied, capsys):
    failing = copied(run)
    text = (run / "rollouts.jsonl").read_text()
    first, rest = text.split("\n", 1)
    broken = json.loads(first) | {
        "failure": {"boundary": "simulator", "reason": "gone"},
        "ended_by": "failure",
        "answer": None,
        "scores": {},
    }
    (failing / "rollouts.jsonl").write_text(json.dumps(broken) + "\n" + rest)
    assert "1 of 6 dialogues are missing or unfinished" in refused(failing, meta, capsys)


def test_rollouts_of_another_configuration_are_refused(run, meta, copied, capsys):
    mixed = copied(run)
    other = json.loads((run / "rollouts.jsonl").read_text().splitlines()[0]) | {"key": "0" * 64}
    with (mixed / "rollouts.jsonl").open("a") as file:
        file.write(json.dumps(other) + "\n")
    said = refused(mixed, meta, capsys)
    assert "dialogues whose configuration differs from that in run.json: 1, such as" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda r: r["config"].update(max_turns=20),
            "`config` and `pins` disagree on max_turns",
        ),
        (
            lambda r: r["pins"].update(colbench="9"),
            "its digest does not match its pins; the file was edited by hand",
        ),
    ],
)
def test_an_edited_run_record_is_refused(change, said, run, meta, copied, capsys):
    assert said in refused(copied(run, change), meta, capsys)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("max_turns", 1001, "`max_turns` is 1001; at most 1000 is allowed"),
        ("agent", "age\u0301nt.py:A", "is not in Unicode normalization form C (NFC)"),
    ],
)
def test_a_run_that_every_receiver_would_refuse_is_refused(
    name, value, said, run, meta, copied, capsys
):
    def change(record):
        record["config"][name] = record["pins"]["config"][name] = value

    assert said in refused(copied(run, change), meta, capsys)


def test_a_run_resumed_on_several_machines_is_packed_with_all_their_long_descriptions(
    run, meta, copied, tmp_path
):
    def change(record):
        record["sandbox"] = " | ".join(f"sandbox {n} {'x' * 200}" for n in range(3))
        record["environments"] = {"backend": record["sandbox"]}

    assert pack(copied(run, change), meta, "--out", str(tmp_path / "out")) == 0
    with read_bundle(tmp_path / "out") as bundle:
        assert len(bundle.lock.sandbox.split(" | ")) == 3
        assert bundle.lock.environment == bundle.lock.sandbox


def test_a_run_that_breaks_a_standard_track_rule_is_refused_with_the_reason(run, meta, capsys):
    said = refused(run, track(meta, "standard"), capsys)
    assert '; the run does not qualify for the track "standard":' in said
    assert "it has 3 of the 1000 tasks of bundled:backend" in said


@pytest.fixture
def standard(packed):
    """Return the lock of a bundle as if its run had all tasks of the standard track."""
    with read_bundle(packed) as bundle:
        lock = bundle.lock
    config = {**lock.config, "limit": None}
    return replace(lock, config=config, tasks=replace(lock.tasks, count=1000))


def test_a_run_that_breaks_no_standard_track_rule_qualifies(standard):
    assert departures(standard) == []


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"limit": 1000}, "its tasks were chosen by `limit` or `task_ids`"),
        ({"task_ids": ["a"]}, "its tasks were chosen by `limit` or `task_ids`"),
        ({"max_turns": 20}, "it allows 20 turns; the track has 10"),
        ({"human": "llm"}, "its human is 'llm'; the track uses keyless"),
        ({"human_args": {"x": 1}}, "its human has custom arguments or a custom prompt"),
        ({"human_prompt": "ab"}, "its human has custom arguments or a custom prompt"),
        (
            {"sandbox_packages": ["numpy"]},
            "its answers may import packages outside the standard library",
        ),
        ({"allow_unsafe_sandbox": True}, "an unsafe sandbox was allowed"),
    ],
)
def test_each_broken_rule_of_the_standard_track_has_its_reason(standard, config, reason):
    assert departures(replace(standard, config={**standard.config, **config})) == [reason]


def test_tasks_outside_the_standard_track_have_a_reason(standard):
    tasks = replace(standard.tasks, source="mine.jsonl")
    (reason,) = departures(replace(standard, tasks=tasks))
    assert reason.startswith("its tasks are 'mine.jsonl'; the track uses bundled:backend")


@pytest.mark.parametrize(
    ("commit", "reason"),
    [
        ("abcdef0-dirty", "checkout of ColBench had uncommitted changes: abcdef0-dirty"),
        ("", "is unknown"),
        (
            "abcdef0-dirty | abcdef1",
            "checkout of ColBench had uncommitted changes: abcdef0-dirty | abcdef1",
        ),
        (" | abcdef1", "is unknown"),
    ],
)
def test_a_run_with_a_dirty_or_unknown_commit_qualifies_only_for_the_open_track(
    commit, reason, run, meta, copied, capsys
):
    folder = copied(run, lambda record: record.update(commit=commit))
    assert reason in refused(folder, track(meta, "standard"), capsys)
    assert pack(folder, track(meta, "open"), "--dry-run") == 0


async def test_a_run_with_a_model_is_refused_unless_the_metadata_names_the_model(
    meta, tmp_path, capsys
):
    async with ScriptedServer(lambda _: "I WANT TO ANSWER: def f(): return 1") as server:
        agent = f"openai:{server.model}@{server.base_url}"
        await evaluate_async(agent=agent, limit=1, out=tmp_path / "run", sandbox_workers=1)
    said = refused(tmp_path / "run", meta, capsys)
    assert (
        f"its agent {agent} uses a model, but {meta} names none; replace the line `models = []`"
        in said
    )
    assert "    [[models]]\n    name = …  # a model's name" in said
    template = tmp_path / "template.toml"
    assert main(["submit", "pack", str(tmp_path / "run"), "--template", str(template)]) == 0
    assert tomllib.loads(template.read_text())["models"] == [{"name": server.model}]
    assert "# open_weights = …" in template.read_text()
    text = meta.read_text().replace("models = []\n", "") + '[[models]]\nname = "scripted"\n'
    meta.write_text(text)
    assert pack(tmp_path / "run", meta) == 0


def test_missing_runs_and_missing_metadata_are_reported(run, meta, tmp_path, capsys):
    assert pack(tmp_path, meta) == 2
    assert "is not a run folder" in capsys.readouterr().err
    assert main(["submit", "pack", str(run)]) == 2
    assert "--meta FILE is missing" in capsys.readouterr().err
    assert pack(run, tmp_path / "none.toml") == 2
    assert "none.toml does not exist" in capsys.readouterr().err


@pytest.mark.weekly
def test_a_too_compressible_run_is_packed_only_as_a_folder(run, meta, copied, capsys):
    stuck = copied(run)
    lines = [json.loads(line) for line in (run / "rollouts.jsonl").read_text().splitlines()]
    for number, line in enumerate(lines):
        line["turns"][0]["raw"] = f"{number} " + "again " * 600_000
    (stuck / "rollouts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = refused(stuck, meta, capsys, "--out", str(stuck / "bundle.tar.gz"))
    assert "(archive.ratio)" in said
    assert not (stuck / "bundle.tar.gz").exists()
    assert pack(stuck, meta) == 0
