"""States of demonstrators' dialogues: their content, and the reproducibility of their bytes."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest

from colbench.errors import DataError, UserError
from colbench.facts.human import answer as human_answer
from colbench.messages import ANSWER_MARKER
from sweet_rl_trainer.creditbench.collect import LIMITS, chosen_tasks
from sweet_rl_trainer.creditbench.data import MADE, STATES, TRUTHS, Selection, generate, hashes
from sweet_rl_trainer.creditbench.states import QUESTIONS
from sweet_rl_trainer.creditbench.truths import TRUTHS as NAMES

from .conftest import SAMPLE


def states(benches):
    return [(bench.task, state) for bench in benches for state in bench.states]


@pytest.mark.slow
def test_the_frozen_bytes_are_reproduced(sample, tmp_path):
    """Generate with two processes; `generate` compares the bytes with the hashes in the package."""
    generate(tmp_path, SAMPLE, 2)
    assert hashes(tmp_path) == hashes(sample)


def test_an_interrupted_generation_is_completed(sample, tmp_path):
    (tmp_path / MADE).write_bytes((sample / MADE).read_bytes())
    for name in (STATES, TRUTHS):
        content = (sample / name).read_bytes()
        (tmp_path / name).write_bytes(content[: len(content) // 2])
    generate(tmp_path, SAMPLE, 1)
    assert hashes(tmp_path) == hashes(sample)


def test_data_of_other_tasks_in_the_folder_are_replaced(benches, tmp_path):
    source = "generated:backend/credit?number=3&families=inventory,checkmarks,slots&difficulty=3"
    generate(tmp_path, Selection(source=source, tasks=3, dialogues=1), 1)
    assert generate(tmp_path, SAMPLE, 1) == benches


def test_data_of_a_task_whose_content_has_changed_are_replaced(sample, benches, tmp_path):
    states, truths = ((sample / name).read_bytes() for name in (STATES, TRUTHS))
    second = benches[1].task.hash.encode()
    (tmp_path / MADE).write_bytes((sample / MADE).read_bytes())
    (tmp_path / STATES).write_bytes(states.replace(second, second[::-1]))
    first, rest = truths.split(b"\n", 1)
    (tmp_path / TRUTHS).write_bytes(first + b"\n" + rest.replace(b"0.", b"1."))
    generate(tmp_path, SAMPLE, 1)
    assert hashes(tmp_path) == hashes(sample)


def test_the_files_are_shortened_to_fewer_tasks(sample, benches, tmp_path):
    shutil.copytree(sample, tmp_path, dirs_exist_ok=True)
    assert generate(tmp_path, Selection(tasks=2, dialogues=1), 1) == benches[:2]
    for name in (STATES, TRUTHS):
        kept = (tmp_path / name).read_bytes()
        assert kept == b"".join((sample / name).read_bytes().splitlines(keepends=True)[:2])


@pytest.mark.parametrize("made", [b'{"version":"0","dialogues":1}', b'{"dialogues":2}', None])
def test_data_made_with_other_settings_are_replaced(sample, tmp_path, made):
    shutil.copytree(sample, tmp_path, dirs_exist_ok=True)
    (tmp_path / TRUTHS).write_bytes((sample / TRUTHS).read_bytes().replace(b"0.", b"1."))
    (tmp_path / MADE).unlink()
    if made:
        (tmp_path / MADE).write_bytes(made)
    generate(tmp_path, SAMPLE, 1)
    assert hashes(tmp_path) == hashes(sample)
    assert (tmp_path / MADE).read_bytes() == (sample / MADE).read_bytes()


def test_a_frozen_set_follows_a_run_with_more_tasks_in_the_same_folder(sample, tmp_path):
    shutil.copytree(sample, tmp_path, dirs_exist_ok=True)
    for name in (STATES, TRUTHS):
        with (tmp_path / name).open("ab") as file:
            file.write((sample / name).read_bytes().splitlines(keepends=True)[0])
    generate(tmp_path, SAMPLE, 1)
    assert hashes(tmp_path) == hashes(sample)


def test_bytes_that_differ_from_the_frozen_set_are_refused(sample, tmp_path):
    shutil.copytree(sample, tmp_path, dirs_exist_ok=True)
    (tmp_path / STATES).write_bytes((sample / STATES).read_bytes().replace(b"cents", b"pence"))
    with pytest.raises(
        DataError, match=r"states\.jsonl is not the file of the frozen set 'sample'"
    ):
        generate(tmp_path, SAMPLE, 1)


def test_a_damaged_line_is_named(sample, tmp_path):
    (tmp_path / MADE).write_bytes((sample / MADE).read_bytes())
    (tmp_path / STATES).write_bytes(b"{}\n" + (sample / STATES).read_bytes())
    with pytest.raises(DataError, match=r"states\.jsonl:1: .*delete the file"):
        generate(tmp_path, SAMPLE, 1)


def test_transcripts_contain_the_replies_of_the_rule_based_human(benches):
    for task, state in states(benches):
        assert state.heard[0] == task.request
        assert list(state.heard[1:]) == [human_answer(task, said) for said in state.said]
        assert state.turns_left + len(state.said) in LIMITS
        assert not any(ANSWER_MARKER in said for said in state.said)


def test_the_kind_of_a_candidate_matches_the_human_reply(benches):
    for task, state in states(benches):
        facts = {fact.name: fact for fact in task.hidden.facts}
        open_ = {f.name for f in task.hidden.facts if not f.stated and f.name not in state.told}
        kinds = Counter(each.kind for each in state.candidates)
        told = {name for each in state.candidates for name in each.told}
        assert told == open_, "each open decision is asked for"
        assert kinds["answer"] == 1
        for each in state.candidates:
            if each.kind in QUESTIONS:
                assert each.reply == human_answer(task, each.text)
                assert bool(each.told) == (each.kind == "relevant")
                assert all(facts[name].statement in each.reply for name in each.told)
                assert each.reward is None
            else:
                assert each.text.startswith(ANSWER_MARKER)
                assert 0 <= each.reward <= 1


def test_every_candidate_has_a_value_for_every_truth(benches):
    for bench in benches:
        for state, truth in zip(bench.states, bench.truths, strict=True):
            assert set(truth.value) == set(truth.candidates) == set(NAMES)
            assert {len(each) for each in truth.candidates.values()} == {len(state.candidates)}


def test_the_best_candidate_that_is_not_wrong_has_the_optimal_value(benches):
    """Exclude wrong answers, which may be luckier than the writer's."""
    for bench in benches:
        for state, truth in zip(bench.states, bench.truths, strict=True):
            best = truth.value["optimal tests"]
            exact = truth.candidates["optimal tests"]
            own = [
                value
                for each, value in zip(state.candidates, exact, strict=True)
                if each.kind != "wrong answer"
            ]
            assert max(own) == pytest.approx(best, abs=2e-6)
            assert truth.value["policy tests"] <= best + 2e-6
            useless = [
                value
                for each, value in zip(state.candidates, exact, strict=True)
                if each.kind in {"redundant", "unanswerable"}
            ]
            assert all(value < best for value in useless)


def test_tasks_without_an_installed_family_are_refused():
    with pytest.raises(UserError, match="--tasks bundled:frontend: no task can be used"):
        chosen_tasks("bundled:frontend", 3)
