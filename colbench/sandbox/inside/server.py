"""The fork server: the process behind one worker. It forks a child for each job that the harness sends.

The server never sees a job. The harness passes it the socket on which a job waits; the child reads the job and answers
there, so the server's memory contains nothing of one candidate that another candidate could find. On the control
socket, the harness first sends the setup, and the server answers `ready` or `failed`. For each job, the harness then
sends `run` and the job's socket, and the server answers with the reason why the child ended and the child's exit
status. To cancel a job, the harness closes its end of the job's socket.

All calls of a child share the budget of one call: CPU time, wall-clock time, threads started. Every call that the child
finishes has therefore stayed within the budget, whatever the child reports.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import resource
import select
import signal
import socket
import time
from typing import Any, NoReturn

from . import candidate, isolation
from .library import hold_library, zone_files
from .packages import show_packages
from .scratch import FILE_BYTES, ROOT, Scratch
from .seccomp import Filter, candidate_filter
from .thread_count import ThreadCount

_NULL = 0
"""Descriptor of standard input, which is /dev/null."""
_CORES = len(os.sched_getaffinity(0))
_MOST_SETUP = 1 << 18
"""Maximum size of the setup message in bytes. By default, a control socket cannot transfer a larger message."""
_SHORTEST_WAIT = 0.01
_FORK_SECONDS = 10.0
"""Seconds for which a fork is retried while the machine or the user has reached the limit of processes."""


def main(control_descriptor: int) -> None:
    """Set up as the harness specifies, then serve until the harness closes the control socket.

    If the setup fails, send the reason and return.
    """
    control = socket.socket(fileno=control_descriptor)
    control.set_inheritable(False)
    setup = json.loads(control.recv(_MOST_SETUP))
    try:
        isolation.enter(setup)
        server = Server(control, setup)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        control.send(f"failed {reason}".encode())
        return
    control.send(b"ready")
    server.serve()


class Server:
    """A server that forks a child for each job, limits the child's time and threads, and reports how the child ends."""

    def __init__(self, control: socket.socket, setup: dict[str, Any]) -> None:
        self.control = control
        self.cpu, self.wall = float(setup["cpu_seconds"]), float(setup["wall_seconds"])
        self.most_threads = int(setup["threads"])
        self.namespaces = setup["namespaces"]
        os.chdir(ROOT)
        held: dict[str, bytes] = {}
        self.scratch = Scratch([*setup["visible"], *setup["packages"]], held)
        self.scratch.install()
        if not setup["files"]:
            hold_library()
            held.update(zone_files())
        show_packages(setup["package_names"], setup["package_folders"], setup["packages"])
        for name in setup["preload"]:
            importlib.import_module(name)
        candidate.warm_up(self.scratch)
        _limit(setup["memory_bytes"])
        isolation.confine(setup)
        self.filter = Filter(candidate_filter(files=setup["files"])) if setup["seccomp"] else None
        self.threads = _thread_count() if setup["seccomp"] else None
        os.dup2(_NULL, 1)
        os.dup2(_NULL, 2)
        gc.collect()
        gc.freeze()

    def serve(self) -> None:
        """Run one job after another until the harness closes the connection."""
        while True:
            message, descriptors, _flags, _address = socket.recv_fds(self.control, 64, 1)
            if not message:
                return
            if message == b"run":
                self.run(descriptors[0])

    def run(self, connection: int) -> None:
        """Fork a child for the job on this socket, and report its end."""
        if self.threads:
            self.threads.restart()
        child = _fork()
        if child == 0:
            self.become_candidate(connection)
        reason = self.watch(child, connection)
        os.close(connection)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.control.send(f"{reason or 'ended'} {status}".encode())

    def become_candidate(self, connection: int) -> NoReturn:
        """Turn a new child into a candidate: close what belongs to the server, run the job, and exit."""
        try:
            self.control.close()
            if self.threads:
                self.threads.forget()
            os.setsid()
            backstop = math.ceil(self.cpu) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (backstop, backstop))
            if not self.namespaces:
                isolation.die_with_parent()
            if self.filter:
                self.filter.install()
            candidate.run(connection, self.scratch)
        finally:
            os._exit(0)

    def watch(self, child: int, connection: int) -> str:
        """Wait for the child to end; kill it if it uses up its budget, or if a socket to the harness is closed.

        Return the reason why the child was killed; "" if the child ended by itself.
        """
        descriptor = os.pidfd_open(child)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        for other in (connection, self.control.fileno()):
            poll.register(other, 0)
        if self.threads:
            poll.register(self.threads.descriptor, select.POLLIN)
        started = time.monotonic()
        patience = self.patience(child, started)
        try:
            while True:
                ready = dict(poll.poll(patience * 1000))
                if descriptor in ready:
                    return ""
                reason = self.attend(ready) or self.spent(child, started)
                if reason:
                    os.kill(child, signal.SIGKILL)
                    return reason
                patience = self.patience(child, started)
        finally:
            os.close(descriptor)

    def attend(self, ready: dict[int, int]) -> str:
        """Let a waiting thread start. Return the reason why the child must be killed; "" if it may continue.

        The reason is `threads` if the child has started too many threads, or `hung-up` if the job's socket or the
        control socket was closed or shut down.
        """
        if self.threads and self.threads.descriptor in ready:
            if self.threads.started == self.most_threads:
                return "threads"
            self.threads.allow_next()
            del ready[self.threads.descriptor]
        return "hung-up" if ready else ""

    def spent(self, child: int, started: float) -> str:
        """Return the time limit that the child has reached, `cpu` or `wall`; "" if it has reached neither."""
        if _cpu_seconds(child) >= self.cpu:
            return "cpu"
        return "wall" if time.monotonic() - started >= self.wall else ""

    def patience(self, child: int, started: float) -> float:
        """Return the seconds until the next check of the child's time budgets; at least `_SHORTEST_WAIT`.

        The check comes so early that even a child that uses all cores has hardly exceeded a budget by then.
        """
        cpu = (self.cpu - _cpu_seconds(child)) / _CORES
        return max(min(cpu, started + self.wall - time.monotonic()), _SHORTEST_WAIT)


def _fork() -> int:
    """Fork; try again while the limit of processes is reached. Raises OSError if `_FORK_SECONDS` is not enough time."""
    limit = time.monotonic() + _FORK_SECONDS
    while True:
        try:
            return os.fork()
        except BlockingIOError:
            if time.monotonic() > limit:
                raise
            time.sleep(_SHORTEST_WAIT)


def _thread_count() -> ThreadCount | None:
    """Return a thread counter; None if it cannot be set up, for example if a container already has a listener."""
    try:
        return ThreadCount()
    except OSError:
        return None


def _cpu_seconds(process: int) -> float:
    """Return the CPU seconds of all threads of another process, 0 if it has ended; see clock_getcpuclockid(3)."""
    try:
        return time.clock_gettime((~process << 3) | 2)
    except OSError:
        return 0.0


def _limit(memory: int) -> None:
    for kind, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_STACK, 8 << 20),
    ):
        hard = resource.getrlimit(kind)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))
