"""One fork server, as the harness sees it: the harness starts it, sends it jobs, and kills it at the end."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec

from colbench.errors import SandboxError
from colbench.sandbox.jobs import Limits
from colbench.sandbox.tiers import ENVIRONMENT, Tier, command, setup
from colbench.sandbox.work import Ending

_START_SECONDS = 60.0
_GRACE_SECONDS = 15.0
"""Seconds that a server may need beyond the wall-clock limits of its jobs before it counts as broken."""
_DRAIN_AFTER = 0.02
"""Seconds for which the output of a running job is left unread. Most jobs end earlier; their output is read then."""


class Worker:
    """A running fork server. Jobs for a busy worker wait in the worker's control socket, in order."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, limits: Limits):
        self._process = process
        self._control = control
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._answers: deque[asyncio.Future[bytes]] = deque()
        self._jobs = 0
        control.setblocking(False)
        self._loop.add_reader(control, self._on_control)

    @classmethod
    async def start(cls, tier: Tier, limits: Limits, *, rehearsal: bool = False) -> Worker:
        """Start a fork server with the isolation of `tier`, and wait until it is isolated.

        Raises SandboxError, which gives the reason, if the start or the isolation fails. For a `rehearsal`, the server
        has another hash seed.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                process = _spawn(tier, theirs.fileno(), rehearsal=rehearsal)
        except OSError as cause:
            ours.close()
            raise SandboxError(f"the fork server cannot be started: {cause}") from cause
        worker = cls(process, ours, limits)
        try:
            await worker._introduce(setup(tier, limits))
        except BaseException:
            worker.close()
            raise
        return worker

    async def run(self, payload: bytes, calls: int) -> Ending:
        """Run a job in a child process, and return how the child ended. Canceling this call kills the child.

        `payload`: the encoded job (`Work.payload`). `calls`: the number of calls in the job, which determines how much
        output is allowed. Raises SandboxError if the fork server fails.
        """
        self._jobs += 1
        patience = self._jobs * self._limits.wall_seconds + _GRACE_SECONDS
        try:
            async with asyncio.timeout(patience):
                return await self._run(payload, calls)
        except TimeoutError as cause:
            raise SandboxError(f"the fork server did not answer within {patience:g} s") from cause
        except OSError as cause:
            raise SandboxError(
                f"a job could not be sent to the fork server: {cause.strerror}"
            ) from cause
        finally:
            self._jobs -= 1

    def close(self) -> None:
        """Kill the server and everything in the sandbox; callers waiting for an answer get a SandboxError."""
        self._loop.remove_reader(self._control)
        self._control.close()
        self._process.kill()
        self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()
        self._fail()

    async def _run(self, payload: bytes, calls: int) -> Ending:
        ours, theirs = socket.socketpair()
        with ours:
            ours.setblocking(False)
            with theirs:
                socket.send_fds(self._control, [b"run"], [theirs.fileno()])
            answer = self._answer()
            output = _Output(ours, self._limits.result_bytes * calls)
            try:
                await _send_all(self._loop, ours, payload)
                reason, status = (await answer).split()
            finally:
                output.stop()
            if output.flooded:
                reason = b"flood"
            return Ending(reason=reason.decode(), status=int(status), output=output.rest())

    async def _introduce(self, setup: Mapping[str, Any]) -> None:
        try:
            async with asyncio.timeout(_START_SECONDS):
                self._control.send(msgspec.json.encode(setup))
                answer = await self._answer()
        except (TimeoutError, OSError, SandboxError) as cause:
            raise SandboxError(failed_start(cause, self._last_words())) from cause
        if answer != b"ready":
            raise SandboxError(answer.decode(errors="replace").removeprefix("failed "))

    def _answer(self) -> asyncio.Future[bytes]:
        """Return a future for the server's answer to the last message."""
        answer = self._loop.create_future()
        self._answers.append(answer)
        return answer

    def _on_control(self) -> None:
        """Read an answer; an empty message means that the server has ended."""
        try:
            message = self._control.recv(1 << 12)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if not message:
            self._loop.remove_reader(self._control)
            self._fail()
        elif self._answers:
            answer = self._answers.popleft()
            if not answer.done():
                answer.set_result(message)

    def _fail(self) -> None:
        for answer in self._answers:
            if not answer.done():
                answer.set_exception(SandboxError("the fork server ended before the job was done"))
        self._answers.clear()

    def _last_words(self) -> str:
        """Kill a server that did not start, and return the last line of its standard error; "" if it wrote nothing."""
        self._process.kill()
        text = self._process.communicate()[1].decode(errors="replace").strip()
        return text.splitlines()[-1] if text else ""


def failed_start(cause: Exception, said: str) -> str:
    """Return why a fork server did not start; `said` is the last line of its standard error, "" if it wrote nothing."""
    if isinstance(cause, TimeoutError):
        written = f"; it wrote: {said}" if said else ""
        return f"the fork server was not ready within {_START_SECONDS:g} s{written}"
    if said:
        return said
    if isinstance(cause, OSError) and not isinstance(cause, ConnectionError):
        return f"the setup could not be sent to the fork server: {cause.strerror}"
    return "the fork server ended before it was ready, without an error message"


class _Output:
    """A child's output, up to a limit. It is read when the child has ended, or earlier if the child runs for long."""

    def __init__(self, connection: socket.socket, limit: int) -> None:
        self._connection = connection
        self._limit = limit
        self._parts: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(_DRAIN_AFTER, self._watch)

    @property
    def flooded(self) -> bool:
        return self._limit < 0

    def stop(self) -> None:
        """Stop reading in the background."""
        self._timer.cancel()
        self._loop.remove_reader(self._connection)

    def rest(self) -> bytes:
        """Read the rest of an exited child's output, and return the whole output."""
        while not self.flooded and self._read():
            pass
        return b"".join(self._parts)

    def _watch(self) -> None:
        self._loop.add_reader(self._connection, self._on_readable)

    def _on_readable(self) -> None:
        if not self._read():
            self._loop.remove_reader(self._connection)
        if self.flooded:
            self._loop.remove_reader(self._connection)
            self._connection.shutdown(socket.SHUT_RDWR)

    def _read(self) -> bool:
        try:
            part = self._connection.recv(1 << 18)
        except OSError:
            return False
        self._parts.append(part)
        self._limit -= len(part)
        return bool(part)


async def _send_all(
    loop: asyncio.AbstractEventLoop, connection: socket.socket, payload: bytes
) -> None:
    """Send the payload, then close the socket for sending. Ignore errors: the server reports if the child has died."""
    try:
        sent = connection.send(payload)
        if sent < len(payload):
            await loop.sock_sendall(connection, payload[sent:])
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return


def _spawn(tier: Tier, control: int, *, rehearsal: bool) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  # our own command line
        command(tier, control),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=[control],
        env={**ENVIRONMENT, "PYTHONHASHSEED": str(int(rehearsal))},
        start_new_session=True,
    )
