"""The whole way by the command line: three runs become entries, and a second clone finds the very same of them."""

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
"""From the worst to the best."""
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


class Way(NamedTuple):
    """The state after the maintainers have accepted the three entries."""

    runs: Path
    bare: Path
    """The leaderboard's repository, as it stands on a server."""
    work: Path
    """The maintainers' clone of it."""
    entries: dict[str, str]
    """Digests by name."""
    head: str
    """The head of the log, as the maintainers noted it."""


def found(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in (RECEIPT, SCORES, SUMMARY)}


def packed(run: Path, name: str, out: Path) -> Path:
    meta = out.with_name(f"{name}.toml")
    meta.write_text(META.format(name))
    assert main(["submit", "pack", str(run), "--meta", str(meta), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Return six tasks, played by each."""
    folder = tmp_path_factory.mktemp("runs")
    for agent in AGENTS:
        assert main(["eval", "--agent", agent, "--limit", "6", "--out", str(folder / agent)]) == 0
    return folder


@pytest.fixture(scope="module")
def way(runs, tmp_path_factory) -> Way:
    """Return the leaderboard after the three were packed, pushed as branches, merged, verified and accepted."""
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
        take_in(work, agent)
    log = read_log(work)
    entries = dict(zip(AGENTS, log.standing(), strict=True))
    return Way(runs, bare, work, entries, log.head)


def submit(bundle: Path, bare: Path, folder: Path) -> None:
    """Submit as an outsider does: the first bundle through a clone, the others to the address."""
    if "blank" not in bundle.name:
        assert main(["submit", "push", str(bundle), "--to", bare.as_uri(), "--yes"]) == 0
        return
    clone = folder / "stranger"
    git(folder, "clone", "--quiet", bare.as_uri(), str(clone))
    assert main(["submit", "push", str(bundle), "--to", str(clone)]) == 0
    branch = git(clone, "branch", "--list", "--format=%(refname:short)", "submission/*")
    git(clone, "push", "--quiet", "origin", branch)


def take_in(work: Path, agent: str) -> None:
    """Handle a pull request as the maintainers do."""
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
    assert found(bundle.with_name("verified") / record.receipt) == found(out)
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", f"Accept {agent}")
    git(work, "push", "--quiet", "origin", "HEAD:main")


@pytest.fixture(scope="module")
def clone(way, tmp_path_factory) -> Path:
    """Return another person's clone of the leaderboard."""
    folder = tmp_path_factory.mktemp("elsewhere") / "leaderboard"
    git(folder.parent, "clone", "--quiet", way.bare.as_uri(), str(folder))
    return folder


@pytest.mark.slow
def test_a_second_clone_verifies_all_entries_to_the_same_receipts(way, clone, tmp_path):
    for record in read_log(clone).records:
        out = tmp_path / record.bundle
        bundle = clone / "entries" / record.bundle / "bundle"
        assert main(["verify", str(bundle), "--out", str(out)]) == 0
        assert found(out) == found(bundle.with_name("verified") / record.receipt)

    audit = ["leaderboard", "audit", str(clone), "--verify", "--head", way.head, "--json"]
    command = [sys.executable, "-m", "colbench.cli", *audit]
    elsewhere = {"TZ": "Pacific/Auckland", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        command, env=os.environ | elsewhere, cwd=tmp_path, check=True, capture_output=True
    )
    assert json.loads(done.stdout) == {
        "head": way.head, "records": 3, "standing": 3, "verified": 3,
        "signed": 0, "keepers": [], "faults": [],
    }  # fmt: skip
    assert git(clone, "status", "--porcelain") == ""  # nothing was written there


@pytest.fixture(scope="module")
def site(clone, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("site") / "site"
    assert main(["leaderboard", "build", str(clone), "--out", str(out)]) == 0
    return out


@pytest.mark.weekly
def test_the_site_of_any_clone_is_the_same_and_has_the_three_in_their_order(way, site, tmp_path):
    assert main(["leaderboard", "build", str(way.work), "--out", str(tmp_path / "site")]) == 0
    assert files(tmp_path / "site") == files(site)
    (board,) = site.glob("boards/*/board.json")
    rows = json.loads(board.read_text())["rows"]
    assert [row["name"] for row in rows] == list(reversed(AGENTS))
    assert [row["rank"]["place"] for row in rows] == [1, 2, 3]
    assert [row["level"] for row in rows] == ["V2"] * 3
    for row in rows:
        rollouts = (way.runs / row["name"] / "rollouts.jsonl").read_text().splitlines()
        values = [json.loads(line)["scores"]["default"]["value"] for line in rollouts]
        assert row["value"]["mean"] == pytest.approx(sum(values) / len(values), abs=1e-6)
    shown = re.findall(r"<bdi>(\w+)</bdi></a>", board.with_name("index.html").read_text())
    assert shown == list(reversed(AGENTS))


@pytest.mark.weekly
def test_what_an_entrys_page_says_to_run_gives_the_receipt_that_it_shows(
    way, clone, runs, tmp_path, monkeypatch
):
    """Also of an entry that was flagged, as it shares transcripts with others."""
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
    original = way.entries["interviewer"]
    assert "audit.duplicates" in page
    assert f"--against {original[:12]}.tar.gz" in command
    remove = ["leaderboard", "remove", str(store), original, "--reason", "asked for"]
    assert main(remove) == 0
    _, command = verified_by_the_page()
    assert f"--against STORE/entries/{original}/bundle" in command
