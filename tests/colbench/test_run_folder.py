"""The run folder: which process may write, what is refused, and what remains after a crash."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.errors import DataError, UserError
from colbench.rollout import Rollout, encode_rollout, read_rollouts
from colbench.run_folder import RunFolder, TaskSource, make_record

RESOLVED = {"agent": {"class": "a:A"}, "human": {"class": "h:H"}}
SOURCE = TaskSource(source="x", count=1, hash="h")


def record(**changes):
    return make_record(RunConfig(**changes), RESOLVED, SOURCE)


def begin(folder, the_record):
    with folder.writing(the_record):
        pass


def rollout(key):
    return Rollout(
        key=key,
        task_id="t",
        task_hash="h",
        domain="backend",
        trial=0,
        seed=1,
        request="please",
        turns=(),
        answer="x",
        ended_by="answer",
    )


def test_appended_rollouts_are_read_back(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with folder.writing(record()) as writer:
        writer.append(rollout("a"))
        writer.append(rollout("b"))
    assert folder.rollouts() == [rollout("a"), rollout("b")]


def test_the_last_line_of_a_repeated_key_counts(tmp_path):
    folder = RunFolder(tmp_path)
    retried = replace(rollout("a"), answer="y")
    with folder.writing(record()) as writer:
        for each in (rollout("a"), rollout("b"), retried):
            writer.append(each)
    assert folder.rollouts() == [retried, rollout("b")]


@pytest.mark.parametrize("size", [1, 70_000])
def test_a_torn_last_line_is_ignored_and_cut_off_by_the_next_writer(tmp_path, size):
    folder = RunFolder(tmp_path)
    with folder.writing(record()) as writer:
        writer.append(rollout("a"))
    whole = folder.rollouts_path.read_bytes()
    folder.rollouts_path.write_bytes(whole + b"{" * size)
    assert folder.rollouts() == [rollout("a")]
    with folder.writing(record()) as writer:
        writer.append(rollout("b"))
    assert folder.rollouts_path.read_bytes().startswith(whole)
    assert folder.rollouts() == [rollout("a"), rollout("b")]


def test_a_complete_line_that_is_not_a_rollout_is_reported_by_number(tmp_path):
    folder = RunFolder(tmp_path)
    before, after = (encode_rollout(rollout(key)) for key in "ab")
    folder.rollouts_path.write_bytes(before + b"{}\n" + after)
    with pytest.raises(DataError, match=r"rollouts.jsonl, line 2: not a rollout: .*`key`"):
        folder.rollouts()


def test_the_error_for_a_malformed_line_names_the_repair_command(tmp_path):
    folder = RunFolder(tmp_path)
    begin(folder, record())
    folder.rollouts_path.write_bytes(b"{}\n")
    with pytest.raises(DataError, match=f"`colbench repair {tmp_path}` removes such lines"):
        folder.rollouts()


def test_rollouts_are_rescued_if_the_folder_is_deleted_during_the_run(tmp_path):
    folder = RunFolder(tmp_path / "a" / "run")
    with folder.writing(record()) as writer:
        writer.append(rollout("a"))
        shutil.rmtree(tmp_path / "a")
        with pytest.raises(UserError, match="was deleted or replaced during the run") as lost:
            writer.append(rollout("b"))
    (rescued,) = tmp_path.glob("run-*.rescued.jsonl")
    assert str(lost.value).endswith(f"saved to {rescued}")
    assert read_rollouts(rescued) == [rollout("a"), rollout("b")]


def test_a_rollout_file_replaced_during_the_run_is_detected_and_unchanged(tmp_path):
    folder = RunFolder(tmp_path)
    with folder.writing(record()) as writer:
        folder.rollouts_path.rename(tmp_path / "moved.jsonl")
        folder.rollouts_path.write_bytes(b"another's")
        with pytest.raises(UserError, match="deleted or replaced"):
            writer.append(rollout("a"))
    assert folder.rollouts_path.read_bytes() == b"another's"


def test_a_second_writer_is_refused_until_the_first_is_killed(tmp_path):
    code = (
        "import sys; from pathlib import Path; from colbench.run_folder import RunFolder\n"
        f"with RunFolder(Path({str(tmp_path)!r})).lock(): print('in', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout.readline() == "in\n"
        with pytest.raises(UserError, match="in use by another colbench process"):
            with RunFolder(tmp_path).writing(record()):
                pass
        holder.kill()
    with RunFolder(tmp_path).writing(record()):
        pass


def test_a_different_limit_resumes_a_run_but_a_different_seed_is_refused(tmp_path):
    folder = RunFolder(tmp_path)
    with folder.writing(record(seed=1)) as writer:
        writer.append(rollout("a"))
    begin(folder, record(seed=1, limit=5, trials=3, concurrency=2))
    with pytest.raises(UserError) as caught:
        begin(folder, record(seed=2))
    assert str(caught.value).splitlines()[1:] == ["  config.seed: 1 -> 2"]


def test_a_run_without_rollouts_accepts_a_different_configuration(tmp_path):
    folder = RunFolder(tmp_path)
    begin(folder, record(agent="openai:misspelled"))
    begin(folder, record(agent="openai:right"))
    assert folder.record().config.agent == "openai:right"


def test_the_digest_ignores_the_address_and_the_concurrency_of_a_model():
    here = record(agent="openai:m@http://a:1/v1", agent_args={"concurrency": 5})
    there = record(agent="openai:m@http://b:2/v1", agent_args={"concurrency": 9})
    other = record(agent="openai:n@http://a:1/v1")
    assert here.digest == there.digest != other.digest


def test_a_changed_prompt_file_changes_the_digest(tmp_path):
    prompt = tmp_path / "p.txt"
    prompt.write_text("one")
    before = record(agent_prompt=str(prompt)).digest
    prompt.write_text("two")
    assert record(agent_prompt=str(prompt)).digest != before
    with pytest.raises(UserError, match="--agent-prompt: .* cannot be read"):
        record(agent_prompt=str(tmp_path / "none.txt"))


def test_a_path_that_the_system_rejects_is_reported_as_not_a_run_folder(tmp_path):
    said = "is not a run folder: run.json cannot be read: File name too long"
    with pytest.raises(DataError, match=said):
        RunFolder(tmp_path / ("x" * 300)).record()


def test_an_unwritable_folder_raises_a_user_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="--out .*file/run: cannot be written"):
        with RunFolder(tmp_path / "file" / "run").writing(record()):
            pass


def test_a_folder_with_other_files_is_refused_and_left_as_it_was(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(
        UserError,
        match=r"--out .*: the folder is not empty and is not the folder of a run: .*'thesis.tex'",
    ):
        begin(RunFolder(tmp_path), record())
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def test_rollouts_without_their_record_are_refused(tmp_path):
    (tmp_path / "rollouts.jsonl").write_text("")
    with pytest.raises(UserError, match="it contains 'rollouts.jsonl' but no run.json"):
        begin(RunFolder(tmp_path), record())


def test_a_folder_with_only_hidden_files_is_accepted(tmp_path):
    (tmp_path / ".gitkeep").write_text("")
    begin(RunFolder(tmp_path), record())
    assert RunFolder(tmp_path).record().digest == record().digest


def test_a_full_disk_stops_the_run_and_keeps_the_finished_rollouts(tmp_path):
    """Set a file-size limit, which makes the kernel refuse a write halfway, as a full disk does."""
    code = f"""
import resource, signal
from pathlib import Path
from colbench.errors import UserError
from colbench.rollout import Rollout, read_rollouts
from colbench.run_folder import RunFolder, TaskSource, make_record
from colbench.config import RunConfig
record = make_record(RunConfig(), {{}}, TaskSource(source="x", count=1, hash="h"))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
one = Rollout(key="a", task_id="t", task_hash="h", domain="backend", trial=0, seed=1, request="r" * 600,
              turns=(), answer="x", ended_by="answer")
resource.setrlimit(resource.RLIMIT_FSIZE, (2500, 2500))
try:
    with RunFolder(Path({str(tmp_path)!r})).writing(record) as writer:
        while True:
            writer.append(one)
except UserError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "the lines written so far are kept; if the disk is full, free some space" in done.stdout
    content = (tmp_path / "rollouts.jsonl").read_bytes()
    assert content.endswith(b"}\n")
    assert 0 < len(content) <= 2500


def test_the_record_lists_the_versions_of_all_attempts_that_ran_dialogues(tmp_path, caplog):
    folder = RunFolder(tmp_path)
    first = replace(record(), commit="a", environments={"backend": "x"})
    second = replace(record(), commit="b", environments={"backend": "x"})
    with folder.writing(first) as writer:
        folder.note_versions(first)
        writer.append(rollout("a"))
    begin(folder, second)
    assert folder.record().commit == "a"
    for _ in range(2):
        with folder.writing(second):
            folder.note_versions(second)
    assert folder.record().commit == "a | b"
    assert folder.record().environments == {"backend": "x"}
    assert [each.getMessage() for each in caplog.records] == [
        "commit differs from that of earlier dialogues: a | b"
    ]


def test_a_refusal_distinguishes_a_string_from_a_number(tmp_path):
    folder = RunFolder(tmp_path)
    with folder.writing(record(agent_args={"size": "1"})) as writer:
        writer.append(rollout("a"))
    with pytest.raises(UserError, match="config.agent_args.size: '1' -> 1"):
        begin(folder, record(agent_args={"size": 1}))


def test_a_file_that_cannot_be_written_leaves_no_draft(tmp_path):
    (tmp_path / "run.json").mkdir()
    with pytest.raises(UserError, match=r"run\.json: cannot be written"):
        RunFolder(tmp_path).save(record())
    assert [each.name for each in tmp_path.iterdir()] == ["run.json"]
