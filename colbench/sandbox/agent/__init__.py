"""Sandboxes that hide the files with tasks from agents that run in their own process.

`AgentSandbox` (`--agent-sandbox`) also blocks the network, except for one endpoint if `--agent-endpoint` is set.
`OpenSandbox`, the default for third-party Python agents, permits network access. Both use bubblewrap; see
docs/agent-sandbox.md. The code that agents write as answers runs in a different sandbox, `CodeSandbox`.
"""

from __future__ import annotations

from colbench.sandbox.agent.box import AgentSandbox, OpenSandbox
from colbench.sandbox.agent.endpoint import Endpoint, read_endpoint
from colbench.sandbox.agent.hidden import Hidden, find_hidden
from colbench.sandbox.agent.probe import why_not, why_not_open
from colbench.sandbox.agent.view import runtime

__all__ = [
    "AgentSandbox",
    "Endpoint",
    "Hidden",
    "OpenSandbox",
    "find_hidden",
    "read_endpoint",
    "runtime",
    "why_not",
    "why_not_open",
]
