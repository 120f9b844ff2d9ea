"""The store of renders: it returns only whole entries, and many processes can use it at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from colbench.errors import RenderError
from colbench.pages.render import Block, Render
from colbench.pages.store import RenderStore

KEY = "0123abcd" * 8
RENDER = Render(
    key=KEY,
    outcome="rendered",
    mode="default",
    width=2,
    height=1,
    blocks=(Block(kind="text", x=1, y=2, width=3, height=4, text="x"),),
    refused=("https://a.example/",),
    picture=b"\x89PNG" + bytes(range(256)),
)
FOLDER = "from colbench.pages.store import RenderStore; print(RenderStore().folder, end='')"


def test_a_stored_render_is_returned_and_its_picture_is_not_in_the_json(tmp_path: Path) -> None:
    store = RenderStore(tmp_path / "new" / "folder")
    assert store.get(KEY) is None
    store.put(RENDER)
    assert store.get(KEY) == RENDER
    assert {path.name for path in store.folder.iterdir()} == {f"{KEY}.json", f"{KEY}.png"}
    assert (store.folder / f"{KEY}.png").read_bytes() == RENDER.picture
    assert b"PNG" not in (store.folder / f"{KEY}.json").read_bytes()


def test_a_render_without_a_picture_is_stored(tmp_path: Path) -> None:
    too_big = Render(key=KEY, outcome="too big", mode="official", note="50 MB")
    RenderStore(tmp_path).put(too_big)
    assert RenderStore(tmp_path).get(KEY) == too_big
    assert [path.name for path in tmp_path.iterdir()] == [f"{KEY}.json"]


@pytest.mark.parametrize("kind", ["png", "json"])
@pytest.mark.parametrize(
    "damage", ["gone", "empty", "half", "other", "not UTF-8", "nested", "folder"]
)
def test_a_damaged_entry_is_not_returned_and_can_be_replaced(
    tmp_path: Path, kind: str, damage: str
) -> None:
    store = RenderStore(tmp_path)
    store.put(RENDER)
    file = tmp_path / f"{KEY}.{kind}"
    content = file.read_bytes()
    file.unlink()
    if damage == "folder":
        file.mkdir()
    elif damage != "gone":
        damaged = {
            "empty": b"",
            "half": content[: len(content) // 2],
            "other": b"{}",
            "not UTF-8": content.replace(b"rendered", b"\xffendered") + b"\xff",
            "nested": b'{"x":' + b"[" * 10**6,
        }
        file.write_bytes(damaged[damage])
    assert store.get(KEY) is None
    if damage != "folder":
        store.put(RENDER)
        assert store.get(KEY) == RENDER


def test_an_entry_under_another_key_is_not_returned(tmp_path: Path) -> None:
    RenderStore(tmp_path).put(RENDER)
    other = KEY[::-1]
    for kind in ("png", "json"):
        (tmp_path / f"{KEY}.{kind}").rename(tmp_path / f"{other}.{kind}")
    assert RenderStore(tmp_path).get(other) is None


def test_processes_that_write_the_same_entry_leave_a_whole_one(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from colbench.pages.store import RenderStore\n"
        "from colbench.pages.render import Render\n"
        "store = RenderStore(Path(sys.argv[1]))\n"
        f"render = Render(key='{KEY}', outcome='rendered', mode='default', picture=b'x' * 500_000)\n"
        "for _ in range(50):\n"
        "    store.put(render)\n"
        "    assert store.get(render.key) == render\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_that_cannot_be_written_to_is_named_in_the_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(RenderError, match=r"cannot be kept in .*file/renders.*COLBENCH_CACHE"):
        RenderStore(blocked / "renders").put(RENDER)


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({}, "home/.cache/colbench/renders"),
        ({"XDG_CACHE_HOME": "xdg"}, "xdg/colbench/renders"),
        ({"XDG_CACHE_HOME": "xdg", "COLBENCH_CACHE": "own"}, "own/renders"),
    ],
)
def test_the_default_folder_follows_the_environment_variables(
    variables: dict[str, str], folder: str
) -> None:
    environment = {"HOME": "home", "PATH": os.defpath, **variables}
    done = subprocess.run(
        [sys.executable, "-c", FOLDER], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == folder


def test_a_render_whose_picture_was_replaced_is_not_returned(tmp_path: Path) -> None:
    store = RenderStore(tmp_path)
    store.put(RENDER)
    entry = (tmp_path / f"{KEY}.json").read_bytes()
    store.put(replace(RENDER, picture=b"another"))
    (tmp_path / f"{KEY}.json").write_bytes(entry)
    assert store.get(KEY) is None
