"""Gain, compared with a plain loop over full logits in float64."""

from __future__ import annotations

import dataclasses

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.messages import Message
from colbench.task import Hidden, Task
from sweet_rl_trainer.methods.credit.gain import GainPotential, rows, told_example
from sweet_rl_trainer.methods.credit.state import State, states_of
from sweet_rl_trainer.model.packing import packed_length

torch.set_num_threads(1)
REFERENCE = "def late(days):\n    return days > 1"
TASK = Task(
    id="late", domain="backend", request="Write it.", hidden=Hidden(reference=f"{REFERENCE}\n")
)
START = State(task=TASK, messages=(Message(role="user", content="Write it."),))
ASKED = START.after("Late?", "No.")
TEXTS = (
    "<|im_start|>user\nWrite it.<|im_end|>\n<|im_start|>assistant\nI WANT TO ANSWER:\n",
    "<|im_start|>user\nWrite it.<|im_end|>\n<|im_start|>assistant\nLate?<|im_end|>\n"
    "<|im_start|>user\nNo.<|im_end|>\n<|im_start|>assistant\nI WANT TO ANSWER:\n",
)


def plain_gain(model, chat, text):
    """Compute (1/|c|) Σ log π(c_i | o, c_{<i})."""
    before, reference = (
        chat.tokenizer(each, add_special_tokens=False).input_ids for each in (text, REFERENCE)
    )
    assert len(reference) == len(REFERENCE), "a token a byte"
    with torch.no_grad():
        logits = model.double()(input_ids=torch.tensor([before + reference])).logits[0]
    model.float()
    total = 0.0
    for place, token in enumerate(reference, len(before)):
        row = logits[place - 1]
        total += (row[token] - row.exp().sum().log()).item()
    return total / len(reference)


@pytest.mark.parametrize("kind", ["llama", "mistral"])  # mistral cannot share beginnings
def test_gain_is_the_mean_log_probability_of_the_reference_as_the_answer(
    kind, byte_model, make_scorer, chat
):
    model = byte_model(1, kind).eval()
    potential = GainPotential(make_scorer(model), chat, budget=2000, max_length=900)
    expected = [plain_gain(model, chat, text) for text in TEXTS]
    assert potential([START, ASKED, START]) == pytest.approx([*expected, expected[0]], abs=1e-5)


def test_states_are_the_contexts_before_each_turn(dialogue):
    trajectory = dialogue(task_hash=TASK.hash)
    first, second = states_of(trajectory, TASK)
    assert first == START
    assert [each.content for each in second.messages] == ["Write it.", "Late?", "No."]
    assert (second.said, second.heard) == (("Late?",), ("Write it.", "No."))


def test_each_state_is_computed_once(byte_model, make_scorer, chat):
    computed = []
    scorer = make_scorer(byte_model(1))

    def counted(row):
        computed.append(row.count)
        return scorer.logprobs(row)

    potential = GainPotential(
        dataclasses.replace(scorer, logprobs=counted), chat, budget=2000, max_length=900
    )
    first = potential([START, ASKED])
    assert first[0] != pytest.approx(first[1], abs=1e-3)
    assert potential([ASKED, START, ASKED]) == [first[1], first[0], first[1]]
    assert sum(computed) == 2


def test_a_state_too_long_for_the_reference_has_no_potential(byte_model, make_scorer, chat):
    length = len(chat.encode_prompt(TEXTS[0])) + len(REFERENCE)
    potential = GainPotential(make_scorer(byte_model(1)), chat, budget=2000, max_length=length)
    found = potential([ASKED, START])
    assert found[0] is None
    assert found[1] < 0


def test_states_that_share_a_beginning_are_grouped_to_fit_a_row(chat):
    asked = [START.after(f"Is it {number}?", "No.") for number in range(40)]
    examples = [told_example(each, chat) for each in (START, *asked)]
    found = list(rows(examples, 1000))
    assert [each for group in found for (each,) in group] == examples
    assert 1 < len(found) < len(examples)
    lengths = [packed_length(group, share=True) for group in found]
    assert max(lengths) <= 1000
    assert min(lengths[:-1]) > 700, "as many as fit"
    assert [len(group) for group in rows(examples, 1)] == [1] * len(examples)
