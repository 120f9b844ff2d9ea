"""What a run folder does not hold and training needs: its tasks and the agent's system prompt, found again.

Both are checked against the hashes that the run recorded. Where they cannot be found, the user gives them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from colbench.errors import DataError, UserError
from colbench.registry import get_domain
from colbench.run_folder import RunRecord
from colbench.selection import load_tasks
from colbench.task import BACKEND, Task


def tasks(record: RunRecord, folder: Path) -> list[Task]:
    """The tasks of the source that a run names. Raises DataError that says how to give them if it is not there."""
    try:
        return named(record.tasks.source)
    except UserError as cause:
        raise DataError(
            f"{folder}: its tasks cannot be found again: {cause}; give the task file of the run"
        ) from cause


def named(source: str) -> list[Task]:
    """The tasks of a source, such as `bundled:backend/train` or a file. Raises UserError if there is none."""
    return load_tasks(source)


def training_tasks(domain: str) -> str:
    """Return the task source to train on in a domain. Raises UserError if the domain has none."""
    source = get_domain(domain).defaults.training
    if not source:
        raise UserError(f"tasks: the domain {domain} has none to train on; name a source")
    return source


def system_prompt(record: RunRecord, domain: str, given: str | None, folder: Path) -> str:
    """The system prompt of a run's agent for a domain; "" if there is none.

    That is `given`, unless it is None. A model agent recorded the hash of its prompt: the run's prompt file or the
    built-in prompt that has this hash. Another agent, such as the keyless ones, has no prompt: the built-in one, which
    `colbench eval` gives to the model that is trained here. Raises DataError if no known prompt has the hash.
    """
    if given is None:
        given = _found(record, domain, folder)
    return given.replace("{max_turns}", str(record.config.max_turns))


def _found(record: RunRecord, domain: str, folder: Path) -> str:
    recorded = recorded_prompt(record, domain)
    for prompt in _known(record, domain):
        if recorded in (None, "sha256:" + hashlib.sha256(prompt.encode()).hexdigest()):
            return prompt
    raise DataError(
        f"{folder}: its agent had another system prompt than the built-in one, and its file "
        f"({record.config.agent_prompt}) is missing or was changed; give the prompt"
    )


def recorded_prompt(record: RunRecord, domain: str) -> str | None:
    """Return the hash of the agent's prompt that a run recorded; None if it recorded none.

    Runs made before there were domains from other packages have it as `prompt`, or `frontend_prompt`.
    """
    pins = record.pins.get("agent", {})
    found = pins.get(f"{domain}_prompt", pins.get("prompt") if domain == BACKEND else None)
    return None if found is None else str(found)


def _known(record: RunRecord, domain: str) -> Iterator[str]:
    config = record.config
    if config.agent_prompt and Path(config.agent_prompt).is_file():
        yield Path(config.agent_prompt).read_text("utf-8")
    yield get_domain(domain).agent_prompt(
        single_turn=bool(config.agent_args.get("single_turn", False)),
        pictures=bool(config.agent_args.get("pictures", False)),
    )
