"""Using agents of other frameworks, and plain functions, without changes: `--agent my_agent.py:agent`.

Each entry point of the group `colbench.frameworks` is named after a class of a framework, and refers to the adapter for
objects of this class. The entry point `callable` refers to the adapter for functions and other callables.
"""

from __future__ import annotations

from colbench.registry import get_domain
from colbench.task import BACKEND


def instructions(domain: str = BACKEND, max_turns: int = 10) -> str:
    """Return the system prompt of the built-in model agent, which states the task and how to end a dialogue."""
    prompt = get_domain(domain).agent_prompt(single_turn=False, pictures=False)
    return prompt.replace("{max_turns}", str(max_turns))
