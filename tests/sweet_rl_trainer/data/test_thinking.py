"""Thinking models: templates that strip earlier thoughts give a sequence for each turn, with the dialogue's weights.

The expected values are written out here: the text before each turn and the weight of each token.
"""

from __future__ import annotations

import pytest

from colbench.messages import Sampled
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.examples import pair_examples, success_examples
from sweet_rl_trainer.data.pairs import Pair
from sweet_rl_trainer.data.privileged import state
from sweet_rl_trainer.data.token_weights import RULES
from sweet_rl_trainer.data.tokens import encode

SYSTEM = "You write what a person needs."
HEARD = ("Count the late orders.", "Only after the last day.", "Yes.")
SAID = ("Is the last day late?", "And an empty list?", "I WANT TO ANSWER: def count(): return 0")
THOUGHTS = ("What is late?", "Or none.", "Good. Done.")
START, END = "<|im_start|>", "<|im_end|>"


def replies(name):
    """Return the replies as they are sampled: DeepSeek's prompt opens the thought."""
    opening = "" if name == "deepseek" else "<think>\n"
    pairs = zip(THOUGHTS, SAID, strict=True)
    return tuple(f"{opening}{thought}\n</think>\n\n{said}" for thought, said in pairs)


def before(name, turn, note=""):
    """Return the text before a turn."""
    if name == "deepseek":
        text = f"<s>{START}system\n{note}{SYSTEM}{START}user\n{HEARD[0]}"
        for said, heard in zip(SAID[:turn], HEARD[1:], strict=False):
            text += f"{START}assistant\n\n\n{said}{END}{START}user\n{heard}"
        return f"{text}{START}assistant\n<think>\n"
    text = f"{START}system\n{note}{SYSTEM}{END}\n{START}user\n{HEARD[0]}{END}\n"
    for said, heard in zip(SAID[:turn], HEARD[1:], strict=False):
        text += f"{START}assistant\n{said}{END}\n{START}user\n{heard}{END}\n"
    return f"{text}{START}assistant\n"


def ids_of(fast, text):
    return fast(text, add_special_tokens=False).input_ids


def expected(name, fast, rule, note=""):
    """Return the ids and weights of each turn's sequence, and the number of reply tokens."""
    written = [ids_of(fast, reply) + ids_of(fast, END) for reply in replies(name)]
    lengths = [len(each) for each in written]
    rows = []
    for turn, ids in enumerate(written):
        prompt = ids_of(fast, before(name, turn, note))
        weight = {
            "turn-mean": 1 / lengths[turn],
            "turn-mean-averaged": 1 / (lengths[turn] * 3),
            "trajectory-mean": 1 / sum(lengths),
            "sum": 1.0,
        }[rule]
        rows.append((prompt + ids, [0.0] * len(prompt) + [weight] * len(ids)))
    return rows, sum(lengths)


@pytest.fixture(params=["re-tokenized", "recorded"])
def dialogue(request, tokenizer, trajectory):
    """Return `dialogue(name)`: three turns with thoughts, as text or with their sampled tokens."""

    def build(name, **fields):
        fast = tokenizer(name)
        if request.param == "recorded":
            fields["sampled"] = tuple(
                Sampled(
                    prompt=tuple(ids_of(fast, before(name, turn))),
                    ids=(*ids_of(fast, reply), *ids_of(fast, END)),
                    logprobs=(),
                )
                for turn, reply in enumerate(replies(name))
            )
        return trajectory(HEARD, replies(name), SYSTEM, said=replies(name), **fields)

    return build


def assert_rows(side, rows, reply_tokens):
    assert [list(each.ids) for each in side.examples] == [ids for ids, _ in rows]
    for example, (_, weights) in zip(side.examples, rows, strict=True):
        assert list(example.token_weights) == pytest.approx(weights, rel=1e-6)
    assert (side.turns, side.reply_tokens) == (3, reply_tokens)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["qwen3", "deepseek"])
def test_imitated_turns_follow_their_own_prompts_with_the_dialogues_weights(
    name, rule, tokenizer, dialogue
):
    fast = tokenizer(name)
    (side,), report = success_examples([dialogue(name)], Chat(fast), rule, max_length=1000)
    assert report.forms == {"a sequence for each turn": 1}
    assert_rows(side, *expected(name, fast, rule))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["qwen3", "deepseek"])
def test_pairs_keep_the_weights_and_critics_see_the_note_before_each_turn(
    name, rule, tokenizer, dialogue
):
    fast = tokenizer(name)
    pair = Pair(chosen=dialogue(name), rejected=dialogue(name, reward=0.0))
    note = state(pair.chosen.privileged, "backend", "preamble").text + "\n\n"
    for template, text in ((None, ""), ("preamble", note)):
        (found,), _ = pair_examples([pair], Chat(fast), rule, privileged=template, max_length=1000)
        for side in (found.chosen, found.rejected):
            assert_rows(side, *expected(name, fast, rule, text))


def test_the_empty_thought_of_a_prompt_is_not_kept_in_later_turns(tokenizer, trajectory):
    fast = tokenizer("qwen3")
    chat = Chat(fast, template_args={"enable_thinking": False})
    encoded = encode(trajectory(HEARD, SAID, SYSTEM, said=SAID), chat)
    assert encoded.form == "a sequence for each turn"
    for turn, sequence in enumerate(encoded.sequences):
        text = f"{before('qwen3', turn)}<think>\n\n</think>\n\n{SAID[turn]}{END}"
        assert fast.decode(sequence.ids) == text


def test_replies_without_thoughts_of_a_thinking_model_are_one_sequence(tokenizer, trajectory):
    encoded = encode(trajectory(HEARD, SAID, SYSTEM, said=SAID), Chat(tokenizer("qwen3")))
    assert encoded.form == "one sequence"


def test_a_thought_that_the_prompt_opens_is_not_opened_twice(tokenizer, trajectory):
    chat = Chat(tokenizer("deepseek"))
    spelled, usual = (
        encode(trajectory(HEARD, texts, SYSTEM, said=texts), chat)
        for texts in (replies("qwen3"), replies("deepseek"))
    )
    assert spelled.sequences == usual.sequences


@pytest.mark.parametrize("rule", ["turn-mean", "sum"])
def test_score_and_gradient_equal_a_plain_loop_over_the_turns(
    rule, tokenizer, dialogue, make_model
):
    torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
    from sweet_rl_trainer.model.packing import lay_out
    from sweet_rl_trainer.train.loss import negative_log_likelihoods, row_logprobs, scores

    fast = tokenizer("qwen3")
    model = make_model("llama", vocab_size=len(fast), max_position_embeddings=1024)
    (side,), _ = success_examples([dialogue("qwen3")], Chat(fast), rule, max_length=1000)
    row = lay_out([[side.examples]])
    logprobs = row_logprobs(model, model.config, row)
    (score,), (nll,) = scores(row, logprobs, 0.0), negative_log_likelihoods(row, logprobs)
    total, mean = 0.0, 0.0
    rows, count = expected("qwen3", fast, rule)
    for ids, weights in rows:
        logits = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        for place, weight in enumerate(weights):
            if weight:
                total = total + weight * logits[place - 1, ids[place]]
                mean = mean - logits[place - 1, ids[place]] / count
    torch.testing.assert_close(score, total, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(nll, mean, rtol=1e-5, atol=1e-5)
    parameters = list(model.parameters())
    gradients = (
        torch.autograd.grad(score + nll, parameters),
        torch.autograd.grad(total + mean, parameters),
    )
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
