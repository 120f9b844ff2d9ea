"""Functions that find the agent of a run, choose the agent's process, and isolate the agent or say why this fails.

ColBench's own agents, and agents given as objects, run in the process of the run. A third-party Python agent also runs
there if `in_process` is set; otherwise it runs in a separate process, which is isolated if the machine supports
isolation. A program (`cmd:`) is isolated only if `agent_sandbox` is set. An agent at a URL runs on another server.
docs/agent-sandbox.md describes what an agent is isolated from.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from colbench.agent_process.command import CommandAgent
from colbench.agent_process.outside import OutsideAgent
from colbench.agent_process.python import PythonAgent
from colbench.config import RunConfig
from colbench.errors import SandboxError, UserError
from colbench.participants import arguments, find_participant
from colbench.plugins import files_of, is_foreign

IN_PROCESS = "in-process"
if TYPE_CHECKING:
    from colbench.sandbox.agent import Hidden

_NEEDS = ("agent_endpoint", "agent_env")


def read_isolation(config: RunConfig) -> RunConfig:
    """Check the settings that isolate the agent, and return the configuration with `agent_endpoint` as HOST:PORT.

    Raises UserError if the endpoint is malformed, if `agent_endpoint` or `agent_env` is set without `agent_sandbox`, or
    if `agent_sandbox` is combined with `in_process` or `agent_write`.
    """
    if config.in_process and config.agent_sandbox:
        raise UserError(
            "--agent-sandbox: cannot be combined with --in-process; use only one of them"
        )
    for field in _NEEDS:
        if getattr(config, field) and not config.agent_sandbox:
            flag = "--" + field.replace("_", "-")
            raise UserError(
                f"{flag}: applies only to an isolated agent; add --agent-sandbox, or remove {flag}"
            )
    if config.agent_write and config.agent_sandbox:
        raise UserError(
            "--agent-write: cannot be combined with --agent-sandbox, because a sandboxed agent may "
            "not write to any folder; use only one of them"
        )
    if not config.agent_endpoint:
        return config
    from colbench.sandbox.agent import read_endpoint

    return replace(config, agent_endpoint=str(read_endpoint(config.agent_endpoint)))


def find_agent(config: RunConfig) -> Any:
    """Return the agent that a configuration names. Third-party code gets its own process unless `in_process` is set.

    Raises UserError if an agent that runs in this process is unknown or cannot be built.
    """
    if config.in_process or not is_foreign("agent", config.agent):
        return find_participant("agent", config)
    args = arguments("agent", config)
    return PythonAgent(config.agent, args, patience=config.endpoint_patience)


def isolate(agent: object, config: RunConfig, out: Path | None) -> str:
    """Isolate the agent as configured.

    Return a description of what an isolated agent may still reach, or "" if the agent is not isolated.

    If `agent_sandbox` is not set, a Python agent in its own process is still isolated from the tasks. If that is
    impossible, a warning is logged, and `agent_write` has no effect. `agent_write` also has no effect if `in_process`
    is set. Raises UserError if `agent_sandbox` is set and the agent cannot be isolated, if `agent_write` is set for an
    agent that is not a Python agent in its own process, or if a folder of `agent_write` does not exist or is hidden
    from agents.
    """
    if config.agent_sandbox:
        return _shut_in(agent, config, out)
    if config.agent_write and not (config.in_process or isinstance(agent, PythonAgent)):
        raise UserError(
            "--agent-write: applies only to a Python agent in its own process, which --agent names by a spec such as "
            "my_agent.py:MyAgent; remove --agent-write"
        )
    if isinstance(agent, PythonAgent):
        try:
            return _hide_tasks(agent, config, out)
        except SandboxError as cause:
            logging.getLogger("colbench").warning(
                "the agent runs in its own process, but is not isolated from the tasks: %s",
                cause,
            )
    return ""


def process_of(agent: object) -> str:
    """Return where an agent runs: in this process, in its own process, as a program, or on another server.

    The run's record contains this text. For an agent in its own process, and for a program, the text also says whether
    the agent is isolated.
    """
    if not isinstance(agent, OutsideAgent):
        return IN_PROCESS
    if not isinstance(agent, CommandAgent):
        return "another server"
    words = "own process" if isinstance(agent, PythonAgent) else "program"
    return f"{words}, isolated (bubblewrap)" if agent.prefix else words


def _hide_tasks(agent: PythonAgent, config: RunConfig, out: Path | None) -> str:
    """Isolate an agent from the tasks, and return a description of what it may still reach.

    Raises SandboxError if the agent cannot be isolated, UserError if a folder of `agent_write` cannot be used.
    """
    from colbench.sandbox.agent import OpenSandbox, find_hidden, why_not_open

    hidden = find_hidden(config, out)
    writable = _writable(config, hidden)
    _require_apart(config, hidden)
    if reason := why_not_open():
        raise SandboxError(reason)
    box = OpenSandbox(agent.command, hidden=hidden, named=_named(config), writable=writable)
    agent.prefix = box.prefix()
    return box.words


def _writable(config: RunConfig, hidden: Hidden) -> list[Path]:
    """Return the folders of `agent_write`. Raises UserError if a folder does not exist, or is hidden from agents."""
    folders = [Path(folder).expanduser().resolve() for folder in config.agent_write]
    for given, folder in zip(config.agent_write, folders, strict=True):
        if not folder.is_dir():
            raise UserError(f"--agent-write {given}: the folder {folder} does not exist")
        if hidden.holds(folder) or hidden.is_checkout(folder):
            raise UserError(
                f"--agent-write {given}: this folder is hidden from agents, because it contains tasks or runs, or is "
                "inside a folder with tasks or runs; choose another folder"
            )
    return folders


def _require_apart(config: RunConfig, hidden: Hidden) -> None:
    """Raise SandboxError if isolation would hide one of the agent's own files or folders."""
    for file in files_of("agent", config.agent):
        if hidden.holds(file.resolve()):
            raise SandboxError(
                f"{file}: isolation hides packages and folders with tasks or runs, and this part of the agent is in "
                "one of them; move the agent elsewhere"
            )


def _shut_in(agent: object, config: RunConfig, out: Path | None) -> str:
    from colbench.sandbox.agent import (
        AgentSandbox,
        find_hidden,
        read_endpoint,
        runtime,
        why_not,
    )
    from colbench.sandbox.agent.probe import REMEDY

    if not isinstance(agent, CommandAgent):
        raise UserError(
            f"--agent-sandbox: only a program (cmd:COMMAND), or your own Python agent named by a spec such as "
            f"my_agent.py:MyAgent, can be isolated; the agent {config.agent} runs in this process or on another server"
        )
    if reason := why_not():
        raise UserError(
            f"--agent-sandbox: agents cannot be isolated here: {reason}. To enable isolation: {REMEDY}"
        )
    endpoint = read_endpoint(config.agent_endpoint) if config.agent_endpoint else None
    hidden, named = find_hidden(config, out), list[str]()
    try:
        if isinstance(agent, PythonAgent):
            _require_apart(config, hidden)
            named = [*_named(config), *map(str, runtime(hidden))]
        box = AgentSandbox(
            agent.command,
            hidden=hidden,
            endpoint=endpoint,
            environment=config.agent_env,
            named=named,
        )
    except SandboxError as cause:
        raise UserError(f"--agent-sandbox: the agent cannot be isolated: {cause}") from cause
    agent.prefix = box.prefix()
    unset = [name for name in config.agent_env if name not in os.environ]
    return f"{box.words}; not set in the environment: {', '.join(unset)}" if unset else box.words


def _named(config: RunConfig) -> list[str]:
    """Return the paths of a Python agent's files, and the values of the agent's arguments, which may also be paths."""
    files = files_of("agent", config.agent)
    return [*map(str, files), *map(str, arguments("agent", config).values())]
