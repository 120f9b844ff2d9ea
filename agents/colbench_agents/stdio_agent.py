"""The agent behind `cmd:COMMAND`: a program in any language that speaks JSON lines (docs/agent-protocol.md)."""

from __future__ import annotations

import hashlib
import shlex
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from colbench.agent_process.command import CommandAgent
from colbench.errors import UserError
from colbench.interfaces import Rule
from colbench.plugin_arguments import Seconds


class StdioAgent(CommandAgent):
    """The agent `cmd:COMMAND`; the command is split into words as in a shell.

    `startup_timeout` is the time limit in seconds until the program is ready. Raises UserError if the command is empty
    or cannot be split, or if its program does not exist or is not executable.
    """

    def __init__(self, command: str, *, startup_timeout: Seconds = 60.0) -> None:
        spec = f"cmd:{command}"
        super().__init__(spec, _words(spec, command), startup_timeout=startup_timeout)

    def describe(self) -> dict[str, str]:
        """Return the agent's entry in the run's record, with the command line and the hashes of all files it names."""
        files = [Path(word) for word in self.command if Path(word).is_file()]
        hashes = (hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
        return {
            **super().describe(),
            "command": shlex.join(self.command),
            "files": ",".join(f"sha256:{each}" for each in hashes),
        }

    def conformance_rules(self, patience: float) -> Sequence[Rule]:
        """Return the rules of the protocol."""
        from colbench_agents.conformance.stdio import StdioRules

        return StdioRules(
            [*self.prefix, *self.command],
            partial(self.keep, "check"),
            startup=self.startup_timeout,
            patience=patience,
        ).rules()


def _words(spec: str, command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as cause:
        raise UserError(f"--agent {spec}: cannot be split into words: {cause}") from cause
    if not words:
        raise UserError(
            f"--agent {spec}: name a program after `cmd:`, for example cmd:./my_agent --flag"
        )
    if shutil.which(words[0]):
        return words
    if Path(words[0]).is_file():
        raise UserError(f"--agent {spec}: {words[0]} is not executable; run chmod +x {words[0]}")
    raise UserError(f"--agent {spec}: the program {words[0]} was not found")
