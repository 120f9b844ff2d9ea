"""The sandboxes of agents. A sandbox isolates an agent by arguments that are put before the agent's command."""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from colbench.errors import SandboxError
from colbench.sandbox import inside
from colbench.sandbox.agent.endpoint import Endpoint
from colbench.sandbox.agent.hidden import Hidden, find_copies, linked_outside
from colbench.sandbox.agent.view import PRIVATE_PLACES, View, find_open_view, find_view
from colbench.sandbox.inside.agent_view import HIDE, PRIVATE, SHOW, WRITE

_FORBIDS_NAMESPACES = (0, 8)
"""First version of bubblewrap that can stop programs in the sandbox from creating further namespaces."""
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from inside.agent import main; main(*sys.argv[2:])"


class Sandbox(ABC):
    """A sandbox for one command. The processes in it cannot see the files in `hidden`.

    The constructor raises SandboxError if bubblewrap is not installed.
    """

    def __init__(self, command: Sequence[str], hidden: Hidden) -> None:
        bubblewrap = shutil.which("bwrap")
        if bubblewrap is None:
            raise SandboxError("bubblewrap is not installed")
        self._bubblewrap = bubblewrap
        self._command = command
        self._hidden = hidden

    @property
    @abstractmethod
    def view(self) -> View:
        """The files that the agent can see."""

    @property
    @abstractmethod
    def words(self) -> str:
        """A description of what the isolation permits."""

    @abstractmethod
    def _plan(self) -> dict[str, Any]:
        """Return the entries that this kind of sandbox adds to the plan for `inside.agent`."""

    def _rules(self) -> dict[str, str]:
        """Return the rule of each path. HIDE takes precedence, then the rules of `_own_rules`, then SHOW."""
        hidden = map(str, (*self._hidden.places, *self._hidden.checkouts))
        return {
            **dict.fromkeys((*self.view.system, *self.view.own), SHOW),
            **self._own_rules(),
            **dict.fromkeys((*hidden, *find_copies(self._hidden, self.view.own)), HIDE),
        }

    def _own_rules(self) -> dict[str, str]:
        """Return the rules for the paths that the agent may write to."""
        return {}

    def prefix(self) -> list[str]:
        """Return the arguments to put before the command."""
        plan = {
            "bubblewrap": self._bubblewrap,
            "disable_userns": _version(self._bubblewrap) >= _FORBIDS_NAMESPACES,
            "shown": self._rules(),
            "links": self.view.links,
            **self._plan(),
        }
        folder = str(Path(inside.__file__).parents[1])
        return [sys.executable, "-I", "-S", "-c", _BOOT, folder, json.dumps(plan)]


class AgentSandbox(Sandbox):
    """A sandbox in which an agent can reach only one endpoint, and can see only files of the system and its own files.

    The agent's own files are the files named in its command, and the installations of its programs; see `find_view`.
    `endpoint`: None for no network at all. `environment`: names of environment variables that the agent gets in
    addition to the usual ones; if the value of such a variable is the path of a file, this file is also the agent's
    own. `named`: further words that may name files of the agent.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        hidden: Hidden,
        endpoint: Endpoint | None = None,
        environment: Sequence[str] = (),
        named: Sequence[str] = (),
    ) -> None:
        super().__init__(command, hidden)
        self._endpoint = endpoint
        self._environment = environment
        self._named = named

    @cached_property
    def view(self) -> View:
        """The files that the agent can see."""
        files = [os.environ.get(name, "") for name in self._environment]
        return find_view(self._command, [*files, *self._named], self._hidden)

    @property
    def words(self) -> str:
        """A description of what the isolation permits."""
        network = f"except {self._endpoint}" if self._endpoint else "at all"
        own = ", ".join(self.view.own) or "none"
        return f"no network {network}; files in addition to the system's: {own}"

    def _plan(self) -> dict[str, Any]:
        endpoint = self._endpoint
        return {
            "open": False,
            "endpoint": [endpoint.host, endpoint.port] if endpoint else None,
            "environment": self._environment,
        }


class OpenSandbox(Sandbox):
    """A sandbox with network access, and with read-only access to every file that is not in `hidden`.

    The agent gets its own /tmp, /var/tmp and /run, and does not see the machine's folders with these names. `named`:
    words that may name files of the agent, which are visible even in /tmp or a hidden checkout. `writable`: further
    folders that the agent may write to.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        hidden: Hidden,
        named: Sequence[str] = (),
        writable: Sequence[Path] = (),
    ) -> None:
        super().__init__(command, hidden)
        self._named = named
        self._writable = [str(folder) for folder in writable]

    @cached_property
    def view(self) -> View:
        """The files that the agent can see."""
        return find_open_view(self._named, self._hidden)

    @property
    def words(self) -> str:
        """A description of what the isolation permits."""
        folders = ", ".join(["a /tmp of its own", *self._writable])
        return f"the network; read access to every file except those with tasks; write access to {folders}"

    def _rules(self) -> dict[str, str]:
        """Return the rule of each path; log a warning about each hidden file with hard links that may stay visible."""
        rules = super()._rules()
        for file in linked_outside(self._hidden, (path for path in rules if rules[path] == HIDE)):
            logging.getLogger("colbench").warning(
                "%s is hidden from the agent, but has hard links elsewhere, which the agent may be able to read; "
                "delete the links (find / -samefile %s lists them and the file itself), or use --agent-sandbox",
                file,
                shlex.quote(str(file)),
            )
        return rules

    def _own_rules(self) -> dict[str, str]:
        return {
            **dict.fromkeys(PRIVATE_PLACES, PRIVATE),
            **dict.fromkeys(self._writable, WRITE),
        }

    def _plan(self) -> dict[str, Any]:
        return {"open": True, "endpoint": None}


def _version(program: str) -> tuple[int, ...]:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    return tuple(int(number) for number in re.findall(r"\d+", said.stdout)[:2])
