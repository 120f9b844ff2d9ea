"""The messages between a run and a process that runs some of its dialogues, and the link that carries them."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from colbench import errors
from colbench.config import RunConfig
from colbench.errors import BoundaryError, ColBenchError, Kind
from colbench.models.servers import Wait
from colbench.rollout import Failure, Rollout
from colbench.task import Task

T = TypeVar("T")
LENGTH = 8
"""Size in bytes of the length prefix of a message."""


class Share(Struct, frozen=True, kw_only=True):
    """The part of a run's limits that one process gets."""

    dialogues: int
    """Maximum number of concurrent dialogues."""
    sandbox_workers: int
    browser_workers: int


class Start(Struct, frozen=True, kw_only=True, tag="start"):
    """Message to a worker: the run in which the worker takes part."""

    config: RunConfig
    share: Share
    tasks: tuple[Task, ...]
    """All tasks of the run."""
    out: str | None
    """The run's folder, if the user named one."""
    log_folder: str | None
    speaks: bool
    """False if the worker runs no dialogues, and only scores finished ones."""


class Begin(Struct, frozen=True, kw_only=True, tag="begin"):
    """Message to a worker: start agent and human, then request planned dialogues."""

    sharers: int
    """Number of workers that share the limits of model servers."""


class Sharers(Struct, frozen=True, kw_only=True, tag="sharers"):
    """Message to a worker: the number of workers that share the limits of model servers has changed."""

    count: int


class Give(Struct, frozen=True, kw_only=True, tag="give"):
    """Message to a worker: a cell to run and score, or only to score."""

    task: int
    """The task's index among the tasks of the run."""
    trial: int
    key: str
    seed: int
    request: str
    kept: Rollout | None = None
    """The cell's dialogue from an earlier attempt, which only needs to be scored."""


class NoMore(Struct, frozen=True, tag="no-more"):
    """Message to a worker: no more dialogues. Running dialogues are stopped; ended dialogues are still scored."""


class Ready(Struct, frozen=True, kw_only=True, tag="ready"):
    """Message from a worker: the worker's sandbox, browser and other resources are running."""

    isolation: str
    environments: dict[str, str]
    pins: dict[str, dict[str, str]]
    """The worker's pins (settings that results depend on) of agent, human and scorers."""


class Next(Struct, frozen=True, tag="next"):
    """Message from a worker: a request for a planned dialogue, because the worker has room for one more."""


class Ended(Struct, frozen=True, kw_only=True, tag="ended"):
    """Message from a worker: a dialogue has ended, but is not yet scored."""

    failure: Failure | None


class Finished(Struct, frozen=True, kw_only=True, tag="finished"):
    """Message from a worker: a dialogue is scored."""

    rollout: Rollout


class Waiting(Struct, frozen=True, kw_only=True, tag="waiting"):
    """Message from a worker: what the worker currently waits for, such as a model server."""

    waits: tuple[Wait, ...]


class Replied(Struct, frozen=True, kw_only=True, tag="replied"):
    """Message from a worker: the number of the agent's replies so far in all dialogues of the worker."""

    total: int


class Logged(Struct, frozen=True, kw_only=True, tag="logged"):
    """Message from a worker: a line for the log."""

    level: int
    text: str


class Stopped(Struct, frozen=True, kw_only=True, tag="stopped"):
    """Message from a worker: an error that must stop the run."""

    name: str
    """Name of the error's class in `colbench.errors`; empty for a bug in ColBench or a plug-in."""
    message: str
    """The error's message; the traceback for a bug."""
    kind: Kind = ""


class Over(Struct, frozen=True, kw_only=True, tag="over"):
    """Message from a worker: all dialogues of the worker are finished, and its agent and human have stopped."""

    learned: dict[str, list[str]]


ToWorker = Start | Begin | Sharers | Give | NoMore
FromWorker = Ready | Next | Ended | Finished | Waiting | Replied | Logged | Stopped | Over


def stopped(error: Exception, trace: str = "") -> Stopped:
    """Return the message for an error; `trace` is the traceback of an error that has no class in `colbench.errors`."""
    known = (cls.__name__ for cls in type(error).__mro__ if cls.__module__ == errors.__name__)
    kind = error.kind if isinstance(error, BoundaryError) else ""
    return Stopped(name=next(known, ""), message=trace or str(error), kind=kind)


def error_of(message: Stopped) -> ColBenchError:
    """Return the error described by a message. Raises RuntimeError for a bug (`message.name` is empty)."""
    if not message.name:
        raise RuntimeError(message.message)
    found: type[ColBenchError] = getattr(errors, message.name)
    if issubclass(found, BoundaryError):
        return found(message.message, kind=message.kind)
    return found(message.message)


class Link(Generic[T]):
    """One end of a connection between two processes; `receives` is the type of incoming messages."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        receives: Any,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(receives)

    @classmethod
    async def over(cls, end: socket.socket, receives: Any) -> Link[T]:
        """Return a link that uses one end of a socket pair."""
        reader, writer = await asyncio.open_connection(sock=end)
        return cls(reader, writer, receives)

    def send(self, message: Struct) -> None:
        """Send a message; do nothing if the connection is closed."""
        if not self._writer.is_closing():
            content = msgspec.msgpack.encode(message)
            self._writer.writelines((len(content).to_bytes(LENGTH, "big"), content))

    async def receive(self) -> T | None:
        """Return the next message; None if the process at the other end has exited or closed the link."""
        try:
            length = int.from_bytes(await self._reader.readexactly(LENGTH), "big")
            return self._decoder.decode(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def flush(self) -> None:
        """Wait while the buffer of unsent data is full."""
        try:
            await self._writer.drain()
        except ConnectionError:
            return

    def close(self) -> None:
        """Close the link; `receive` then returns None at the other end."""
        self._writer.close()
