"""Dialogues about pages: which page is the answer, and which agents receive pictures."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from colbench.clock import Clock
from colbench.dialogue import play
from colbench.errors import RenderError
from colbench.messages import Message
from colbench.rollout import Followed, Rollout, Turn
from colbench.runner import score_rollout
from colbench.score import Score
from colbench.scorers import FunctionScorer, with_extras
from colbench.task import Hidden, Task

TASK = Task(
    id="p", domain="frontend", request="a shop", hidden=Hidden(reference="<html><p>x</p></html>")
)
FIRST = "Here: <html><p>one</p></html>"
SECOND = "Better: ```html\n<html><p>two</p></html>\n```"


class ScriptedAgent:
    """An agent that gives its replies in order and keeps the pictures it receives."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.images = []

    async def reply(self, dialogue):
        self.images = [message.images for message in dialogue]
        return self.replies.pop(0)


class SeeingAgent(ScriptedAgent):
    accepts_images = True


class PictureHuman:
    """A human that sends a picture with every reply."""

    async def respond(self, task, dialogue):
        return Message(role="user", content="bluer", images=(b"png",))


async def talk(agent, max_turns=10):
    turns = []
    clock = Clock(5)
    return await play(
        TASK, agent, PictureHuman(), max_turns=max_turns, clock=clock, turns=turns
    ), turns


@pytest.mark.parametrize(
    ("replies", "answer"),
    [
        ((FIRST, f"I WANT TO ANSWER: {SECOND}"), SECOND),
        ((FIRST, "Done. I WANT TO ANSWER:"), FIRST),
        ((FIRST, SECOND, "I WANT TO ANSWER: the page above"), SECOND),
        ((FIRST, f"{SECOND} I WANT TO ANSWER: this one"), SECOND),
        (("What colour?", "I WANT TO ANSWER: a blue one"), "a blue one"),
    ],
)
async def test_the_last_page_shown_is_the_answer(replies, answer):
    ending, _ = await talk(ScriptedAgent(*replies))
    assert (ending.answer, ending.ended_by) == (answer, "answer")


async def test_the_last_page_shown_is_the_answer_at_the_turn_limit():
    ending, _ = await talk(ScriptedAgent(FIRST, "And now?"), max_turns=2)
    assert (ending.answer, ending.ended_by) == (FIRST, "limit")


async def test_the_answer_to_a_backend_task_is_never_an_earlier_page():
    backend = Task(
        id="b", domain="backend", request="f", hidden=Hidden(reference="x", tests=("f()",))
    )
    clock = Clock(5)
    agent = ScriptedAgent(FIRST, "I WANT TO ANSWER: none")
    ending = await play(backend, agent, PictureHuman(), max_turns=9, clock=clock, turns=[])
    assert ending.answer == "none"


async def test_only_an_agent_that_accepts_images_receives_them():
    blind, seeing = (
        ScriptedAgent(FIRST, "I WANT TO ANSWER:"),
        SeeingAgent(FIRST, "I WANT TO ANSWER:"),
    )
    await talk(blind)
    await talk(seeing)
    assert blind.images == [(), (), ()]
    assert seeing.images == [(), (), (b"png",)]


class Judge:
    """A scorer that counts the characters of a page."""

    def __init__(self, error=None):
        self.error = error

    async def score(self, task, answer):
        if self.error:
            raise self.error
        return {"default": Score(scorer="letters", value=len(answer), success=None)}

    async def score_turn(self, task, said):
        return Score(scorer="letters", value=len(said), success=None) if "<html" in said else None


def rollout(answer):
    said = (FIRST, "What colour?", "Done.")
    return Rollout(
        key="k",
        task_id="p",
        task_hash="h",
        domain="frontend",
        trial=0,
        seed=0,
        request="r",
        turns=tuple(Turn(raw=text, said=text) for text in said),
        answer=answer,
        ended_by="answer",
    )


async def test_each_turn_with_a_page_is_scored_and_the_last_turn_by_the_answer():
    scored = await score_rollout(Judge(), TASK, rollout(SECOND), SECOND)
    values = [turn.score and turn.score.value for turn in scored.turns]
    assert values == [len(FIRST), None, len(SECOND)]
    assert scored.scores["default"].value == len(SECOND)


async def test_a_render_failure_leaves_the_dialogue_unscored():
    scored = await score_rollout(Judge(RenderError("gone")), TASK, rollout(SECOND), SECOND)
    assert (scored.scores, scored.failure.boundary, scored.settled) == ({}, "render", False)


class FollowingJudge(Judge):
    """A judge that counts each word of a reply as a difference that was pointed out and then fixed."""

    async def score_replies(self, task, shown, replies):
        assert len(shown) == len(replies)
        return [reply and Followed(fixed=len(reply.split())) for reply in replies]


async def test_each_turn_records_how_many_named_differences_were_fixed():
    talked = rollout(SECOND)
    turns = tuple(
        replace(turn, human=human)
        for turn, human in zip(talked.turns, ("Darker.", "Larger text.", None), strict=True)
    )
    longer = FunctionScorer("longer", lambda task, answer: len(answer) + 1)
    for judge in (FollowingJudge(), with_extras(FollowingJudge(), [longer])):
        scored = await score_rollout(judge, TASK, replace(talked, turns=turns), SECOND)
        followed = [turn.followed for turn in scored.turns]
        assert followed == [Followed(fixed=1), Followed(fixed=2), None]
        assert scored.followed == Followed(fixed=3)
    assert (await score_rollout(Judge(), TASK, talked, SECOND)).followed is None
