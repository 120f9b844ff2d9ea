"""Correlations, compared with SciPy and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sweet_rl_trainer.methods.critic.correlation import correlation, within

few = st.integers(-3, 3).map(float)  # many ties
some = st.lists(st.tuples(few, few), min_size=2, max_size=12)


@given(some)
def test_correlations_match_scipy_and_numpy(pairs):
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    scores, sizes = zip(*pairs, strict=True)
    assume(len(set(scores)) > 1 and len(set(sizes)) > 1)
    found = correlation(scores, sizes)
    assert found.pearson == pytest.approx(stats.pearsonr(scores, sizes).statistic, abs=1e-9)
    assert found.spearman == pytest.approx(stats.spearmanr(scores, sizes).statistic, abs=1e-9)
    assert found.pearson == pytest.approx(np.corrcoef(scores, sizes)[0, 1], abs=1e-9)
    assert found.count == len(pairs)


def test_a_nonlinear_monotone_relation_is_perfect_only_in_ranks():
    found = correlation([1.0, 2.0, 3.0, 4.0], [1.0, 8.0, 27.0, 640.0])
    assert found.spearman == pytest.approx(1)
    assert found.pearson < 0.9


@pytest.mark.parametrize("scores", [[], [1.0], [0.1, 0.1, 0.1]])
def test_constant_values_have_no_correlation(scores):
    found = correlation(scores, [float(n) for n in range(len(scores))])
    assert (found.pearson, found.spearman, found.count) == (None, None, len(scores))
    found = within([(scores, [float(n) for n in range(len(scores))])] * 2)
    assert (found.pearson, found.spearman) == (None, None)
    assert within([]).count == 0


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="two lists of the same length"):
        correlation([1.0, 2.0], [1.0])


@given(st.lists(some, min_size=1, max_size=4))
def test_differences_between_turns_do_not_affect_the_correlation_within_turns(groups):
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    sides = [tuple(zip(*group, strict=True)) for group in groups]
    moved = [
        ([score + 100 * n for score in scores], [size - 50 * n for size in sizes])
        for n, (scores, sizes) in enumerate(sides)
    ]
    centred = [np.concatenate([np.subtract(p[k], np.mean(p[k])) for p in sides]) for k in (0, 1)]
    assume(all(any(len(set(pair[k])) > 1 for pair in sides) for k in (0, 1)))
    found = within(moved)
    assert found.pearson == pytest.approx(np.corrcoef(*centred)[0, 1], abs=1e-9)
    ranks = [
        np.concatenate([stats.rankdata(pair[k]) - (len(pair[k]) + 1) / 2 for pair in sides])
        for k in (0, 1)
    ]
    assert found.spearman == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-9)
    assert found.count == sum(map(len, groups))
