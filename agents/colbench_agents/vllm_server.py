"""A vLLM server for one run: started, monitored, and stopped however the run ends.

vLLM runs as its own program and may be installed in another environment: the variable COLBENCH_VLLM names the
executable. `colbench.agent_process.watchdog` ensures that no process of vLLM remains.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from weakref import WeakValueDictionary

from colbench.agent_process.program import WATCHDOG
from colbench.config import ArgValue
from colbench.errors import UserError

HOST = "127.0.0.1"
STARTUP_TIMEOUT = 1800.0
"""The default time limit for the start in seconds; large models take long to load."""
STOP_TIMEOUT = 30.0
STOP_TIMEOUT_OF_CANCELLED = 3.0
"""Seconds that an interrupted run waits for the server to stop. Then the run ends; the watchdog stops the server."""
HEALTH_INTERVAL = 0.5
OWN_FLAGS = {"host", "api_key"}
LOG_TAIL = 20
"""Number of lines of the server's log to show in an error."""
TERMINAL_CODES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

logger = logging.getLogger("colbench")


class VLLMServer:
    """`vllm serve` on this machine, reachable from this machine only; `async with` starts and stops it.

    `port` 0 selects a free port. `startup_timeout` is in seconds. The server's output goes to the file `log` or, if
    `log` is not given, to a temporary file that is kept only after a failure. Every other argument becomes a flag of
    vLLM: `tensor_parallel_size=8` becomes `--tensor-parallel-size=8`; true gives the bare flag, and false gives
    `--no-…`. The model's `generation_config.json` (top-p 0.9 for Llama 3.1, top-k 20 for Qwen) is ignored, because
    it would truncate the sampling distribution of requests that set only a temperature; `generation_config="auto"`
    applies it. The progress of the start is written to the logger `colbench`.

    The constructor raises UserError if the model is missing or its folder does not exist, if `host` or `api_key` is
    given, or if vLLM is not found.
    """

    port_timeout = 30.0
    """Seconds to wait for a port on which the server of a killed run may still be stopping."""
    progress_interval = 10.0
    """Seconds between two progress reports while the server starts."""

    def __init__(
        self,
        model: str,
        *,
        port: int = 0,
        startup_timeout: float = STARTUP_TIMEOUT,
        log: Path | None = None,
        **engine_args: ArgValue,
    ) -> None:
        _check(model, engine_args)
        self.model = str(engine_args.get("served_model_name", model))
        self.port = port or _free_port()
        self.startup_timeout = startup_timeout
        self.log = log
        self.command = [
            *(find_vllm(), "serve", model, f"--host={HOST}", f"--port={self.port}"),
            *as_flags({"generation_config": "vllm", **engine_args}),
        ]
        self._temporary = log is None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._users = 0
        self._entering = asyncio.Lock()

    @property
    def base_url(self) -> str:
        """The URL of the server, including `/v1`."""
        return f"http://{HOST}:{self.port}/v1"

    async def __aenter__(self) -> VLLMServer:
        """Start the server and wait until it is healthy, unless it already runs in another `async with` of this object.

        Raises UserError if the port stays in use or the log cannot be written. Raises UserError with the end of the
        server's log if the server exits or is not ready in time.
        """
        async with self._entering:
            if self._users == 0:
                await self._run()
            self._users += 1
        return self

    def require_running(self) -> None:
        """Raise UserError with the end of the server's log if the server has exited."""
        watchdog = self._watchdog
        if watchdog and self.log and watchdog.poll() is not None:
            raise UserError(_explain(f"vLLM exited with code {watchdog.returncode}", self.log))

    async def _run(self) -> None:
        await self._wait_for_port()
        watchdog, log = self._start()
        try:
            await self._wait_for_health(log)
        except BaseException as error:
            await _stop(watchdog, type(error))
            raise

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._users -= 1
        if self._users or self._watchdog is None or self.log is None:
            return
        well = kind is None and self._watchdog.poll() is None
        await _stop(self._watchdog, kind)
        if self._temporary and well:
            self.log.unlink(missing_ok=True)

    async def _wait_for_port(self) -> None:
        deadline = time.monotonic() + self.port_timeout
        while not _is_free(self.port):
            if time.monotonic() > deadline:
                raise UserError(
                    f"vllm: port {self.port} is in use; set another one with --agent-arg port=N (for the human, "
                    "--human-arg), or leave out `port`"
                )
            await asyncio.sleep(HEALTH_INTERVAL)

    def _start(self) -> tuple[subprocess.Popen[bytes], Path]:
        if self.log is None:
            handle, name = tempfile.mkstemp(prefix="colbench-vllm-", suffix=".log")
            os.close(handle)
            self.log = Path(name)
        try:
            output = self.log.open("wb")
        except OSError as cause:
            raise UserError(
                f"vllm: log={self.log}: cannot be written: {cause.strerror}; choose another file"
            ) from cause
        with output:
            self._watchdog = subprocess.Popen(  # noqa: S603 - the command is the user's own
                [sys.executable, "-I", str(WATCHDOG), *self.command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        logger.info("starting vLLM at %s; log file: %s", self.base_url, self.log)
        return self._watchdog, self.log

    async def _wait_for_health(self, log: Path) -> None:
        start = reported = time.monotonic()
        while not await _is_healthy(self.port):
            passed = time.monotonic() - start
            self.require_running()
            if passed > self.startup_timeout:
                raise UserError(
                    _explain(
                        f"vLLM did not start within {self.startup_timeout:g} s; allow more time with --agent-arg "
                        "startup_timeout=SECONDS (for the human, --human-arg)",
                        log,
                    )
                )
            if time.monotonic() - reported >= self.progress_interval:
                reported = time.monotonic()
                logger.info("vLLM is starting, %.0f s: %s", passed, "".join(tail(log, 1)))
            await asyncio.sleep(HEALTH_INTERVAL)
        logger.info("vLLM is up after %.0f s", time.monotonic() - start)


_SERVERS: WeakValueDictionary[str, VLLMServer] = WeakValueDictionary()


def shared_server(
    model: str, *, port: int, startup_timeout: float, log: str | None, **engine_args: ArgValue
) -> VLLMServer:
    """Return a server for a model. Calls with equal arguments, apart from `startup_timeout`, share one server."""
    key = repr((model, port, log, sorted(engine_args.items())))
    server = _SERVERS.get(key)
    if server is None:
        path = Path(log) if log else None
        server = _SERVERS[key] = VLLMServer(
            model, port=port, startup_timeout=startup_timeout, log=path, **engine_args
        )
    return server


def find_vllm(python: str = sys.executable) -> str:
    """Return the vLLM executable: COLBENCH_VLLM if it is set, else the one next to `python`, else the one on PATH.

    Raises UserError if COLBENCH_VLLM does not name an executable, or if it is not set and no other one is found.
    """
    named = os.environ.get("COLBENCH_VLLM")
    sibling = str(Path(python).with_name("vllm"))
    found = shutil.which(named) if named else shutil.which(sibling) or shutil.which("vllm")
    if found:
        return found
    if named:
        raise UserError(f"COLBENCH_VLLM: {named} is not an executable")
    raise UserError(
        "vLLM is not installed: pip install 'colbench[vllm]', "
        "or set COLBENCH_VLLM to the executable in another environment"
    )


def as_flags(engine_args: dict[str, ArgValue]) -> list[str]:
    """Convert arguments to flags of `vllm serve`."""
    flags = []
    for name, value in engine_args.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            flags.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            flags.append(f"--{flag}={value}")
    return flags


def tail(log: Path, lines: int) -> list[str]:
    """Return the last `lines` lines of a log, without blank lines and colors.

    Of a progress bar, only the last state is returned.
    """
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 65536))
        text = file.read().decode("utf-8", "replace")
    screen = (
        line.rstrip().rpartition("\r")[2] for line in TERMINAL_CODES.sub("", text).split("\n")
    )
    return [line for line in screen if line.strip()][-lines:]


def _check(model: str, engine_args: dict[str, ArgValue]) -> None:
    if not model:
        raise UserError("vllm: the model is missing; write vllm:MODEL_OR_PATH")
    if model.startswith(("/", "./", "../")) and not Path(model).is_dir():
        raise UserError(f"vllm:{model}: the folder does not exist")
    for name in OWN_FLAGS & engine_args.keys():
        raise UserError(
            f"vllm: {name} cannot be set, because ColBench's own vLLM server listens only on 127.0.0.1, without a key; "
            f"leave out {name}"
        )


def _explain(what: str, log: Path) -> str:
    shown = "\n".join(f"  {line}" for line in tail(log, LOG_TAIL))
    return f"{what}; the end of the log {log}:\n{shown}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


async def _is_healthy(port: int) -> bool:
    import aiohttp

    limit = aiohttp.ClientTimeout(total=5)
    async with aiohttp.ClientSession(timeout=limit) as session:
        try:
            async with session.get(f"http://{HOST}:{port}/health") as response:
                return response.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False


async def _stop(watchdog: subprocess.Popen[bytes], error: type[BaseException] | None) -> None:
    """Make the watchdog stop everything, and wait until the watchdog ends; wait less if the run was canceled."""
    cancelled = error is not None and issubclass(error, asyncio.CancelledError)
    timeout = STOP_TIMEOUT_OF_CANCELLED if cancelled else STOP_TIMEOUT
    if watchdog.stdin:
        watchdog.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        await asyncio.to_thread(watchdog.wait, timeout)
