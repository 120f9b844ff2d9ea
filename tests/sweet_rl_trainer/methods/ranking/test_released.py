"""The released scorer, compared with worked examples."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.methods.ranking.score import TERMS, score_candidates
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, turns_of
from sweet_rl_trainer.train.reference_cache import ReferenceCache
from sweet_rl_trainer.train.scorer import Scorer

RATIOS = [preset for preset, terms in TERMS.items() if terms and terms[0].score == "log-ratio"]
LIMITS = {"budget": 2000, "max_length": 900}


@pytest.fixture
def four(chat):
    """Return a chat whose template has a header of four tokens, as Llama's does."""
    tokenizer = copy.deepcopy(chat.tokenizer)
    tokenizer.chat_template = (
        "{% for each in messages %}{{ '<|im_start|>' + each.role[0] + '>\n' + each.content + '<|im_end|>' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>a>\n' }}{% endif %}"
    )
    return Chat(tokenizer)


@pytest.fixture
def make_written(tmp_path, four):
    """Return `make(name, nats)`: a scorer in which `z` costs `nats`, a reply's end 0.35 nats, and all else nothing."""
    z, end = four.encode("z")[0], four.end

    def make(name, nats):
        def written(row):
            certain = torch.zeros(len(row.targets))
            of_text = certain.masked_fill(row.targets == z, -nats)
            return of_text.masked_fill(row.targets == end, -0.35)

        cache = ReferenceCache(tmp_path / "written", model=name, precision="float32")
        return Scorer(cache=cache, logprobs=written, share=True)

    return make


@pytest.mark.parametrize(
    ("length", "cut", "nats", "expected"),
    [
        (10, False, 0.35, 0.1),  # -3.5 / 14 + 3.85 / 11
        (30, False, 0.35, 0.35 - 10.5 / 34),
        (10, True, 0.35, 0.1),  # -3.5 / 14 + 3.5 / 10
        (10, False, 0.14, 0.25),  # -1.4 / 14 + 3.85 / 11
        (0, False, 0.35, 0.35),  # 0 / 4 + 0.35 / 1
    ],
)
def test_released_scores_match_worked_examples(
    length, cut, nats, expected, dialogue, four, make_written
):
    assert len(four.reply_header) == 4
    text = "z" * length
    reply = Reply(text=text, ids=tuple(four.encode(text)) if cut else ())
    turns = [Candidates(turn=turns_of([dialogue()])[1], replies=(reply,))]
    critic, reference = make_written("critic", nats), make_written("reference", 0.35)
    (scored,) = score_candidates(
        turns, four, "released", critic=critic, reference=reference, **LIMITS
    )
    assert scored.scores == pytest.approx((expected,), abs=1e-6)
    assert scored.lengths == (length + (not cut),)


def test_only_the_released_preset_favors_short_replies(dialogue, four, make_written):
    replies = tuple(Reply(text="z" * length) for length in (10, 30))
    turns = [Candidates(turn=turns_of([dialogue()])[0], replies=replies)]
    model = make_written("one", 0.35)
    scores = {
        preset: score_candidates(turns, four, preset, critic=model, reference=model, **LIMITS)[
            0
        ].scores
        for preset in RATIOS
    }
    short, long = scores.pop("released")
    assert short > long + 0.05
    assert all(score == pytest.approx((0, 0), abs=1e-6) for score in scores.values())
