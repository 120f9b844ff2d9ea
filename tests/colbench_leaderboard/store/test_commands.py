"""`colbench leaderboard`, with a real run of a rule-based agent."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import msgspec
import pytest

from colbench.cli import main
from colbench.plugins import resolve_tasks
from colbench.task import row_from_task
from colbench_leaderboard.board.standings import read_standings
from colbench_leaderboard.cli import leaderboard, submit
from colbench_leaderboard.site.reproduce import reproduction
from colbench_leaderboard.store.entries import read_receipt
from colbench_leaderboard.store.layout import LOG, bundle_folder, verified_folder
from colbench_leaderboard.store.log import read_log
from colbench_leaderboard.verify.transcripts import duplicated

META = """
name = "{}"
organization = "ColBench"
authors = ["A. Person"]
contact = "a@example.org"
track = "open"
description = "A line to compare with."
models = []

[disclosures]
trained_on_colbench = false
human_in_the_loop = false
tools = "none"
"""

MOVED = leaderboard.MOVED | submit.MOVED


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a run of two dialogues."""
    folder = tmp_path_factory.mktemp("run") / "run"
    assert main(["eval", "--agent", "guesser", "--limit", "2", "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def guesser(run):
    """Return the bundle of the run."""
    return packed(run, "guesser")


def packed(run, name):
    meta, bundle = run.with_name(f"{name}.toml"), run.with_name(f"{name}.tar.gz")
    meta.write_text(META.format(name))
    assert main(["submit", "pack", str(run), "--meta", str(meta), "--out", str(bundle)]) == 0
    return bundle


@pytest.fixture
def new_store(tmp_path):
    """Return an empty store that the command created."""
    assert main(["leaderboard", "init", str(tmp_path / "store")]) == 0
    return tmp_path / "store"


def test_a_bundle_is_accepted_audited_rescored_and_removed(new_store, guesser, capsys):
    store = str(new_store)
    assert main(["leaderboard", "accept", store, str(guesser), "--reference-line"]) == 0
    head = read_log(new_store).head
    assert head in capsys.readouterr().out
    assert main(["leaderboard", "audit", store, "--verify", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    counts = {"records": 1, "standing": 1, "verified": 1, "signed": 0}
    assert found == {"head": head, "keepers": [], "faults": [], **counts}
    assert main(["leaderboard", "rescore", store, "--reason", "new rules"]) == 0
    assert "unchanged" in capsys.readouterr().out
    bundle = read_log(new_store).records[0].bundle
    assert (
        main(["leaderboard", "remove", store, bundle[:8], "--reason", "asked for", "--delete"]) == 0
    )
    assert not bundle_folder(new_store, bundle).exists()
    assert main(["leaderboard", "audit", store, "--head", head]) == 0
    assert "2 records, 0 current entries, 0 faults" in capsys.readouterr().out
    assert main(["leaderboard", "audit", store, "--head", head[:8]]) == 2
    assert "--head: expected a file, or the 64 hexadecimal digits" in capsys.readouterr().err


def test_a_consistently_forged_receipt_is_found_by_verifying_again(new_store, guesser, capsys):
    from colbench_leaderboard.bundle.encoding import canonical, sha256
    from colbench_leaderboard.store.log import writing

    store = str(new_store)
    assert main(["leaderboard", "accept", store, str(guesser)]) == 0
    record = read_log(new_store).records[0]
    folder = verified_folder(new_store, record.bundle, record.receipt)
    receipt = json.loads((folder / "receipt.json").read_bytes()) | {"level": "V3"}
    digest = sha256(canonical(receipt))
    shutil.copytree(folder, folder.with_name(digest))
    (folder.with_name(digest) / "receipt.json").write_bytes(canonical(receipt))
    with writing(new_store) as log:
        log.append("rescored", record.bundle, receipt=digest, reason="better")
    assert main(["leaderboard", "audit", store]) == 0
    capsys.readouterr()
    assert main(["leaderboard", "audit", store, "--verify"]) == 1
    assert (
        "receipt.json: verifying the bundle again gives a different file" in capsys.readouterr().out
    )


def test_the_same_transcripts_under_another_name_are_flagged_as_duplicates(
    new_store, run, guesser, capsys
):
    store = str(new_store)
    assert main(["leaderboard", "accept", store, str(guesser)]) == 0
    assert "audit.duplicates" not in capsys.readouterr().out
    assert main(["leaderboard", "accept", store, str(packed(run, "another"))]) == 0
    assert "flag     audit.duplicates: 2 of 2 dialogues" in capsys.readouterr().out
    assert main(["leaderboard", "audit", store, "--verify"]) == 0
    assert "2 verified again with the same result" in capsys.readouterr().out


def start_accept(store, bundle):
    """Start `colbench leaderboard accept` in its own process."""
    words = [sys.executable, "-m", "colbench.cli", "leaderboard", "accept", str(store), str(bundle)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_simultaneous_accepts_still_compare_the_entries_with_each_other(new_store, run, guesser):
    bundles = (guesser, packed(run, "another"))
    ended = [each.communicate() for each in [start_accept(new_store, bundle) for bundle in bundles]]
    told = [error for _, error in ended if "in use by another colbench process" in error]
    assert len(told) == 2 - len(read_log(new_store).standing())
    for bundle in bundles:  # a second time: an accepted bundle is refused
        main(["leaderboard", "accept", str(new_store), str(bundle)])
    standing = read_log(new_store).standing().values()
    found = [duplicated(read_receipt(new_store, record)) for record in standing]
    assert sorted(map(len, found)) == [0, 1]


HOLD = """
import pathlib, sys, time
from colbench_leaderboard.store.lock import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_lock_of_a_killed_process_is_released(new_store, guesser, capsys):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(new_store)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        assert main(["leaderboard", "accept", str(new_store), str(guesser)]) == 2
        assert "in use by another colbench process; repeat the command" in capsys.readouterr().err
        assert main(["leaderboard", "rescore", str(new_store), "--reason", "x"]) == 2
        other.kill()
    assert main(["leaderboard", "accept", str(new_store), str(guesser)]) == 0


def test_a_receipt_without_a_comparison_with_current_entries_is_not_accepted(
    new_store, run, guesser, capsys, tmp_path
):
    another, out = packed(run, "another"), tmp_path / "verified"
    assert main(["verify", str(another), "--out", str(out)]) == 0
    assert main(["leaderboard", "accept", str(new_store), str(guesser)]) == 0
    capsys.readouterr()
    take = ["leaderboard", "accept", str(new_store), str(another), "--verified", str(out)]
    assert main(take) == 2
    assert "without a comparison with a current entry (2 of 2 dialogues" in capsys.readouterr().err
    assert main(["verify", str(another), "--out", str(out), "--against", str(guesser)]) == 0
    assert main(take) == 0


def test_the_audit_asks_to_rescore_an_entry_whose_duplicate_was_deleted(
    new_store, run, guesser, capsys
):
    store = str(new_store)
    for bundle in (guesser, packed(run, "another")):
        assert main(["leaderboard", "accept", store, str(bundle)]) == 0
    first, second = read_log(new_store).standing()
    remove = ["leaderboard", "remove", store, first, "--reason", "asked for", "--delete"]
    assert main(remove) == 0
    capsys.readouterr()
    assert main(["leaderboard", "audit", store, "--verify"]) == 1
    command = f"colbench leaderboard rescore {store} --only {second[:12]} --reason …"
    assert command in capsys.readouterr().out
    only = ["--only", second[:12], "--reason", "a duplicate was deleted"]
    capsys.readouterr()
    assert main(["leaderboard", "rescore", store, *only]) == 0
    assert f"colbench leaderboard keep {store} {second[:12]}" in capsys.readouterr().out
    assert main(["leaderboard", "audit", store, "--verify"]) == 0
    assert main(["leaderboard", "rescore", store, *only]) == 0
    assert "unchanged" in capsys.readouterr().out
    standings = read_standings(new_store)
    (row,) = standings.boards[0].flagged
    (flag,) = row.pending
    assert flag.rule == "audit.duplicates"
    assert flag.message.endswith(f"bundle {first}, which was deleted")
    assert reproduction(standings.entries[second], {second}).deleted


def test_a_rescored_reference_line_awaits_no_decision(new_store, run, guesser, capsys):
    store = str(new_store)
    assert main(["leaderboard", "accept", store, str(guesser)]) == 0
    another = str(packed(run, "another"))
    assert main(["leaderboard", "accept", store, another, "--reference-line"]) == 0
    first, _ = read_log(new_store).standing()
    remove = ["leaderboard", "remove", store, first, "--reason", "asked for", "--delete"]
    assert main(remove) == 0
    assert main(["leaderboard", "rescore", store, "--reason", "a duplicate was deleted"]) == 0
    said = capsys.readouterr().out
    assert "record 4: rescored" in said
    assert "leaderboard keep" not in said


@pytest.fixture(scope="module")
def of_two_sources(tmp_path_factory):
    """Return two bundles on different task files, the second with an importable package, and these files."""
    folder = tmp_path_factory.mktemp("sources")
    tasks = resolve_tasks("bundled:backend")[:2]
    bundles, files = [], []
    for number, task in enumerate(tasks):
        flags = ["--sandbox-packages", "numpy"] if number else []
        files.append(folder / f"tasks-{number}.jsonl")
        files[-1].write_bytes(msgspec.json.encode(row_from_task(task)) + b"\n")
        words = ["--agent", "guesser", "--tasks", str(files[-1]), *flags]
        assert main(["eval", *words, "--out", str(folder / f"run-{number}")]) == 0
        bundles.append(packed(folder / f"run-{number}", f"guesser {number}"))
    return bundles, files


def test_entries_with_other_task_sources_and_packages_are_verified_with_their_own(
    new_store, of_two_sources, capsys
):
    (plain, with_numpy), (first, second) = of_two_sources
    store, one = str(new_store), ["--tasks", str(first)]
    both = [*one, "--tasks", str(second), "--sandbox-packages", "numpy"]
    assert main(["leaderboard", "accept", store, str(plain), *one]) == 0
    assert main(["leaderboard", "accept", store, str(with_numpy), *both]) == 0
    assert main(["leaderboard", "audit", store, "--verify", *both]) == 0
    capsys.readouterr()
    assert main(["leaderboard", "rescore", store, "--reason", "x", *both]) == 0
    assert capsys.readouterr().out.count("unchanged") == 2
    for action in (["audit", store, "--verify"], ["rescore", store, "--reason", "x"]):
        assert main(["leaderboard", *action, *one]) == 2
        said = capsys.readouterr().err.replace("\n", " ")
        assert "cannot be verified, because none of the sources has its tasks" in said
        assert "add --tasks" in said
    assert len(read_log(new_store).records) == 2


def test_a_rescoring_that_refuses_an_entry_prints_the_reasons(new_store, entrant, capsys):
    forged = entrant("forged")
    flags = ["--verified", str(forged.verified)]
    assert main(["leaderboard", "accept", str(new_store), str(forged.bundle), *flags]) == 0
    assert main(["leaderboard", "rescore", str(new_store), "--reason", "x"]) == 1
    said = capsys.readouterr().out
    assert "refusal  lock." in said
    assert "refused by the new rules, but still on the board" in said


def test_a_forged_bundle_is_not_accepted_and_the_refusal_is_recorded(new_store, entrant, capsys):
    forged = entrant("forged")
    assert main(["leaderboard", "accept", str(new_store), str(forged.bundle)]) == 1
    assert "refusal  lock." in capsys.readouterr().out
    assert read_log(new_store).records == ()
    assert (
        main(["leaderboard", "accept", str(new_store), str(forged.bundle), "--refuse", "forged"])
        == 0
    )
    assert read_log(new_store).records[0].decision == "refused"
    assert main(["leaderboard", "audit", str(new_store)]) == 0


def test_an_existing_receipt_can_be_used_and_its_flags_are_shown(new_store, entrant, capsys):
    one = entrant()
    flags = ["--verified", str(one.verified)]
    one.verify([[1.0], [0.5]], findings=[("audit.duplicates", "flag"), ("replay.model", "note")])
    assert main(["leaderboard", "accept", str(new_store), str(one.bundle), *flags]) == 0
    said = capsys.readouterr().out
    assert "flag     audit.duplicates" in said
    assert "replay.model" not in said
    assert read_log(new_store).standing().keys() == {one.digest}
    assert f"colbench leaderboard keep {new_store} {one.digest[:12]} --reason" in said


def test_keeping_a_flagged_entry_is_recorded_in_the_log(new_store, entrant, capsys):
    one = entrant()
    one.verify([[1.0], [0.5]], findings=[("audit.duplicates", "flag")])
    flags = ["--verified", str(one.verified)]
    assert main(["leaderboard", "accept", str(new_store), str(one.bundle), *flags]) == 0
    keep = ["leaderboard", "keep", str(new_store), one.digest[:8], "--reason", "the same model"]
    assert main(keep) == 0
    assert f"record 2: kept {one.digest}" in capsys.readouterr().out
    assert read_log(new_store).records[-1].reason == "the same model"
    assert main(["leaderboard", "audit", str(new_store)]) == 0


MISTAKES = [
    (["accept", "nowhere", "b"], "is not a store"),
    (["accept", "nowhere", "b", "--refuse", " "], "--refuse: the reason is empty"),
    (["keep", "nowhere", "b", "--reason", "x"], "is not a store"),
    (["remove", "nowhere", "b", "--reason", "x"], "is not a store"),
    (["rescore", "nowhere", "--reason", "x"], "is not a store"),
    (["audit", "nowhere"], "is not a store"),
    (["audit", "nowhere", "--until", "a" * 40], "--until: requires --added-since"),
    (
        ["audit", "nowhere", "--added-since", "a" * 40, "--verify"],
        "--added-since: cannot be combined",
    ),
    (["build", "nowhere"], "--out is missing"),
    (["build", "nowhere", "--out", "site", "--port", "0"], "--port: requires --serve"),
    (["init", "."], "not an empty folder"),
]


@pytest.mark.parametrize(("action", "message"), MISTAKES)
def test_a_usage_error_is_reported_in_one_line(tmp_path, monkeypatch, capsys, action, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "something").touch()
    assert main(["leaderboard", *action]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_an_old_command_names_its_replacement(old, new, capsys):
    assert main([*old.split(), "anything", "--out", "somewhere"]) == 2
    assert capsys.readouterr().err == f"colbench {old}: replaced by `{new}`\n"


@pytest.mark.parametrize("group", ["leaderboard", "submit"])
@pytest.mark.parametrize("asked", ["--help", "foo"])
def test_help_and_usage_errors_do_not_list_old_commands(group, asked, capsys):
    with pytest.raises(SystemExit) as ended:
        main([group, asked])
    assert ended.value.code == (0 if asked == "--help" else 2)
    read = capsys.readouterr()
    words = re.findall(r"\w+", read.out + read.err)
    assert {"leaderboard": "rescore", "submit": "pack"}[group] in words
    choices = re.findall(r"'(\w+)'|^    (\w+) ", read.out + read.err, re.MULTILINE)
    named = {one or other for one, other in choices}
    assert not named & {old.split()[1] for old in MOVED}


def test_auditing_a_rewritten_log_reports_the_line(new_store, entrant, capsys):
    one = entrant()
    main(
        ["leaderboard", "accept", str(new_store), str(one.bundle), "--verified", str(one.verified)]
    )
    main(["leaderboard", "remove", str(new_store), one.digest, "--reason", "asked for"])
    (new_store / LOG).write_bytes((new_store / LOG).read_bytes().replace(b"accepted", b"rescored"))
    assert main(["leaderboard", "audit", str(new_store)]) == 2
    assert "log.jsonl, line 1: " in capsys.readouterr().err


def test_control_characters_in_file_names_do_not_reach_the_terminal(new_store, entrant, capsys):
    one = entrant()
    main(
        ["leaderboard", "accept", str(new_store), str(one.bundle), "--verified", str(one.verified)]
    )
    (bundle_folder(new_store, one.digest) / "\x1b[31mred").touch()
    assert main(["leaderboard", "audit", str(new_store)]) == 1
    assert "\x1b[31mred" not in capsys.readouterr().out
