"""The designer in dialogues: a page each turn, committed at the end; the guesser; the blank agent."""

from __future__ import annotations

from collections.abc import Sequence

from colbench.dialogue import read_move
from colbench.interfaces import Agent, Episode, StatefulAgent
from colbench.messages import Message
from colbench.pages.extract import extract_page
from colbench_agents.blank import Blank
from colbench_agents.designer import Designer
from colbench_agents.guesser import Guesser

REQUEST = "Travel Agency: A modern design with a large image, a call-to-action button and a footer."
CONTENT = "That is what I have in mind."


async def play(
    agent: StatefulAgent, said: Sequence[str], *, max_turns: int = 10, request: str = REQUEST
) -> list[str]:
    """Return the agent's replies to a request and to what is said after each, at most `max_turns`."""
    episode = Episode(id="1", seed=1, max_turns=max_turns, domain="frontend")
    dialogue = [Message(role="user", content=request)]
    replies: list[str] = []
    async with agent.open(episode) as own:
        for words in [*said, ""][:max_turns]:
            replies.append(await answer(own, dialogue))
            dialogue += [
                Message(role="assistant", content=replies[-1]),
                Message(role="user", content=words),
            ]
    return replies


async def answer(agent: Agent, dialogue: Sequence[Message]) -> str:
    reply = await agent.reply(tuple(dialogue))
    return reply if isinstance(reply, str) else reply.content


async def test_each_turn_shows_a_page_and_the_last_commits_it() -> None:
    replies = await play(Designer(), ["Hm."] * 9)
    moves = [read_move(reply) for reply in replies]
    assert len(moves) == 10
    assert all(move.answer is None and extract_page(move.said) for move in moves[:-1])
    assert extract_page(moves[-1].answer or "") == extract_page(moves[0].said)


async def test_a_satisfied_human_gets_the_page_that_they_saw() -> None:
    shown, committed = await play(Designer(), [CONTENT])
    assert extract_page(read_move(committed).answer or "") == extract_page(shown)


async def test_a_new_designer_resumes_a_dialogue_at_any_turn_with_the_same_reply() -> None:
    said = [
        'The heading "Travel Agency" should be blue.',
        "The page should be about 900 pixels tall.",
    ]
    dialogue = [Message(role="user", content=REQUEST)]
    whole = await play(Designer(), said)
    assert len(set(whole)) == 3
    episode = Episode(id="2", seed=2, max_turns=10, domain="frontend")
    for reply, words in zip(whole, [*said, ""], strict=True):
        async with Designer().open(episode) as fresh:
            assert await answer(fresh, dialogue) == reply
        dialogue += [Message(role="assistant", content=reply), Message(role="user", content=words)]


async def test_the_guesser_commits_the_first_page_or_guesses_a_function() -> None:
    (guess,) = await play(Guesser(), [])
    first, *_ = await play(Designer(), ["Hm."])
    assert extract_page(read_move(guess).answer or "") == extract_page(first)
    episode = Episode(id="1", seed=1, max_turns=10)
    async with Guesser().open(episode) as backend:
        code = await answer(backend, [Message(role="user", content="Add. def add(a, b)")])
    assert "def add(" in (read_move(code).answer or "")


async def test_the_blank_agent_answers_without_a_page() -> None:
    move = read_move(await answer(Blank(), [Message(role="user", content=REQUEST)]))
    assert move.answer == ""
    assert extract_page(move.answer) is None
