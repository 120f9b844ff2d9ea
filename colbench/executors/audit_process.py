"""A process that makes the audits (`colbench.audits`) of finished dialogues, while the run's process runs dialogues.

The audit process answers messages in order. A task is not sent again while both processes remember it. If the audit
process cannot be started or is lost, the run's own process audits the dialogues.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import socket
from collections import OrderedDict, deque
from contextlib import suppress
from types import TracebackType

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.audits import audited
from colbench.errors import UserError
from colbench.executors.messages import LENGTH, Link
from colbench.executors.worker_process import PR_SET_PDEATHSIG, WorkerProcess
from colbench.rollout import Asking, Leak, Rollout, Turn
from colbench.task import Task

logger = logging.getLogger(__name__)
KNOWN = 256
"""Number of tasks that each process remembers, enough for the concurrent dialogues of most runs."""


class Audit(Struct, frozen=True, kw_only=True, tag="audit"):
    """Message to the audit process: a finished dialogue."""

    rollout: Rollout
    """The dialogue, without tokens, thoughts and other parts that no audit reads."""
    task: Task | None
    """The task; None if the audit process remembers it."""


class Found(Struct, frozen=True, kw_only=True, tag="found"):
    """Message from the audit process: the results of the audits.

    `leaks`, `asked` and `told` contain one value per turn, as in `Turn`; `asking` is as in `Rollout`.
    """

    leaks: tuple[Leak | None, ...]
    asked: tuple[tuple[str, ...] | None, ...]
    told: tuple[tuple[str, ...] | None, ...]
    asking: Asking | None


class Remembered:
    """A memory of the most recently used tasks.

    The run's process and the audit process each have such a memory, and both forget the same tasks.
    """

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, Task] = OrderedDict()

    def get(self, key: str) -> Task | None:
        """Return the task with this hash, and mark it as just used; None if the task is not remembered."""
        if key in self._tasks:
            self._tasks.move_to_end(key)
        return self._tasks.get(key)

    def add(self, task: Task) -> None:
        """Remember a task; if too many tasks are remembered, forget the least recently used task."""
        self._tasks[task.hash] = task
        if len(self._tasks) > KNOWN:
            self._tasks.popitem(last=False)


class AuditProcess:
    """The audit process, started when the context is opened and stopped when it is closed."""

    def __init__(self) -> None:
        self._process = WorkerProcess(module=__name__)
        self._link: Link[Found] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: deque[asyncio.Future[Found | None]] = deque()
        self._remembered = Remembered()

    async def __aenter__(self) -> AuditProcess:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                await self._process.start(theirs)
        except UserError as error:
            ours.close()
            logger.warning(
                "the audit process cannot be started: %s; the run's own process audits the dialogues",
                getattr(error.__cause__, "strerror", error),
            )
            return self
        self._link = await Link.over(ours, Found)
        self._reading = asyncio.create_task(self._read(self._link))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._link:
            self._link.close()
        if self._reading:
            self._reading.cancel()
            with suppress(asyncio.CancelledError):
                await self._reading
        await self._process.kill()

    async def audited(self, task: Task, rollout: Rollout) -> Rollout:
        """Return the rollout with its audits. If the audit process is lost, make the audits in this process."""
        found = await self._ask(task, rollout) if self._link else None
        return audited(task, rollout) if found is None else _with(rollout, found)

    async def _ask(self, task: Task, rollout: Rollout) -> Found | None:
        assert self._link  # noqa: S101
        known = self._remembered.get(task.hash) is not None
        if not known:
            self._remembered.add(task)
        answer: asyncio.Future[Found | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._link.send(Audit(rollout=_slim(rollout), task=None if known else task))
        return await answer

    async def _read(self, link: Link[Found]) -> None:
        while found := await link.receive():
            answer = self._waiting.popleft()
            if not answer.done():
                answer.set_result(found)
        logger.warning("the audit process ended; the run's own process now audits the dialogues")
        self._link = None
        for answer in self._waiting:
            if not answer.done():
                answer.set_result(None)


def _slim(rollout: Rollout) -> Rollout:
    """Return a rollout with only the parts that audits read."""
    turns = tuple(
        Turn(raw="", said=turn.said, human=turn.human, leak=turn.leak) for turn in rollout.turns
    )
    return replace(rollout, turns=turns)


def _with(rollout: Rollout, found: Found) -> Rollout:
    turns = tuple(
        replace(turn, leak=leak, asked=asked, told=told)
        for turn, leak, asked, told in zip(
            rollout.turns, found.leaks, found.asked, found.told, strict=True
        )
    )
    return replace(rollout, turns=turns, asking=found.asking)


def main(handle: int, parent: int) -> None:
    """Audit the dialogues that the run's process sends, until that process closes the link.

    `handle` is the descriptor of the link, and `parent` is the ID of the run's process.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        return
    decoder, encoder = msgspec.msgpack.Decoder(Audit), msgspec.msgpack.Encoder()
    remembered = Remembered()
    with socket.socket(fileno=handle) as end, end.makefile("rwb") as link:
        while length := link.read(LENGTH):
            message = decoder.decode(link.read(int.from_bytes(length, "big")))
            content = encoder.encode(_found(message, remembered))
            link.write(len(content).to_bytes(LENGTH, "big") + content)
            link.flush()


def _found(message: Audit, remembered: Remembered) -> Found:
    if message.task:
        remembered.add(message.task)
    task = remembered.get(message.rollout.task_hash)
    assert task  # noqa: S101 - the run sent it, and both processes forget the same tasks
    rollout = audited(task, message.rollout)
    return Found(
        leaks=tuple(turn.leak for turn in rollout.turns),
        asked=tuple(turn.asked for turn in rollout.turns),
        told=tuple(turn.told for turn in rollout.turns),
        asking=rollout.asking,
    )
