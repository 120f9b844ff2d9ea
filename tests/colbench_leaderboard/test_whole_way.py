"""All steps on the command line: three runs become entries, and a second clone verifies them to the same receipts."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import NamedTuple

import pytest

from colbench.cli import main
from colbench_leaderboard.store.branches import new_entries
from colbench_leaderboard.store.log import read_log
from colbench_leaderboard.verify.receipt import RECEIPT, SCORES, SUMMARY

AGENTS = ("blank", "guesser", "interviewer")
"""Agents from the worst to the best."""
META = """
name = "{}"
organization = "ColBench"
authors = ["A. Person"]
contact = "a@example.org"
track = "open"
description = "An agent that comes with ColBench."
models = []

[disclosures]
trained_on_colbench = false
human_in_the_loop = false
tools = "none"
"""


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


class Leaderboard(NamedTuple):
    """A leaderboard of which the maintainers have accepted the three entries."""

    runs: Path
    bare: Path
    """The leaderboard's repository on a server."""
    work: Path
    """The maintainers' clone of it."""
    entries: dict[str, str]
    """Digests of the entries by name."""
    head: str
    """The head of the log that the maintainers saved."""


def verified_files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in (RECEIPT, SCORES, SUMMARY)}


def packed(run: Path, name: str, out: Path) -> Path:
    meta = out.with_name(f"{name}.toml")
    meta.write_text(META.format(name))
    assert main(["submit", "pack", str(run), "--meta", str(meta), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Return a folder with a run of each agent on six tasks."""
    folder = tmp_path_factory.mktemp("runs")
    for agent in AGENTS:
        assert main(["eval", "--agent", agent, "--limit", "6", "--out", str(folder / agent)]) == 0
    return folder


@pytest.fixture(scope="module")
def published(runs, tmp_path_factory) -> Leaderboard:
    """Return the leaderboard after the runs were packed, pushed as branches, merged, verified, and accepted."""
    folder = tmp_path_factory.mktemp("way")
    bare, work = folder / "board.git", folder / "board"
    assert main(["leaderboard", "init", str(work)]) == 0
    git(work, "init", "--quiet", "--initial-branch=main")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "Begin")
    git(folder, "clone", "--quiet", "--bare", str(work), str(bare))
    git(work, "remote", "add", "origin", bare.as_uri())

    for agent in AGENTS:
        submit(packed(runs / agent, agent, folder / f"{agent}.tar.gz"), bare, folder)
        merge_and_accept(work, agent)
    log = read_log(work)
    entries = dict(zip(AGENTS, log.standing(), strict=True))
    return Leaderboard(runs, bare, work, entries, log.head)


def submit(bundle: Path, bare: Path, folder: Path) -> None:
    """Submit a bundle like an outsider: the first one through a clone, the others to the URL."""
    if "blank" not in bundle.name:
        assert main(["submit", "push", str(bundle), "--to", bare.as_uri(), "--yes"]) == 0
        return
    clone = folder / "stranger"
    git(folder, "clone", "--quiet", bare.as_uri(), str(clone))
    assert main(["submit", "push", str(bundle), "--to", str(clone)]) == 0
    branch = git(clone, "branch", "--list", "--format=%(refname:short)", "submission/*")
    git(clone, "push", "--quiet", "origin", branch)


def merge_and_accept(work: Path, agent: str) -> None:
    """Merge, verify, and accept a pull request like the maintainers."""
    git(work, "fetch", "--quiet", "origin")
    branch = git(work, "branch", "--remotes", "--list", "--format=%(refname)", f"*/{agent}-*")
    base = git(work, "rev-parse", "HEAD")
    git(work, "merge", "--quiet", "--no-edit", branch)
    (digest,) = new_entries(work, base)
    bundle, out = work / "entries" / digest / "bundle", work.with_name(f"{agent}.verified")
    assert main(["verify", str(bundle), "--out", str(out)]) == 0
    assert main(["leaderboard", "accept", str(work), str(bundle)]) == 0
    record = read_log(work).records[-1]
    assert (record.decision, record.bundle) == ("accepted", digest)
    assert verified_files(bundle.with_name("verified") / record.receipt) == verified_files(out)
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", f"Accept {agent}")
    git(work, "push", "--quiet", "origin", "HEAD:main")


@pytest.fixture(scope="module")
def clone(published, tmp_path_factory) -> Path:
    """Return another person's clone of the leaderboard."""
    folder = tmp_path_factory.mktemp("elsewhere") / "leaderboard"
    git(folder.parent, "clone", "--quiet", published.bare.as_uri(), str(folder))
    return folder


@pytest.mark.slow
def test_a_second_clone_verifies_all_entries_to_the_same_receipts(published, clone, tmp_path):
    for record in read_log(clone).records:
        out = tmp_path / record.bundle
        bundle = clone / "entries" / record.bundle / "bundle"
        assert main(["verify", str(bundle), "--out", str(out)]) == 0
        assert verified_files(out) == verified_files(bundle.with_name("verified") / record.receipt)

    audit = ["leaderboard", "audit", str(clone), "--verify", "--head", published.head, "--json"]
    command = [sys.executable, "-m", "colbench.cli", *audit]
    elsewhere = {"TZ": "Pacific/Auckland", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        command, env=os.environ | elsewhere, cwd=tmp_path, check=True, capture_output=True
    )
    assert json.loads(done.stdout) == {
        "head": published.head, "records": 3, "standing": 3, "verified": 3,
        "signed": 0, "keepers": [], "faults": [],
    }  # fmt: skip
    assert git(clone, "status", "--porcelain") == ""  # nothing was written there


@pytest.fixture(scope="module")
def site(clone, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("site") / "site"
    assert main(["leaderboard", "build", str(clone), "--out", str(out)]) == 0
    return out


@pytest.mark.weekly
def test_sites_of_two_clones_are_identical_and_rank_the_three_entries_in_order(
    published, site, tmp_path
):
    assert main(["leaderboard", "build", str(published.work), "--out", str(tmp_path / "site")]) == 0
    assert files(tmp_path / "site") == files(site)
    (board,) = site.glob("boards/*/board.json")
    rows = json.loads(board.read_text())["rows"]
    assert [row["name"] for row in rows] == list(reversed(AGENTS))
    assert [row["rank"]["place"] for row in rows] == [1, 2, 3]
    assert [row["level"] for row in rows] == ["V2"] * 3
    for row in rows:
        rollouts = (published.runs / row["name"] / "rollouts.jsonl").read_text().splitlines()
        values = [json.loads(line)["scores"]["default"]["value"] for line in rollouts]
        assert row["value"]["mean"] == pytest.approx(sum(values) / len(values), abs=1e-6)
    shown = re.findall(r"<bdi>(\w+)</bdi></a>", board.with_name("index.html").read_text())
    assert shown == list(reversed(AGENTS))


@pytest.mark.weekly
def test_the_command_on_an_entrys_page_reproduces_the_receipt_it_shows(
    published, clone, runs, tmp_path, monkeypatch
):
    """Check an entry that is flagged because it shares transcripts with another entry."""
    copy = packed(runs / "interviewer", "Copycat", tmp_path / "copycat.tar.gz")
    store, site = tmp_path / "store", tmp_path / "site"
    shutil.copytree(clone, store)
    assert main(["leaderboard", "accept", str(store), str(copy)]) == 0
    copied = read_log(store).records[-1]

    def verified_by_the_page() -> tuple[str, str]:
        assert main(["leaderboard", "build", str(store), "--out", str(site)]) == 0
        folder = site / "entries" / copied.bundle[:12]
        page = (folder / "index.html").read_text()
        for bundle in re.findall(r'href="([./0-9a-z]+\.tar\.gz)"', page):
            shutil.copy(folder / bundle, tmp_path)
        (command,) = re.findall(r"<pre>(colbench verify .*?)</pre>", page)
        monkeypatch.chdir(tmp_path)
        words = [word.replace("STORE", str(store)) for word in shlex.split(unescape(command))]
        assert main(words[1:]) == 0
        assert (tmp_path / "receipt" / RECEIPT).read_bytes() == (folder / RECEIPT).read_bytes()
        return page, command

    page, command = verified_by_the_page()
    original = published.entries["interviewer"]
    assert "audit.duplicates" in page
    assert f"--against {original[:12]}.tar.gz" in command
    remove = ["leaderboard", "remove", str(store), original, "--reason", "asked for"]
    assert main(remove) == 0
    _, command = verified_by_the_page()
    assert f"--against STORE/entries/{original}/bundle" in command
