"""Notes that a user writes in the viewer: stored with the run, accepted only from its pages, filtered, exported."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
import textwrap
from html import unescape
from io import StringIO

import pytest
from aiohttp.test_utils import TestClient, TestServer

import colbench
from colbench.cli import main
from colbench.errors import DataError, UserError
from colbench.viewer.filters import NOTED, Filters
from colbench.viewer.index import RunIndex, index_runs
from colbench.viewer.notes import LONGEST_LABEL, SCHEMA, Note, make_note, read_notes
from colbench.viewer.server import make_app

HOSTILE = "</textarea><script>alert(1)</script>"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return colbench.evaluate(
        agent="guesser",
        tasks="bundled:backend",
        limit=3,
        out=tmp_path_factory.mktemp("runs") / "guesser",
    )


@pytest.fixture
def run(original, tmp_path):
    """Return a copy of the run, with its own notes."""
    return original.save(tmp_path / "guesser")


@pytest.fixture
async def client(run):
    async with TestClient(TestServer(make_app(index_runs([run.path])))) as client:
        yield client


async def submit_note(client, key, origin=None, **fields):
    """Submit the form of a dialogue's page as a browser does; return the next page's status, address and text."""
    address = f"/runs/guesser/{key}"
    page = await (await client.get(address)).text()
    token = re.search(r'name="token" value="([^"]+)"', page)[1]
    headers = {"Origin": origin or f"http://127.0.0.1:{client.port}"}
    answer = await client.post(
        f"{address}/notes?outcome=failed", data={"token": token} | fields, headers=headers
    )
    return answer.status, str(answer.url.relative()), await answer.text()


async def test_a_note_is_stored_with_the_run_shown_filtered_and_deleted(run, client):
    rollouts = (run.path / "rollouts.jsonl").read_bytes()
    first, second, _ = run.rollouts
    status, place, page = await submit_note(
        client, first.key, labels=" odd,  read again, odd,", text=f"Why? {HOSTILE}\r\n"
    )
    assert (status, place) == (200, f"/runs/guesser/{first.key}?outcome=failed")
    assert f"Why? {HOSTILE}" in unescape(page)
    assert HOSTILE not in page
    (note,) = read_notes(run.path)
    assert (note.task_id, note.trial) == (first.task_id, 0)
    assert (note.labels, note.text) == (("odd", "read again"), f"Why? {HOSTILE}")
    for query, shown in (("label=odd", 1), ("label=%2A", 1), ("text=WHY", 1), ("label=other", 0)):
        listed = await (await client.get(f"/?{query}")).text()
        assert listed.count('<th scope="row"') == shown, query
    await submit_note(client, second.key, labels="odd")
    await submit_note(client, first.key, labels="", text=" ")
    assert [note.key for note in read_notes(run.path)] == [second.key]
    index = RunIndex(run.path, "guesser")
    assert [row.key for row in Filters(label=NOTED).select(index.rows)] == [second.key]
    assert (run.path / "rollouts.jsonl").read_bytes() == rollouts
    lines = (run.path / "notes.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["schema"] for line in lines] == [SCHEMA] * 3


async def test_a_note_from_another_origin_or_without_a_valid_token_is_refused(run, client):
    key = run.rollouts[0].key
    for sent in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"token": "guess"},
        {"token": ""},
    ):
        status, _, page = await submit_note(client, key, text="planted", **sent)
        assert status == 403, sent
        assert "Not saved" in page
    without = await client.post(f"/runs/guesser/{key}/notes", data={"text": "planted"})
    assert without.status == 403
    assert not (run.path / "notes.jsonl").exists()


async def test_a_note_that_is_too_long_is_refused(run, client):
    key = run.rollouts[0].key
    status, _, page = await submit_note(client, key, labels="x" * (LONGEST_LABEL + 1))
    assert (status, f"at most {LONGEST_LABEL} characters" in page) == (400, True)
    with pytest.raises(UserError, match="21 labels"):
        make_note(run.rollouts[0], ",".join(map(str, range(21))), "")
    with pytest.raises(UserError, match="10,001 characters"):
        make_note(run.rollouts[0], "", "x" * 10_001)


def test_saved_notes_survive_a_killed_writer(run):
    first, second, _ = run.rollouts
    script = """
        import os, signal, sys
        from pathlib import Path
        import colbench
        from colbench.viewer.notes import Notes, make_note
        folder = Path(sys.argv[1])
        Notes(folder).add(make_note(colbench.load_run(folder).rollouts[0], "kept", ""))
        with (folder / "notes.jsonl").open("ab") as torn:
            torn.write(b'{"key": "torn')
        os.kill(os.getpid(), signal.SIGKILL)
    """
    killed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(run.path)], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert [note.key for note in read_notes(run.path)] == [first.key]
    index = RunIndex(run.path, "guesser")
    index.add_note(make_note(second, "next", ""))
    assert [note.key for note in read_notes(run.path)] == [first.key, second.key]
    index.refresh()
    labels = {row.key: row.labels for row in index.rows if row.labels}
    assert labels == {first.key: ("kept",), second.key: ("next",)}


def test_a_malformed_line_is_named(run):
    (run.path / "notes.jsonl").write_bytes(b"{}\n")
    with pytest.raises(DataError, match=r"notes\.jsonl, line 1: not a note"):
        RunIndex(run.path, "guesser")


def test_notes_are_printed_as_csv_or_json_lines_and_are_in_exported_pages(run, capsys, tmp_path):
    first, second, _ = run.rollouts
    index = RunIndex(run.path, "guesser")
    index.add_note(make_note(first, "odd, read again", '=1+1 "quoted"\nnext line'))
    index.add_note(make_note(second, "", "plain"))
    folder = str(run.path)
    assert main(["view", folder, "--notes"]) == 0
    rows = list(csv.DictReader(StringIO(capsys.readouterr().out)))
    assert [row["task_id"] for row in rows] == [first.task_id, second.task_id]
    assert rows[0]["run"] == folder
    assert rows[0]["labels"] == "odd, read again"
    assert rows[0]["text"] == '\'=1+1 "quoted"\nnext line'
    assert main(["view", folder, "--notes", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0]["labels"] == ["odd", "read again"]
    assert lines[0]["text"] == '=1+1 "quoted"\nnext line'
    assert main(["view", folder, "--export", str(tmp_path / "pages")]) == 0
    number = [row.key for row in index.rows].index(first.key) + 1
    page = (tmp_path / "pages" / "dialogues" / f"{number}.html").read_text()
    assert "read again" in page
    assert "<form action" not in page
    assert "read again" in (tmp_path / "pages" / "index.html").read_text()


def test_a_note_without_text_and_labels_is_empty():
    fields = {"key": "k", "task_id": "t", "trial": 0, "time": ""}
    assert Note(**fields).empty
    assert not Note(**fields, text="x").empty
    assert not Note(**fields, labels=("x",)).empty
