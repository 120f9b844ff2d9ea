"""Shards of a run, and the run that they are merged into."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from hashlib import sha256

import msgspec
import pytest
from msgspec.structs import replace

import colbench
from colbench.cli import main
from colbench.errors import UserError
from colbench.evaluation import Evaluation
from colbench.rollout import encode_rollout, read_rollouts, without_times
from colbench.run_folder import RunFolder
from colbench.shards import in_shard

SETTINGS = {"agent": "demonstrator", "limit": 12, "trials": 3}
TASKS = colbench.load_tasks("bundled:backend", limit=200)


def evaluate(out, **changes):
    return colbench.evaluate(out=out, **SETTINGS | changes)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a folder with a whole run, `whole`, and its shards `1` to `4`."""
    place = tmp_path_factory.mktemp("runs")
    evaluate(place / "whole").write_report()
    for number in range(1, 5):
        evaluate(place / str(number), shard=(number, 4)).write_report()
    return place


@pytest.fixture
def copied(runs, tmp_path):
    """Return a copy of that folder, which a test may change."""
    shutil.copytree(runs, tmp_path / "runs")
    return tmp_path / "runs"


def shards(place, *numbers):
    return [str(place / str(number)) for number in numbers or range(1, 5)]


def cells(path):
    return {each.key: without_times(each) for each in read_rollouts(path / "rollouts.jsonl")}


def report(path):
    found = json.loads((path / "report.json").read_bytes())
    for domain in found["domains"].values():
        assert domain.pop("wall_seconds") > 0
    return found


def test_each_cell_is_in_one_shard_and_shards_have_similar_sizes():
    planned = [(task, trial) for task in TASKS for trial in range(5)]
    places = [
        [number for number in range(1, 5) if in_shard((number, 4), task.id, task.hash, trial)]
        for task, trial in planned
    ]
    assert all(len(each) == 1 for each in places)
    sizes = Counter(number for (number,) in places)
    assert min(sizes.values()) > 200  # of 250 on average


def test_the_shard_of_a_cell_never_changes():
    """Pin the shard of a cell: a different one would break runs made by an earlier version."""
    task = TASKS[0]
    named = f'["shard","{task.id}","{task.hash}",2]'.encode()
    place = int(sha256(named).hexdigest()[:16], 16) % 7 + 1
    assert [number for number in range(1, 8) if in_shard((number, 7), task.id, task.hash, 2)] == [
        place
    ]


@pytest.mark.slow
def test_shards_together_have_the_rollouts_of_the_whole_run(runs):
    whole = cells(runs / "whole")
    parts = [cells(runs / str(number)) for number in range(1, 5)]
    assert sum(map(len, parts)) == len(whole) == 36
    assert {key: each for part in parts for key, each in part.items()} == whole


def test_a_shard_is_recorded_and_cells_of_other_shards_are_not_missing(runs):
    run = colbench.load_run(runs / "2")
    (found,) = run.report.domains.values()
    assert run.record.config.shard == (2, 4)
    assert run.record.digest == colbench.load_run(runs / "whole").record.digest
    assert found.cells == found.scored == len(run.rollouts)
    assert (found.missing, found.unscored, run.report.ignored) == (0, 0, 0)
    written = json.loads((runs / "2" / "report.json").read_bytes())
    assert any("this is shard 2 of 4 of a run" in each for each in written["warnings"])
    assert "this is shard 2 of 4 of a run" in (runs / "2" / "report.html").read_text("utf-8")


def test_the_eval_command_prints_the_size_of_a_shard_and_resumes_it(runs, copied, capsys):
    path = copied / "3" / "rollouts.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2]))
    argv = "eval --agent demonstrator --limit 12 --trials 3 --shard 3/4 --out"
    assert main([*argv.split(), str(copied / "3")]) == 0
    said = capsys.readouterr()
    assert f"shard 3 of 4, {len(lines)} of 12 tasks x 3 = 36 dialogues" in said.out
    assert f"resumed: {len(lines) - 2} of {len(lines)} dialogues already done" in said.err
    assert cells(copied / "3") == cells(runs / "3")


def test_a_shard_without_cells_finishes_at_once(tmp_path, capsys):
    argv = f"eval --agent demonstrator --limit 1 --out {tmp_path / 'run'} --shard".split()
    empty = [
        number for number in (1, 2, 3) if not in_shard((number, 3), TASKS[0].id, TASKS[0].hash, 0)
    ]
    assert main([*argv, f"{empty[0]}/3"]) == 0
    said = capsys.readouterr()
    assert "0 of 1 task x 1 = 1 dialogue" in said.out
    assert "resumed" not in said.err


def test_shards_with_the_same_number_are_compared_without_left_out_cells(runs, tmp_path):
    other = evaluate(tmp_path / "other", agent="guesser", shard=(2, 4))
    compared = colbench.compare(colbench.load_run(runs / "2"), other)
    (pair,) = compared.domains["backend"].pairs
    assert pair.left_out == 0
    assert pair.differences["success"].cells == len(cells(runs / "2"))


def test_shards_have_distinct_folder_names():
    names = {
        Evaluation(colbench.RunConfig(agent="demonstrator", shard=shard)).folder.path.name
        for shard in (None, (1, 2), (2, 2), (2, 3))
    }
    assert len(names) == 4


def test_merged_shards_equal_the_whole_run_except_for_times(runs, tmp_path):
    merged = colbench.merge(shards(runs), out=tmp_path / "merged")
    assert (merged.dialogues, merged.planned, merged.missing, merged.gaps) == (36, 36, 0, ())
    assert cells(tmp_path / "merged") == cells(runs / "whole")
    assert report(tmp_path / "merged") == report(runs / "whole")
    one, other = (RunFolder(each).record() for each in (runs / "whole", tmp_path / "merged"))
    assert replace(other, started=one.started) == one
    names = [{each.name for each in path.iterdir()} for path in (runs / "whole", merged.path)]
    assert names[0] == names[1]


def test_the_merge_command_prints_the_report(runs, tmp_path, capsys):
    assert main(["merge", *shards(runs), "--out", str(tmp_path / "merged")]) == 0
    said = capsys.readouterr()
    assert "12 tasks, 3 trials each" in said.out
    assert said.err == ""


def test_gaps_are_reported_and_the_printed_command_fills_them(runs, tmp_path, capsys):
    out = tmp_path / "merged"
    assert main(["merge", *shards(runs, 1, 2, 4), "--out", str(out)]) == 1
    said = capsys.readouterr().err
    missing = len(cells(runs / "3"))
    assert f"{missing} of 36 dialogues are missing from all shards: trial " in said
    command = said.splitlines()[-1].split()
    assert command[:2] == ["colbench", "eval"]
    assert main(command[1:]) == 0
    assert cells(out) == cells(runs / "whole")
    assert report(out) == report(runs / "whole")


def test_the_printed_command_retries_unscored_dialogues(runs, copied, tmp_path, capsys):
    path = copied / "2" / "rollouts.jsonl"
    first, *rest = read_rollouts(path)
    path.write_bytes(b"".join(map(encode_rollout, [unanswered(first), *rest])))
    out = tmp_path / "merged"
    assert main(["merge", *shards(copied), "--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert "some dialogues are unscored. To retry them:" in said
    assert main(said.splitlines()[-1].split()[1:]) == 0
    assert report(out) == report(runs / "whole")


def unanswered(rollout):
    failure = colbench.rollout.Failure(boundary="endpoint", reason="gone")
    return replace(rollout, failure=failure, answer=None, ended_by="failure", scores={})


def test_a_dialogue_that_is_equal_in_two_shards_is_merged_once(runs, tmp_path):
    again = evaluate(tmp_path / "again", shard=(1, 4))
    merged = colbench.merge([*shards(runs), again.path], out=tmp_path / "merged")
    assert merged.dialogues == 36
    assert cells(merged.path) == cells(runs / "whole")


def test_a_dialogue_that_differs_between_shards_is_refused_and_both_are_named(
    runs, copied, tmp_path
):
    path = copied / "1" / "rollouts.jsonl"
    first, *rest = read_rollouts(path)
    other = replace(first, answer="def f(): ...")
    path.write_bytes(b"".join(map(encode_rollout, [other, *rest])))
    with pytest.raises(UserError) as refused:
        colbench.merge([*shards(runs), copied / "1"], out=tmp_path / "merged")
    assert f"trial {first.trial} of {first.task_id} is in both {runs / '1'} and" in str(
        refused.value
    )
    assert str(copied / "1") in str(refused.value)
    assert list(tmp_path.glob("*merg*")) == []


def test_a_finished_dialogue_takes_precedence_over_an_unsettled_one(runs, copied, tmp_path):
    path = copied / "1" / "rollouts.jsonl"
    lost = [unanswered(each) for each in read_rollouts(path)]
    path.write_bytes(b"".join(map(encode_rollout, lost)))
    for order in ([*shards(runs), copied / "1"], [copied / "1", *shards(runs)]):
        merged = colbench.merge(order, out=tmp_path / "merged")
        assert cells(merged.path) == cells(runs / "whole")
        shutil.rmtree(merged.path)


def test_the_last_line_of_a_repeated_cell_counts(runs, copied, tmp_path):
    path = copied / "2" / "rollouts.jsonl"
    first = read_rollouts(path)[0]
    earlier = replace(first, answer="another")
    path.write_bytes(encode_rollout(earlier) + path.read_bytes())
    merged = colbench.merge(shards(copied), out=tmp_path / "merged")
    assert cells(merged.path) == cells(runs / "whole")


def test_unplanned_dialogues_are_left_out_and_counted(runs, copied, tmp_path):
    record = RunFolder(copied / "4").record()
    other = replace(read_rollouts(copied / "4" / "rollouts.jsonl")[0], key="f" * 64)
    with (copied / "4" / "rollouts.jsonl").open("ab") as file:
        file.write(encode_rollout(other))
    merged = colbench.merge(shards(copied), out=tmp_path / "merged")
    assert (merged.left_out, merged.dialogues) == (1, 36)
    assert record.digest == RunFolder(merged.path).record().digest


@pytest.mark.parametrize(
    ("changes", "pin"),
    [
        ({"max_turns": 3}, "config.max_turns: 10"),
        ({"trials": 2}, "trials: 3"),
        ({"limit": 11}, "tasks: 12 tasks"),
    ],
)
def test_shards_of_different_runs_are_refused_and_the_difference_is_named(
    runs, tmp_path, changes, pin
):
    other = evaluate(tmp_path / "other", **changes, shard=(1, 40))
    with pytest.raises(UserError, match="not shards of one run") as refused:
        colbench.merge([*shards(runs, 2, 3), other.path], out=tmp_path / "merged")
    assert f"{pin}" in str(refused.value)
    assert f"({runs / '2'}) and " in str(refused.value)
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize(
    ("field", "value"), [("python", "3.99"), ("commit", "abc"), ("sandbox", "T3 none")]
)
def test_shards_of_different_versions_or_sandboxes_require_force(
    copied, tmp_path, field, value, capsys
):
    folder = RunFolder(copied / "2")
    folder.save(replace(folder.record(), **{field: value}))
    argv = ["merge", *shards(copied), "--out", str(tmp_path / "merged")]
    assert main(argv) == 2
    said = capsys.readouterr().err
    assert "--force merges them anyway" in said
    assert f"{field}: " in said
    assert value in said
    assert main([*argv, "--force"]) == 0
    assert f"warning: the shards differ in {field}: " in capsys.readouterr().err


def test_an_existing_repeated_or_locked_folder_is_refused(runs, tmp_path):
    with pytest.raises(UserError, match="already exists; choose a new folder"):
        colbench.merge(shards(runs), out=runs / "whole")
    with pytest.raises(UserError, match="given twice"):
        colbench.merge([*shards(runs), runs / "1"], out=tmp_path / "merged")
    with (
        RunFolder(runs / "3").lock(),
        pytest.raises(UserError, match=r"3 is in use by another colbench process"),
    ):
        colbench.merge(shards(runs), out=tmp_path / "merged")


@pytest.mark.parametrize("given", [[], "1"])
def test_shards_that_are_not_a_list_of_folders_are_refused(given, tmp_path):
    with pytest.raises(UserError, match="^runs: expected a list of run folders, got "):
        colbench.merge(given, out=tmp_path / "merged")


def test_tasks_given_as_objects_are_kept_in_the_merged_run(tmp_path):
    tasks = TASKS[:4]
    for number in (1, 2):
        colbench.evaluate(tasks=tasks, out=tmp_path / str(number), shard=(number, 2))
    merged = colbench.merge(shards(tmp_path, 1, 2), out=tmp_path / "merged")
    assert colbench.load_run(merged.path).tasks == tasks
    assert merged.missing == 0


def test_a_killed_merge_leaves_no_folder_and_the_same_command_succeeds(runs, tmp_path):
    """Kill the process as soon as the file of the draft exists; the folder with the final name does not exist then."""
    out = tmp_path / "merged"
    argv = [sys.executable, "-m", "colbench.cli", "merge", *shards(runs), "--out", str(out)]
    killed = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    draft = tmp_path / ".merged.merging" / "rollouts.jsonl"
    while not draft.exists() and killed.poll() is None:
        time.sleep(0.001)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    assert draft.exists()
    assert not out.exists()
    assert subprocess.run(argv, check=False, capture_output=True).returncode == 0
    assert cells(out) == cells(runs / "whole")
    assert not draft.parent.exists()


def test_a_merge_into_a_folder_that_another_merge_writes_is_refused(runs, tmp_path):
    draft = RunFolder(tmp_path / ".merged.merging")
    with draft.lock(), pytest.raises(UserError, match="merged is in use by another"):
        colbench.merge(shards(runs), out=tmp_path / "merged")


def test_evaluate_async_runs_a_shard(tmp_path):
    async def run():
        return await colbench.evaluate_async(**SETTINGS, shard=[1, 2], out=tmp_path / "run")

    assert asyncio.run(run()).config.shard == (1, 2)


def test_properties_of_models_that_shards_learned_are_merged(copied, tmp_path):
    for number, learned in ((1, ["a"]), (2, ["a", "b"])):
        folder = RunFolder(copied / str(number))
        folder.save(replace(folder.record(), learned={"agent": learned}))
    merged = colbench.merge(shards(copied), out=tmp_path / "merged")
    record = msgspec.json.decode((merged.path / "run.json").read_bytes())
    assert record["learned"] == {"agent": ["a", "b"]}


def test_arguments_that_flags_cannot_give_are_passed_in_a_file(tmp_path, capsys):
    settings = {"agent": f"{write_agent(tmp_path)}:Says", "agent_args": {"text": "123"}, "limit": 2}
    runs = [evaluate(tmp_path / str(n), shard=(n, 2), trials=4, **settings) for n in (1, 2)]
    assert main(["merge", str(runs[0].path), "--out", str(tmp_path / "merged")]) == 1
    *_, advice, command = capsys.readouterr().err.splitlines()
    assert "save `config` of" in advice
    config = json.loads((tmp_path / "merged" / "run.json").read_bytes())["config"]
    (tmp_path / "FILE.json").write_text(json.dumps(config))
    argv = command.replace("FILE.json", str(tmp_path / "FILE.json")).split()
    assert main(argv[1:]) == 0
    assert len(cells(tmp_path / "merged")) == 8


def write_agent(folder):
    path = folder / "mine.py"
    path.write_text(
        "class Says:\n"
        "    def __init__(self, *, text: str):\n"
        "        self.text = text\n"
        "    async def reply(self, dialogue):\n"
        "        return 'I WANT TO ANSWER: ' + self.text\n"
    )
    return path


def test_a_run_with_objects_is_continued_from_python(tmp_path, capsys):
    colbench.evaluate(tasks=TASKS[:4], out=tmp_path / "1", shard=(1, 2))
    assert main(["merge", str(tmp_path / "1"), "--out", str(tmp_path / "merged")]) == 1
    said = capsys.readouterr().err
    assert (
        f"call colbench.evaluate(…, out={str(tmp_path / 'merged')!r}) with the same tasks" in said
    )


def test_the_merged_folder_may_be_a_link_but_not_the_current_folder(runs, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    assert colbench.merge(shards(runs), out=tmp_path / "link").missing == 0
    assert cells(tmp_path / "empty") == cells(runs / "whole")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(UserError, match=r"--out \.: this is the current folder"):
        colbench.merge(shards(runs), out=".")


def test_shards_of_different_versions_are_merged_with_all_versions(copied, tmp_path):
    folder = RunFolder(copied / "2")
    own = folder.record()
    folder.save(replace(own, python="3.99"))
    merged = colbench.merge(shards(copied), out=tmp_path / "merged", force=True)
    assert RunFolder(merged.path).record().python == f"{own.python} | 3.99"
