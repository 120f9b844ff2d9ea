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
with socket.create_connection((host, endpoint), timeout=10) as connection:
    connection.sendall(b"walled in")
    if connection.recv(64) != b"walled in":
        sys.exit("it does not reach the endpoint")
def connect(): socket.create_connection((host, other), timeout=10)
def leave(): socket.socket(40, socket.SOCK_STREAM)
def read(): open(hidden)
def write(): open("/usr/colbench-self-test", "w")
for attack in (connect, leave, read, write):
    try:
        attack()
    except OSError:
        continue
    sys.exit("it could " + attack.__name__)
if any(name.isdigit() and int(name) > 9 for name in os.listdir("/proc")):
    sys.exit("it sees other processes")
"""


_READER = """
import os, sys
for attack in (lambda: open(sys.argv[1]), lambda: open("/usr/colbench-self-test", "w")):
    try:
        attack()
    except OSError:
        continue
    sys.exit("it could read a hidden file or write to /usr")
if any(name.isdigit() and int(name) > 9 for name in os.listdir("/proc")):
    sys.exit("it sees other processes")
"""


def why_not() -> str:
    """Return the reason why agents cannot be isolated on this machine; "" if they can be isolated."""
    return _reason(_try)


def why_not_open() -> str:
    """Return the reason why this machine cannot hide the tasks from an agent with network access; "" if it can."""
    return _reason(_try_open)


def _reason(attempt: Callable[[], None]) -> str:
    try:
        attempt()
    except (SandboxError, OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return ""


def _try() -> None:
    with ExitStack() as stack:
        endpoint, other = (
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in "12"
        )
        Thread(target=_echo, args=(endpoint,), daemon=True).start()
        ports = [listener.getsockname()[1] for listener in (endpoint, other)]
        python = [interpreter(), "-I", "-S", "-c", _PRISONER, "127.0.0.1"]
        secret = Path(__file__).resolve()
        command = [*python, str(secret), *map(str, ports)]
        hidden = Hidden(places=(secret,), checkouts=())
        _run(
            AgentSandbox(command, hidden=hidden, endpoint=Endpoint("127.0.0.1", ports[0])), command
        )


def _try_open() -> None:
    secret = Path(__file__).resolve()
    command = [interpreter(), "-I", "-S", "-c", _READER, str(secret)]
    _run(OpenSandbox(command, hidden=Hidden(places=(secret,), checkouts=())), command)


def _run(box: Sandbox, command: Sequence[str]) -> None:
    """Run a self-test in a sandbox. Raises SandboxError with the self-test's message if it fails."""
    ended = subprocess.run(  # noqa: S603 - our own program
        [*box.prefix(), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=_SECONDS,
        check=False,
    )
    said = ended.stderr.decode(errors="replace").strip().splitlines()
    if ended.returncode:
        raise SandboxError(
            said[-1] if said else f"the self-test ended with exit status {ended.returncode}"
        )


def _echo(listener: socket.socket) -> None:
    """Echo the data of one connection; end quietly if the self-test fails before it connects."""
    with suppress(OSError), listener.accept()[0] as connection:
        connection.sendall(connection.recv(64))
