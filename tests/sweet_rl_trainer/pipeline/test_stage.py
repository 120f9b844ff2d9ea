"""Stages: what their keys depend on, their order, and what happens after a failure."""

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
    """Record the call, and write the texts of the inputs and then `text` to the stage's file."""
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


def run_stages(last, root):
    for stage in order(last):
        if not stage.report(root):
            stage.run(root)


def test_a_locked_stage_waits_for_the_lock_and_runs_only_once(tmp_path, caplog):
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


def test_a_folder_of_other_files_is_refused_unless_it_contains_a_stage(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="is not the folder of a training: it contains 'notes.txt'"):
        refuse_foreign_folder(tmp_path)
    run_stages(chain([]), tmp_path)
    refuse_foreign_folder(tmp_path)


def test_a_key_depends_only_on_name_settings_and_inputs(tmp_path):
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


def test_a_change_affects_the_keys_of_a_stage_and_its_dependents_only():
    before, after = chain([]), chain([], first="c")
    assert [a.key != b.key for a, b in zip(order(before), order(after), strict=True)] == [True] * 2
    later = chain([], second="c")
    assert [a.key != b.key for a, b in zip(order(before), order(later), strict=True)] == [
        False,
        True,
    ]


def test_a_finished_stage_is_reused_even_after_a_change_and_its_reversal(tmp_path):
    calls: list[str] = []
    run_stages(chain(calls), tmp_path)
    run_stages(chain(calls), tmp_path)
    assert calls == ["a", "b"]
    run_stages(chain(calls, second="c"), tmp_path)
    run_stages(chain(calls), tmp_path)
    assert calls == ["a", "b", "c"]
    assert sorted(path.read_text() for path in tmp_path.glob("*/text")) == ["a", "ab", "ac"]


def test_a_report_contains_stage_key_settings_inputs_and_result(tmp_path):
    source = Source(path=tmp_path / "x", key="0123")
    last = chain([], source=source)
    run_stages(last, tmp_path / "out")
    report = last.report(tmp_path / "out")
    (one,) = last.inputs.values()
    assert (report.stage, report.key, report.settings) == ("two", last.key, "b")
    assert report.inputs == {"one": one.key}
    assert report.said == {"length": 1}
    assert one.report(tmp_path / "out").inputs == {"file": "0123"}
    assert last.folder(tmp_path / "out").name == f"two-{last.key[:12]}"


def test_a_failed_stage_has_no_report_and_continues_in_its_folder(tmp_path):
    def fail(job: Job):
        (job.folder / "half").write_text("half")
        raise RuntimeError("out of order")

    def resume(job: Job):
        return {"found": (job.folder / "half").read_text()}

    broken = Stage(name="s", act=fail, settings=1)
    with pytest.raises(RuntimeError, match="out of order"):
        broken.run(tmp_path)
    assert broken.report(tmp_path) is None
    assert not list(tmp_path.glob(f"*/{DONE}*"))
    assert Stage(name="s", act=resume, settings=1).run(tmp_path).said == {"found": "half"}


@pytest.mark.parametrize("content", [b"", b"{", b'{"stage": "two"}', b"\xff"])
def test_a_damaged_report_is_an_error_that_names_it(content, tmp_path):
    last = chain([])
    run_stages(last, tmp_path)
    path = last.folder(tmp_path) / DONE
    path.write_bytes(content)
    told = rf"two-.*done\.json: .*; delete {path.parent} to run the stage again"
    with pytest.raises(DataError, match=told):
        last.report(tmp_path)


def test_a_missing_output_is_an_error_that_names_it(tmp_path):
    with pytest.raises(
        DataError, match=rf"found\.json: .*; delete {tmp_path} to run the stage again"
    ):
        read(tmp_path / "found.json", dict[str, float])
    (tmp_path / "found.json").write_bytes(b'{"a": 0.5}')
    assert read(tmp_path / "found.json", dict[str, float]) == {"a": 0.5}


def test_reports_are_indented_json(tmp_path):
    last = chain([])
    run_stages(last, tmp_path)
    text = (last.folder(tmp_path) / DONE).read_text()
    assert text.startswith('{\n  "stage": "two"')
    assert json.loads(text)["seconds"] >= 0


def test_each_stage_is_ordered_once_and_after_its_inputs():
    def stage(name, *inputs):
        return Stage(
            name=name, act=print, settings=None, inputs={each.name: each for each in inputs}
        )

    base = stage("base")
    left, right = stage("left", base), stage("right", base)
    last = stage("last", right, left, stage("base"))
    assert [each.name for each in order(last)] == ["base", "right", "left", "last"]
