"""The model agent: its prompt, its sampling, its seeds."""

from __future__ import annotations

import io
from contextlib import asynccontextmanager

import pytest
from PIL import Image

from colbench.errors import UserError
from colbench.interfaces import Episode, StatefulAgent
from colbench.messages import Message
from colbench.models.scripted_server import ScriptedServer
from colbench_agents.model import ModelAgent

REQUEST = [Message(role="user", content="def f(x)")]


def png(color):
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), color).save(buffer, "PNG")
    return buffer.getvalue()


OLD, NEW = png("red"), png("blue")


@asynccontextmanager
async def speaking(episode_seed=5, domain="backend", **options):
    episode = Episode(id="e", seed=episode_seed, max_turns=7, domain=domain)
    async with ScriptedServer(lambda _: "what?") as server:
        async with ModelAgent(f"scripted@{server.base_url}", **options) as agent:
            async with agent.open(episode) as speaker:
                yield speaker, server.requests


async def test_sampling_is_as_in_the_paper_and_the_prompt_states_the_turn_limit():
    async with speaking(max_tokens=1024) as (speaker, requests):
        reply = await speaker.reply(REQUEST)
    assert reply.content == "what?"
    assert (requests[0]["temperature"], requests[0]["max_tokens"]) == (1.0, 1024)
    system, user = requests[0]["messages"]
    assert "You have 7 messages in all" in system["content"]
    assert user == {"role": "user", "content": "def f(x)"}


async def test_tokens_are_recorded_only_if_the_episode_asks_for_them():
    async with ScriptedServer(lambda _: "what?") as server:
        async with ModelAgent(f"scripted@{server.base_url}") as agent:
            for record in (False, True):
                episode = Episode(id="e", seed=1, max_turns=7, record_tokens=record)
                async with agent.open(episode) as speaker:
                    reply = await speaker.reply(REQUEST)
                assert bool(reply.sampled) == record
                assert ("return_token_ids" in server.requests[-1]) == record


async def test_seeds_differ_by_turn_and_repeat_for_the_same_episode_seed():
    async def seeds(seed):
        async with speaking(seed) as (speaker, requests):
            await speaker.reply(REQUEST)
            await speaker.reply(REQUEST * 3)
        return [request["seed"] for request in requests]

    first = await seeds(5)
    assert first[0] != first[1]
    assert await seeds(5) == first
    assert set(await seeds(6)).isdisjoint(first)


async def test_no_seed_is_sent_with_seed_false():
    async with speaking(seed=False) as (speaker, requests):
        await speaker.reply(REQUEST)
    assert "seed" not in requests[0]


async def test_the_single_turn_prompt_rules_out_questions():
    async with speaking(single_turn=True) as (speaker, requests):
        await speaker.reply(REQUEST)
    assert "You cannot ask anything" in requests[0]["messages"][0]["content"]


async def test_a_custom_prompt_is_used_and_recorded(tmp_path):
    file = tmp_path / "prompt.txt"
    file.write_text("Be brief. {max_turns} turns. {dialogue_history}")
    async with speaking(prompt=str(file)) as (speaker, requests):
        await speaker.reply(REQUEST)
    assert requests[0]["messages"][0]["content"] == "Be brief. 7 turns. {dialogue_history}"
    own, builtin = ModelAgent("m@http://h/v1", prompt=str(file)), ModelAgent("m@http://h/v1")
    assert own.describe_domain("backend") != builtin.describe_domain("backend")
    assert own.describe()["model"] == "m"


async def test_the_frontend_prompt_asks_for_pages_and_explains_how_to_answer():
    async with speaking(domain="frontend", max_tokens=3000) as (speaker, requests):
        await speaker.reply(REQUEST)
    told = requests[0]["messages"][0]["content"]
    assert "tailwindcss@2.2.19/dist/tailwind.min.css" in told
    assert "https://picsum.photos/id/48/" in told
    assert "You have 7 messages in all" in told
    assert "I WANT TO ANSWER:" in told
    assert "Python" not in told
    assert requests[0]["max_tokens"] == 3000


async def test_the_single_turn_frontend_prompt_rules_out_questions():
    async with speaking(domain="frontend", single_turn=True) as (speaker, requests):
        await speaker.reply(REQUEST)
    told = requests[0]["messages"][0]["content"]
    assert "You cannot ask anything" in told
    assert "</html>" in told


def said(role, *pictures):
    return Message(role=role, content=f"{len(pictures)}", images=pictures)


@pytest.mark.parametrize(
    ("pictures", "kept"),
    [
        ([OLD, NEW], [0, 0, 1]),
        ([OLD, None], [0, 1, 0]),
        ([None, None], [0, 0, 0]),
    ],
)
async def test_a_model_that_accepts_images_is_shown_only_its_newest_page(pictures, kept):
    dialogue = [*REQUEST]
    for picture in pictures:
        dialogue += [said("assistant"), said("user", *([picture] if picture else []))]
    async with speaking(domain="frontend", pictures=True) as (speaker, requests):
        assert speaker.accepts_images
        await speaker.reply(dialogue)
    system, *sent = requests[0]["messages"]
    shown = [0 if isinstance(m["content"], str) else 1 for m in sent if m["role"] == "user"]
    assert shown == kept
    assert "it is not the page that they have in mind" in system["content"]


async def test_a_text_model_accepts_no_images_and_its_prompt_mentions_none():
    async with speaking(domain="frontend") as (speaker, requests):
        assert not speaker.accepts_images
        await speaker.reply(REQUEST)
    assert "your own newest page" not in requests[0]["messages"][0]["content"]


def test_the_pictures_option_changes_only_the_frontend_description():
    blind, sees = (ModelAgent("m@http://h/v1", pictures=pictures) for pictures in (False, True))
    assert blind.describe() == sees.describe()
    assert blind.describe_domain("backend") == sees.describe_domain("backend")
    assert blind.describe_domain("frontend") != sees.describe_domain("frontend")
    assert blind.describe_domain("frontend").keys() == {"prompt", "max_image_edge"}


def test_an_unreadable_prompt_file_is_named():
    with pytest.raises(UserError, match="--agent-prompt: none.txt cannot be read"):
        ModelAgent("m@http://h/v1", prompt="none.txt")


def test_the_model_agent_is_a_stateful_agent():
    assert isinstance(ModelAgent("m@http://h/v1"), StatefulAgent)
