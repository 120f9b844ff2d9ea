"""The actor of a node, which starts a worker there and relays the bytes of the worker's link in both directions."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from colbench.errors import UserError
from colbench.executors.worker_process import WorkerProcess
from colbench.version import __version__

CHUNK = 1 << 20
"""Maximum number of bytes that one call of the actor transfers."""


class NodeActor:
    """The actor of one worker on a node; all methods except `start` require that the worker was started."""

    async def start(self, version: str, folder: str, environment: Mapping[str, str]) -> str:
        """Start the worker if this node has the run's version of ColBench.

        Return an error message if the versions differ or the worker's process cannot start, else an empty string.
        `version` is the run's version, `folder` is the folder in which the run was started, and `environment` contains
        variables that the worker needs.
        """
        if version != __version__:
            return (
                f"has ColBench {__version__}, but the run has {version}; "
                "install the same version on every node"
            )
        with suppress(OSError):  # the folder is optional on a node
            os.chdir(folder)
        ours, theirs = socket.socketpair()
        self._reader, self._writer = await asyncio.open_connection(sock=ours)
        self._process = WorkerProcess(environment)
        try:
            with theirs:
                await self._process.start(theirs)
        except UserError as error:
            return f"cannot run a worker: {error}"
        return ""

    async def read(self) -> bytes:
        """Return the next bytes from the worker; empty after the worker has ended."""
        return await self._reader.read(CHUNK)

    async def write(self, data: bytes) -> None:
        """Send bytes to the worker."""
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        """Close the connection to the worker, which makes the worker exit."""
        self._writer.write_eof()

    async def ended(self) -> str:
        """Wait until the worker has ended, and describe how it ended."""
        return await self._process.ended(None) or ""
