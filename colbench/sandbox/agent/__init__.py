"""The sandbox of a program under test: no network except one endpoint, and no files that contain tasks.

It isolates programs (`cmd:` agents) with bubblewrap; see docs/agent-sandbox.md. The code that agents write as answers
runs in a different sandbox, `colbench.sandbox.CodeSandbox`.
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
