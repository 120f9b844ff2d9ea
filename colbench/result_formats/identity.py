"""The IDs of a run and of its model in files for other sites."""

from __future__ import annotations

import hashlib
import re
import uuid

from colbench.errors import UserError
from colbench.run import Run

MODELS = frozenset({"azure", "local", "openai", "vllm"})
"""Prefixes of agent specs in which the model's name follows the colon."""
OWNER_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
EXAMPLE = "meta-llama/Llama-3.1-8B-Instruct"
"""A model ID in messages."""


def model_id(run: Run, given: str = "") -> str:
    """Return the ID of a run's model, of the form OWNER/NAME.

    If `given` is not empty, `given` is the ID. Otherwise, the ID is the model in the agent's spec, without the server's
    URL. For an agent NAME without a colon, such as `interviewer`, the ID is `colbench/NAME`.

    Raises:
        UserError: The ID does not have the form OWNER/NAME.
    """
    agent = run.config.agent
    kind, colon, rest = agent.partition(":")
    named = rest.partition("@")[0] if kind in MODELS else f"colbench/{agent}" if not colon else ""
    found = given or named
    if not OWNER_NAME.fullmatch(found):
        form = "a model ID of the form OWNER/NAME"
        raise UserError(
            f"--model {given}: not {form}, such as {EXAMPLE}"
            if given
            else f"{run.path}: the agent {agent} does not contain {form}; set --model, for example to {EXAMPLE}"
        )
    return found


def run_id(run: Run) -> uuid.UUID:
    """Return a UUID derived from the run's configuration, tasks and start; a repeated export has the same UUID."""
    key = f"{run.record.digest} {run.record.tasks.hash} {run.record.started}"
    return uuid.UUID(bytes=hashlib.sha256(key.encode()).digest()[:16], version=4)
