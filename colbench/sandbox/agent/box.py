"""What is put before an agent's command to shut it in."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from colbench.errors import SandboxError
from colbench.sandbox import inside
from colbench.sandbox.agent.endpoint import Endpoint
from colbench.sandbox.agent.hidden import Hidden, find_copies
from colbench.sandbox.agent.view import View, find_view

_FORBIDS_NAMESPACES = (0, 8)
"""The first version of bubblewrap that can forbid those inside to make namespaces of their own."""
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from inside.agent import main; main(*sys.argv[2:])"


class AgentSandbox:
    """Shuts in the processes of one command.

    `environment` names the variables that they get beside the usual ones. Raises SandboxError where bubblewrap is
    not installed.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        hidden: Hidden,
        endpoint: Endpoint | None = None,
        environment: Sequence[str] = (),
    ) -> None:
        self._bubblewrap = shutil.which("bwrap")
        if self._bubblewrap is None:
            raise SandboxError("bubblewrap is not installed")
        self._command = command
        self._hidden = hidden
        self._endpoint = endpoint
        self._environment = environment

    @cached_property
    def view(self) -> View:
        """What the agent is shown."""
        named = [os.environ.get(name, "") for name in self._environment]
        return find_view(self._command, named, self._hidden)

    @property
    def words(self) -> str:
        """What it lets through, for people."""
        network = f"but {self._endpoint}" if self._endpoint else "at all"
        own = ", ".join(self.view.own) or "none"
        return f"no network {network}; files beside the system's: {own}"

    def prefix(self) -> list[str]:
        """The words that are put before the command."""
        shown = [*self.view.system, *self.view.own]
        hidden = map(str, (*self._hidden.places, *self._hidden.checkouts))
        plan = {
            "bubblewrap": self._bubblewrap,
            "disable_userns": _version(self._bubblewrap or "") >= _FORBIDS_NAMESPACES,
            "show": shown,
            "hide": [*hidden, *find_copies(self._hidden, self.view.own)],
            "links": self.view.links,
            "endpoint": [self._endpoint.host, self._endpoint.port] if self._endpoint else None,
            "environment": self._environment,
        }
        folder = str(Path(inside.__file__).parents[1])
        return [sys.executable, "-I", "-S", "-c", _BOOT, folder, json.dumps(plan)]


def _version(program: str) -> tuple[int, ...]:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    return tuple(int(number) for number in re.findall(r"\d+", said.stdout)[:2])
