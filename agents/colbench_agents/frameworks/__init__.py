"""Agents of other frameworks, and plain functions, as they are: `--agent my_agent.py:agent`.

The entry points of the group `colbench.frameworks` say which class of which package has which adapter.
"""

from __future__ import annotations

from colbench.task import Domain
from colbench_agents.model import builtin_prompt


def instructions(domain: Domain = "backend", max_turns: int = 10) -> str:
    """The system prompt of the built-in model agent: what it is to find out, and how it ends a dialogue."""
    prompt = builtin_prompt(domain, single_turn=False, pictures=False)
    return prompt.replace("{max_turns}", str(max_turns))
