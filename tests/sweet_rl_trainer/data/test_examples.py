"""Training examples: weights, lengths, omitted dialogues, and counts."""

from __future__ import annotations

import pytest

from colbench.errors import DataError
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.examples import pair_examples, success_examples
from sweet_rl_trainer.data.pairs import Pair
from sweet_rl_trainer.data.privileged import TEMPLATES, state
from sweet_rl_trainer.data.token_weights import RULES
from sweet_rl_trainer.data.tokens import encode

HEARD = ("Count the late orders.", "Only after the last day.", "Yes.")
REPLIES = ("Is the last day late?", "And an empty list?", "def count(): return 0")
PRIVATE = ("Hm. OUTPUT: Is the last day late?", "And an empty list?", "def count(): return 0")


@pytest.fixture
def chat(tokenizer):
    return Chat(tokenizer("chatml"))


def expected_weight(rule, lengths, turn):
    """Return a token's weight by the rule, as the paper and the released code define it."""
    return {
        "turn-mean": 1 / lengths[turn],
        "turn-mean-averaged": 1 / lengths[turn] / len(lengths),
        "trajectory-mean": 1 / sum(lengths),
        "sum": 1.0,
    }[rule]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("replies", [REPLIES, PRIVATE])
def test_token_weights_do_not_depend_on_the_number_of_sequences(rule, replies, chat, trajectory):
    dialogue = trajectory(HEARD, replies)
    encoded = encode(dialogue, chat)
    assert len(encoded.sequences) == (1 if replies is REPLIES else 3)
    lengths = [
        len(chat.tokenizer(text, add_special_tokens=False).input_ids) + 1 for text in replies
    ]
    (side,), _ = success_examples([dialogue], chat, rule, max_length=1000)
    assert len(side.examples) == len(encoded.sequences)
    for example, sequence in zip(side.examples, encoded.sequences, strict=True):
        assert list(example.ids) == sequence.ids
        assert (example.ids.typecode, example.token_weights.typecode) == ("i", "f")
        weights = [
            expected_weight(rule, lengths, turn) if turn >= 0 else 0.0 for turn in sequence.turns
        ]
        assert list(example.token_weights) == pytest.approx(weights, rel=1e-6)
        assert example.token_weights[0] == 0
    total = sum(sum(example.token_weights) for example in side.examples)
    totals = {
        "turn-mean": 3,
        "turn-mean-averaged": 1,
        "trajectory-mean": 1,
        "sum": sum(lengths),
    }
    assert total == pytest.approx(totals[rule], rel=1e-5)
    assert (side.turns, side.reply_tokens) == (3, sum(lengths))
    assert side.tokens == sum(len(sequence.ids) for sequence in encoded.sequences)


@pytest.mark.parametrize("template", TEMPLATES)
def test_only_a_critic_sees_the_privileged_information(template, chat, trajectory):
    pair = Pair(
        chosen=trajectory(HEARD, REPLIES), rejected=trajectory(HEARD[:1], ("No.",), reward=0.0)
    )
    (privileged,), _ = pair_examples(
        [pair], chat, "turn-mean", privileged=template, max_length=1000
    )
    (unprivileged,), _ = pair_examples([pair], chat, "turn-mean", max_length=1000)
    stated = state(pair.chosen.privileged, "backend", template)
    for name in ("chosen", "rejected"):
        (critic,) = getattr(privileged, name).examples
        (actor,) = getattr(unprivileged, name).examples
        assert chat.tokenizer.decode(list(critic.ids)).count(stated.text + "\n\n") == 1
        assert "count_late" not in chat.tokenizer.decode(list(actor.ids))
        assert [w for w in critic.token_weights if w] == [w for w in actor.token_weights if w]
        start = next(
            n
            for n, pair in enumerate(zip(critic.ids, actor.ids, strict=False))
            if pair[0] != pair[1]
        )
        added = len(critic.ids) - len(actor.ids)
        assert critic.ids[start + added :] == actor.ids[start:]
    assert privileged.chosen.reward == 1.0
    assert privileged.rejected.reward == 0.0
    assert (privileged.chosen.trajectory, privileged.task_hash) == (
        pair.chosen.id,
        pair.chosen.task_hash,
    )


def test_pairs_that_are_too_long_are_left_out_and_counted(chat, trajectory):
    short = trajectory(HEARD[:1], REPLIES[:1])
    long = trajectory(HEARD, (*REPLIES[:2], "late " * 100), reward=0.0)
    fine = trajectory(HEARD, REPLIES, reward=0.0)
    pairs = [Pair(chosen=short, rejected=long), Pair(chosen=short, rejected=fine)]
    limit = len(encode(fine, chat).sequences[0].ids)
    (taken,), report = pair_examples(pairs, chat, "sum", max_length=limit)
    assert taken.rejected.trajectory == fine.id
    assert report.dropped == {f"longer than {limit} tokens": 1}
    assert (report.taken, report.longest) == (1, limit)
    said = rf"none of 2 pairs remains for training \(longer than {limit - 1} tokens: 2\)"
    with pytest.raises(DataError, match=said):
        pair_examples(pairs, chat, "sum", max_length=limit - 1)


def test_the_length_limit_applies_to_each_sequence_of_a_dialogue(chat, trajectory):
    dialogue = trajectory(HEARD, PRIVATE)
    longest = max(len(sequence.ids) for sequence in encode(dialogue, chat).sequences)
    (side,), report = success_examples([dialogue], chat, max_length=longest)
    assert report.longest == longest < side.tokens


def test_the_report_counts_each_trajectory_once_and_tokens_each_time(chat, trajectory):
    won = trajectory(HEARD, PRIVATE)
    lost = [trajectory(HEARD[:1], ("No.",), reward=0.0) for _ in range(2)]
    pairs = [Pair(chosen=won, rejected=each) for each in lost]
    taken, report = pair_examples(pairs, chat, "turn-mean", max_length=1000)
    assert taken[0].chosen is taken[1].chosen
    assert report.taken == 2
    assert report.dropped == {}
    assert report.tokens == sum(pair.chosen.tokens + pair.rejected.tokens for pair in taken)
    assert report.forms == {"a sequence for each turn": 1, "one sequence": 2}
    assert report.sources == {"rendered": 5}


def test_successes_have_the_required_reward_and_others_are_counted(chat, trajectory):
    dialogues = [trajectory(HEARD, REPLIES, reward=reward) for reward in (1.0, 0.9, 0.5)]
    taken, report = success_examples(dialogues, chat, max_length=1000)
    assert [side.trajectory for side in taken] == [dialogues[0].id]
    assert report.dropped == {"a reward below 1": 2}
    assert len(success_examples(dialogues, chat, at_least=0.9, max_length=1000)[0]) == 2
    with pytest.raises(DataError, match=r"none of 2 dialogues remains .*a reward below 1: 2"):
        success_examples(dialogues[1:], chat, max_length=1000)
    with pytest.raises(
        DataError, match=r"none of 0 pairs remains for training \(the input is empty"
    ):
        pair_examples([], chat, "sum", max_length=1000)


@pytest.mark.parametrize("way", TEMPLATES)
def test_imitated_successes_can_start_with_privileged_information(way, chat, trajectory):
    dialogue = trajectory(HEARD, REPLIES, privileged="def count(): return 7")
    (plain,), _ = success_examples([dialogue], chat, max_length=1000)
    (privileged,), _ = success_examples([dialogue], chat, privileged=way, max_length=1000)
    (pair,), _ = pair_examples(
        [Pair(chosen=dialogue, rejected=dialogue)],
        chat,
        "trajectory-mean",
        privileged=way,
        max_length=1000,
    )
    assert privileged.examples == pair.chosen.examples
    assert privileged.tokens > plain.tokens
