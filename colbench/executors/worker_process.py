"""A process of a run on this machine: a worker, or the audit process."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress

from colbench.errors import UserError, memory_hint

_BOOT = (
    "import sys; sys.path[:] = sys.argv[3:]; "
    "from {module} import main; main(int(sys.argv[1]), int(sys.argv[2]))"
)
"""Code that the process runs first, to set the import path. Until then, `-P` keeps the current folder off this path."""
PR_SET_PDEATHSIG = 1
"""The option of prctl that ends a process when its parent ends (Linux)."""


class WorkerProcess:
    """A process on this machine that runs the function `main` of `module`; the default module is `worker`.

    It has the methods of `workers.Host` to start the process, wait for its end and kill it.
    """

    flag = "--processes"

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        *,
        module: str = "colbench.executors.worker",
    ) -> None:
        """Prepare a process.

        Args:
            environment: Further environment variables of the process.
            module: The module whose function `main` is called with the descriptor of the link and this process's ID.
        """
        self._boot = _BOOT.format(module=module)
        self._environment = {**os.environ, **(environment or {})}
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, end: socket.socket) -> None:
        """Start the process, and pass it `end`, the process's end of the link. Raises UserError if it cannot start."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(
                    sys.executable,
                    "-P",
                    "-c",
                    self._boot,
                    str(end.fileno()),
                    str(os.getpid()),
                    *_path(),
                ),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=(end.fileno(),),
                start_new_session=True,
                env=self._environment,
            )
        except OSError as cause:
            raise UserError(
                f"a process of the run cannot be started: {cause.strerror}; use fewer processes, or raise the "
                "machine's limits"
            ) from cause

    async def ended(self, within: float | None) -> str | None:
        """Return a description of how the process ended; None if it does not end within this many seconds.

        `within` is None for no time limit. The result is also None if the process was never started.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                return _obituary(await self._process.wait()) if self._process else None
        return None

    async def kill(self) -> None:
        """End the process at once."""
        if self._process:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


def _obituary(code: int) -> str:
    if code >= 0:
        return f"a process of the run ended with code {code}"
    return f"a process of the run was ended by signal {-code}{memory_hint(code)}"


def _path() -> list[str]:
    """Return the entries of the module search path as absolute paths; "" (the current folder) is left unchanged."""
    return [os.path.abspath(entry) if entry else "" for entry in sys.path]
