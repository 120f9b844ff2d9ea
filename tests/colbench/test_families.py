"""The chat client with scripted doubles of model families: what it learns, and what can be set."""

from __future__ import annotations

import pytest

from colbench.errors import UserError
from colbench.messages import Message, split_thoughts
from colbench.models.dialect import Suggested
from colbench.models.fault_server import QUESTION, FaultServer
from colbench.models.faults import THOUGHT
from colbench.models.openai_chat import OpenAIChat

HELLO = [Message(role="user", content="hello there")]
NO_LIMIT = "it rejects `max_tokens`"
SUGGESTED = Suggested(256)
THINKS = "it reasons before it replies"


@pytest.fixture(params=["openai", "aiohttp"])
def client(request):
    return request.param


async def asked(name, client, max_tokens=SUGGESTED, **fields):
    """Return the reply of a double, what was learned, and the requests."""
    async with FaultServer() as server:
        async with OpenAIChat(f"{name}@{server.base_url}", client=client, **fields) as chat:
            reply = await chat.chat(HELLO, temperature=0.0, max_tokens=max_tokens, seed=1)
            return reply, chat.learned(), server.requests


@pytest.mark.parametrize(
    ("name", "learned", "requests"),
    [
        ("o-series", ["it rejects `temperature`, so this field is not sent", NO_LIMIT, THINKS], 4),
        ("gpt-5", ["it rejects `temperature`, so this field is not sent", NO_LIMIT, THINKS], 4),
        ("qwen3", [THINKS], 2),
        ("r1", [THINKS], 1),
        ("r1-api", [THINKS], 2),
    ],
)
async def test_a_thinking_model_is_recognized_and_gets_enough_tokens(
    name, learned, requests, client
):
    reply, found, sent = await asked(name, client)
    assert split_thoughts(reply.content)[1] == QUESTION
    assert found == learned
    assert len(sent) == requests


@pytest.mark.parametrize("name", ["o-series", "gpt-5", "qwen3", "r1-api"])
async def test_a_user_set_token_limit_is_kept_even_if_only_thoughts_fit(name, client):
    reply, _, sent = await asked(name, client, max_tokens=1024)
    assert split_thoughts(reply.content)[1] == ""
    assert reply.delivery
    assert reply.delivery.cut
    assert {1024} == {body.get("max_completion_tokens") or body["max_tokens"] for body in sent}


async def test_tokens_of_hidden_thoughts_are_counted(client):
    reply, _, _ = await asked("o-series", client)
    assert reply.thoughts == ""
    assert reply.usage
    assert reply.usage.completion_tokens > 1200


async def test_thoughts_are_found_in_the_content_or_in_their_own_field(client):
    for name in ("qwen3", "r1", "r1-api"):
        reply, _, _ = await asked(name, client)
        assert THOUGHT in (split_thoughts(reply.content)[0] or reply.thoughts)


async def test_reasoning_effort_and_template_arguments_turn_thinking_off(client):
    reply, _, sent = await asked("gpt-5", client, reasoning_effort="minimal")
    assert reply.content == QUESTION
    assert sent[-1]["reasoning_effort"] == "minimal"
    reply, learned, _ = await asked(
        "qwen3", client, chat_template_kwargs='{"enable_thinking": false}'
    )
    assert (reply.content, learned) == (QUESTION, [])
    with pytest.raises(UserError, match="rejects the field `reasoning_effort`"):
        await asked("gpt-5", client, reasoning_effort="extreme")
