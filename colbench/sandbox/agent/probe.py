"""The self-test of agent isolation on this machine: an isolated program tries to escape."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread

from colbench.errors import SandboxError
from colbench.sandbox.agent.box import AgentSandbox, OpenSandbox, Sandbox
from colbench.sandbox.agent.endpoint import Endpoint
from colbench.sandbox.agent.hidden import Hidden
from colbench.sandbox.paths import interpreter

REMEDY = (
    "install bubblewrap (apt-get install bubblewrap, or dnf, pacman) and allow user namespaces (sysctl "
    "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; in a container, use a "
    "seccomp profile that allows them); on macOS, use a Linux machine"
)
_SECONDS = 30
_PRISONER = """
import os, socket, sys
host, hidden = sys.argv[1], sys.argv[2]
endpoint, other = (int(port) for port in sys.argv[3:])
try:
    with socket.create_connection((host, endpoint), timeout=10) as connection:
        connection.sendall(b"walled in")
        reply = connection.recv(64)
except OSError as error:
    sys.exit("the isolated test program cannot reach the endpoint: " + str(error))
if reply != b"walled in":
    sys.exit("the isolated test program reaches something else at the endpoint's address")
attacks = {
    "connect to another port": lambda: socket.create_connection((host, other), timeout=10),
    "open a socket to the machine's host (AF_VSOCK)": lambda: socket.socket(40, socket.SOCK_STREAM),
    "read a hidden file": lambda: open(hidden),
    "write to /usr": lambda: open("/usr/colbench-self-test", "w"),
}
"""
_READER = """
import os, sys
attacks = {
    "read a hidden file": lambda: open(sys.argv[1]),
    "write to /usr": lambda: open("/usr/colbench-self-test", "w"),
}
"""
_ATTACKING = """
for what, attack in attacks.items():
    try:
        attack()
    except OSError:
        continue
    sys.exit("the isolated test program could " + what)
if any(name.isdigit() and int(name) > 9 for name in os.listdir("/proc")):
    sys.exit("the isolated test program could see other processes")
"""
"""The end of both test programs: try each of `attacks`, and exit with a message if one succeeds."""


def why_not() -> str:
    """Return the reason why agents cannot be isolated on this machine; "" if they can be isolated."""
    return _reason(_try)


def why_not_open() -> str:
    """Return the reason why this machine cannot hide the tasks from an agent with network access; "" if it can."""
    return _reason(_try_open)


def _reason(attempt: Callable[[], None]) -> str:
    try:
        attempt()
    except (SandboxError, OSError) as error:
        return str(error)
    return ""


def _try() -> None:
    with ExitStack() as stack:
        endpoint, other = (
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in "12"
        )
        Thread(target=_echo, args=(endpoint,), daemon=True).start()
        ports = [listener.getsockname()[1] for listener in (endpoint, other)]
        python = [interpreter(), "-I", "-S", "-c", _PRISONER + _ATTACKING, "127.0.0.1"]
        secret = Path(__file__).resolve()
        command = [*python, str(secret), *map(str, ports)]
        hidden = Hidden(places=(secret,), checkouts=())
        _run(
            AgentSandbox(command, hidden=hidden, endpoint=Endpoint("127.0.0.1", ports[0])), command
        )


def _try_open() -> None:
    secret = Path(__file__).resolve()
    command = [interpreter(), "-I", "-S", "-c", _READER + _ATTACKING, str(secret)]
    _run(OpenSandbox(command, hidden=Hidden(places=(secret,), checkouts=())), command)


def _run(box: Sandbox, command: Sequence[str], seconds: float = _SECONDS) -> None:
    """Run a self-test in a sandbox. Raises SandboxError, which gives the reason, if it fails or takes too long."""
    try:
        ended = subprocess.run(  # noqa: S603 - our own program
            [*box.prefix(), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as cause:
        raise SandboxError(f"the self-test did not end within {seconds:g} s") from cause
    said = ended.stderr.decode(errors="replace").strip().splitlines()
    if ended.returncode:
        raise SandboxError(
            said[-1] if said else f"the self-test ended with exit status {ended.returncode}"
        )


def _echo(listener: socket.socket) -> None:
    """Echo the data of one connection; end quietly if the self-test fails before it connects."""
    with suppress(OSError), listener.accept()[0] as connection:
        connection.sendall(connection.recv(64))
