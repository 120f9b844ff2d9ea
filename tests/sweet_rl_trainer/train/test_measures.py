"""Measures computed together with the loss, compared with plain loops on a tiny model."""

from __future__ import annotations

import json
import random
from array import array

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("accelerate", reason="accelerate is not installed (colbench[train])")
pytest.importorskip("peft", reason="peft is not installed (colbench[train])")

from transformers import AutoModelForCausalLM

from sweet_rl_trainer.data.examples import Example, PairExample, Side
from sweet_rl_trainer.data.token_weights import weigh
from sweet_rl_trainer.model.packing import lay_out
from sweet_rl_trainer.settings import TrainSettings
from sweet_rl_trainer.train.measures import turn_numbers
from sweet_rl_trainer.train.run import train

torch.set_num_threads(1)

OUTSIDE = -1


def make_side(name, turns, chance):
    ids = array("i", [chance.randrange(67) for _ in turns])
    weights = array("f", weigh(turns, "turn-mean"))
    return Side(
        examples=(Example(ids=ids, token_weights=weights),),
        trajectory=name,
        reward=1.0,
        turns=max(turns) + 1,
        reply_tokens=sum(turn != OUTSIDE for turn in turns),
    )


def random_turns(chance):
    found = []
    for turn in range(chance.randint(2, 4)):
        found += [OUTSIDE] * chance.randint(2, 5) + [turn] * chance.randint(1, 6)
    return found


@pytest.fixture
def pairs():
    chance = random.Random(5)
    turns = [(random_turns(chance), random_turns(chance)) for _ in range(4)]
    return turns, [
        PairExample(
            chosen=make_side(f"a{n}", one, chance),
            rejected=make_side(f"b{n}", two, chance),
            task_hash=str(n),
        )
        for n, (one, two) in enumerate(turns)
    ]


@pytest.mark.parametrize("share", [False, True])
def test_each_counted_token_has_the_number_of_its_turn(share, pairs):
    turns, examples = pairs
    groups = [[each.chosen.examples, each.rejected.examples] for each in examples]
    row = lay_out(groups, share=share)
    expected = [turn for both in turns for side in both for turn in side if turn != OUTSIDE]
    assert turn_numbers(row).tolist() == expected


def test_turns_of_separate_sequences_have_separate_numbers():
    first = Example(ids=array("i", [1, 2, 3, 4]), token_weights=array("f", [0, 0, 1, 1]))
    second = Example(ids=array("i", range(9)), token_weights=array("f", [0] * 7 + [1, 1]))
    row = lay_out([[(first, second)]])
    assert turn_numbers(row).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("over", ["replies", "everything"])
def test_measures_of_held_out_pairs_equal_a_plain_loop(over, make_model, pairs, tmp_path):
    turns, examples = pairs
    settings = TrainSettings(
        learning_rate=3e-3,
        likelihood_over=over,
        batch_size=2,
        max_steps=2,
        row_tokens=64,
        precision="float32",
        gradient_checkpointing=False,
        save_every=2,
        optimizer="adamw_torch",
    )
    folder = tmp_path / "run"
    done = train(
        make_model(),
        examples,
        settings,
        folder=folder,
        origin="tiny",
        references=tmp_path / "reference",
        held_out=examples,
    )
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    found = next(line for line in lines if "eval_kl" in line)
    after, before = AutoModelForCausalLM.from_pretrained(done), make_model()
    assert found == pytest.approx(
        found | expected_measures(after, before, turns, examples), abs=1e-5
    )
    trained = next(line for line in lines if "length_chosen" in line)
    assert {"length_chosen", "length_rejected", "kl"} <= trained.keys()
    assert trained["kl"] == pytest.approx(0, abs=1e-6)
    assert not any(name.startswith("entropy") for name in trained)


@torch.no_grad()
def expected_measures(after, before, turns, examples):
    """Return the entropy of the trained model by turn, its divergence from the reference, and the lengths."""
    entropies, drifts, lengths = {}, [], []
    for both, pair in zip(turns, examples, strict=True):
        score = weight = 0.0
        for numbers, side in zip(both, (pair.chosen, pair.rejected), strict=True):
            ids = torch.tensor([list(side.examples[0].ids)])
            now, then = (model(ids).logits[0].log_softmax(-1) for model in (after, before))
            for place, (turn, w) in enumerate(
                zip(numbers, side.examples[0].token_weights, strict=True)
            ):
                if turn == OUTSIDE:
                    continue
                at = place - 1
                entropies.setdefault(turn, []).append(-(now[at].exp() * now[at]).sum().item())
                score += w * (now[at, ids[0, place]] - then[at, ids[0, place]]).item()
                weight += w
        drifts.append(-score / weight)
        lengths.append([sum(turn != OUTSIDE for turn in side) for side in both])
    every = [each for found in entropies.values() for each in found]
    chosen, rejected = (sum(each) / len(each) for each in zip(*lengths, strict=True))
    return {
        "eval_kl": sum(drifts) / len(drifts),
        "eval_entropy": sum(every) / len(every),
        **{f"eval_entropy_turn_{n + 1}": sum(e) / len(e) for n, e in entropies.items()},
        "eval_length_chosen": chosen,
        "eval_length_rejected": rejected,
    }
