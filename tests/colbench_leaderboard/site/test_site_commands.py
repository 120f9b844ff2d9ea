"""`colbench leaderboard build`, with `--serve` and without."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request

import msgspec
import pytest

from colbench.cli import main
from colbench.task import row_from_task
from colbench_leaderboard.site.folder import Folder


@pytest.fixture
def small_store(tmp_path, stores):
    """Return a store of one entry on tasks that do not come with ColBench, and the file of the tasks."""
    tasks = stores.make_tasks(3)
    made = stores.Store(tmp_path / "store", tasks, source="file:/etc/passwd")
    made.add(stores.Entrant(name="System", skill=0.4))
    file = tmp_path / "own.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(row_from_task(t)) + b"\n" for t in tasks))
    return made.folder, file


def test_build_adds_the_references_of_the_given_tasks(tmp_path, small_store, capsys):
    store, file = small_store
    out = tmp_path / "site"
    assert main(["leaderboard", "build", str(store), "--out", str(out)]) == 0
    (leaf,) = out.glob("entries/*/dialogues-001.html")
    assert leaf.read_text().count("The reference of this task is not available.") == 3
    said = capsys.readouterr().out
    assert "1 entry, 3 dialogues" in said.replace("\n", " ")
    assert main(["leaderboard", "build", str(store), "--out", str(out), "--tasks", str(file)]) == 0
    (leaf,) = out.glob("entries/*/dialogues-001.html")
    assert "is not available" not in leaf.read_text()
    assert "--tasks YOUR_TASKS" in next(out.glob("entries/*/index.html")).read_text()


def test_build_refuses_a_missing_store_a_foreign_folder_and_an_invalid_port(
    tmp_path, small_store, capsys
):
    assert main(["leaderboard", "build", str(tmp_path / "none"), "--out", str(tmp_path / "x")]) == 2
    assert "is not a store" in capsys.readouterr().err
    assert main(["leaderboard", "build", str(small_store[0]), "--out", str(tmp_path)]) == 2
    assert "contains something other than a site" in capsys.readouterr().err
    assert main(["leaderboard", "build", str(small_store[0]), "--serve", "--port", "99999"]) == 2
    assert "expected a number from 0 to 65535" in capsys.readouterr().err


def test_a_build_succeeds_after_an_earlier_one_was_killed(tmp_path, small_store):
    store, out, before = small_store[0], tmp_path / "site", tmp_path / ".site.old"
    build = ["leaderboard", "build", str(store), "--out", str(out)]
    assert main(build) == 0
    pages = sorted(path.relative_to(out) for path in out.rglob("*"))
    before.mkdir()
    (before / "log.html").write_text("half deleted")
    assert main(build) == 0
    out.rename(before)  # killed between the two renames
    assert main(build) == 0
    assert not before.exists()
    assert sorted(path.relative_to(out) for path in out.rglob("*")) == pages


def test_only_the_pictures_that_the_new_pages_show_are_kept_from_the_previous_site(tmp_path):
    before = tmp_path / ".site.old"  # left by a build that was killed between the two renames
    (before / "gallery").mkdir(parents=True)
    (before / ".colbench-site").touch()
    for name in ("shown.webp", "of-a-deleted-entry.webp"):
        (before / "gallery" / name).write_bytes(b"made")
    with Folder(tmp_path / "site") as folder:
        folder.pictures.add("gallery/shown.webp")
    (kept,) = (tmp_path / "site" / "gallery").iterdir()
    assert (kept.name, kept.read_bytes()) == ("shown.webp", b"made")


def test_a_site_that_another_process_is_building_is_not_touched(tmp_path, small_store, capsys):
    out = tmp_path / "site"
    with Folder(out) as folder:
        folder.write("index.html", "the first build")
        assert main(["leaderboard", "build", str(small_store[0]), "--out", str(out)]) == 2
        assert f"--out {out} is in use by another colbench process" in capsys.readouterr().err
        folder.write("log.html", "still the first build")
    assert {path.name for path in out.iterdir()} == {".colbench-site", "index.html", "log.html"}


def test_build_reports_a_path_that_it_cannot_write(tmp_path, small_store, capsys):
    (tmp_path / "file").write_text("")
    for place, said in (
        ("file", "a file, not a folder; use a folder"),
        ("file/site", "cannot be written"),
    ):
        assert (
            main(["leaderboard", "build", str(small_store[0]), "--out", str(tmp_path / place)]) == 2
        )
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_serve_shows_the_site_until_a_signal_and_leaves_no_files(tmp_path, small_store, end):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "colbench.cli", "leaderboard", "build", str(small_store[0])]
    with subprocess.Popen(
        [*command, "--serve", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as serving:
        address = re.match(r"http://127\.0\.0\.1:\d+/", serving.stdout.readline())
        with urllib.request.urlopen(address.group()) as answer:
            assert b"ColBench leaderboard" in answer.read()
        serving.send_signal(end)
        assert serving.wait(30) == 0
    assert not list(temporary.glob("colbench-site-*"))
