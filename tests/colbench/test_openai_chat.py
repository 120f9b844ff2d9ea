"""The chat client with each of its two HTTP clients, tested with the packaged local server, with and without faults."""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
import time
from email.utils import formatdate

import msgspec
import pytest
from openai import AsyncOpenAI

from colbench.errors import EndpointError, TooLongError, UserError
from colbench.messages import Delivery, Message, Usage
from colbench.models.address import api_key_for, azure_endpoint, parse_spec
from colbench.models.dialect import RESERVED, Suggested
from colbench.models.load import holds_up
from colbench.models.openai_chat import OpenAIChat
from colbench.models.scripted_server import Fault, ScriptedServer, completion, with_tokens
from colbench.models.servers import current_servers

HELLO = [Message(role="user", content="hello there")]
AZURE_VARIABLES = ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "OPENAI_API_VERSION")


def echo(messages):
    return f"you said: {messages[-1].content}"


@pytest.fixture(params=["openai", "aiohttp"])
def client(request):
    return request.param


async def ask(chat: OpenAIChat, **options) -> Message:
    return await chat.chat(HELLO, **{"temperature": 0.5, "max_tokens": 7, "seed": 3} | options)


def first(count, fault):
    """Return a function that gives a fault for each of the first `count` requests."""
    return lambda n: fault if n <= count else None


@pytest.fixture
async def impatient():
    """Limit the patience to a tenth of a second."""
    servers = current_servers()
    servers.patience, before = 0.1, servers.patience
    yield
    servers.patience = before


async def test_a_reply_comes_with_its_usage_and_the_request_holds_the_sampling_options(client):
    async with ScriptedServer(echo) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            reply = await ask(chat)
    assert reply.delivery
    assert reply.delivery.waited < 1
    assert msgspec.structs.replace(reply, delivery=None) == Message(
        role="assistant",
        content="you said: hello there",
        usage=Usage(prompt_tokens=2, completion_tokens=4, requests=1),
    )
    assert (reply.delivery.finish_reason, reply.delivery.request_id) == (
        "stop",
        "chatcmpl-scripted",
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


async def test_requested_tokens_come_with_their_log_probabilities(client):
    async with ScriptedServer(lambda _: "hé") as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client, retries=0) as chat:
            reply = await chat.chat(HELLO, temperature=1, max_tokens=7, seed=3, tokens=True)
    assert (server.requests[0]["logprobs"], server.requests[0]["return_token_ids"]) == (True, True)
    assert reply.sampled
    assert bytes(reply.sampled.prompt) == b"user: hello there"
    assert bytes(reply.sampled.ids) == "hé".encode() + b"\0"
    assert reply.sampled.logprobs == pytest.approx([math.log(1 / 256)] * 4)


@pytest.mark.parametrize(
    ("missing", "error", "words"),
    [
        ("prompt_token_ids", UserError, "does not return the token IDs.*--record-tokens"),
        ("token_ids", UserError, "does not return the token IDs.*--record-tokens"),
        ("logprobs", UserError, "does not return the token IDs.*--record-tokens"),
        ("a log-probability", EndpointError, "3 tokens, but 2 log-probabilities"),
        ("NaN", EndpointError, "a log-probability that is not a finite number"),
    ],
)
async def test_a_server_that_omits_tokens_or_log_probabilities_is_reported(
    missing, error, words, client
):
    answer = with_tokens(completion("scripted", HELLO, lambda _: "hi"), HELLO)
    choice = answer["choices"][0]
    if missing == "a log-probability":
        choice["logprobs"]["content"].pop()
    elif missing == "NaN":
        choice["logprobs"]["content"][0]["logprob"] = math.nan
    else:
        (answer if missing in answer else choice).pop(missing)
    body = json.dumps(answer)
    async with ScriptedServer(echo, fault=lambda _: Fault(status=200, body=body)) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client, retries=0) as chat:
            with pytest.raises(error, match=words):
                await chat.chat(HELLO, temperature=1, max_tokens=7, seed=3, tokens=True)


async def test_the_openai_package_understands_the_packaged_server():
    async with (
        ScriptedServer(echo) as server,
        AsyncOpenAI(base_url=server.base_url, api_key="none") as client,
    ):
        completion = await client.chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": "hi"}]
        )
    assert completion.choices[0].message.content == "you said: hi"
    assert completion.usage.total_tokens == 4


async def test_overload_cuts_the_limit_and_uses_up_no_retries(client):
    fault = first(3, Fault(status=429, headers={"Retry-After": "0.05"}))
    async with ScriptedServer(echo, fault=fault) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", retries=0, client=client) as chat:
            reply = await ask(chat)
            assert chat._connections[0].server.limit.cuts == 3
    assert reply.content == "you said: hello there"
    assert reply.delivery
    assert (reply.delivery.retries, len(server.requests)) == (3, 4)
    assert reply.delivery.waited >= 0.15


async def test_overload_reported_with_status_200_cuts_the_limit(client):
    body = '{"error": {"code": 429, "message": "busy"}}'
    fault = first(1, Fault(body=body, headers={"Retry-After": "0.3"}))
    async with ScriptedServer(echo, fault=fault) as server:
        spec = f"scripted@{server.base_url}"
        async with OpenAIChat(spec, retries=0, concurrency=8, client=client) as chat:
            reply = await ask(chat)
            assert chat._connections[0].server.limit.cuts == 1
    assert reply.delivery
    assert reply.delivery.waited >= 0.3


async def test_agent_and_human_share_the_limit_of_their_server(client):
    async with ScriptedServer(echo) as server:
        spec = f"scripted@{server.base_url}"
        async with (
            OpenAIChat(spec, concurrency=8, client=client) as agent,
            OpenAIChat(spec, concurrency=3) as human,
        ):
            limits = [each._connections[0].server.limit for each in (agent, human)]
            assert limits[0] is limits[1]
            assert limits[0].maximum == 3
    assert not current_servers()._by_url


@pytest.mark.parametrize("status", [429, 502, 503, 504, 529])
async def test_a_server_that_refuses_beyond_the_patience_is_an_endpoint_error(
    status, client, impatient
):
    async with ScriptedServer(echo, fault=lambda _: Fault(status=status, body="busy")) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            with pytest.raises(
                EndpointError, match=rf"refused requests for 0.1 s.*HTTP {status}: busy"
            ) as error:
                await ask(chat)
    assert error.value.kind in {"overload", "server_error"}


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(status=500, body="oops"), "server_error"),
        (Fault(status=0), "connection"),
        (Fault(status=200, body="<html>"), "malformed"),
        (Fault(status=204), "malformed"),
        (Fault(sent="half"), "connection"),
        (Fault(status=200, body='{"choices": []}'), "malformed"),
        (Fault(status=200, body='{"choices": [{"mess'), "malformed"),
        (Fault(status=200, body='{"error": {"message": "broken"}}'), "server_error"),
    ],
)
async def test_a_failed_request_is_repeated_and_the_last_failure_has_a_kind(fault, kind, client):
    async with ScriptedServer(echo, fault=lambda _: fault) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", retries=1, client=client) as chat:
            with pytest.raises(
                EndpointError, match="/chat/completions: tried 2 times; last error: "
            ) as error:
                await ask(chat)
    assert error.value.kind == kind
    async with ScriptedServer(echo, fault=first(1, fault)) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", retries=1, client=client) as chat:
            assert (await ask(chat)).content == "you said: hello there"


@pytest.mark.parametrize("status", [301, 401, 403, 404])
async def test_a_refused_key_or_address_is_a_user_error_only_before_the_first_reply(status, client):
    fault = Fault(status=status, body="no", headers={"Location": "http://elsewhere/"})
    async with ScriptedServer(echo, fault=first(1, fault)) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            with pytest.raises(UserError, match=f"HTTP {status}: no"):
                await ask(chat)
    async with ScriptedServer(echo, fault=lambda n: fault if n == 2 else None) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            await ask(chat)
            reply = await ask(chat)
    assert reply.delivery
    assert reply.delivery.retries == 1


async def test_a_refused_key_is_reported_with_the_flags_for_another_key(client):
    fault = Fault(status=401, body="no such key")
    async with ScriptedServer(echo, fault=lambda _: fault) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            words = r"pass --agent-arg api_key_env=NAME \(for the human, --human-arg\)"
            with pytest.raises(UserError, match=words):
                await ask(chat)


async def test_a_missing_model_is_a_user_error_even_if_another_client_succeeds(client):
    server = ScriptedServer(echo)
    fault = Fault(status=404, body="no such model", when=lambda body: body["model"] == "absent")
    server.fault = lambda _: fault
    async with server:
        root = server.base_url.replace("/v1", "/no-models/v1")
        async with (
            OpenAIChat(f"scripted@{root}", client=client) as other,
            OpenAIChat(f"absent@{root}", client=client, retries=1) as chat,
        ):
            await ask(other)
            with pytest.raises(UserError, match="does not have the model"):
                await ask(chat)


async def test_a_slow_server_runs_into_the_timeout(client):
    async with ScriptedServer(echo, delay=0.5) as server:
        spec = f"scripted@{server.base_url}"
        async with OpenAIChat(spec, retries=0, timeout=0.1, client=client) as chat:
            with pytest.raises(
                EndpointError, match=r"tried once; last error: no answer within 0.1 s"
            ) as error:
                await ask(chat)
    assert error.value.kind == "timeout"


async def test_an_address_without_a_server_is_a_user_error_with_url_and_tries(client):
    with pytest.raises(
        UserError, match=r"no model server answers at http://127.0.0.1:9/v1 \(tried 3"
    ):
        async with OpenAIChat("any@http://127.0.0.1:9/v1", client=client):
            pass


async def test_the_client_waits_at_the_start_for_a_busy_server(client):
    async with ScriptedServer(echo, models=Fault(sent="drip")) as server:
        chat = OpenAIChat(f"scripted@{server.base_url}", client=client, timeout=0.5)
        opening = asyncio.create_task(chat.__aenter__())
        await asyncio.sleep(3.3)
        (wait,) = current_servers().waits()
        server.models = None
        await opening
        await chat.__aexit__()
    assert "connected, but no answer within 0.5 s; the server may be busy" in str(wait)


async def test_a_server_that_stays_busy_beyond_the_patience_is_a_user_error(client, impatient):
    said = (
        r"/v1: connected, but no answer within 0.1 s \(--endpoint-patience\); if the server is busy"
    )
    async with ScriptedServer(echo, models=Fault(sent="drip")) as server:
        with pytest.raises(UserError, match=said):
            async with OpenAIChat(f"scripted@{server.base_url}", client=client, timeout=0.5):
                pass


async def test_the_client_waits_for_a_server_that_disappears_without_using_up_retries(client):
    async with ScriptedServer(echo) as server:
        port = server.port
        chat = OpenAIChat(f"scripted@{server.base_url}", retries=0, client=client)
        await chat.__aenter__()
    asked = [asyncio.create_task(ask(chat)) for _ in range(5)]
    await asyncio.sleep(2.5)
    assert re.search(r"unreachable for \d s: cannot connect", str(current_servers().waits()[0]))
    async with ScriptedServer(echo, port=port) as server:
        replies = await asyncio.gather(*asked)
        assert len(server.requests) == 5
    assert {reply.content for reply in replies} == {"you said: hello there"}
    await chat.__aexit__()


async def test_a_server_that_stays_away_beyond_the_patience_is_an_endpoint_error(client, impatient):
    async with ScriptedServer(echo) as server:
        chat = OpenAIChat(f"scripted@{server.base_url}", client=client)
        await chat.__aenter__()
    with pytest.raises(
        EndpointError, match=r"unreachable for 0.1 s \(--endpoint-patience\)"
    ) as error:
        await ask(chat)
    assert error.value.kind == "connection"
    await chat.__aexit__()


async def test_an_unreachable_server_is_skipped_if_another_is_reachable(client):
    async with ScriptedServer(echo) as first, ScriptedServer(echo) as second:
        spec = f"scripted@{first.base_url},{second.base_url}"
        async with OpenAIChat(spec, client=client) as chat:
            await second.__aexit__()
            asked = [Message(role="user", content=str(n)) for n in range(20)]
            replies = [
                await chat.chat([each], temperature=1, max_tokens=7, seed=n)
                for n, each in enumerate(asked)
            ]
    assert [reply.content for reply in replies] == [f"you said: {n}" for n in range(20)]


async def test_retry_after_may_be_a_date(client):
    when = formatdate(time.time() + 2, usegmt=True)
    fault = first(1, Fault(status=429, headers={"Retry-After": when}))
    async with ScriptedServer(echo, fault=fault) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            reply = await ask(chat)
    assert reply.delivery
    assert 0.5 < reply.delivery.waited < 4


async def test_an_unknown_model_is_refused_with_the_models_the_server_has(client):
    async with ScriptedServer(echo, model="llama") as server:
        with pytest.raises(UserError, match="has no model `gpt`; it has: llama"):
            async with OpenAIChat(f"gpt@{server.base_url}", client=client):
                pass


async def test_a_model_that_matches_a_listed_pattern_is_accepted(client):
    async with ScriptedServer(echo, model="openai/*") as server:
        async with OpenAIChat(f"openai/gpt@{server.base_url}", client=client) as chat:
            assert (await ask(chat)).content == "you said: hello there"


@pytest.mark.parametrize(
    ("listed", "model"),
    [
        ("openai/gpt-5.2", "openai/gpt-5.2:nitro"),
        ("llama3:latest", "llama3"),
        ("models/gemini-2.0-flash", "gemini-2.0-flash"),
    ],
)
async def test_a_model_may_have_another_valid_form_than_the_listed_one(listed, model, client):
    async with ScriptedServer(echo, model=listed) as server:
        async with OpenAIChat(f"{model}@{server.base_url}", client=client) as chat:
            assert (await ask(chat)).content == "you said: hello there"


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_a_server_that_refuses_only_the_list_of_models_works(status, client):
    refused = Fault(status=status, body="x-api-key header is required")
    async with ScriptedServer(echo, models=refused) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            assert (await ask(chat)).content == "you said: hello there"


async def test_the_client_waits_for_a_server_that_loads_its_model(client):
    async with ScriptedServer(echo, models=Fault(status=503, body="loading")) as server:
        chat = OpenAIChat(f"scripted@{server.base_url}", client=client)
        entering = asyncio.create_task(chat.__aenter__())
        await asyncio.sleep(0.3)
        server.models = None
        await entering
        assert (await ask(chat)).content == "you said: hello there"
        await chat.__aexit__()


async def test_a_server_that_disappears_while_loading_its_model_is_a_user_error(client):
    looks = asyncio.Semaphore(0)
    loading = Fault(status=503, body="loading", headers=lambda: looks.release() or {})
    async with ScriptedServer(echo, models=loading) as server:
        chat = OpenAIChat(f"scripted@{server.base_url}", client=client)
        entering = asyncio.create_task(chat.__aenter__())
        for _ in range(3):
            await looks.acquire()
    with pytest.raises(UserError, match=r"no model server answers at .* \(tried 3 times\)"):
        await asyncio.wait_for(entering, 20)


async def test_a_host_that_accepts_no_connections_counts_as_absent_not_busy(client, impatient):
    with socket.socket() as full, socket.socket() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting.connect(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        with pytest.raises(
            UserError, match=rf"no model server answers at {url} \(tried 3 times\): cannot connect"
        ):
            async with OpenAIChat(f"any@{url}", client=client, timeout=1):
                pass


async def test_an_address_without_v1_is_refused_with_the_right_url(client):
    async with ScriptedServer(echo) as server:
        root = server.base_url.removesuffix("/v1")
        with pytest.raises(UserError, match=f"is not the URL of the API; write {root}/v1$"):
            async with OpenAIChat(f"scripted@{root}", client=client):
                pass


@pytest.mark.parametrize("unlimited", [True, False])
async def test_a_dialogue_that_is_too_long_is_retried_without_a_token_limit(unlimited, client):
    fault = Fault(status=400, body="This model's maximum context length is 8 tokens")
    async with ScriptedServer(
        echo, fault=(lambda _: fault) if unlimited else first(1, fault)
    ) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            if unlimited:
                with pytest.raises(TooLongError, match="maximum context length"):
                    await ask(chat)
            else:
                assert (await ask(chat)).content == "you said: hello there"
    assert [request.get("max_tokens") for request in server.requests] == [7, None]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "This model's maximum prompt length is 131072 but the request contains 136973 tokens."),
        (400, "input length and `max_tokens` exceed context limit: 198000 + 4096 > 200000"),
        (400, "Input is too long for requested model."),
        (400, "Please reduce the length of the messages or completion."),
        (400, "Range of input length should be [1, 129024]"),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2019 `inputs` tokens"),
        (422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000"),
    ],
)  # fmt: skip
async def test_each_wording_of_a_dialogue_that_is_too_long_is_recognized(status, words, client):
    async with ScriptedServer(echo, fault=lambda _: Fault(status=status, body=words)) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            with pytest.raises(TooLongError):
                await ask(chat)


async def test_a_dialogue_reported_as_too_long_with_status_200_is_too_long(client):
    body = '{"error": {"message": "no room", "code": "context_length_exceeded"}}'
    async with ScriptedServer(echo, fault=lambda _: Fault(body=body)) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client, retries=0) as chat:
            with pytest.raises(TooLongError, match="no room"):
                await ask(chat)


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
async def test_a_token_limit_among_the_users_fields_is_the_limit(field, client):
    too_long = Fault(status=400, body="prompt is too long")
    async with ScriptedServer(echo, fault=lambda n: too_long if n > 1 else None) as server:
        spec, extra = f"scripted@{server.base_url}", f'{{"{field}": 50}}'
        async with OpenAIChat(spec, client=client, extra_body=extra) as chat:
            await ask(chat, max_tokens=Suggested(4096))
            with pytest.raises(TooLongError):
                await ask(chat)
    limits = [{name: n for name, n in sent.items() if "tokens" in name} for sent in server.requests]
    assert limits == [{field: 50}, {field: 50}, {}]


async def test_an_account_without_credit_is_a_user_error(client):
    fault = Fault(status=402, body="Insufficient credits")
    async with ScriptedServer(echo, fault=lambda n: fault if n > 1 else None) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            await ask(chat)
            with pytest.raises(UserError, match="no quota left .*Insufficient credits"):
                await ask(chat)


def refusal(name, code, message):
    error = {"message": message, "type": "invalid_request_error", "param": name, "code": code}
    return Fault(status=400, body=msgspec.json.encode({"error": error}).decode())


def picky(refuses):
    """Return a function of a server that gives a fault for each request with one of these fields."""

    def fault(server):
        def decide(n):
            body = server.requests[n - 1]
            return next((refuses[name] for name in refuses if name in body), None)

        return decide

    return fault


O3_REFUSALS = {
    "max_tokens": refusal(
        "max_tokens",
        "unsupported_parameter",
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
    ),
    "temperature": refusal(
        "temperature",
        "unsupported_value",
        "Unsupported value: 'temperature' does not support 0.5 with this model.",
    ),
}


async def test_fields_that_a_model_refuses_are_learned_once_and_reported(client):
    server = ScriptedServer(echo)
    server.fault = picky(O3_REFUSALS)(server)
    async with server, OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
        await ask(chat)
        assert len(server.requests) == 3
        await asyncio.gather(*(ask(chat) for _ in range(10)))
        assert len(server.requests) == 13
        assert chat.learned() == [
            "it rejects `temperature`, so this field is not sent",
            "it rejects `max_tokens`",
        ]
    assert server.requests[-1] == {
        "model": "scripted",
        "messages": [{"role": "user", "content": "hello there"}],
        "seed": 3,
        "max_completion_tokens": 7,
    }


async def test_a_suggested_limit_too_large_for_the_model_is_left_out(client):
    words = "max_tokens is too large: 4096. This model supports at most 1024 completion tokens."
    server = ScriptedServer(echo)
    server.fault = picky({"max_tokens": refusal("max_tokens", "invalid_value", words)})(server)
    async with server, OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
        assert (await ask(chat, max_tokens=Suggested(4096))).content == "you said: hello there"
    assert "max_tokens" not in server.requests[-1]


async def test_any_field_of_a_request_can_be_set(client):
    async with ScriptedServer(echo) as server:
        chat = OpenAIChat(
            f"scripted@{server.base_url}",
            client=client,
            reasoning_effort="low",
            chat_template_kwargs='{"enable_thinking": false}',
            extra_body='{"top_k": 20}',
        )
        async with chat:
            await ask(chat)
    sent = server.requests[0]
    assert sent["reasoning_effort"] == "low"
    assert sent["chat_template_kwargs"] == {"enable_thinking": False}
    assert sent["top_k"] == 20


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_field_that_colbench_sets_itself_is_refused(name):
    extra = msgspec.json.encode({name: "x"}).decode()
    for fields, place in (({name: "x"}, name), ({"extra_body": extra}, f"extra_body: {name}")):
        with pytest.raises(UserError, match=f"^{place}: cannot be set as a request field, because"):
            OpenAIChat("m@http://h:1/v1", **fields)


@pytest.mark.parametrize(
    "name", ["api_key", "apikey", "X-Api-Key", "key", "token", "Authorization", "auth_token"]
)
def test_a_secret_is_not_accepted_as_a_request_field(name):
    for fields in ({name: "sk-1"}, {"extra_body": f'{{"{name}": "sk-1"}}'}):
        with pytest.raises(UserError, match=f"^(extra_body: )?{name}: .*api_key_env=NAME") as error:
            OpenAIChat("m@http://h:1/v1", **fields)
        assert "sk-1" not in str(error.value)


@pytest.mark.parametrize("name", ["prompt_cache_key", "stop_token_ids", "skip_special_tokens"])
def test_fields_whose_names_only_resemble_secrets_can_be_set(name):
    OpenAIChat("m@http://h:1/v1", **{name: 1})


async def test_a_user_set_field_that_the_server_refuses_is_a_user_error(client):
    fault = Fault(status=400, body="reasoning_effort: extra inputs are not permitted")
    async with ScriptedServer(echo, fault=lambda _: fault) as server:
        chat = OpenAIChat(f"scripted@{server.base_url}", client=client, reasoning_effort="low")
        async with chat:
            with pytest.raises(
                UserError, match="`reasoning_effort`; correct or remove it in --agent-arg"
            ):
                await ask(chat)


def completion_body(**fields):
    """Return a completion with other message fields; `choice` adds to the choice, and `usage` replaces the usage."""
    choice, usage = fields.pop("choice", {}), fields.pop("usage", {"prompt_tokens": 1})
    message = {"role": "assistant", "content": "hi"} | fields
    body = {"choices": [{"message": message, "finish_reason": "stop"} | choice], "usage": usage}
    return msgspec.json.encode(body)


@pytest.mark.parametrize(
    ("body", "content", "thoughts"),
    [
        (
            completion_body(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
            "ab",
            "",
        ),
        (
            completion_body(
                content=[
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "hi"},
                ]
            ),
            "hi",
            "hm",
        ),
        (completion_body(reasoning_content="hm"), "hi", "hm"),
        (completion_body(reasoning="hm"), "hi", "hm"),
        (completion_body(content="<think>hm</think>hi"), "<think>hm</think>hi", ""),
        (b"\xef\xbb\xbf" + completion_body(), "hi", ""),
        (completion_body(usage={"prompt_tokens": None, "completion_tokens": 3.0}), "hi", ""),
        (completion_body(usage="none"), "hi", ""),
        (completion_body().replace(b'"hi"', b'"\\ud800hi"'), "?hi", ""),
        (completion_body(content=None, refusal="I cannot"), "I cannot", ""),
        (
            completion_body().replace(b'"prompt_tokens":1', b'"prompt_tokens":1' + b"0" * 400),
            "hi",
            "",
        ),
        (completion_body(usage={"prompt_tokens": 2**64 - 1}), "hi", ""),
    ],
)
async def test_replies_in_nonstandard_formats_are_read(body, content, thoughts, client):
    fault = Fault(status=200, body=body.decode("utf-8", "surrogateescape"))
    async with ScriptedServer(echo, fault=lambda _: fault) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client, retries=0) as chat:
            reply = await ask(chat)
    assert (reply.content, reply.thoughts) == (content, thoughts)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (
            completion_body(content=[{"text": [0]}]).replace(b"0", b"[" * 900 + b"]" * 900, 1),
            "malformed",
        ),
        (msgspec.json.encode({"error": {"message": "x", "code": "9" * 5000}}), "server_error"),
    ],
)
async def test_a_response_with_extreme_values_is_an_endpoint_error(body, kind, client):
    async with ScriptedServer(echo, fault=lambda _: Fault(body=body)) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client, retries=0) as chat:
            with pytest.raises(EndpointError) as error:
                await ask(chat)
    assert error.value.kind == kind


async def test_a_request_id_with_invalid_bytes_is_cleaned(client):
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        body = completion_body()
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nX-Request-Id: \xff\xfe\r\n"
        writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        async with OpenAIChat(f"scripted@{url}", client=client, retries=0) as chat:
            reply = await ask(chat)
    assert reply.delivery
    assert reply.delivery.request_id.encode()


@pytest.mark.parametrize("finish", ["stop", "content_filter", "tool_calls"])
async def test_an_empty_reply_is_requested_again_with_new_seeds_and_then_accepted(finish, client):
    body = completion_body(content=None, choice={"finish_reason": finish}).decode()
    async with ScriptedServer(echo, fault=lambda _: Fault(status=200, body=body)) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            reply = await ask(chat)
    assert (reply.content, reply.delivery and reply.delivery.finish_reason) == ("", finish)
    assert [request["seed"] for request in server.requests] == [3, 4, 5]


async def test_a_thinking_model_gets_more_tokens_only_if_the_limit_was_suggested(client):
    def fault(n):
        if n == 1:
            cut = {"finish_reason": "length"}
            return Fault(
                status=200, body=completion_body(content="", reasoning="hm", choice=cut).decode()
            )
        return None

    async with ScriptedServer(echo, fault=fault) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            reply = await ask(chat, max_tokens=Suggested(256))
            assert reply.content == "you said: hello there"
            await ask(chat, max_tokens=100)
    assert [request["max_tokens"] for request in server.requests] == [256, 32768, 100]


async def test_a_very_long_reply_is_cut_and_marked(client):
    async with ScriptedServer(lambda _: "x" * 600_000) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            reply = await ask(chat)
    assert len(reply.content) == 500_000
    assert reply.delivery == Delivery(
        finish_reason="length", request_id="chatcmpl-scripted", waited=reply.delivery.waited
    )
    assert reply.delivery.cut


async def test_the_server_numbers_simultaneous_requests_separately():
    def fault(n):
        return Fault(status=400, body="no") if n == 1 else None

    async with ScriptedServer(echo, delay=0.2, fault=fault) as server:
        async with OpenAIChat(f"scripted@{server.base_url}") as chat:
            said = await asyncio.gather(ask(chat), ask(chat), return_exceptions=True)
    assert [type(each) for each in said].count(EndpointError) == 1


def test_a_spec_is_parsed_into_a_model_and_addresses(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert parse_spec("gpt-4o") == ("gpt-4o", ("https://api.openai.com/v1",))
    assert parse_spec("org/llama@http://h:1/v1/") == ("org/llama", ("http://h:1/v1",))
    assert parse_spec("m@http://a:1/v1,https://b/v1") == ("m", ("http://a:1/v1", "https://b/v1"))
    assert parse_spec("@cf/meta/llama")[0] == "@cf/meta/llama"
    assert parse_spec("model@main")[0] == "model@main"
    with pytest.raises(UserError, match="does not name a model"):
        parse_spec("@http://h:1/v1")
    with pytest.raises(UserError, match="has no URL after the `@`; add one, such as http://"):
        parse_spec("m@")


@pytest.mark.parametrize(
    ("spec", "suggestion"),
    [
        ("tiny@localhost:8000/v1", "http://localhost:8000/v1"),
        ("tiny@localhost:8000", "http://localhost:8000/v1"),
        ("tiny@localhost", "http://localhost/v1"),
        ("tiny@example.com/api", "http://example.com/api"),
        ("tiny@http://a:1,b:2", "http://b:2/v1"),
        ("tiny@http:///v1", "http://host:port/v1"),
        ("tiny@https://", "http://host:port/v1"),
        ("tiny@:8000/v1", "http://host:port/v1"),
        ("tiny@http://h:0/v1", "http://host:port/v1"),
        ("tiny@[::1:8000", "http://host:port/v1"),
    ],
)
def test_an_invalid_address_is_refused_with_a_valid_spelling(spec, suggestion):
    with pytest.raises(UserError, match=f"is not a URL; write {suggestion}$"):
        parse_spec(spec)


@pytest.mark.parametrize(
    "url", ["http://[::1/v1", "http://127.0.0.1:99999/v1", "http://h:x/v1", "http://h:0/v1"]
)
def test_an_invalid_host_or_port_is_refused(url):
    with pytest.raises(UserError, match="is not a URL; write http://"):
        parse_spec(f"m@{url}")


@pytest.mark.parametrize(
    "end",
    [
        "/chat/completions",
        "/chat/completions/",
        "?key=sk-1",
        "/chat/completions?api-version=3",
        "#x",
    ],
)
def test_a_url_with_more_than_the_api_is_refused_with_the_shorter_url(end, monkeypatch):
    message = "the URL of the API ends before .*; write http://h:1/v1$"
    with pytest.raises(UserError, match=f"^m: {message}") as error:
        parse_spec(f"m@http://h:1/v1{end}")
    assert "sk-1" not in str(error.value)
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://h:1/v1{end}")
    with pytest.raises(UserError, match=f"^OPENAI_BASE_URL: {message}"):
        parse_spec("m")


def test_spaces_around_a_url_in_the_environment_are_ignored(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", " http://h:1/v1/ \n")
    assert parse_spec("m") == ("m", ("http://h:1/v1",))
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://h/ ")
    assert azure_endpoint("") == "https://h"


def test_a_password_in_a_url_is_refused_and_not_repeated(monkeypatch):
    for spec in ("m@http://user:pw@h/v1", "m@http://h/v1,https://pw@h:1/v1"):
        with pytest.raises(UserError, match="user name or a password.*api_key_env=NAME") as error:
            parse_spec(spec)
        assert "pw" not in str(error.value)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://user:pw@h")
    with pytest.raises(UserError, match="^AZURE_OPENAI_ENDPOINT: the URL contains a user name"):
        OpenAIChat("gpt", azure=True)


def test_a_wrong_base_url_in_the_environment_is_named_and_an_empty_one_is_ignored(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8000/v1")
    with pytest.raises(UserError, match="^OPENAI_BASE_URL: `localhost:8000/v1` is not a URL"):
        parse_spec("gpt-4o")
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    assert parse_spec("gpt-4o") == ("gpt-4o", ("https://api.openai.com/v1",))


def test_spaces_around_a_key_are_removed_and_other_invalid_characters_refused(monkeypatch):
    monkeypatch.setenv("OTHER", " sk-secret\n")
    assert api_key_for("http://elsewhere:1/v1", "OTHER") == "sk-secret"
    for key in ("sk-se\ncret", "sk-s\u00e9cret"):
        monkeypatch.setenv("OTHER", key)
        with pytest.raises(
            UserError, match="^OTHER: the key contains a control character"
        ) as error:
            api_key_for("http://elsewhere:1/v1", "OTHER")
        assert "sk-" not in str(error.value)


def test_a_key_is_never_sent_to_another_server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("OPENROUTER_API_KEY", "router")
    monkeypatch.setenv("OTHER", "other")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert api_key_for("http://elsewhere:1/v1", None) is None
    assert api_key_for("https://api.openai.com/v1", None) == "secret"
    assert api_key_for("https://openrouter.ai/api/v1", None) == "router"
    assert api_key_for("http://elsewhere:1/v1", "OTHER") == "other"


def test_a_missing_key_is_reported_with_its_variable(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UserError, match="set the environment variable OPENAI_API_KEY"):
        OpenAIChat("gpt-4o")


async def test_no_authorization_header_is_sent_without_a_key(client):
    async with ScriptedServer(echo) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            await ask(chat)
        assert [header.get("Authorization") for header in server.headers] == [None]


@pytest.mark.parametrize("token", ["", "token"])
async def test_azure_requests_use_deployment_version_and_key_even_if_a_token_is_set(
    monkeypatch, token
):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "secret")
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", token)
    monkeypatch.setenv("OPENAI_API_VERSION", "2025-01-01-preview")
    async with ScriptedServer(echo) as server:
        root = server.base_url.removesuffix("/v1")
        async with OpenAIChat(f"scripted@{root}", azure=True) as chat:
            assert (await ask(chat)).content == "you said: hello there"
    assert server.paths == [
        "/openai/deployments/scripted/chat/completions?api-version=2025-01-01-preview"
    ]
    assert server.headers[0]["api-key"] == "secret"
    assert "authorization" not in server.headers[0]


async def test_a_refusal_by_azure_names_the_server_and_the_deployment(monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_API_VERSION", "2025-01-01-preview")
    async with ScriptedServer(echo, fault=lambda _: Fault(status=404, body="nope")) as server:
        root = server.base_url.removesuffix("/v1")
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", root)
        async with OpenAIChat("scripted", azure=True) as chat:
            with pytest.raises(UserError) as error:
                await ask(chat)
    assert str(error.value) == (
        f"{root}/openai/deployments/scripted/chat/completions does not exist, or does not have the "
        "model (HTTP 404: nope)"
    )


@pytest.mark.parametrize("missing", AZURE_VARIABLES)
def test_a_missing_azure_variable_is_reported(monkeypatch, missing):
    monkeypatch.delenv("AZURE_OPENAI_AD_TOKEN", raising=False)
    for name in AZURE_VARIABLES:
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv(missing)
    chat = OpenAIChat("gpt", azure=True)
    with pytest.raises(UserError, match=missing):
        asyncio.run(chat.__aenter__())


@pytest.mark.parametrize(
    ("calls", "wall", "cpu", "holds"),
    [
        (5000, 10, 9.5, True),
        (5000, 20, 9.5, False),  # the thread waits half of the time
        (500, 10, 9.5, False),  # something else computes
        (500, 0.5, 0.5, False),  # too short to tell
    ],
)
def test_the_client_slows_a_run_if_its_calls_keep_the_thread_busy(calls, wall, cpu, holds):
    assert holds_up(calls, wall, cpu) == holds


async def test_replies_cut_while_a_model_is_found_to_think_are_requested_again(client):
    """Send all three requests before the first reply shows that the model thinks."""
    cut = {"finish_reason": "length"}
    body = completion_body(content="half a", reasoning="hm", choice=cut).decode()
    fault = first(3, Fault(status=200, body=body))
    async with ScriptedServer(echo, fault=fault, delay=0.5) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
            asked = (ask(chat, max_tokens=Suggested(256)) for _ in range(3))
            replies = await asyncio.gather(*asked)
    assert {reply.content for reply in replies} == {"you said: hello there"}
    assert [request["max_tokens"] for request in server.requests] == [256] * 3 + [32768] * 3


async def test_a_field_named_by_a_later_refusal_does_not_stop_the_run(client):
    def fault(n):
        return None if n == 1 else Fault(status=400, body="the user message was filtered")

    async with ScriptedServer(echo, fault=fault) as server:
        chat = OpenAIChat(f"scripted@{server.base_url}", client=client, user="me")
        async with chat:
            await ask(chat)
            with pytest.raises(EndpointError, match="the user message was filtered"):
                await ask(chat)


async def test_waits_requested_by_a_server_are_limited_to_the_patience(client, impatient):
    tomorrow = {"Retry-After": "86400"}
    loading, broken = (Fault(status=status, headers=tomorrow) for status in (503, 500))
    async with asyncio.timeout(20):
        async with ScriptedServer(echo, models=loading, fault=first(1, broken)) as server:
            async with OpenAIChat(f"scripted@{server.base_url}", client=client) as chat:
                assert (await ask(chat)).content == "you said: hello there"
