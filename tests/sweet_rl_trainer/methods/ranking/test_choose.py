"""The choice of replies that become pairs."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from msgspec.structs import replace

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import UserError
from sweet_rl_trainer.methods.ranking.choose import RULES, choose, no_pairs, turn_examples
from sweet_rl_trainer.methods.ranking.score import Scored
from sweet_rl_trainer.methods.ranking.turns import (
    Candidates,
    Reply,
    encode_candidates,
    turns_of,
)

SCORES = tuple((7 * n % 16) / 10 for n in range(16))  # all different


@pytest.fixture
def scored(dialogue):
    """Return `scored(scores, texts, …)`: candidates of the second turn."""

    def make(scores=SCORES, texts=None, name="d", turn=1):
        texts = texts or [f"reply {n}" for n in range(len(scores))]
        replies = tuple(Reply(text=text) for text in texts)
        return Scored(
            candidates=Candidates(turn=turns_of([dialogue(name)])[turn], replies=replies),
            scores=tuple(scores),
            lengths=tuple(len(text) + 1 for text in texts),
        )

    return make


def test_halves_draw_chosen_replies_from_the_top_and_rejected_from_the_bottom(scored):
    seen = Counter()
    for seed in range(300):
        pairs = choose(scored(), seed=seed)
        assert len(set(pairs)) == len(pairs) == 4
        assert all(SCORES[one] >= 0.8 > SCORES[other] for one, other in pairs)
        seen.update(pairs)
    assert len(seen) == 64
    assert all(5 <= count <= 40 for count in seen.values())  # 18.75 on average


def test_the_middle_of_an_odd_number_of_replies_is_in_neither_half(scored):
    every = choose(scored((3, 1, 2)), pairs_per_turn=9)
    assert every == [(0, 1)]


def test_best_worst_gives_one_pair(scored):
    assert choose(scored(), "best-worst") == [(SCORES.index(1.5), SCORES.index(0.0))]


def test_margin_draws_only_pairs_that_reach_the_margin(scored):
    scores = (0.0, 0.25, 0.5, 1.0)
    every = choose(scored(scores), "margin", margin=0.5, pairs_per_turn=99)
    assert sorted(every) == [(2, 0), (3, 0), (3, 1), (3, 2)]
    drawn = choose(scored(scores), "margin", margin=0.5, pairs_per_turn=2)
    assert len(drawn) == 2
    assert set(drawn) < set(every)


def test_a_difference_equal_to_the_margin_counts_despite_rounding(scored):
    assert 0.3 - 0.1 < 0.2
    assert choose(scored((0.1, 0.3)), "margin", margin=0.2) == [(1, 0)]


@pytest.mark.parametrize("rule", RULES)
def test_replies_with_equal_scores_or_equal_words_are_never_paired(rule, scored):
    assert choose(scored([0.5] * 16), rule) == []
    assert choose(scored([n * 6e-8 for n in range(16)]), rule) == []
    assert choose(scored(SCORES, ["same", " same\n"] * 8), rule) == []
    scores, texts = (3, 3, 1, 1, 3, 3), ["a", "b", "a", "c", "b", "c"]
    pairs = choose(scored(scores, texts), rule, pairs_per_turn=99)
    assert all(scores[one] > scores[other] and texts[one] != texts[other] for one, other in pairs)


@pytest.mark.parametrize("rule", RULES)
def test_replies_without_a_score_are_never_paired(rule, scored):
    pairs = choose(scored((None, 4, 3, None, 2, 1)), rule, pairs_per_turn=99)
    assert pairs
    assert {0, 3}.isdisjoint(n for pair in pairs for n in pair)
    assert choose(scored((None, 1)), rule) == choose(scored((None, None)), rule) == []


def test_drawn_pairs_depend_on_the_seed_and_the_turn(scored):
    first = choose(scored(), seed=3)
    assert choose(scored(), seed=3) == first
    others = [choose(scored(), seed=4), choose(scored(name="e"), seed=3)]
    others.append(choose(scored(turn=0), seed=3))
    assert all(one != other for one, other in combinations([first, *others], 2))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rule": "best"}, "expected one of halves"),
        ({"pairs_per_turn": 0}, "^pairs_per_turn 0: must be at least 1$"),
        ({"rule": "margin", "margin": -0.5}, r"^margin -0\.5: must be at least 0$"),
    ],
)
def test_invalid_options_are_refused(options, words, scored):
    with pytest.raises(UserError, match=words):
        choose(scored(), **options)


def test_actor_pairs_weight_every_reply_token_and_omit_privileged_text(scored, chat):
    turn = scored()
    pairs = turn_examples(turn, chat, max_length=900, dropped=Counter())
    assert len(pairs) == 4
    examples = encode_candidates(turn.candidates, chat, "sum")
    for pair, (one, other) in zip(pairs, choose(turn), strict=True):
        assert pair.task_hash == "a" * 64
        for side, n in ((pair.chosen, one), (pair.rejected, other)):
            assert side.examples == (examples[n],)
            assert (side.reward, side.turns) == (SCORES[n], 1)
            assert side.trajectory == f"d, turn 2, candidate {n + 1}"
            text = chat.tokenizer.decode(list(side.examples[0].ids))
            assert text == (
                "<|im_start|>user\nWrite it.<|im_end|>\n<|im_start|>assistant\nLate?<|im_end|>\n"
                "<|im_start|>user\nNo.<|im_end|>\n<|im_start|>assistant\n"
                f"reply {n}<|im_end|>"
            )
            counted = [weight for weight in side.examples[0].token_weights if weight]
            assert counted == [1.0] * side.reply_tokens == [1.0] * len(f"reply {n}.")


def test_pairs_are_imitated_always_or_only_if_the_chosen_reply_succeeded(scored, chat):
    turn = replace(scored((3, 2, 1)), solved=(True, False, True))
    options = {"pairs_per_turn": 9, "max_length": 900, "dropped": Counter()}
    every = turn_examples(turn, chat, "margin", **options)
    assert [each.imitated for each in every] == [True] * 3
    successes = turn_examples(turn, chat, "margin", imitate="successes", **options)
    assert {(each.chosen.trajectory[-1], each.imitated) for each in successes} == {
        ("1", True),
        ("2", False),
    }


def test_nll_examples_contain_each_chosen_reply_once(scored, chat):
    turn = scored((3, 2, 1))
    options = {"loss": "nll", "pairs_per_turn": 9, "max_length": 900, "dropped": Counter()}
    first, second = turn_examples(turn, chat, "margin", **options)
    for side, n in ((first, 0), (second, 1)):
        assert (side.reward, side.trajectory[-1]) == (3 - n, str(n + 1))
        weights = [weight for weight in side.examples[0].token_weights if weight]
        assert weights == pytest.approx([1 / side.reply_tokens] * side.reply_tokens)
    (best,) = turn_examples(turn, chat, "best-worst", **options)
    assert best == first


def test_turns_without_a_pair_and_pairs_too_long_are_left_out_and_counted(scored, chat):
    good, equal = scored((1, 0), ["a", "b"]), scored((1, 1))
    long, dropped = scored((1, 0), ["a", "b" * 500]), Counter()
    limit = len(encode_candidates(good.candidates, chat, "sum")[0].ids)
    found = [
        turn_examples(turn, chat, max_length=limit, dropped=dropped) for turn in (equal, long, good)
    ]
    assert found[:2] == [[], []]
    (pair,) = found[2]
    assert pair.chosen.tokens == limit
    assert dropped == {"turns without a pair": 1, f"pairs longer than {limit} tokens": 1}


def test_the_error_without_pairs_counts_the_turns_and_the_reasons():
    error = no_pairs(2, Counter({"turns without a pair": 1, "pairs longer than 9 tokens": 3}))
    assert "none of 2 ranked turns has a pair left for training" in str(error)
    assert "turns without a pair: 1, pairs longer than 9 tokens: 3" in str(error)
    nothing = "no turn of a training dialogue has scored candidates"
    assert str(no_pairs(0, Counter())) == nothing
    assert str(no_pairs(0, Counter({"turns of unknown tasks": 2}))) == (
        f"{nothing} (turns of unknown tasks: 2)"
    )
