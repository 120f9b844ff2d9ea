"""A scripted model server in its own process, for the benchmarks."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from colbench.models.scripted import Script
from colbench.models.scripted_server import Fault, ScriptedServer


@contextmanager
def served(script: Script, delay: float | Callable[[], float], *, slots: int = 0) -> Iterator[str]:
    """Yield the base URL of a server that runs `script` with a delay in seconds; stop it at the end of the block.

    While the server works on `slots` requests, it refuses others with status 429; with 0, it accepts any number.
    """
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(
        target=_serve, args=(theirs, script, delay, slots), daemon=True
    )
    server.start()
    try:
        yield ours.recv()
    finally:
        server.kill()
        server.join()


def _serve(
    address: Connection, script: Script, delay: float | Callable[[], float], slots: int
) -> None:
    async def run() -> None:
        fault = Fault(slots=slots)
        async with ScriptedServer(script, delay=delay, fault=lambda _: fault) as server:
            address.send(server.base_url)
            await asyncio.Event().wait()

    asyncio.run(run())
