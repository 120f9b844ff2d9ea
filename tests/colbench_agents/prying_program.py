"""A program that tries every way to reveal a task, and prints as JSON whether each attempt succeeded.

Its targets are in `plan.json` next to it.
"""

from __future__ import annotations

import ctypes
import glob
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
PLAN = json.loads((HERE / "plan.json").read_text())
WORD = PLAN["word"].encode()


def holds(path: object) -> bool:
    return WORD in Path(str(path)).read_bytes()


def connects(family: int, address: object) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(2)
        client.connect(address)
    return True


def sends(address: tuple[str, int]) -> bool:
    """Return whether a datagram is answered."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(0.3)
        client.connect(address)
        client.send(b"ping")
        return client.recv(16) == b"pong"


def imports(package: str, folder: str) -> bool:
    code = f"import sys; sys.path.insert(0, {folder!r}); import {package}.bundled as b; print(len(b.load('backend')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    return done.returncode == 0 and int(done.stdout) > 0


def calls(number: int, *arguments: int) -> bool:
    """Return whether a system call exists and is not forbidden, even if it rejects its arguments."""
    libc = ctypes.CDLL(None, use_errno=True)
    wide = [ctypes.c_long(each) for each in (number, *arguments)]
    return libc.syscall(*wide) >= 0 or ctypes.get_errno() not in (1, 38)


def unshares() -> bool:
    return (
        subprocess.run(["unshare", "-r", "true"], capture_output=True, check=False).returncode == 0
    )


def may_hold(path: object) -> bool:
    with suppress(OSError):
        return holds(path)
    return False


def finds(top: str) -> bool:
    """Return whether any file below a folder holds the word."""
    files = (path for path in Path(top).rglob("*") if path.is_file() and path.name != "plan.json")
    return any(map(may_hold, files))


KEYCTL, IO_URING, VSOCK = 250, 425, 40
PTRACE_SEIZE = 0x4206
ATTEMPTS = {
    "the task file": lambda: holds(PLAN["tasks"]),
    "the task file by a symbolic link": lambda: holds(HERE / "link.jsonl"),
    "the task file by a hard link": lambda: holds(HERE / "notes.txt"),
    "the task file from the root of this process": lambda: holds("/proc/self/root" + PLAN["tasks"]),
    "the task file from the root of process 1": lambda: holds("/proc/1/root" + PLAN["tasks"]),
    "the task file from the working directory": lambda: holds(
        "/proc/self/cwd/" + os.path.relpath(PLAN["tasks"], os.getcwd())
    ),
    "the task file through an open file": lambda: any(
        holds(file) for file in glob.glob("/proc/self/fd/*") if os.path.isfile(file)
    ),
    "the task file, anywhere in its own folder": lambda: finds(str(HERE)),
    "the run folder": lambda: holds(Path(PLAN["out"]) / "rollouts.jsonl"),
    "a run folder that came later": lambda: holds(HERE / "runs" / "later" / "rollouts.jsonl"),
    "another file of the user": lambda: holds(PLAN["secret"]),
    "another file of the user by ..": lambda: holds(HERE / ".." / "other" / "secret.txt"),
    "the bundled tasks": lambda: any(Path(PLAN["package"], "families").iterdir()),
    "the bundled tasks by import": lambda: imports(
        "colbench_tasks", str(Path(PLAN["package"]).parent)
    ),
    "the history of the checkout": lambda: Path(PLAN["checkout"], ".git").exists(),
    "the tests of the checkout": lambda: Path(PLAN["checkout"], "tests").exists(),
    "the harness's environment": lambda: holds(f"/proc/{PLAN['harness']}/environ"),
    "the harness's command line": lambda: Path(f"/proc/{PLAN['harness']}/cmdline").exists(),
    "the harness's memory": lambda: open(f"/proc/{PLAN['harness']}/mem", "rb").close() or True,
    "a signal to the harness": lambda: os.kill(PLAN["harness"], 0) or True,
    "the environment": lambda: PLAN["word"] in os.environ.values(),
    "the environment of anybody": lambda: any(map(may_hold, glob.glob("/proc/[0-9]*/environ"))),
    "processes of others": lambda: any(
        int(name) > 99 for name in filter(str.isdigit, os.listdir("/proc"))
    ),
    "inherited files": lambda: len(os.listdir("/proc/self/fd")) > 4,
    "a server on this machine": lambda: connects(socket.AF_INET, ("127.0.0.1", PLAN["tcp"])),
    "a server by the machine's address": lambda: connects(
        socket.AF_INET, (PLAN["address"], PLAN["tcp"])
    ),
    "a server by IPv6": lambda: connects(socket.AF_INET6, ("::1", PLAN["tcp"])),
    "a datagram": lambda: sends(("127.0.0.1", PLAN["udp"])),
    "an abstract Unix socket": lambda: connects(socket.AF_UNIX, "\0" + PLAN["abstract"]),
    "a Unix socket elsewhere": lambda: connects(socket.AF_UNIX, PLAN["unix"]),
    "the host's name": lambda: socket.gethostname() == PLAN["hostname"],
    "writing beside itself": lambda: (HERE / "left").write_text("x") > 0,
    "writing into the system": lambda: Path("/usr/colbench-left").write_text("x") > 0,
    "writing a setting of the kernel": lambda: (
        open("/proc/sys/kernel/core_pattern", "a").close() or True
    ),
    "namespaces of its own": unshares,
    "words of process 1": lambda: holds("/proc/1/environ") or holds("/proc/1/cmdline"),
    "the key rings": lambda: calls(KEYCTL, 0, -3, 0),
    "tracing process 1": lambda: calls(101, PTRACE_SEIZE, 1, 0, 0),
    "io_uring": lambda: calls(IO_URING, 0, 0),
    "a socket to the hypervisor": lambda: socket.socket(VSOCK, socket.SOCK_STREAM).close() or True,
}


def succeeds(name: str) -> bool:
    try:
        return bool(ATTEMPTS[name]())
    except (OSError, ValueError):
        return False


if __name__ == "__main__":
    signal.alarm(60)
    print(json.dumps({name: succeeds(name) for name in ATTEMPTS}))
