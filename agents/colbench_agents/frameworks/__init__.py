"""Using agents of other frameworks, and plain functions, without changes: `--agent my_agent.py:agent`.

The entry points of the group `colbench.frameworks` map classes of packages to adapters.
"""

from __future__ import annotations

from colbench.registry import get_domain
from colbench.task import BACKEND


def instructions(domain: str = BACKEND, max_turns: int = 10) -> str:
    """Return the system prompt of the built-in model agent, which states the task and how to end a dialogue."""
    prompt = get_domain(domain).agent_prompt(single_turn=False, pictures=False)
    return prompt.replace("{max_turns}", str(max_turns))
