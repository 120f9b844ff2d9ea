"""Agents over HTTP: who is responsible for each failure, and whether the requests match `openapi.json`."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import resources

import jsonschema
import msgspec
import pytest

from colbench.agent_process import protocol
from colbench.agent_process.protocol import MAX_LINE
from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.interfaces import Episode
from colbench.messages import Message
from colbench.plugins import describe, resolve
from colbench_agents.http_agent import HTTPAgent

OPENAPI = json.loads(resources.files("colbench_agents").joinpath("openapi.json").read_text())
READY = {"type": "ready", "protocol": "colbench-agent/1", "name": "far", "version": "2"}
EPISODE = Episode(id="e/1 ?", seed=3, max_turns=10)
DIALOGUE = [
    Message(role="user", content="def f(x)?"),
    Message(role="assistant", content="Like this?"),
    Message(role="user", content="No.", images=(b"\x89PNG",)),
]


class Request(msgspec.Struct):
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict | None


def answer(status: int, body: object = None, **headers: str) -> bytes:
    content = (
        body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    )
    lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


class AgentServer:
    """A server that answers a request with the bytes that `say` returns, or by the protocol if it returns None."""

    def __init__(
        self, say: Callable[[Request], bytes | None] = lambda asked: None, delay: float = 0.0
    ) -> None:
        self.say = say
        self.delay = delay
        self.asked: list[Request] = []
        self.most = self.open = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        async with server:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split()
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        length = int(headers.get("Content-Length", 0))
        body = json.loads(await reader.readexactly(length)) if length else None
        asked = Request(method, path, headers, body)
        self.asked.append(asked)
        await asyncio.sleep(self.delay)
        said = self.say(asked)
        writer.write(self._protocol_answer(asked) if said is None else said)
        if said == HANG:
            await reader.read()
        writer.close()

    def _protocol_answer(self, asked: Request) -> bytes:
        if asked.method == "GET":
            return answer(200, READY)
        if asked.method == "DELETE":
            self.open -= 1
            return answer(204)
        if asked.path.endswith("/v1/episodes"):
            self.open += 1
            self.most = max(self.most, self.open)
            return answer(201)
        assert asked.body
        first = len(asked.body["messages"]) == 1
        said = "Like this?" if first else "I WANT TO ANSWER: x = 1"
        return answer(200, {"type": "reply", "episode": asked.body["episode"], "content": said})


HANG = b"HTTP/1.1 200 -\r\nContent-Length: 100\r\n\r\n{"


def on_reply(said: bytes) -> Callable[[Request], bytes | None]:
    return lambda asked: said if asked.path.endswith("/reply") else None


async def agent_at(address: str, **args) -> HTTPAgent:
    """Return an agent that has read its description, in a thread because the server runs in the same event loop."""
    agent = HTTPAgent(f"//{address}", **args)
    await asyncio.to_thread(lambda: agent.ready)
    return agent


async def test_a_dialogue_sends_the_requests_of_the_protocol(play):
    far = AgentServer()
    async with far.running() as address:
        (done,) = await play(await agent_at(address))
    assert done.answer == "x = 1"
    assert [turn.said for turn in done.turns] == ["Like this?", ""]
    left = [asked.body["seconds"] for asked in far.asked if asked.path.endswith("/reply")]
    assert 20 >= left[0] > left[1] > 0, "each request says how much of the dialogue's time is left"
    episode = f"/v1/episodes/{done.key[:16]}"
    assert [(asked.method, asked.path) for asked in far.asked] == [
        ("GET", "/v1/agent"),
        ("POST", "/v1/episodes"),
        ("POST", f"{episode}/reply"),
        ("POST", f"{episode}/reply"),
        ("DELETE", episode),
    ]


@pytest.mark.parametrize("path", ["/v1/agent", "/reply"])
async def test_a_mistake_of_the_user_names_the_flag(play, path):
    def say(asked):
        episode = asked.body["episode"] if asked.path.endswith("/reply") else ""
        mistake = {"type": "error", "episode": episode, "message": "set MY_KEY", "stop": True}
        return answer(200, mistake) if asked.path.endswith(path) else None

    async with AgentServer(say).running() as address:
        with pytest.raises(UserError, match="^--agent: it says: set MY_KEY$"):
            await play(await agent_at(address))


@pytest.mark.parametrize(("concurrent", "most"), [(False, 1), (True, 4)])
async def test_only_a_concurrent_agent_has_several_dialogues_at_a_time(play, concurrent, most):
    def say(asked):
        return answer(200, {**READY, "concurrent": concurrent}) if asked.method == "GET" else None

    far = AgentServer(say, delay=0.05)
    async with far.running() as address:
        agent = await agent_at(address)
        done = await play(agent, dialogues=5, concurrency=4)
    assert bool(agent.single_process) is not concurrent
    assert {rollout.answer for rollout in done} == {"x = 1"}
    assert far.most == most
    assert far.open == 0


async def test_waiting_for_other_dialogues_does_not_cause_a_timeout(play):
    async with AgentServer(delay=0.1).running() as address:
        done = await play(await agent_at(address), dialogues=6, concurrency=6, seconds=2.0)
    assert [rollout.answer for rollout in done] == ["x = 1"] * 6, "2.4 s in all, 0.4 s each"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (answer(500, b"Traceback: out of memory"), "HTTP 500: Traceback: out of memory"),
        (answer(404, b"no such episode"), "HTTP 404: no such episode"),
        (answer(404, b""), "HTTP 404$"),
        (answer(307, Location="/elsewhere"), "HTTP 307"),
        (answer(200, b"<html>hello</html>"), "invalid message, .*: <html>hello</html>"),
        (answer(200, b""), "instead of a message"),
        (answer(200, {"type": "reply", "episode": "another", "content": ""}), "names episode 'ano"),
        (answer(200, READY), "`ready` instead of `reply` or `error`"),
        (answer(200, b" " * (MAX_LINE + 1)), "a body of more than 4194304 bytes"),
        (answer(200, b"1234")[:-2], "its response was cut off"),
        (b"", "its response was cut off"),
        (b"SSH-2.0-OpenSSH\r\n", "its response was cut off"),
    ],
)
async def test_a_reachable_agent_without_a_valid_reply_has_failed(play, said, reason):
    far = AgentServer(on_reply(said))
    async with far.running() as address:
        (done,) = await play(await agent_at(address))
    assert done.failure
    assert done.failure.boundary == "agent"
    assert re.search(reason, done.failure.reason), done.failure.reason
    assert done.scores["default"].value == 0.0
    assert far.asked[-1].method == "DELETE"


async def test_a_silent_agent_fails_when_the_dialogue_time_is_up(play):
    async with AgentServer(on_reply(HANG)).running() as address:
        (done,) = await play(await agent_at(address), seconds=0.3)
    assert done.failure
    assert (done.failure.boundary, done.failure.reason) == ("agent", "no answer in time")


async def test_starting_a_dialogue_has_its_own_timeout(play):
    far = AgentServer(lambda asked: HANG if asked.path == "/v1/episodes" else None)
    async with far.running() as address:
        (done,) = await play(await agent_at(address, timeout=0.3))
    assert done.failure
    assert done.failure.boundary == "agent"
    assert done.failure.reason == "it did not respond to /v1/episodes within 0.3 s"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_request_refused_for_overload_is_sent_again(play, status):
    refused = []

    def say(asked):
        if asked.path.endswith("/reply") and len(refused) < 2:
            refused.append(asked.body)
            return answer(status, b"later", Retry_After="0")
        return None

    async with AgentServer(say).running() as address:
        (done,) = await play(await agent_at(address))
    assert done.answer == "x = 1"
    assert len(refused) == 2


async def test_the_time_between_retries_does_not_count_as_the_agents(play):
    refused = []

    def say(asked):
        if asked.path.endswith("/reply") and len(refused) < 2:
            refused.append(asked.body)
            return answer(503, b"later", Retry_After="1")
        return None

    async with AgentServer(say).running() as address:
        (done,) = await play(await agent_at(address), seconds=0.8)
    assert done.answer == "x = 1"
    assert done.seconds > 2


async def test_a_key_refused_during_a_run_is_an_endpoint_failure_of_one_dialogue(play):
    refused = []

    def say(asked):
        if asked.path.endswith("/reply") and not refused:
            refused.append(asked.body)
            return answer(401, b"for a moment")
        return None

    async with AgentServer(say).running() as address:
        done = await play(await agent_at(address), dialogues=3)
    (lost,) = [rollout for rollout in done if rollout.failure]
    assert (lost.failure.boundary, lost.failure.kind) == ("endpoint", "rejected")
    assert lost.scores == {}
    scores = [rollout.scores["default"].value for rollout in done if rollout is not lost]
    assert scores == [1.0] * 2


@pytest.mark.parametrize(
    ("said", "boundary", "kind"),
    [
        (answer(500, b"boom"), "agent", "exception"),
        (answer(404), "agent", "rejected"),
        (answer(200, b"<html>"), "agent", "malformed"),
        (b"HTTP/1.1 200 -\r\nContent-Length: 9\r\n\r\n{", "agent", "connection"),
        (answer(503), "endpoint", "overload"),
    ],
)
async def test_each_failure_has_its_boundary_and_kind(play, said, boundary, kind):
    async with AgentServer(on_reply(said)).running() as address:
        (done,) = await play(await agent_at(address, retries=0))
    assert (done.failure.boundary, done.failure.kind) == (boundary, kind)


async def test_an_agent_that_stays_overloaded_leaves_its_dialogue_unscored(play):
    async with AgentServer(on_reply(answer(503, b"overloaded"))).running() as address:
        (done,) = await play(await agent_at(address, retries=1))
    assert done.failure
    assert (done.failure.boundary, done.scores) == ("endpoint", {})
    assert done.failure.reason.endswith("/reply: tried 2 times; last error: HTTP 503: overloaded")


async def test_an_unreachable_agent_leaves_its_dialogue_unscored(play):
    async with AgentServer().running() as address:
        agent = await agent_at(address, retries=0)
    (done,) = await play(agent)
    assert done.failure
    assert (done.failure.boundary, done.scores) == ("endpoint", {})
    assert "cannot connect: Connection refused" in done.failure.reason


async def test_an_answer_counts_even_if_ending_the_dialogue_fails(play):
    far = AgentServer(lambda asked: answer(500) if asked.method == "DELETE" else None)
    async with far.running() as address:
        (done,) = await play(await agent_at(address))
    assert (done.answer, done.failure) == ("x = 1", None)


async def test_an_answer_counts_even_if_ending_the_dialogue_hangs(play):
    far = AgentServer(lambda asked: HANG if asked.method == "DELETE" else None)
    async with far.running() as address:
        (done,) = await play(await agent_at(address, timeout=600.0))
    assert (done.answer, done.failure) == ("x = 1", None)
    assert done.seconds < 30


async def test_a_refused_key_is_a_user_error_and_a_named_key_is_sent(play, monkeypatch):
    monkeypatch.setenv("AGENT_KEY", "secret")
    far = AgentServer(
        lambda asked: (
            None if asked.headers.get("Authorization") == "Bearer secret" else answer(401, b"key?")
        )
    )
    async with far.running() as address:
        with pytest.raises(
            UserError, match=r"rejects the API key, or .*api_key_env=NAME, .*HTTP 401"
        ):
            await agent_at(address)
        (done,) = await play(await agent_at(address, api_key_env="AGENT_KEY"))
    assert done.answer == "x = 1"


def test_an_unreachable_agent_is_refused_before_the_run():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    agent = resolve("agent", f"http://{address}", {"retries": 0})
    with pytest.raises(UserError, match=rf"^--agent http://{address}: .*Connection refused"):
        describe(agent)


async def test_https_to_a_server_without_encryption_reports_an_ssl_error():
    async def serve(reader, writer):
        writer.write(answer(400))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        agent = resolve("agent", f"https://{address}", {"retries": 0})
        with pytest.raises(UserError, match="^--agent https.*: cannot connect: .*SSL"):
            await asyncio.to_thread(describe, agent)


@pytest.mark.parametrize(
    "spec", ["http:", "http://", "http:8000", "https://host:port", "http://h?x"]
)
def test_an_invalid_address_is_refused_at_once(spec):
    with pytest.raises(UserError, match="not the URL of a server; write http"):
        resolve("agent", spec, {})


def test_a_password_in_the_address_is_refused():
    with pytest.raises(UserError, match="^--agent: the URL contains a user name or a password"):
        resolve("agent", "http://me:secret@127.0.0.1:8000", {})


async def test_the_agents_name_and_version_pin_the_run_but_its_address_does_not():
    async with AgentServer().running() as address:
        agent = await agent_at(address)
    assert describe(agent) == {
        "class": "colbench_agents.http_agent:HTTPAgent",
        "protocol": "colbench-agent/1",
        "name": "far",
        "version": "2",
        "accepts_images": "false",
    }
    pins = [
        RunConfig(agent=spec).pins() for spec in ("http://a:1", "https://b/agents/", "http://c")
    ]
    assert [pin["agent"] for pin in pins] == ["http"] * 3


def schema(name: str) -> dict:
    """Return the schema of a message, with the components that it refers to."""
    return {"$ref": f"#/components/schemas/{name}", "components": OPENAPI["components"]}


async def test_requests_match_the_openapi_file():
    far = AgentServer(
        lambda asked: (
            answer(200, {**READY, "accepts_images": True}) if asked.method == "GET" else None
        )
    )
    async with far.running() as address:
        agent = await agent_at(f"{address}/under/a/path")
        async with agent, agent.open(EPISODE) as own:
            await own.reply(DIALOGUE)
    operations = {
        (each.method.lower(), each.path.replace("e%2F1%20%3F", "{id}")): each for each in far.asked
    }
    assert {path for _, path in operations} == {f"/under/a/path{path}" for path in OPENAPI["paths"]}
    for (method, path), asked in operations.items():
        operation = OPENAPI["paths"][path.removeprefix("/under/a/path")][method]
        assert ("requestBody" in operation) == (asked.body is not None)
        if asked.body is not None:
            wanted = operation["requestBody"]["content"]["application/json"]["schema"]
            whole = {**wanted, "components": OPENAPI["components"]}
            jsonschema.validate(asked.body, whole, jsonschema.Draft202012Validator)
            assert asked.headers["Content-Type"] == "application/json"


def test_the_openapi_file_has_the_messages_of_the_protocol():
    types = [protocol.Start, protocol.Messages, protocol.Ready, protocol.Reply, protocol.Error]
    _, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    assert _without_descriptions(OPENAPI["components"]["schemas"]) == _without_descriptions(
        components
    )


def test_examples_in_the_openapi_file_match_its_schemas():
    for name in OPENAPI["components"]["schemas"]:
        jsonschema.Draft202012Validator.check_schema(schema(name))
    examples = list(_examples(OPENAPI["paths"]))
    assert len(examples) == 4
    for wanted, example in examples:
        whole = {**wanted, "components": OPENAPI["components"]}
        jsonschema.validate(example, whole, jsonschema.Draft202012Validator)
        assert not jsonschema.Draft202012Validator(whole).is_valid({**example, "type": "other"})


def _examples(value: object):
    if isinstance(value, dict):
        if "example" in value:
            yield value["schema"], value["example"]
        for each in value.values():
            yield from _examples(each)


def _without_descriptions(value: object) -> object:
    if isinstance(value, dict):
        return {
            key: _without_descriptions(each)
            for key, each in value.items()
            if not (key == "description" and isinstance(each, str))
        }
    return (
        [_without_descriptions(each) for each in value]
        if isinstance(value, (list, tuple))
        else value
    )
