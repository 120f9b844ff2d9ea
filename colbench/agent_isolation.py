"""`--agent-sandbox`: isolate the agent's program, or say why that is impossible."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.errors import SandboxError, UserError
from colbench.interfaces import ProgramAgent

_NEEDS = ("agent_endpoint", "agent_env")


def read_isolation(config: RunConfig) -> RunConfig:
    """Return the configuration with its agent endpoint as HOST:PORT.

    Raises UserError if the endpoint is malformed, or if it is given without a sandbox.
    """
    for field in _NEEDS:
        if getattr(config, field) and not config.agent_sandbox:
            flag = "--" + field.replace("_", "-")
            raise UserError(
                f"{flag}: the agent is not isolated; add --agent-sandbox, or leave this out"
            )
    if not config.agent_endpoint:
        return config
    from colbench.sandbox.agent import read_endpoint

    return replace(config, agent_endpoint=str(read_endpoint(config.agent_endpoint)))


def isolate(agent: object, config: RunConfig, out: Path | None) -> str:
    """Isolate the agent if the configuration says so. Return what it may still reach, for people; else "".

    Raises UserError if the agent is not a program, or if this machine cannot isolate one.
    """
    if not config.agent_sandbox:
        return ""
    from colbench.sandbox.agent import AgentSandbox, find_hidden, read_endpoint, why_not
    from colbench.sandbox.agent.probe import REMEDY

    if not isinstance(agent, ProgramAgent):
        raise UserError(
            f"--agent-sandbox: only a program can be isolated, and --agent {config.agent} runs in this "
            "process or on another server; give --agent cmd:COMMAND"
        )
    try:
        if reason := why_not():
            raise SandboxError(reason)
        endpoint = read_endpoint(config.agent_endpoint) if config.agent_endpoint else None
        hidden = find_hidden(config, out)
        box = AgentSandbox(
            agent.command, hidden=hidden, endpoint=endpoint, environment=config.agent_env
        )
    except SandboxError as cause:
        raise UserError(
            f"--agent-sandbox: agents cannot be isolated here: {cause}. To get it: {REMEDY}"
        ) from cause
    agent.prefix = box.prefix()
    unset = [name for name in config.agent_env if name not in os.environ]
    return f"{box.words}; not set here: {', '.join(unset)}" if unset else box.words
