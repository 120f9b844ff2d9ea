"""Whose failure it is when the client of a model server raises: real clients, a server that misbehaves."""

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
async def test_a_server_that_is_not_there_is_nobodys_failure(ask):
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
async def test_nor_is_one_that_breaks_off_or_is_overloaded(ask, status):
    with pytest.raises(EndpointError):
        await answered(ask, status)


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_key_or_a_model_that_is_refused_is_the_users_mistake(status):
    with pytest.raises(UserError, match="--agent: its model server rejects the request"):
        await answered(by_openai, status)


async def test_a_request_that_is_refused_is_the_agents_own_failure():
    with pytest.raises(openai.BadRequestError):
        await answered(by_openai, 400)


def test_urllibs_status_counts_as_well():
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


def test_the_cause_of_an_error_counts_but_not_what_was_dealt_with_before_it():
    with pytest.raises(EndpointError, match="gone"), attributed(answered=False):
        fails(chained=True)
    with pytest.raises(RuntimeError, match="no reply"), attributed(answered=False):
        fails(chained=False)
