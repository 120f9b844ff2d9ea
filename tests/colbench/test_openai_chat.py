"""The chat client against the local server that ships, well-behaved and not."""

from __future__ import annotations

import asyncio
import math

import msgspec
import pytest
from openai import AsyncOpenAI

from colbench.errors import EndpointError, UserError
from colbench.messages import Message, Usage
from colbench.models.openai_chat import OpenAIChat, RequestRefusedError, parse_spec
from colbench.models.scripted_server import Fault, ScriptedServer, completion, with_tokens

HELLO = [Message(role="user", content="hello there")]


def echo(messages):
    return f"you said: {messages[-1].content}"


async def ask(chat: OpenAIChat) -> Message:
    return await chat.chat(HELLO, temperature=0.5, max_tokens=7, seed=3)


async def test_a_reply_comes_with_its_usage_and_the_request_holds_the_sampling_options():
    async with ScriptedServer(echo) as server:
        async with OpenAIChat(f"scripted@{server.base_url}") as chat:
            reply = await ask(chat)
    assert reply == Message(
        role="assistant",
        content="you said: hello there",
        usage=Usage(prompt_tokens=2, completion_tokens=4, requests=1),
    )
    assert server.requests == [
        {
            "model": "scripted",
            "messages": [{"role": "user", "content": "hello there"}],
            "temperature": 0.5,
            "max_tokens": 7,
            "seed": 3,
        }
    ]


async def test_tokens_come_with_their_log_probabilities_when_asked_for():
    async with ScriptedServer(lambda _: "hé") as server:
        async with OpenAIChat(f"scripted@{server.base_url}") as chat:
            reply = await chat.chat(HELLO, temperature=1, max_tokens=7, seed=3, tokens=True)
    assert (server.requests[0]["logprobs"], server.requests[0]["return_token_ids"]) == (True, True)
    assert reply.sampled
    assert bytes(reply.sampled.prompt) == b"user: hello there"
    assert bytes(reply.sampled.ids) == "hé".encode() + b"\0"
    assert reply.sampled.logprobs == pytest.approx([math.log(1 / 256)] * 4)


@pytest.mark.parametrize(
    ("missing", "error", "words"),
    [
        ("prompt_token_ids", UserError, "returns no token ids.*--record-tokens"),
        ("token_ids", UserError, "returns no token ids.*--record-tokens"),
        ("logprobs", UserError, "returns no token ids.*--record-tokens"),
        ("a log-probability", EndpointError, "3 tokens, but 2 log-probabilities"),
    ],
)
async def test_a_server_that_returns_no_tokens_is_named(missing, error, words):
    answer = with_tokens(completion("scripted", HELLO, lambda _: "hi"), HELLO)
    choice = answer["choices"][0]
    if missing == "a log-probability":
        choice["logprobs"]["content"].pop()
    else:
        (answer if missing in answer else choice).pop(missing)
    body = msgspec.json.encode(answer).decode()
    async with ScriptedServer(echo, fault=lambda _: Fault(status=200, body=body)) as server:
        async with OpenAIChat(f"scripted@{server.base_url}") as chat:
            with pytest.raises(error, match=words):
                await chat.chat(HELLO, temperature=1, max_tokens=7, seed=3, tokens=True)


async def test_the_official_client_understands_the_server_that_ships():
    async with (
        ScriptedServer(echo) as server,
        AsyncOpenAI(base_url=server.base_url, api_key="none") as client,
    ):
        completion = await client.chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": "hi"}]
        )
    assert completion.choices[0].message.content == "you said: hi"
    assert completion.usage.total_tokens == 4


async def test_overload_is_retried_and_lowers_the_limit():
    def fault(n):
        return Fault(status=429, headers={"Retry-After": "0.05"}) if n <= 2 else None

    async with ScriptedServer(echo, fault=fault) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", concurrency=8) as chat:
            reply = await ask(chat)
            assert 4 <= chat.limit.allowed < 5
    assert reply.content == "you said: hello there"
    assert len(server.requests) == 3


async def test_of_requests_that_arrive_together_each_is_counted_as_one():
    def fault(n):
        return Fault(status=400, body="no") if n == 1 else None

    async with ScriptedServer(echo, delay=0.2, fault=fault) as server:
        async with OpenAIChat(f"scripted@{server.base_url}") as chat:
            said = await asyncio.gather(ask(chat), ask(chat), return_exceptions=True)
    assert [type(each) for each in said].count(EndpointError) == 1


@pytest.mark.parametrize("fault", [Fault(status=503, body="busy"), Fault(status=0)])
async def test_a_server_that_never_answers_is_named_with_the_number_of_tries(fault):
    async with ScriptedServer(echo, fault=lambda n: fault) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", retries=1) as chat:
            with pytest.raises(EndpointError, match=r"/chat/completions: tried 2 times, last: "):
                await ask(chat)


async def test_a_slow_server_runs_into_the_timeout():
    async with ScriptedServer(echo, delay=0.5) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", retries=0, timeout=0.1) as chat:
            with pytest.raises(EndpointError, match=r"tried once, last: no answer within 0.1 s"):
                await ask(chat)


async def test_nobody_listening_is_the_users_mistake_with_url_and_tries():
    with pytest.raises(UserError, match=r"http://127.0.0.1:9/v1/models: tried 3 times"):
        async with OpenAIChat("any@http://127.0.0.1:9/v1"):
            pass


async def test_an_unknown_model_is_refused_with_the_models_the_server_has():
    async with ScriptedServer(echo, model="llama") as server:
        with pytest.raises(UserError, match="has no model `gpt`; it has: llama"):
            async with OpenAIChat(f"gpt@{server.base_url}"):
                pass


async def test_a_dialogue_longer_than_the_context_is_the_askers_failure_not_the_servers():
    fault = Fault(status=400, body="This model's maximum context length is 8 tokens")
    async with ScriptedServer(echo, fault=lambda n: fault) as server:
        async with OpenAIChat(f"scripted@{server.base_url}") as chat:
            with pytest.raises(RequestRefusedError, match="maximum context length"):
                await ask(chat)


async def test_a_refused_key_stops_the_run_as_the_users_mistake():
    async with ScriptedServer(echo, fault=lambda n: Fault(status=401, body="bad key")) as server:
        async with OpenAIChat(f"scripted@{server.base_url}") as chat:
            with pytest.raises(UserError, match="refuses the key"):
                await ask(chat)


async def test_an_answer_that_is_no_completion_is_the_servers_failure():
    async with ScriptedServer(echo, fault=lambda n: Fault(status=200, body="<html>")) as server:
        async with OpenAIChat(f"scripted@{server.base_url}") as chat:
            with pytest.raises(EndpointError, match="no chat completion"):
                await ask(chat)


def test_a_spec_is_a_model_and_an_optional_address(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert parse_spec("gpt-4o") == ("gpt-4o", "https://api.openai.com/v1")
    assert parse_spec("org/llama@http://h:1/v1/") == ("org/llama", "http://h:1/v1")
    with pytest.raises(UserError, match="names no model"):
        parse_spec("@http://h:1/v1")


def test_openais_key_is_never_sent_to_another_server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert OpenAIChat("m@http://elsewhere:1/v1")._key is None
    assert OpenAIChat("m")._key == "secret"
    monkeypatch.setenv("OTHER", "other")
    assert OpenAIChat("m@http://elsewhere:1/v1", api_key_env="OTHER")._key == "other"


def test_a_missing_key_names_the_variable(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UserError, match="set the environment variable OPENAI_API_KEY"):
        OpenAIChat("gpt-4o")
