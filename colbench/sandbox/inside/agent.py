"""A program that starts an isolated agent in bubblewrap, waits for it, and exits with the agent's exit code.

The program itself remains outside the sandbox. It passes SIGTERM on to the agent. If an endpoint is set, it also
forwards the agent's connections to the endpoint. It needs only the standard library. The settings of the sandbox
come from `colbench.sandbox.agent`, as a JSON object called the plan.
"""

from __future__ import annotations

import glob
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from threading import Thread
from typing import Any, NoReturn

from .agent_filter import agent_filter
from .agent_network import forward, listen
from .agent_view import HOME, TOOLS, settings, view

_PASSED = ("PATH", "LANG", "LANGUAGE", "TZ", "TERM", "PYTHONUNBUFFERED")
"""Environment variables that are passed on to every agent in an `AgentSandbox`, in addition to `LC_…` and `HOME`."""
_SETTINGS = "COLBENCH_"
"""Prefix of the harness's own environment variables. An agent gets few of them, because they may name tasks."""
_INNER_ID = "65534"
_NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-cgroup-try", "--cap-drop", "ALL",
    "--die-with-parent", "--new-session",
)  # fmt: skip
_ALONE = (
    "--unshare-net", "--unshare-uts", "--uid", _INNER_ID, "--gid", _INNER_ID, "--hostname", "agent",
)  # fmt: skip
_GPUS = ("/dev/nvidia*", "/dev/dri", "/dev/kfd", "/dev/dxg")
_IN, _OUT = 8, 9
"""Descriptors of the agent's standard input and output, which bubblewrap passes on to the agent but itself closes."""
_SHELL = ("/bin/sh", "-c", f'exec "$@" <&{_IN} >&{_OUT} {_IN}<&- {_OUT}>&-', "agent")


def main(plan: str, *command: str) -> NoReturn:
    """Run the command according to the plan (JSON), and exit with the command's code.

    Exit with a message and code 1 if the agent cannot be isolated.
    """
    try:
        sys.exit(_Launch(json.loads(plan)).run(command))
    except OSError as error:
        sys.exit(f"the agent could not be isolated: {error}")


class _Launch:
    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._parent = os.getppid()
        self._given = [os.dup2(0, _IN), os.dup2(1, _OUT)]
        """Descriptors that bubblewrap inherits."""
        self._init = 0
        """The ID that the sandbox's process 1 has outside the sandbox."""
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, command: Sequence[str]) -> int:
        """Start the agent, forward its connections, and return its exit code; 128 + N if signal N ended the agent."""
        said, says = os.pipe()
        waits, go = os.pipe()
        self._given += [says, waits]
        options = ["--info-fd", str(says), "--block-fd", str(waits), *self._options()]
        arguments = self._file(os.fsencode("\0".join(options)))
        signal.signal(signal.SIGTERM, self._pass_on)
        process = self._process = subprocess.Popen(  # noqa: S603 - its purpose is to run a given command
            [self._plan["bubblewrap"], "--args", arguments, *_SHELL, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=self._given,
            env=_environment(self._plan),
        )
        for file in self._given:
            os.close(file)
        _let_go(0, 1)
        self._open_the_door(said)
        os.close(go)
        code = process.wait()
        return code if code >= 0 else 128 - code

    def _open_the_door(self, said: int) -> None:
        """Wait until the sandbox's namespaces exist; then make the endpoint reachable there before the agent starts."""
        with open(said, "rb") as file:
            words = file.read()
        if not words:
            return
        self._init = json.loads(words)["child-pid"]
        if self._plan["endpoint"]:
            host, port = self._plan["endpoint"]
            door = listen(self._init, host, port)
            Thread(target=forward, args=(door, host, port), daemon=True).start()

    def _options(self) -> list[str]:
        plan = self._plan
        here = os.getcwd()
        options = [*_NAMESPACES, *(["--disable-userns"] if plan["disable_userns"] else [])]
        options += ["--proc", "/proc", "--dev", "/dev"]
        options += self._as_the_user() if plan["open"] else self._alone()
        shown, closed = view(plan["shown"], plan["links"])
        options += [*shown, "--dir", here, *(() if plan["open"] else self._settings()), *closed]
        options += ["--remount-ro", "/", "--remount-ro", "/proc", "--chdir", here]
        return [*options, "--seccomp", self._file(agent_filter())]

    def _as_the_user(self) -> list[str]:
        """Return the options that let an agent run under the user's ID and use the graphics cards."""
        options = ["--uid", str(os.getuid()), "--gid", str(os.getgid())]
        for device in (path for pattern in _GPUS for path in glob.glob(pattern)):
            options += ["--dev-bind-try", device, device]
        return options

    def _alone(self) -> list[str]:
        return [*_ALONE, "--tmpfs", "/tmp", "--dir", HOME]  # noqa: S108

    def _settings(self) -> list[str]:
        """Return the bubblewrap options that create the generated files of /etc."""
        host = self._plan["endpoint"][0] if self._plan["endpoint"] else ""
        files = {path: text.encode() for path, text in settings(host, _INNER_ID).items()}
        return [
            word
            for path, text in files.items()
            for word in ("--ro-bind-data", self._file(text), path)
        ]

    def _file(self, content: bytes) -> str:
        """Return the number of a new file descriptor from which bubblewrap can read `content`."""
        file = os.memfd_create("colbench")
        os.write(file, content)
        os.lseek(file, 0, os.SEEK_SET)
        self._given.append(file)
        return str(file)

    def _pass_on(self, number: int, _: object) -> None:
        """Pass SIGTERM on to the agent, so that it has time to end. The sandbox's process 1 would ignore the signal.

        Exit immediately if the parent of this process has died, or if bubblewrap is not started yet. Kill bubblewrap if
        the agent cannot be signaled.
        """
        if os.getppid() != self._parent:
            os._exit(128 + number)
        try:
            with open(f"/proc/{self._init}/task/{self._init}/children") as file:
                agents = [int(word) for word in file.read().split()]
            for agent in agents:
                os.kill(agent, number)
        except OSError:
            if self._process is None:
                os._exit(128 + number)
            self._process.kill()


def _environment(plan: dict[str, Any]) -> dict[str, str]:
    outer = os.environ.items()
    if plan["open"]:
        return {k: v for k, v in outer if k in TOOLS or not k.startswith(_SETTINGS)}
    names = (*_PASSED, *plan["environment"])
    passed = {k: v for k, v in outer if k in names or k.startswith("LC_")}
    return {**passed, "HOME": HOME}


def _let_go(*files: int) -> None:
    """Point these descriptors at the null device, so that only the agent holds the pipes open."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in files:
        os.dup2(nothing, file)
