"""Scores, compared with plain loops over full logits, one reply at a time, and with the training objective."""

from __future__ import annotations

from collections import Counter

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import DataError, UserError
from sweet_rl_trainer.data.examples import pair_examples, success_examples
from sweet_rl_trainer.data.pairs import Pair
from sweet_rl_trainer.data.privileged import TEMPLATES, state
from sweet_rl_trainer.data.token_weights import RULES
from sweet_rl_trainer.methods.ranking.score import (
    TERMS,
    TURNS,
    score_candidates,
    score_pairs,
    score_sides,
    score_turns,
)
from sweet_rl_trainer.methods.ranking.scorers import Scorers
from sweet_rl_trainer.methods.ranking.turns import (
    Candidates,
    Reply,
    encode_candidates,
    turns_of,
)
from sweet_rl_trainer.model.packing import lay_out
from sweet_rl_trainer.model.value_head import load_value_model
from sweet_rl_trainer.pipeline.read import read
from sweet_rl_trainer.train.loss import row_logprobs

torch.set_num_threads(1)

RATIOS = [preset for preset, terms in TERMS.items() if terms and terms[0].score == "log-ratio"]
LIMITS = {"budget": 2000, "max_length": 900}


@pytest.fixture
def candidates(dialogue, chat):
    """Return sixteen replies for each of two turns, some with recorded tokens and one that was cut."""
    words = ["Late?", "def f(): 0", "Why not", "", "Late? Why?", "A longer one. " * 3]
    replies = [Reply(text=f"{words[n % 6]}{n // 6 or ''}") for n in range(15)]
    replies[1] = Reply(text="def f(): 0", ids=(*chat.encode("def f(): 0"), chat.end))
    replies.append(Reply(text="cut sho", ids=tuple(chat.encode("cut sho"))))
    return [Candidates(turn=turn, replies=tuple(replies)) for turn in turns_of([dialogue()])]


HEADER = "\n<|im_start|>assistant\n"
"""The text of `chat`'s template between the end of a message and the reply: 12 tokens."""


def logprobs(model, chat, turn, reply, preface=""):
    """Return log π of each token of the header, text and end of a reply, by a loop over the whole logits."""
    said = ["<|im_start|>user\n", "Write it.", "<|im_end|>"]
    if turn:
        said += [f"{HEADER}Late?<|im_end|>\n<|im_start|>user\nNo.<|im_end|>"]
    if preface:
        said.insert(1, preface + "\n\n")
    before, header, text = (
        chat.tokenizer(each, add_special_tokens=False).input_ids
        for each in ("".join(said), HEADER, reply.text)
    )
    end = [chat.tokenizer.convert_tokens_to_ids("<|im_end|>")] * (reply.text != "cut sho")
    ids = [*header, *text, *end]
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([before + ids])).logits[0].double()
    rows = logits[len(before) - 1 : -1]
    found = [
        (row[token] - row.exp().sum().log()).item() for row, token in zip(rows, ids, strict=True)
    ]
    return found[: len(header)], found[len(header) :][: len(text)], found[len(header) + len(text) :]


def plain_score(preset, critic, reference, chat, turn, reply, stated):
    """Return the score of one reply by the preset's formula, written out."""

    def value(model, preface=""):
        _, text, end = logprobs(model, chat, turn, reply, preface)
        return sum(text) + sum(end)

    header, text, end = logprobs(critic, chat, turn, reply, stated)
    length = len(text) + len(end)
    match preset:
        case "critic":
            return (value(critic, stated) - value(reference, stated)) / length
        case "critic-unprivileged":
            return (value(critic) - value(reference)) / length
        case "critic-sum":
            return value(critic, stated) - value(reference, stated)
        case "pmi":
            return (value(reference, stated) - value(reference)) / length
        case "released":
            first = (sum(header) + sum(text)) / (12 + len(text))
            return first - value(reference) / length


@pytest.mark.parametrize(
    ("preset", "kind"),
    [
        *((preset, "llama") for preset in RATIOS),
        ("critic", "mistral"),
    ],  # this model cannot share beginnings
)
def test_scores_match_a_plain_loop(preset, kind, candidates, byte_model, make_scorer, chat):
    critic, reference = byte_model(1, kind).eval(), byte_model(0, kind).eval()
    found = score_candidates(
        candidates,
        chat,
        preset,
        critic=make_scorer(critic, "critic"),
        reference=make_scorer(reference),
        **LIMITS,
    )
    stated = state("def late(days): return 0", "backend", "preamble").text
    for scored in found:
        assert scored.candidates.replies[3].text == ""
        for reply, score, length in zip(
            scored.candidates.replies, scored.scores, scored.lengths, strict=True
        ):
            number = scored.candidates.turn.number
            expected = plain_score(preset, critic, reference, chat, number, reply, stated)
            scale = length if preset == "critic-sum" else 1
            assert score == pytest.approx(expected, rel=0, abs=1e-5 * scale)
            assert length == len(reply.text.encode()) + (reply.text != "cut sho")


def test_turns_in_several_batches_have_the_same_scores(dialogue, byte_model, make_scorer, chat):
    """Check also that the turns are read once for each term of the preset."""
    words = (Reply(text="No."), Reply(text="Yes?"))
    turns = [
        Candidates(turn=turn, replies=words)
        for number in range(TURNS // 2 + 3)
        for turn in turns_of([dialogue(str(number), heard=(f"Write {number}.", "No."))])
    ]
    reads = []

    class Counted(list):
        def __iter__(self):
            reads.append(len(self))
            return super().__iter__()

    reference = make_scorer(byte_model())
    found = score_turns(Counted(turns), chat, "pmi", reference=reference, **LIMITS)
    assert reads == [len(turns)] * 2
    for place in (0, TURNS - 1, TURNS, len(turns) - 1):
        fresh = make_scorer(byte_model(), f"alone {place}")
        (alone,) = score_turns([turns[place]], chat, "pmi", reference=fresh, **LIMITS)
        assert found[place].scores == pytest.approx(alone.scores, abs=1e-5)
        assert found[place].lengths == alone.lengths


@pytest.mark.parametrize(
    ("preset", "kind"),
    [
        ("critic", "llama"),
        ("critic", "mistral"),
        ("critic-unprivileged", "llama"),
        ("critic-sum", "llama"),
    ],
)
def test_an_untrained_critic_scores_zero(preset, kind, candidates, byte_model, make_scorer, chat):
    critic = make_scorer(byte_model(0, kind), "critic")
    found = score_candidates(
        candidates,
        chat,
        preset,
        critic=critic,
        reference=make_scorer(byte_model(0, kind)),
        **LIMITS,
    )
    assert [abs(score) <= 1e-6 for each in found for score in each.scores] == [True] * 32


def test_a_turn_is_one_row_with_its_context_only_once(candidates, byte_model, chat, make_scorer):
    rows = []
    model = byte_model()
    shared = make_scorer(model)

    def seen(row):
        rows.append(row)
        return row_logprobs(model, model.config, row)

    reference = type(shared)(cache=shared.cache, logprobs=seen, share=True)
    limits = {"budget": 1, "max_length": 900}
    score_candidates(candidates, chat, "critic", critic=reference, reference=reference, **limits)
    assert [row.count for row in rows] == [16, 16]
    for row, each in zip(sorted(rows, key=lambda row: len(row.ids)), candidates, strict=True):
        examples = encode_candidates(each, chat, "turn-mean", privileged="preamble")
        prompt = list(examples[0].token_weights).index(
            next(w for w in examples[0].token_weights if w)
        )
        replies = sum(len(example.ids) - prompt for example in examples)
        assert len(row.ids) <= prompt + replies


@pytest.mark.parametrize("privileged", TEMPLATES)
def test_scores_of_turns_add_up_to_the_score_of_the_dialogue_in_training(
    privileged, dialogue, byte_model, make_scorer, chat
):
    won = dialogue("won")
    lost = dialogue("lost", ("Late?", "Really?"), reward=0.0)
    critic, reference = make_scorer(byte_model(1), "critic"), make_scorer(byte_model())
    pairs, _ = pair_examples(
        [Pair(chosen=won, rejected=lost)], chat, "turn-mean", privileged=privileged, max_length=900
    )
    (whole,) = score_pairs(pairs, critic=critic, reference=reference, budget=2000)
    said = [
        Candidates(turn=turn, replies=(Reply(text=turn.trajectory.replies[turn.number]),))
        for turn in turns_of([won, lost])
    ]
    found = score_candidates(
        said, chat, "critic", critic=critic, reference=reference, privileged=privileged, **LIMITS
    )
    by_turn = [each.scores[0] for each in found]
    assert (sum(by_turn[:2]), sum(by_turn[2:])) == pytest.approx(whole, rel=0, abs=1e-5)
    assert abs(whole[0] - whole[1]) > 1e-3


def test_scores_of_pairs_match_the_training_objective(dialogue, byte_model, make_scorer, chat):
    pair = Pair(chosen=dialogue(), rejected=dialogue("lost", ("No.", "Yes."), reward=0.0))
    pairs, _ = pair_examples([pair], chat, "trajectory-mean", max_length=900)
    models = byte_model(1).eval(), byte_model().eval()
    row = lay_out([[pairs[0].chosen.examples, pairs[0].rejected.examples]])
    with torch.no_grad():
        one, other = (row.sums(row.token_weights * row_logprobs(m, m.config, row)) for m in models)
    critic, reference = make_scorer(models[0], "critic"), make_scorer(models[1])
    (found,) = score_pairs(pairs, critic=critic, reference=reference, budget=900)
    assert found == pytest.approx((one - other).tolist(), rel=0, abs=1e-5)


@pytest.mark.parametrize("rule", RULES)
def test_a_recorded_reply_as_a_candidate_equals_its_training_example(rule, dialogue, chat):
    alone = dialogue(replies=("Late?",), heard=("Write it.",))
    (side,), _ = success_examples([alone], chat, rule, max_length=900)
    (turn,) = turns_of([alone])
    (example,) = encode_candidates(
        Candidates(turn=turn, replies=(Reply(text="Late?"),)), chat, rule
    )
    assert (example,) == side.examples


def test_cached_scores_are_not_computed_again(candidates, byte_model, make_scorer, chat):
    score_candidates(candidates, chat, "pmi", reference=make_scorer(byte_model()), **LIMITS)
    known = make_scorer(byte_model())

    def never(row):
        raise AssertionError("asked again")

    later = type(known)(cache=known.cache, logprobs=never, share=True)
    assert score_candidates(candidates, chat, "pmi", reference=later, **LIMITS)


def test_a_reply_that_is_too_long_has_no_score_and_is_counted(
    candidates, byte_model, make_scorer, chat
):
    examples = encode_candidates(candidates[0], chat, "sum", privileged="preamble")
    lengths = [len(each.ids) for each in examples]
    limit, dropped = sorted(lengths)[-3], Counter()
    (found,) = score_candidates(
        candidates[:1],
        chat,
        "pmi",
        reference=make_scorer(byte_model()),
        budget=2000,
        max_length=limit,
        dropped=dropped,
    )
    assert [score is None for score in found.scores] == [length > limit for length in lengths]
    assert dropped == {f"longer than {limit} tokens": sum(n > limit for n in lengths)}
    assert 0 < dropped.total() < 3


def test_the_scorer_of_a_recipe_turns_dropout_off_and_shares_beginnings(
    candidates, byte_model, make_scorer, chat, tmp_path
):
    model = byte_model(attention_dropout=0.5)
    model.save_pretrained(tmp_path / "base")
    recipe = read("tiny-cpu", ["critic.train.precision=float32"])
    with Scorers(recipe, tmp_path / "base", tmp_path / "references") as scorers:
        reference = scorers.reference()
        found = score_candidates(candidates, chat, "pmi", reference=reference, **LIMITS)
    expected = score_candidates(candidates, chat, "pmi", reference=make_scorer(model), **LIMITS)
    for one, other in zip(found, expected, strict=True):
        assert one.scores == pytest.approx(other.scores, abs=1e-5)
    assert reference.share


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("best", "expected one of critic"),
        ("returns", "expected one of critic"),
        ("critic", "require a critic, but none was given"),
    ],
)
def test_an_unknown_preset_or_a_missing_critic_is_refused(
    preset, words, candidates, byte_model, make_scorer, chat
):
    with pytest.raises(UserError, match=words):
        score_candidates(candidates, chat, preset, reference=make_scorer(byte_model()), **LIMITS)


def test_tokens_of_another_tokenizer_are_named_with_turn_and_candidate(candidates, chat):
    wrong = Reply(text="hi", ids=(70, 71, 72))
    turn = Candidates(turn=candidates[1].turn, replies=(Reply(text="a"), wrong))
    with pytest.raises(DataError, match="d, turn 2, candidate 2: its recorded tokens do not"):
        encode_candidates(turn, chat, "sum")


@pytest.fixture
def make_value_scorer(tmp_path, make_scorer):
    """Return `make(model, head)`: a scorer of a value model with a language model's weights and the given head."""

    def make(model, head=None):
        model.save_pretrained(tmp_path / "critic")
        value = load_value_model(tmp_path / "critic")
        if head is not None:
            with torch.no_grad():
                value.score.weight.copy_(head)
        return make_scorer(value, f"critic {head is not None}")

    return make


@pytest.fixture
def head():
    return torch.randn(1, 32, generator=torch.Generator().manual_seed(2))


def mean_value(model, head, example):
    """Return the head's output for the mean of the reply's hidden states."""
    ids = torch.tensor([list(example.ids)])
    with torch.no_grad():
        states = model.eval()(ids, output_hidden_states=True).hidden_states[-1][0]
    said = [place for place, weight in enumerate(example.token_weights) if weight]
    assert said == list(range(said[0], len(example.ids)))
    return (head[0] @ states[said].mean(0)).item()


@pytest.mark.parametrize("kind", ["llama", "mistral"])  # the second model cannot share beginnings
@pytest.mark.parametrize(
    ("preset", "stated"), [("value", "preamble"), ("value-unprivileged", None)]
)
def test_values_match_a_plain_loop(
    preset, stated, kind, candidates, byte_model, make_value_scorer, head, chat
):
    critic = make_value_scorer(byte_model(0, kind), head)
    found = score_candidates(candidates, chat, preset, critic=critic, **LIMITS)
    for each, scored in zip(candidates, found, strict=True):
        examples = encode_candidates(each, chat, "sum", privileged=stated)
        expected = [mean_value(byte_model(0, kind), head, example) for example in examples]
        assert scored.scores == pytest.approx(expected, rel=0, abs=1e-5)
        assert max(scored.scores) - min(scored.scores) > 1e-2


def test_an_untrained_value_head_scores_zero(candidates, byte_model, make_value_scorer, chat):
    critic = make_value_scorer(byte_model())
    found = score_candidates(candidates, chat, "value", critic=critic, **LIMITS)
    assert [score for each in found for score in each.scores] == [0] * 32


def test_values_of_turns_add_up_to_those_of_dialogues_without_a_reference(
    dialogue, byte_model, make_value_scorer, make_scorer, head, chat
):
    won, lost = dialogue("won"), dialogue("lost", ("Late?", "Really?"), reward=0.0)
    critic = make_value_scorer(byte_model(), head)
    pairs, _ = pair_examples(
        [Pair(chosen=won, rejected=lost)], chat, "turn-mean", privileged="preamble", max_length=900
    )
    (whole,) = score_pairs(pairs, critic=critic, budget=2000)
    assert whole == tuple(
        score_sides([pairs[0].chosen, pairs[0].rejected], critic=critic, budget=2000)
    )
    reference = make_scorer(byte_model())
    assert [whole] == score_pairs(pairs, critic=critic, reference=reference, budget=2000)
    said = [
        Candidates(turn=turn, replies=(Reply(text=turn.trajectory.replies[turn.number]),))
        for turn in turns_of([won, lost])
    ]
    found = score_candidates(said, chat, "value", critic=critic, **LIMITS)
    by_turn = [each.scores[0] for each in found]
    assert (sum(by_turn[:2]), sum(by_turn[2:])) == pytest.approx(whole, rel=0, abs=1e-5)


def test_values_and_log_probabilities_of_one_model_are_cached_separately(
    candidates, byte_model, make_value_scorer, make_scorer, head, chat
):
    """Use the same model files for both, as with a newly added head."""
    log_ratio = make_scorer(byte_model(), "critic True")
    score_candidates(candidates, chat, "critic", critic=log_ratio, reference=log_ratio, **LIMITS)
    critic = make_value_scorer(byte_model(), head)
    (found, _) = score_candidates(candidates, chat, "value", critic=critic, **LIMITS)
    example = encode_candidates(candidates[0], chat, "sum", privileged="preamble")[0]
    assert found.scores[0] == pytest.approx(mean_value(byte_model(), head, example), abs=1e-5)


@pytest.mark.parametrize(
    ("preset", "value", "words"),
    [
        ("critic", True, "has a value head; choose the scores 'value'"),
        ("value", False, "has no value head"),
    ],
)
def test_a_critic_of_the_wrong_kind_is_refused(
    preset, value, words, candidates, byte_model, make_value_scorer, make_scorer, chat
):
    reference = make_scorer(byte_model())
    critic = make_value_scorer(byte_model()) if value else reference
    with pytest.raises(UserError, match=words):
        score_candidates(candidates, chat, preset, critic=critic, reference=reference, **LIMITS)


def test_a_log_ratio_critic_needs_a_reference(candidates, byte_model, make_scorer, chat):
    critic = make_scorer(byte_model())
    with pytest.raises(UserError, match="scores 'pmi' require a reference, but none was given"):
        score_candidates(candidates, chat, "pmi", **LIMITS)
    with pytest.raises(UserError, match="^reference: missing; the critic has no value head"):
        score_pairs([], critic=critic, budget=900)
