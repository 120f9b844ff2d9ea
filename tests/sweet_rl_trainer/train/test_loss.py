"""The objective, compared with plain loops over full logits, one sequence and one token at a time."""

from __future__ import annotations

import copy
import math
import random
from typing import NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.data.token_weights import RULES, weigh
from sweet_rl_trainer.model.packing import lay_out
from sweet_rl_trainer.train.loss import (
    negative_log_likelihoods,
    pair_losses,
    row_logprobs,
    scores,
)

torch.set_num_threads(1)

BETA, LAMBDA = 0.1, 0.01


class Sequence(NamedTuple):
    ids: list[int]
    token_weights: list[float]
    turns: list[int]
    pictures: tuple[str, ...] = ()


def dialogue(seed, *replies, rule="sum"):
    """Return a dialogue of random tokens: human texts of random lengths, and replies of the given lengths."""
    chance = random.Random(seed)
    turns = []
    for number, length in enumerate(replies):
        turns += [-1] * chance.randint(2, 6) + [number] * length
    turns += [-1] * chance.randint(0, 3)
    return Sequence([chance.randrange(67) for _ in turns], weigh(turns, rule), turns)


def pairs(rule="sum"):
    return [
        [[dialogue(1, 3, 7, 2, rule=rule)], [dialogue(2, 5, 1, rule=rule)]],
        [[dialogue(3, 4, rule=rule)], [dialogue(4, 2, 2, 9, 1, rule=rule)]],
        [[dialogue(5, 1, 8, rule=rule)], [dialogue(6, 6, 3, rule=rule)]],
    ]


def token_logprob(logits, ids, place):
    """Return log p of the token at a position, from the logits of the whole sequence."""
    row = logits[place - 1]
    return row[ids[place]] - (row - row.max()).exp().sum().log() - row.max()


def mean_of_means(values, turns):
    """Return the score by each rule, as the paper and the released code define it, from log-ratios by position."""
    by_turn = {}
    for place, value in values.items():
        by_turn.setdefault(turns[place], []).append(value)
    return {
        "turn-mean": sum(sum(turn) / len(turn) for turn in by_turn.values()),
        "turn-mean-averaged": sum(sum(turn) / len(turn) for turn in by_turn.values()) / len(by_turn),
        "trajectory-mean": sum(values.values()) / len(values),
        "sum": sum(values.values()),
    }  # fmt: skip


def naive(model, reference, groups, rule, over="replies"):
    """Return S of every trajectory, and the NLL of every chosen one."""
    found, likelihoods = [], []
    for (chosen,), (rejected,) in groups:
        for sequence in (chosen, rejected):
            inputs = torch.tensor([sequence.ids])
            logits = model(input_ids=inputs).logits[0]
            with torch.no_grad():
                before = reference(input_ids=inputs).logits[0]
            replies = [place for place, turn in enumerate(sequence.turns) if turn >= 0]
            ratios = {
                place: token_logprob(logits, sequence.ids, place)
                - token_logprob(before, sequence.ids, place)
                for place in replies
            }
            found.append(mean_of_means(ratios, sequence.turns)[rule])
            if sequence is chosen:
                counted = replies if over == "replies" else range(1, len(sequence.ids))
                likelihoods.append(
                    -sum(token_logprob(logits, sequence.ids, place) for place in counted)
                    / len(counted)
                )
    return found, likelihoods


def naive_losses(found, likelihoods, weight=LAMBDA):
    return [
        -torch.log(1 / (1 + torch.exp(-BETA * (found[2 * n] - found[2 * n + 1])))) + weight * nll
        for n, nll in enumerate(likelihoods)
    ]


def reference_sums(reference, row):
    with torch.no_grad():
        return row.sums(row.token_weights * row_logprobs(reference, reference.config, row))


def losses(model, reference, row, weight=LAMBDA):
    logprobs = row_logprobs(model, model.config, row)
    return pair_losses(
        scores(row, logprobs, reference_sums(reference, row)),
        negative_log_likelihoods(row, logprobs),
        beta=BETA,
        likelihood_weight=weight,
    )


@pytest.fixture
def both(make_model):
    """Return `both(kind)`: a model and the reference from which it differs."""

    def make(kind):
        reference = make_model(kind)
        model = copy.deepcopy(reference)
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(1)
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.05)
        return model, reference

    return make


def assert_close(one, other):
    assert (one - other).abs().max() <= 1e-5 * max(1, other.abs().max())


def gradients(loss, model):
    return torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)


def places_with_gradients(model, reference, row):
    """Return whether the loss of a row depends on the prediction at each place, by the inputs of the output layer."""
    kept = []

    def keep(_, inputs):
        inputs[0].retain_grad()
        kept.append(inputs[0])

    with model.lm_head.register_forward_pre_hook(keep):
        losses(model, reference, row).losses.sum().backward()
    return kept[0].grad[0].ne(0).any(dim=1).tolist()


def before_replies(sequence):
    """Return whether each place of a sequence predicts a token of a reply."""
    return [turn >= 0 for turn in sequence.turns[1:]] + [False]


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_scores_losses_and_gradients_equal_the_formulas(both, kind, rule, share):
    model, reference = both(kind)
    groups = pairs(rule)
    found = losses(model, reference, lay_out(groups, share=share))
    expected_scores, likelihoods = naive(model, reference, groups, rule)
    expected = torch.stack(naive_losses(expected_scores, likelihoods))
    assert_close(found.chosen, BETA * torch.stack(expected_scores[::2]))
    assert_close(found.rejected, BETA * torch.stack(expected_scores[1::2]))
    assert_close(found.likelihood, torch.stack(likelihoods))
    assert_close(found.losses, expected)
    for one, other in zip(
        gradients(found.losses.mean(), model), gradients(expected.mean(), model), strict=True
    ):
        assert (one - other).abs().max() <= 1e-5 * other.abs().max()


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_losses_of_separate_rows_add_up_to_the_loss_of_the_step(both, kind):
    model, reference = both(kind)
    groups = pairs()
    whole = losses(model, reference, lay_out(groups)).losses.mean()
    apart = sum(
        losses(model, reference, lay_out([group])).losses.sum() / len(groups) for group in groups
    )
    assert_close(apart, whole)
    for one, other in zip(gradients(apart, model), gradients(whole, model), strict=True):
        assert (one - other).abs().max() <= 1e-5 * other.abs().max()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_the_loss_is_ln_2_if_the_model_equals_its_reference(make_model, kind, rule):
    model = make_model(kind)
    found = losses(model, model, lay_out(pairs(rule)), weight=0)
    assert found.losses.tolist() == [torch.tensor(math.log(2)).item()] * 3
    assert not found.chosen.any()
    assert found.metrics()["accuracy"].tolist() == [0.5] * 3


@pytest.mark.parametrize("rule", RULES)
def test_human_and_system_tokens_get_no_gradient(both, rule):
    model, reference = both("llama")
    groups = pairs(rule)
    sequences = [sequence for group in groups for (sequence,) in group]
    expected = [predicts for sequence in sequences for predicts in before_replies(sequence)]
    assert places_with_gradients(model, reference, lay_out(groups)) == expected


def test_human_tokens_after_the_last_reply_do_not_change_the_loss(both):
    model, reference = both("llama")
    groups = pairs()
    expected = losses(model, reference, lay_out(groups)).losses
    longer = [
        [
            [Sequence([*s.ids, 1, 2, 3], [*s.token_weights, 0, 0, 0], [*s.turns, -1, -1, -1])]
            for (s,) in group
        ]
        for group in groups
    ]
    assert_close(losses(model, reference, lay_out(longer)).losses, expected)


@pytest.mark.parametrize("share", [False, True])
def test_the_released_actors_likelihood_counts_all_tokens_of_the_chosen_side(both, share):
    model, reference = both("llama")
    groups = pairs()
    found = losses(model, reference, lay_out(groups, share=share, likelihood="everything"))
    expected_scores, likelihoods = naive(model, reference, groups, "sum", over="everything")
    expected = naive_losses(expected_scores, likelihoods)
    assert_close(found.likelihood, torch.stack(likelihoods))
    assert_close(found.losses, torch.stack(expected))
    for one, other in zip(
        gradients(found.losses.sum(), model), gradients(sum(expected), model), strict=True
    ):
        assert (one - other).abs().max() <= 1e-5 * other.abs().max()


def test_the_released_actors_likelihood_gives_gradients_to_all_tokens_of_the_chosen_side(both):
    model, reference = both("llama")
    ((chosen,), (rejected,)) = group = pairs()[0]
    everything = [True] * (len(chosen.ids) - 1) + [False]
    row = lay_out([group], likelihood="everything")
    found = places_with_gradients(model, reference, row)
    assert found == everything + before_replies(rejected)


def test_the_loss_of_a_success_is_its_mean_negative_log_likelihood(both):
    model, _ = both("qwen2")
    successes = [[[dialogue(7, 4, 2)]], [[dialogue(8, 3)]]]
    row = lay_out(successes)
    found = negative_log_likelihoods(row, row_logprobs(model, model.config, row))
    for ((sequence,),), value in zip(successes, found, strict=True):
        logits = model(input_ids=torch.tensor([sequence.ids])).logits[0]
        replies = [place for place, turn in enumerate(sequence.turns) if turn >= 0]
        expected = -sum(token_logprob(logits, sequence.ids, place) for place in replies)
        assert_close(value, expected / len(replies))


def test_a_trajectory_of_several_sequences_scores_the_sum_of_their_scores(both):
    model, reference = both("llama")
    one, other = dialogue(9, 3), dialogue(10, 5)
    row = lay_out([[[one, other], [one]], [[other], [one]]], share=True)
    logprobs = row_logprobs(model, model.config, row)
    together, first, second, again = scores(row, logprobs, reference_sums(reference, row))
    assert_close(together, first + second)
    assert first == again


def test_metrics_have_one_value_for_each_pair_and_no_gradients():
    found = pair_losses(
        torch.tensor([3.0, 1.0, 0.0, 2.0, 5.0, 5.0]).requires_grad_(),
        torch.tensor([1.0, 0.0, 2.0, 0.0, 3.0, 0.0]),
        beta=0.5,
        likelihood_weight=0.1,
    )
    metrics = found.metrics()
    assert not any(value.requires_grad for value in metrics.values())
    assert {name: value.tolist() for name, value in metrics.items()} == {
        "loss": pytest.approx([0.1 + math.log1p(math.exp(-1)), 0.2 + math.log1p(math.e), 0.3 + math.log(2)]),
        "preference": pytest.approx([math.log1p(math.exp(-1)), math.log1p(math.e), math.log(2)]),
        "nll": [1, 2, 3],
        "accuracy": [1, 0, 0.5],
        "margin": [1, -1, 0],
        "reward_chosen": [1.5, 0, 2.5],
        "reward_rejected": [0.5, 1, 2.5],
    }  # fmt: skip


def test_scores_far_apart_give_finite_losses():
    found = pair_losses(
        torch.tensor([-1e4, 1e4, 1e4, -1e4]), torch.zeros(4), beta=1.0, likelihood_weight=0.0
    )
    assert found.losses.tolist() == [2e4, 0]
