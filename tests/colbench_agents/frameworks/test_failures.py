"""Responsibility for a failure when the client of a model server raises: real clients, a misbehaving server."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request

import aiohttp
import openai
import pytest

from colbench.errors import EndpointError, UserError
from colbench.models.scripted_server import Fault, ScriptedServer
from colbench_agents.frameworks.failures import attributed
from colbench_agents.frameworks.side import Side


async def by_openai(url):
    async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as client:
        await client.chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": "?"}]
        )


async def by_aiohttp(url):
    async with aiohttp.ClientSession(raise_for_status=True) as session:
        await session.post(f"{url}/chat/completions", json={"messages": []})


async def by_urllib(url):
    await asyncio.to_thread(urllib.request.urlopen, f"{url}/models")


@pytest.mark.parametrize("ask", [by_openai, by_aiohttp, by_urllib])
async def test_an_unreachable_server_is_an_endpoint_error(ask):
    async with ScriptedServer(lambda _: "") as gone:
        url = gone.base_url
    with pytest.raises(EndpointError):
        with attributed(answered=False):
            await ask(url)


async def answered(ask, status):
    async with ScriptedServer(lambda _: "", fault=lambda _: Fault(status=status)) as server:
        with attributed(answered=False):
            await ask(server.base_url)


@pytest.mark.parametrize("status", [0, 429, 500, 503, 529])
@pytest.mark.parametrize("ask", [by_openai, by_aiohttp])
async def test_a_server_that_breaks_off_or_is_overloaded_is_an_endpoint_error(ask, status):
    with pytest.raises(EndpointError):
        await answered(ask, status)


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refused_key_or_model_is_a_user_error(status):
    with pytest.raises(UserError, match="--agent: its model server rejects the key or"):
        await answered(by_openai, status)


async def test_a_refused_request_is_the_agents_own_failure():
    with pytest.raises(openai.BadRequestError):
        await answered(by_openai, 400)


async def reads_by_urllib(url):
    def read():
        asked = urllib.request.Request(f"{url}/chat/completions", b'{"messages": []}')
        with urllib.request.urlopen(asked, timeout=0.5) as response:
            response.read()

    await asyncio.to_thread(read)


async def reads_by_aiohttp(url):
    limit = aiohttp.ClientTimeout(total=0.5)
    async with aiohttp.ClientSession(timeout=limit) as session:
        async with session.post(f"{url}/chat/completions", json={"messages": []}) as response:
            await response.read()


async def reads_in_a_group(url):
    async with asyncio.TaskGroup() as group:
        group.create_task(reads_by_aiohttp(url))


@pytest.mark.parametrize(
    ("fault", "kind"), [(Fault(sent="half"), "connection"), (Fault(delay=60), "timeout")]
)
@pytest.mark.parametrize("read", [reads_by_urllib, reads_by_aiohttp, reads_in_a_group])
async def test_a_response_that_stops_is_an_endpoint_error(read, fault, kind):
    side = Side()
    side.start()
    async with ScriptedServer(lambda _: "", fault=lambda _: fault) as server:
        with pytest.raises(EndpointError) as error, attributed(answered=False):
            await side.run(read(server.base_url))
    await side.stop()
    assert error.value.kind == kind


async def test_a_time_limit_of_the_agents_own_is_the_agents_failure():
    async with ScriptedServer(lambda _: "", delay=60) as server:
        with pytest.raises(TimeoutError), attributed(answered=False):
            async with asyncio.timeout(0.2):
                await by_aiohttp(server.base_url)


def test_the_status_of_a_urllib_error_counts():
    with pytest.raises(EndpointError), attributed(answered=False):
        raise urllib.error.HTTPError("http://h", 503, "busy", {}, None)
    with pytest.raises(urllib.error.HTTPError), attributed(answered=False):
        raise urllib.error.HTTPError("http://h", 418, "teapot", {}, None)


def fails(*, chained):
    try:
        raise ConnectionResetError("gone")
    except ConnectionResetError as cause:
        error = RuntimeError("no reply")
        raise error from (cause if chained else None)


def test_the_cause_of_an_error_counts_but_a_suppressed_error_does_not():
    with pytest.raises(EndpointError, match="gone"), attributed(answered=False):
        fails(chained=True)
    with pytest.raises(RuntimeError, match="no reply"), attributed(answered=False):
        fails(chained=False)
