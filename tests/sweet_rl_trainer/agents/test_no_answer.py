"""A chat model that gives no answer."""

from __future__ import annotations

import asyncio

from colbench.messages import Message, Sampled, Usage
from sweet_rl_trainer.agents.no_answer import DRAWS, NoAnswerModel

DIALOGUE = [Message(role="user", content="I need a function.")]


class Says:
    """A chat model that gives a list of replies in order."""

    def __init__(self, *words):
        self._words = list(words)
        self.seeds = []

    async def chat(self, messages, *, temperature, max_tokens, seed, tokens=False):
        self.seeds.append(seed)
        return Message(
            role="assistant",
            content=self._words.pop(0),
            usage=Usage(prompt_tokens=5, completion_tokens=2, requests=1),
            sampled=Sampled(prompt=(1,), ids=(len(self._words),), logprobs=()),
        )


def said(model, seed=0):
    return asyncio.run(
        NoAnswerModel(model).chat(DIALOGUE, temperature=1.0, max_tokens=12, seed=seed)
    )


def test_the_first_draw_that_is_not_an_answer_is_returned_with_its_own_tokens():
    model = Says("I WANT TO ANSWER: 1", "So. I WANT TO ANSWER: 2", "What is the rate?", "And?")
    reply = said(model)
    assert reply.content == "What is the rate?"
    assert reply.sampled.ids == (1,)
    assert reply.usage == Usage(prompt_tokens=15, completion_tokens=6, requests=3)


def test_draws_have_different_seeds_derived_from_the_dialogues_seed():
    one, same, other = (Says(*["I WANT TO ANSWER: 1"] * DRAWS) for _ in range(3))
    assert said(one).content == "I WANT TO ANSWER: 1"
    said(same)
    said(other, seed=1)
    assert len({*one.seeds, *other.seeds}) == 2 * DRAWS
    assert one.seeds == same.seeds
