"""The protocol rules for an agent over HTTP. One dialogue checks several rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

from colbench.agent_process.protocol import Ready, Reply, read_ready
from colbench.errors import AgentError, EndpointError, UserError
from colbench.interfaces import Rule
from colbench_agents.conformance.script import (
    LONG,
    NAMES,
    NOT_CONCURRENT,
    NOT_LONG,
    READY,
    REPLIES,
    SAME,
    SEVERAL,
    STRANGE,
    UNKNOWN,
    Findings,
    Scripted,
    named,
    padding,
    reply,
    same,
)
from colbench_agents.http_client import Client, path_of

STARTS = "Takes `start`"
OVER = "Answers when a dialogue is over"
AGAIN = "Restarts a dialogue that was never ended"


class HTTPRules:
    """The protocol rules for an agent's server, and their checks.

    `connect` returns a context manager that yields a client of the server. `patience` is the time limit of a reply, in
    seconds.
    """

    def __init__(
        self, connect: Callable[[], AbstractAsyncContextManager[Client]], *, patience: float
    ) -> None:
        self._connect = connect
        self._patience = patience
        self._findings = Findings()
        self._ready: Ready | None = None

    def rules(self) -> list[Rule]:
        """Return the rules in the order of checking."""
        talk, rule, where = self._talk, self._findings.rule, "`http://`"
        ready, starts = (READY,), (READY, STARTS)
        replies = (*starts, REPLIES)
        ends = (*replies, OVER)
        return [
            rule(READY, talk, where=where, replies=1),
            rule(STARTS, talk, where=where, needs=ready, fix="Answer POST /v1/episodes with 201."),
            rule(REPLIES, talk, where=where, needs=starts),
            rule(NAMES, talk, where="Messages", needs=replies),
            rule(
                OVER,
                talk,
                where=where,
                needs=starts,
                fix="Answer DELETE /v1/episodes/ID at once, with any status.",
            ),
            rule(SAME, self._introduced, where="Messages", needs=ready),
            rule(UNKNOWN, self._unknown, where="Messages", needs=ends, replies=1),
            rule(LONG, self._long, where="Limits", needs=ends, replies=1),
            rule(
                AGAIN,
                self._again,
                where="Messages",
                needs=ends,
                replies=2,
                fix="Let `start` reset all state kept for that ID.",
            ),
            rule(SEVERAL, self._several, where=where, needs=ends, replies=2),
        ]

    async def _talk(self) -> None:
        """Run one dialogue according to the rules. Raises UserError if the server cannot be reached."""
        about = self._findings.about
        async with self._connect() as client:
            with about(READY):
                self._ready = await self._introduce(client)
            if self._ready is None:
                return
            scripted = Scripted.of(self._ready)
            with about(STARTS):
                await client.request("POST", "/v1/episodes", scripted.start())
            if self._findings.broken(STARTS):
                return
            with about(REPLIES):
                answer = await self._asked(client, scripted, scripted.ask())
                with about(NAMES):
                    named(answer, scripted)
            with about(OVER):
                await self._ended(client, scripted)

    async def _introduce(self, client: Client) -> Ready:
        try:
            return read_ready(await client.request("GET", "/v1/agent"))
        except EndpointError as cause:
            raise UserError(f"--agent: {cause}; check that the server is running") from cause

    async def _asked(self, client: Client, scripted: Scripted, body: bytes) -> Reply:
        path = f"{path_of(scripted.id)}/reply"
        try:
            async with asyncio.timeout(self._patience):
                return reply(await client.request("POST", path, body, patient=True))
        except TimeoutError as cause:
            raise AgentError(f"no reply within {self._patience:g} s (--timeout)") from cause

    async def _ended(self, client: Client, scripted: Scripted) -> None:
        """Check that the server answers the request that ends a dialogue; any response is accepted."""
        import aiohttp

        address = client.base_url + path_of(scripted.id)
        limit = aiohttp.ClientTimeout(total=client.timeout)
        try:
            async with client.session.delete(address, timeout=limit, allow_redirects=False):
                return
        except TimeoutError as cause:
            raise AgentError(f"DELETE was not answered within {limit.total:g} s") from cause
        except aiohttp.ClientError as cause:
            said = f"{type(cause).__name__}: {cause}"
            raise AgentError(
                f"the response to DELETE was cut off or is not HTTP: {said}"
            ) from cause

    async def _introduced(self) -> None:
        with self._findings.about(SAME):
            async with self._connect() as client:
                same(self._known, read_ready(await client.request("GET", "/v1/agent")))

    async def _unknown(self) -> None:
        with self._findings.about(UNKNOWN):
            await self._once(**STRANGE)

    async def _long(self) -> None:
        if self._findings.broken(UNKNOWN):
            self._findings.spare(LONG, NOT_LONG)
            return
        pad = padding(self._known)
        with self._findings.about(LONG):
            try:
                await self._once(unheard=pad)
            except AgentError as cause:
                raise AgentError(f"after a request body of {len(pad):,} bytes: {cause}") from cause

    async def _again(self) -> None:
        scripted = Scripted.of(self._known)
        with self._findings.about(AGAIN):
            await self._once(scripted, ends=False)
            try:
                await self._once(scripted)
            except AgentError as cause:
                raise AgentError(f"when an id was used a second time: {cause}") from cause

    async def _several(self) -> None:
        """Check two concurrent dialogues: start both dialogues before requesting a reply in either of them."""
        if not self._known.concurrent:
            self._findings.spare(SEVERAL, NOT_CONCURRENT)
            return
        both = [Scripted.of(self._known) for _ in range(2)]
        with self._findings.about(SEVERAL):
            async with self._connect() as client:
                try:
                    for each in both:
                        await client.request("POST", "/v1/episodes", each.start())
                    asking = (self._asked(client, each, each.ask()) for each in both)
                    for each, answer in zip(both, await asyncio.gather(*asking), strict=True):
                        named(answer, each)
                finally:
                    for each in both:
                        await self._let_go(client, each)

    async def _once(
        self, scripted: Scripted | None = None, *, ends: bool = True, **unknown: Any
    ) -> None:
        """Run a dialogue of one turn; `unknown`: extra fields of the requests. End it only if `ends` is set."""
        scripted = scripted or Scripted.of(self._known)
        async with self._connect() as client:
            await client.request("POST", "/v1/episodes", scripted.start(**unknown))
            try:
                await self._asked(client, scripted, scripted.ask(**unknown))
            finally:
                if ends:
                    await self._let_go(client, scripted)

    async def _let_go(self, client: Client, scripted: Scripted) -> None:
        with suppress(AgentError):
            await self._ended(client, scripted)

    @property
    def _known(self) -> Ready:
        if self._ready is None:
            raise AssertionError(f'the check "{READY}" must pass before this one')
        return self._ready
