"""The host of a worker on a node of a cluster, which starts and ends the worker's process there."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any

from colbench.errors import UserError
from colbench.executors.ray.actor import CHUNK
from colbench.executors.ray.cluster import Cluster, Node
from colbench.version import __version__


class NodeHost:
    """The host of one worker's process on a node (`workers.Host`).

    `environment` contains variables that the worker needs. `gpus` is the fraction of a GPU that the worker occupies.
    """

    def __init__(
        self, cluster: Cluster, node: Node, environment: Mapping[str, str], *, gpus: float
    ) -> None:
        self.flag = cluster.flag
        self._cluster = cluster
        self._node = node
        self._environment = dict(environment)
        self._gpus = gpus
        self._actor: Any = None
        self._carriers: list[asyncio.Task[None]] = []

    async def start(self, end: socket.socket) -> None:
        """Start the process on the node, and relay messages between the process and the socket `end`.

        Raises UserError if the node lacks the run's version of ColBench, is lost, or cannot start the process.
        """
        from ray.exceptions import RayError

        self._actor = self._cluster.start_actor(self._node, gpus=self._gpus)
        try:
            refused = await self._actor.start.remote(__version__, os.getcwd(), self._environment)
        except RayError as cause:
            raise UserError(f"{self.flag}: {self._node.name}: {_reason(cause)}") from cause
        if refused:
            raise UserError(f"{self.flag}: {self._node.name} {refused}")
        reader, writer = await asyncio.open_connection(sock=end.dup())
        self._carry(self._to_worker(reader))
        self._carry(self._from_worker(writer))

    def _carry(self, work: Coroutine[Any, Any, None]) -> None:
        self._carriers.append(asyncio.create_task(work))

    async def _to_worker(self, reader: asyncio.StreamReader) -> None:
        from ray.exceptions import RayError

        with suppress(RayError):  # the other direction ends as well
            while data := await reader.read(CHUNK):
                await self._actor.write.remote(data)
            await self._actor.close.remote()

    async def _from_worker(self, writer: asyncio.StreamWriter) -> None:
        from ray.exceptions import RayError

        try:
            with suppress(RayError, ConnectionError):
                while data := await self._actor.read.remote():
                    writer.write(data)
                    await writer.drain()
        finally:
            writer.close()

    async def ended(self, within: float) -> str | None:
        """Return a description of how the process ended; None if it does not end within this many seconds."""
        from ray.exceptions import RayError

        if not self._carriers:
            return None
        try:
            async with asyncio.timeout(within):
                return f"{self._node.name}: {await self._actor.ended.remote()}"
        except TimeoutError:
            return None
        except RayError as error:
            return f"{self._node.name} was lost: {_reason(error)}"

    async def kill(self) -> None:
        """End the process at once."""
        for carrier in self._carriers:
            carrier.cancel()
        if self._actor is not None:
            await self._cluster.kill(self._actor)


def _reason(error: Exception) -> str:
    """Return the reason that an error of Ray gives, in one line and without tracebacks."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if "failed to import" in str(error):
        return f"ColBench cannot be imported there: {lines[-1]}; install the same software on every node"
    return next((line for line in lines if "because" in line), lines[0] if lines else repr(error))
