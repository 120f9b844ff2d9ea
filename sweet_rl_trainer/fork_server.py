"""A process that has imported torch and transformers, and forks child processes that start immediately.

    python -m sweet_rl_trainer.fork_server      its standard input is a socket: requests come in, exit codes go out

Importing these packages takes seconds of CPU time, more than a small stage of a training run takes. Unlike
multiprocessing's fork server, this server does not import the main script again. So the main script needs no
`if __name__ == "__main__"`. The child processes may use the GPU, but the server does not, because CUDA does not survive
a fork. However, importing bitsandbytes, if it is installed, initializes CUDA in the server. Each child then replaces
itself with a new Python process, which starts as slowly as without this server.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import msgspec
from msgspec import Struct

from colbench.errors import WorkerError, memory_hint

PRELOADED = (
    "transformers.models.llama.modeling_llama",
    "sweet_rl_trainer.pipeline.train_examples",
    "sweet_rl_trainer.agents.dialogues",
)
"""Modules that the server imports, along with their dependencies."""
STREAMS = 3
LENGTH = 8
"""Size, in bytes, of an exit code and of the length field before each request."""


class Request(Struct, frozen=True, kw_only=True):
    """A program to run: a module with a function `main(arguments)` that returns the exit code."""

    program: str
    arguments: list[str]
    environment: dict[str, str]
    folder: str
    """The working directory."""
    path: list[str]
    """The import path, `sys.path`."""


class ForkServer:
    """A running server, which exits when this process exits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket, end = socket.socketpair()
        command = (sys.executable, "-m", __name__)
        with end:
            self._process = subprocess.Popen(command, stdin=end.fileno())  # noqa: S603 - this file
        atexit.register(self._close)

    def run(self, request: Request, streams: Sequence[int]) -> int:
        """Run a program with the descriptors `streams` as standard streams; return its exit code (-N for signal N).

        One program runs at a time. Raises WorkerError if the server exits before the program does.
        """
        body = msgspec.json.encode(request)
        with self._lock:
            try:
                socket.send_fds(self._socket, [len(body).to_bytes(LENGTH)], list(streams))
                self._socket.sendall(body)
                code = self._exit_code()
            except ConnectionError:
                code = b""
        if not code:
            raise WorkerError(self._obituary())
        return int.from_bytes(code, signed=True)

    def _exit_code(self) -> bytes:
        """Receive an exit code; empty if the server has exited."""
        try:
            return self._socket.recv(LENGTH)
        except KeyboardInterrupt:
            with suppress(ConnectionError):  # wait until the child (or unready server) exits
                self._socket.recv(LENGTH)
            raise

    def _obituary(self) -> str:
        """Wait for the server to exit, and describe how it ended."""
        code = self._process.wait()
        return (
            f"the process that starts the stages of a training run ended with code {code}{memory_hint(code)}; repeat "
            "the command to continue"
        )

    def _close(self) -> None:
        self._socket.close()
        self._process.wait()


def serve(connection: socket.socket) -> int:
    """Run requested programs one after another until the other end is closed; then return 0.

    This function also returns in each child process, with the exit code of the child's program.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # as in `console.quiet`
    for module in PRELOADED:
        import_module(module)
    while True:
        length, streams, _, _ = socket.recv_fds(connection, LENGTH, STREAMS)
        if not length:
            return 0
        body = connection.recv(int.from_bytes(length), socket.MSG_WAITALL)
        child = _fork()
        if not child:
            connection.close()
            return _run(msgspec.json.decode(body, type=Request), streams)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        connection.sendall(code.to_bytes(LENGTH, signed=True))


def _fork() -> int:
    """Fork, and suppress Python 3.12's warning about other threads.

    The other threads of this process are idle threads of libraries.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _run(request: Request, streams: Sequence[int]) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request.environment)
    os.chdir(request.folder)
    if _lost_gpu():
        restart(request)
    sys.path[:] = request.path
    return int(import_module(request.program).main(request.arguments))


def _lost_gpu() -> bool:
    """Return True if this machine has a GPU that this process cannot use, because its parent initialized CUDA."""
    import torch

    return torch.cuda._is_in_bad_fork() and torch.cuda.device_count() > 0


def restart(request: Request) -> NoReturn:
    """Replace this process with a new Python process that runs the program and exits with its exit code."""
    code = (
        f"import sys; sys.path[:] = {request.path!r}\n"
        f"import {request.program} as program\n"
        f"sys.exit(program.main({request.arguments!r}))"
    )
    os.execve(sys.executable, [sys.executable, "-c", code], request.environment)  # noqa: S606 - this package


if __name__ == "__main__":
    sys.exit(serve(socket.socket(fileno=os.dup(0))))
