from __future__ import annotations

from array import array
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

from sweet_rl_trainer.model.attention import tree_mask
from sweet_rl_trainer.model.packing import lay_out, pack, packed_length


class Sequence(NamedTuple):
    ids: list[int]
    token_weights: list[float]
    pictures: tuple[str, ...] = ()


def sequence(text, weights=None):
    """Return a sequence with an ID for each letter, and weights of 1, or as given, after the first token."""
    ids = [ord(letter) - ord("a") for letter in text]
    return Sequence(ids, weights or [0.0] + [1.0] * (len(ids) - 1))


def letters(ids):
    return "".join(chr(ord("a") + number) for number in ids)


lengths = st.lists(st.integers(1, 30), max_size=40)


@given(lengths, st.integers(1, 40), st.integers(0, 5))
def test_every_item_is_in_one_bin_and_no_shared_bin_exceeds_the_budget(lengths, budget, seed):
    bins = pack(lengths, budget, seed=seed)
    assert sorted(item for each in bins for item in each) == list(range(len(lengths)))
    assert all(len(each) == 1 or sum(lengths[item] for item in each) <= budget for each in bins)


@given(lengths, st.integers(1, 40))
def test_no_two_bins_would_fit_into_one(lengths, budget):
    totals = sorted(sum(lengths[item] for item in each) for each in pack(lengths, budget, seed=0))
    assert len(totals) < 2 or totals[0] + totals[1] > budget


def test_an_item_goes_into_the_bin_where_it_leaves_the_least_room():
    bins = pack([60, 50, 30, 40, 20], 100, seed=1)
    assert sorted(sorted(each) for each in bins) == [[0, 3], [1, 2, 4]]


def test_the_same_seed_gives_the_same_bins_and_another_seed_other_bins():
    lengths = [7, 3, 3, 5, 7, 2, 9, 3, 1, 4] * 3
    assert pack(lengths, 12, seed=4) == pack(lengths, 12, seed=4)
    assert pack(lengths, 12, seed=4) != pack(lengths, 12, seed=5)


def test_ten_thousand_items_need_at_most_one_percent_of_extra_bins():
    lengths = [100 + (number * 7919) % 1900 for number in range(10_000)]
    assert len(pack(lengths, 8192, seed=0)) <= -(-sum(lengths) // 8192) * 1.01


def test_positions_restart_and_each_weighted_token_has_its_predictor():
    row = lay_out([[[sequence("abc", [0, 0, 0.5])], [sequence("de", [0, 2.0])]]])
    assert letters(row.ids) == "abcde"
    assert row.positions.tolist() == [0, 1, 2, 0, 1]
    assert row.ends.tolist() == [3, 3, 3, 5, 5]
    assert (row.lengths, row.shares, row.count) == ((3, 2), False, 2)
    assert row.predictors.tolist() == [1, 3]
    assert letters(row.targets) == "ce"
    assert row.token_weights.tolist() == [0.5, 2.0]
    assert row.owners.tolist() == [0, 1]


def test_a_shared_prefix_is_laid_out_once():
    row = lay_out([[[sequence("abcde")], [sequence("abcfgh")]]], share=True)
    assert letters(row.ids) == "abcdefgh"
    assert row.positions.tolist() == [0, 1, 2, 3, 4, 3, 4, 5]
    assert row.ends.tolist() == [8, 8, 8, 5, 5, 8, 8, 8]
    assert row.shares
    assert row.predictors.tolist() == [0, 1, 2, 3, 0, 1, 2, 5, 6]
    assert letters(row.targets) == "bcde" + "bcfgh"


def test_prefixes_are_shared_across_the_whole_row_at_every_depth():
    pair = [[sequence("abcx")], [sequence("abdy"), sequence("abd")]]
    other = [[sequence("abcx")], [sequence("q")]]
    row = lay_out([pair, other], share=True)
    assert letters(row.ids) == "abcxdyq"
    assert row.owners.tolist() == [0] * 3 + [1] * 5 + [2] * 3
    assert row.count == 4


texts = st.lists(st.text("ab", min_size=1, max_size=6), min_size=1, max_size=6)


@given(texts, st.booleans())
def test_a_token_sees_only_itself_and_earlier_tokens_of_its_own_sequences(texts, share):
    row = lay_out([[[sequence(text)] for text in texts]], share=share)
    prefixes = sorted({text[: depth + 1] for text in texts for depth in range(len(text))})
    seen = set()
    for number, text in enumerate(texts):
        start = sum(map(len, texts[:number]))
        path = [
            prefixes.index(text[: depth + 1]) if share else start + depth
            for depth in range(len(text))
        ]
        assert letters(row.ids[path]) == text
        assert row.positions[path].tolist() == list(range(len(text)))
        seen |= {
            (path[depth], before) for depth in range(len(text)) for before in path[: depth + 1]
        }
    assert {tuple(pair) for pair in tree_mask(row)[0, 0].nonzero().tolist()} == seen


@given(texts)
def test_the_packed_length_is_that_of_the_row(texts):
    group = [[sequence(text)] for text in texts]
    for share in (False, True):
        assert packed_length(group, share=share) == len(lay_out([group], share=share).ids)


def test_the_likelihood_is_the_mean_over_the_replies_of_a_groups_first_side():
    chosen = [sequence("abcd", [0, 0, 0.1, 0.1]), sequence("ef", [0, 0.7])]
    row = lay_out([[chosen, [sequence("gh")]], [[sequence("ij")]]])
    assert row.likelihood.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 1])


def test_a_group_that_is_not_imitated_has_no_likelihood():
    groups = [[[sequence("ab")], [sequence("cd")]], [[sequence("ef")], [sequence("gh")]]]
    for likelihood in ("replies", "everything"):
        row = lay_out(groups, likelihood=likelihood, imitated=[False, True])
        by_side = row.sums(row.likelihood).tolist()
        assert by_side == [0, 0, 1, 0]
        assert row.token_weights.equal(lay_out(groups, likelihood=likelihood).token_weights)


def test_the_likelihood_over_everything_includes_tokens_without_weight():
    chosen = [sequence("abcd", [0, 0, 0.1, 0.1]), sequence("ef", [0, 0.7])]
    row = lay_out([[chosen, [sequence("gh")]]], likelihood="everything")
    assert letters(row.targets) == "bcdfh"
    assert row.likelihood.tolist() == pytest.approx([1 / 4] * 4 + [0])
    assert row.token_weights.tolist() == pytest.approx([0, 0.1, 0.1, 0.7, 1])


def test_a_trajectory_without_a_weighted_token_has_a_score_of_zero():
    row = lay_out([[[sequence("abc", [0, 0, 0])], [sequence("de")]]])
    assert row.sums(row.token_weights).tolist() == [0, 1]


def test_arrays_are_laid_out_like_lists():
    arrays = Sequence(array("i", [1, 2, 3]), array("f", [0, 0, 0.25]))
    row = lay_out([[[arrays]]], share=True)
    assert (row.ids.tolist(), row.token_weights.tolist()) == ([1, 2, 3], [0.25])


@pytest.mark.parametrize(
    ("weights", "message"),
    [([0.0], "1 weights for 2 tokens"), ([1.0, 1.0], "first weight of a sequence must be 0")],
)
def test_weights_that_do_not_match_the_predictions_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        lay_out([[[Sequence([1, 2], weights)]]])
