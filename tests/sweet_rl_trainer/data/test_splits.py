"""Training and held-out splits, by task."""

from __future__ import annotations

import hashlib

import pytest

from colbench.errors import UserError
from sweet_rl_trainer.data.splits import is_held_out, part, split

HASHES = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(3000)]


@pytest.mark.parametrize("share", [0.03, 0.1, 0.5])
def test_the_held_out_share_of_tasks_is_close_to_the_given_share(share):
    held_out = sum(is_held_out(each, share) for each in HASHES)
    spread = (share * (1 - share) / len(HASHES)) ** 0.5
    assert abs(held_out / len(HASHES) - share) < 4 * spread


def test_a_larger_share_keeps_the_held_out_tasks_and_another_seed_does_not():
    small, large = ({h for h in HASHES if is_held_out(h, share)} for share in (0.1, 0.2))
    assert small < large
    assert small != {h for h in HASHES if is_held_out(h, 0.1, seed=1)}


def test_all_dialogues_about_a_task_are_in_one_split_in_order(trajectory):
    dialogues = [trajectory(task_hash=HASHES[n % 100]) for n in range(300)]
    train, held_out = split(dialogues, 0.2)
    assert len(train) + len(held_out) == 300
    assert {each.task_hash for each in train}.isdisjoint(each.task_hash for each in held_out)
    assert sorted([*train, *held_out], key=dialogues.index) == dialogues
    assert train == [each for each in dialogues if each in train]
    assert split(dialogues[:30], 0.2)[0] == [each for each in dialogues[:30] if each in train]


def test_an_empty_split_is_an_error_unless_the_share_is_0(trajectory):
    dialogues = [trajectory(task_hash=HASHES[0])]
    assert split(dialogues, 0) == (dialogues, [])
    with pytest.raises(UserError, match="none of 1 tasks is in the held-out split"):
        split(dialogues, 0.001)
    with pytest.raises(UserError, match="none of 1 tasks is in the training split"):
        split(dialogues, 0.999999)
    for share in (1, -0.1):
        with pytest.raises(UserError, match="at least 0 and less than 1"):
            split(dialogues, share)


def test_a_share_of_the_tasks_has_all_their_dialogues_and_includes_a_smaller_share(trajectory):
    dialogues = [trajectory(task_hash=HASHES[n % 400]) for n in range(800)]
    small, large = (part(dialogues, share) for share in (0.25, 0.5))
    tasks, more = ({each.task_hash for each in found} for found in (small, large))
    assert tasks < more
    assert 150 < len(small) < 250
    assert small == [each for each in dialogues if each.task_hash in tasks]
    assert large == [each for each in dialogues if each.task_hash in more]
    assert part(dialogues, 1.0) == dialogues
    with pytest.raises(UserError, match="no task remains"):
        part(dialogues[:1], 1e-9)
