"""The host of a Python agent: a process that builds the agent and runs the dialogues that the harness requests.

`python.PythonAgent` starts this process. Standard input and output belong to the protocol. Therefore, the agent's
standard input is empty, and everything that the agent prints goes to standard error.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from collections.abc import Sequence
from threading import Lock, Thread
from typing import Any, BinaryIO

import msgspec

from colbench import event_loop, plugins
from colbench.agent_process.dialogues import Dialogues, write_hint
from colbench.agent_process.pace import Pace
from colbench.agent_process.protocol import (
    PROTOCOL,
    Enter,
    Entered,
    Error,
    FromAgent,
    Learned,
    Messages,
    Ready,
    Reply,
    ToAgent,
    Waiting,
    encode,
    read_request,
)
from colbench.agent_process.python import Plan
from colbench.errors import ColBenchError, EndpointError, UserError, describe_exception
from colbench.interfaces import ResourceUser, Viewer
from colbench.loop_watch import watched_loop
from colbench.messages import clean
from colbench.models.servers import Wait, current_servers, waits_told
from colbench.participants import learned_by
from colbench.registry import domain_names


def main() -> None:
    """Build the agent that the plan on the command line names, and serve the harness until standard input ends."""
    plan = msgspec.json.decode(sys.argv[1], type=Plan)
    sys.argv[1:] = []
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    wire = Wire()
    try:
        agent = plugins.resolve("agent", plan.spec, plan.args)
        ready = introduction(agent)
    except UserError as mistake:
        wire.say(Error(message=clean(f"{mistake}{write_hint(mistake)}"), stop=True))
        return
    wire.say(ready)
    event_loop.run(Host(agent, wire, plan.patience).serve())


class Wire:
    """The connection to the harness, on copies of standard input and output that no other code in this process uses."""

    def __init__(self) -> None:
        self.input: BinaryIO = os.fdopen(os.dup(0), "rb")
        self._output: BinaryIO = os.fdopen(os.dup(1), "wb")
        self._lock = Lock()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        os.close(nothing)

    def say(self, message: FromAgent) -> None:
        """Send a message; may be called in any thread."""
        line = encode(message)
        with self._lock:
            self._output.write(line)
            self._output.flush()


def introduction(agent: Any) -> Ready:
    """Return the agent's properties for the harness. Raises UserError if the agent works only in the run's process."""
    if isinstance(agent, Viewer | ResourceUser):
        raise UserError(
            "--agent: the agent uses the run's renderer or resources, which are available only in the "
            "run's process; add --in-process"
        )
    domains = getattr(agent, "domains", None)
    described = plugins.describe(agent)
    return Ready(
        protocol=PROTOCOL,
        name=described["class"],
        concurrent=True,
        accepts_images=bool(getattr(agent, "accepts_images", hasattr(agent, "open"))),
        domains=tuple(map(str, domains)) if domains else None,
        records_tokens=bool(getattr(agent, "records_tokens", False)),
        single_process=str(getattr(agent, "single_process", "")),
        description=described,
        domain_descriptions={name: _for_domain(agent, name) for name in domain_names()},
    )


def _for_domain(agent: Any, domain: str) -> dict[str, str] | str:
    try:
        return plugins.describe_domain(agent, domain)
    except UserError as mistake:
        return str(mistake)


class Host:
    """The host of an agent, which serves the harness until standard input ends.

    `patience` is the number of seconds to wait for a model server that is unreachable or overloaded.
    """

    def __init__(self, agent: Any, wire: Wire, patience: float) -> None:
        self._agent = agent
        self._wire = wire
        self._patience = patience
        self._pace = Pace(wire.say)
        self._dialogues = Dialogues(agent, self._pace, self._say)
        self._entered = False
        self._learned: tuple[str, ...] = ()

    async def serve(self) -> None:
        """Handle the messages of the harness in order, and close the agent at the end."""
        current_servers().patience = self._patience
        requests: asyncio.Queue[ToAgent | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        Thread(target=self._read, args=(loop, requests), daemon=True, name="colbench-read").start()
        self._pace.start()
        with watched_loop():
            async with waits_told(self._tell_waits):
                while request := await requests.get():
                    if isinstance(request, Enter):
                        await self._enter()
                    else:
                        self._dialogues.take(request)
                await self._dialogues.stop()
        self._pace.stop()
        await self._leave()

    def _tell_waits(self, waits: Sequence[Wait]) -> None:
        self._wire.say(Waiting(sentences=tuple(map(str, waits))))

    def _read(
        self, loop: asyncio.AbstractEventLoop, requests: asyncio.Queue[ToAgent | None]
    ) -> None:
        for line in self._wire.input:
            request = read_request(line)
            if isinstance(request, Messages):
                self._pace.asked(request.episode)
            loop.call_soon_threadsafe(requests.put_nowait, request)
        loop.call_soon_threadsafe(requests.put_nowait, None)

    async def _enter(self) -> None:
        """Open the agent if it is a context manager, and send `entered` or an error to the harness."""
        try:
            if hasattr(self._agent, "__aenter__"):
                await self._agent.__aenter__()
        except ColBenchError as error:
            retry = isinstance(error, EndpointError)
            self._wire.say(Error(message=clean(str(error)), retry=retry, stop=not retry))
        except Exception as error:
            text = f"--agent: the agent could not be started\n{describe_exception(error)}"
            self._wire.say(Error(message=clean(text), stop=True))
        else:
            self._entered = True
            self._wire.say(Entered())

    async def _leave(self) -> None:
        if not (self._entered and hasattr(self._agent, "__aexit__")):
            return
        try:
            await self._agent.__aexit__(None, None, None)
        except Exception as error:
            self._wire.say(Error(message=clean(describe_exception(error))))

    def _say(self, answer: FromAgent) -> None:
        """Send an answer. If the answer is a reply, first send any new result of the agent's method `learned`."""
        learned = learned_by(self._agent)
        if isinstance(answer, Reply) and learned != self._learned:
            self._learned = learned
            self._wire.say(Learned(sentences=learned))
        self._wire.say(answer)
