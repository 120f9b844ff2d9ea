"""`--agent-sandbox`: the agent's program is shut in, or the command says why it cannot be."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.errors import SandboxError, UserError

_NEEDS = ("agent_endpoint", "agent_env")


def read_walls(config: RunConfig) -> RunConfig:
    """The configuration with its endpoint as HOST:PORT.

    Raises UserError when it is malformed, or something is said of a sandbox that is not asked for.
    """
    for field in _NEEDS:
        if getattr(config, field) and not config.agent_sandbox:
            flag = "--" + field.replace("_", "-")
            raise UserError(
                f"{flag}: the agent is not shut in; add --agent-sandbox, or leave this out"
            )
    if not config.agent_endpoint:
        return config
    from colbench.sandbox.agent import read_endpoint

    return replace(config, agent_endpoint=str(read_endpoint(config.agent_endpoint)))


def shut_in(agent: object, config: RunConfig, out: Path | None) -> str:
    """Shut the agent in, where that is asked for. Returns what is let through, for people; empty: everything.

    Raises UserError when the agent is no program, or nothing can be shut in on this machine.
    """
    if not config.agent_sandbox:
        return ""
    from colbench.interfaces import ProgramAgent
    from colbench.sandbox.agent import AgentSandbox, find_hidden, read_endpoint, why_not
    from colbench.sandbox.agent.probe import REMEDY

    if not isinstance(agent, ProgramAgent):
        raise UserError(
            f"--agent-sandbox: only a program can be shut in, and --agent {config.agent} is none: it runs in this "
            "process, or is a server elsewhere; give --agent cmd:COMMAND"
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
            f"--agent-sandbox: agents cannot be shut in here: {cause}. To get it: {REMEDY}"
        ) from cause
    agent.prefix = box.prefix()
    unset = [name for name in config.agent_env if name not in os.environ]
    return f"{box.words}; not set here: {', '.join(unset)}" if unset else box.words
