"""Diagnostics of tiny models, whose scores are compared with plain loops over full logits."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import DataError
from colbench.messages import ANSWER_MARKER
from colbench.task import Fact, Hidden, Task
from sweet_rl_trainer.data.examples import pair_examples, side_examples
from sweet_rl_trainer.data.pairs import Pair
from sweet_rl_trainer.data.privileged import state
from sweet_rl_trainer.methods.critic.best_of import of_dialogues
from sweet_rl_trainer.methods.critic.states import known_states, preference
from sweet_rl_trainer.methods.ranking.score import score_candidates, score_sides

torch.set_num_threads(1)
FACT = "The last day is not late."
HEARD = ("Write it.", FACT, "I don't know.")


def turn_means(model, chat, dialogue):
    """Return the mean log π of each reply's tokens, given c, by a loop over the full logits of one turn at a time."""
    text = "<|im_start|>user\n" + state(dialogue.privileged, "backend", "preamble").text + "\n\n"
    means = []
    for heard, reply in zip(HEARD, dialogue.replies, strict=False):
        text += heard + "<|im_end|>\n<|im_start|>assistant\n"
        prompt = chat.tokenizer(text, add_special_tokens=False).input_ids
        ids = chat.tokenizer(reply + "<|im_end|>", add_special_tokens=False).input_ids
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([prompt + ids])).logits[0].double()
        logprobs = logits.log_softmax(-1)
        found = [logprobs[len(prompt) + n - 1, token].item() for n, token in enumerate(ids)]
        means.append(sum(found) / len(found))
        text += reply + "<|im_end|>\n<|im_start|>user\n"
    return means


def test_held_out_dialogues_are_scored_and_the_best_one_is_chosen(
    chat, byte_model, dialogue, make_scorer
):
    critic, reference = byte_model(1).eval(), byte_model(0).eval()
    replies = [("Late?", "def f(): 0"), ("No?", "Why?", "Ah"), ("def f(): 1",), ("Late?", "x")]
    rewards = (0.25, 1.0, 0.0, 0.5)
    held_out = [
        dialogue(f"d{n}", each, HEARD[: len(each)], reward=reward)
        for n, (each, reward) in enumerate(zip(replies, rewards, strict=True))
    ]
    limits = {"privileged": "preamble", "max_length": 900}
    sides, report = side_examples(held_out, chat, "turn-mean", **limits)
    assert (report.taken, report.dropped) == (4, {})
    pair = Pair(chosen=held_out[1], rejected=held_out[2])
    ((paired,), _) = pair_examples([pair], chat, "turn-mean", **limits)
    assert [paired.chosen, paired.rejected] == sides[1:3]
    scores = score_sides(
        sides,
        critic=make_scorer(critic, "critic"),
        reference=make_scorer(reference, "reference"),
        budget=2000,
    )
    expected = [
        sum(turn_means(critic, chat, each)) - sum(turn_means(reference, chat, each))
        for each in held_out
    ]
    assert scores == pytest.approx(expected, abs=1e-5)

    curve = of_dialogues(held_out, dict(zip((each.id for each in held_out), scores, strict=True)))
    best = rewards[max(range(4), key=lambda n: expected[n])]
    assert [each.reward.mean for each in curve.curve][::2] == pytest.approx(
        [sum(rewards) / 4, best]
    )

    longest = max(side.tokens for side in sides)
    kept, report = side_examples(
        held_out, chat, "sum", privileged="preamble", max_length=longest - 1
    )
    assert len(kept) == 3
    assert report.dropped == {f"longer than {longest - 1} tokens": 1}
    with pytest.raises(DataError, match="none of 4 dialogues remains"):
        side_examples(held_out, chat, "sum", max_length=3)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_preference_compares_scores_of_questions_and_the_right_answer(
    seed, chat, byte_model, dialogue, make_scorer
):
    task = Task(
        id="late",
        domain="backend",
        request="Write it.",
        hidden=Hidden(
            reference="def late(days): return 0",
            facts=(Fact(name="late", topics=("late",), statement=FACT),),
        ),
    )
    critic, reference = byte_model(seed).eval(), byte_model(0).eval()
    known = dialogue("known", ("Late?", "def f(): 0"), HEARD[:2], task_hash=task.hash)
    others = [
        dialogue(name, (name, "x"), ("Write it.", "No."), task_hash=task.hash)
        for name in ("Why?", "And so?")
    ]
    states = known_states([known, *others], {task.hash: task})
    scored = score_candidates(
        states,
        chat,
        "critic",
        critic=make_scorer(critic, "critic"),
        reference=make_scorer(reference, "reference"),
        budget=2000,
        max_length=900,
    )

    def advantage(reply):
        said = dialogue("x", ("Late?", reply), HEARD[:2])
        return turn_means(critic, chat, said)[1] - turn_means(reference, chat, said)[1]

    answer = advantage(f"{ANSWER_MARKER}\ndef late(days): return 0")
    questions = [advantage(each.id) for each in others]
    found = preference(scored)
    assert found.answer == pytest.approx(answer, abs=1e-5)
    assert found.question == pytest.approx(sum(questions) / 2, abs=1e-5)
    assert found.mean.mean == float(sum(questions) / 2 > answer)
    assert found.best.mean == float(max(questions) > answer)
    assert (found.states, found.tasks) == (1, 1)
