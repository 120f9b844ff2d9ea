"""Stages by themselves: what their key depends on, their order, and what becomes of those that fail."""

from __future__ import annotations

import json
from functools import partial
from threading import Thread

import pytest

from colbench.errors import DataError, UserError
from colbench.run_folder import hold
from sweet_rl_trainer.pipeline.stage import (
    DONE,
    LOCK,
    Job,
    Source,
    Stage,
    order,
    read,
    refuse_foreign_folder,
)


def write(job: Job, text: str, calls: list[str]):
    """Add to the stage's file, as a continuing stage does."""
    calls.append(text)
    before = [(path / "text").read_text() for path in job.inputs.values() if path.is_dir()]
    (job.folder / "text").write_text("".join([*before, text]))
    return {"length": len(text)}


def chain(calls, first="a", second="b", source=None):
    inputs = {"file": source} if source else {}
    one = Stage(
        name="one", act=partial(write, text=first, calls=calls), settings=first, inputs=inputs
    )
    return Stage(
        name="two",
        act=partial(write, text=second, calls=calls),
        settings=second,
        inputs={"one": one},
    )


def do(last, root):
    for stage in order(last):
        if not stage.report(root):
            stage.run(root)


def test_a_stage_that_another_process_is_at_is_waited_for_and_not_done_again(tmp_path, caplog):
    caplog.set_level("INFO", logger="colbench")
    calls = []
    one, two = (chain(calls).inputs["one"] for _ in range(2))
    second = Thread(target=two.run, args=(tmp_path,))
    with hold(one.folder(tmp_path) / LOCK, tmp_path):
        second.start()
        second.join(0.2)
        assert second.is_alive()
        assert calls == []
        assert f"waiting for another process that uses {one.folder(tmp_path)}" in caplog.text
    second.join()
    assert calls == ["a"]
    assert one.run(tmp_path) == two.report(tmp_path)
    assert calls == ["a"]


def test_a_folder_with_a_stage_is_written_to_again(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="is not the folder of a training: it contains 'notes.txt'"):
        refuse_foreign_folder(tmp_path)
    do(chain([]), tmp_path)
    refuse_foreign_folder(tmp_path)


def test_the_key_depends_on_name_settings_and_inputs_and_on_nothing_else(tmp_path):
    def stage(name="s", settings=(1,), key="k", place=tmp_path, act=print, called="file"):
        source = Source(path=place, key=key)
        return Stage(name=name, act=act, settings={"x": list(settings)}, inputs={called: source})

    same = {stage().key, stage(place=tmp_path / "elsewhere").key, stage(act=len).key}
    assert len(same) == 1
    others = [
        stage(name="t"),
        stage(settings=(2,)),
        stage(key="l"),
        stage(called="files"),
        Stage(name="s", act=print, settings={"x": [1]}),
    ]
    assert len({each.key for each in others} | same) == len(others) + 1


def test_a_changed_input_changes_all_that_comes_of_it():
    before, after = chain([]), chain([], first="c")
    assert [a.key != b.key for a, b in zip(order(before), order(after), strict=True)] == [True] * 2
    later = chain([], second="c")
    assert [a.key != b.key for a, b in zip(order(before), order(later), strict=True)] == [
        False,
        True,
    ]


def test_what_is_done_is_not_done_again_and_is_found_after_a_change_back(tmp_path):
    calls: list[str] = []
    do(chain(calls), tmp_path)
    do(chain(calls), tmp_path)
    assert calls == ["a", "b"]
    do(chain(calls, second="c"), tmp_path)
    do(chain(calls), tmp_path)
    assert calls == ["a", "b", "c"]
    assert sorted(path.read_text() for path in tmp_path.glob("*/text")) == ["a", "ab", "ac"]


def test_the_report_says_what_was_done_of_what(tmp_path):
    source = Source(path=tmp_path / "x", key="0123")
    last = chain([], source=source)
    do(last, tmp_path / "out")
    report = last.report(tmp_path / "out")
    (one,) = last.inputs.values()
    assert (report.stage, report.key, report.settings) == ("two", last.key, "b")
    assert report.inputs == {"one": one.key}
    assert report.said == {"length": 1}
    assert one.report(tmp_path / "out").inputs == {"file": "0123"}
    assert last.folder(tmp_path / "out").name == f"two-{last.key[:12]}"


def test_a_stage_that_fails_is_not_done_and_is_gone_on_with_in_its_folder(tmp_path):
    def fail(job: Job):
        (job.folder / "half").write_text("half")
        raise RuntimeError("out of order")

    def go_on(job: Job):
        return {"found": (job.folder / "half").read_text()}

    broken = Stage(name="s", act=fail, settings=1)
    with pytest.raises(RuntimeError, match="out of order"):
        broken.run(tmp_path)
    assert broken.report(tmp_path) is None
    assert not list(tmp_path.glob(f"*/{DONE}*"))
    assert Stage(name="s", act=go_on, settings=1).run(tmp_path).said == {"found": "half"}


@pytest.mark.parametrize("content", [b"", b"{", b'{"stage": "two"}', b"\xff"])
def test_a_damaged_report_is_an_error_that_names_it(content, tmp_path):
    last = chain([])
    do(last, tmp_path)
    path = last.folder(tmp_path) / DONE
    path.write_bytes(content)
    told = rf"two-.*done\.json: .*; delete {path.parent} to run the stage again"
    with pytest.raises(DataError, match=told):
        last.report(tmp_path)


def test_an_output_that_is_gone_is_an_error_that_names_it(tmp_path):
    with pytest.raises(
        DataError, match=rf"found\.json: .*; delete {tmp_path} to run the stage again"
    ):
        read(tmp_path / "found.json", dict[str, float])
    (tmp_path / "found.json").write_bytes(b'{"a": 0.5}')
    assert read(tmp_path / "found.json", dict[str, float]) == {"a": 0.5}


def test_reports_can_be_read_by_people(tmp_path):
    last = chain([])
    do(last, tmp_path)
    text = (last.folder(tmp_path) / DONE).read_text()
    assert text.startswith('{\n  "stage": "two"')
    assert json.loads(text)["seconds"] >= 0


def test_each_stage_comes_once_and_after_what_it_needs():
    def stage(name, *inputs):
        return Stage(
            name=name, act=print, settings=None, inputs={each.name: each for each in inputs}
        )

    base = stage("base")
    left, right = stage("left", base), stage("right", base)
    last = stage("last", right, left, stage("base"))
    assert [each.name for each in order(last)] == ["base", "right", "left", "last"]
