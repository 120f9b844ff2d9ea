"""The agent and the human of a run: resolved from specs or given as objects, checked, started and stopped."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import FunctionType
from typing import Any, Literal

from colbench.config import ArgValue, RunConfig
from colbench.errors import ColBenchError, UserError, describe_exception
from colbench.messages import clean
from colbench.plugin_files import name_of
from colbench.plugins import describe, describe_domain, require_method, resolve
from colbench.registry import get_domain
from colbench.task import Task

Role = Literal["agent", "human"]
LEAVING = 60.0
"""Maximum number of seconds that a participant may take to stop at the end of a run."""


def find_participant(role: Role, config: RunConfig) -> Any:
    """Return the agent or the human that a configuration names; see `plugins.resolve` for the errors."""
    return resolve(role, getattr(config, role), arguments(role, config))


def arguments(role: Role, config: RunConfig) -> dict[str, ArgValue]:
    """Return the constructor arguments of the agent or the human, including the path of its prompt file if set."""
    args: dict[str, ArgValue] = dict(getattr(config, f"{role}_args"))
    prompt = getattr(config, f"{role}_prompt")
    return {**args, "prompt": prompt} if prompt else args


def agent_prompt(path: str | None, domain: str, max_turns: int, pictures: bool = False) -> str:
    """Return the system prompt from a file, or the domain's built-in prompt.

    Raises UserError if the file cannot be read.
    """
    if path is None:
        prompt = get_domain(domain).agent_prompt(single_turn=False, pictures=pictures)
    else:
        try:
            prompt = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as cause:
            raise UserError(f"agent_prompt: {path} cannot be read: {cause}") from cause
    return prompt.replace("{max_turns}", str(max_turns))


def spec_of(participant: object) -> str:
    """Return the spec that a run records for an object: the object's attribute `spec`, or `module:Class`."""
    named = getattr(participant, "spec", None)
    if isinstance(named, str):
        return named
    return name_of(participant if isinstance(participant, type) else type(participant))


def require_object(role: Role, given: object, config: RunConfig) -> None:
    """Raise UserError if `given` is not an agent or a human, or if arguments for its constructor are set."""
    require_method(role, given, role)
    for name in (f"{role}_args", f"{role}_prompt"):
        if getattr(config, name):
            raise UserError(
                f"{name}: cannot be used if the {role} is given as an object; pass the values to the object's "
                f"constructor, and remove {name}"
            )


def require_given(name: str, given: object) -> None:
    """Raise UserError if an argument of `evaluate` is None or a function."""
    if given is None:
        raise UserError(
            f"{name}: expected a spec or an object, got None; leave {name} out for its default"
        )
    if isinstance(given, FunctionType):
        advice = (
            "call it, and pass the tasks that it returns"
            if name == "tasks"
            else f"pass a spec, such as my_{name}.py:{given.__name__}"
        )
        raise UserError(f"{name}: a function cannot be passed; {advice}")


def describe_for(participant: object, domains: Collection[str]) -> dict[str, str]:
    """Return a participant's description; entries about a single domain have keys such as `backend_prompt`."""
    parts = {
        f"{name}_{key}": value
        for name in sorted(domains)
        for key, value in describe_domain(participant, name).items()
    }
    return describe(participant) | parts


def learned(agent: object, human: object) -> dict[str, list[str]]:
    """Return, by role, what the agent and the human have learned about their models and servers."""
    found = {"agent": learned_by(agent), "human": learned_by(human)}
    return {role: list(sentences) for role, sentences in found.items() if sentences}


def learned_by(participant: object) -> tuple[str, ...]:
    """Return what a participant has learned about its model and server: the sentences of its method `learned`.

    Returns () if the method is missing or fails. An attribute `learned` that is not such a method, such as an agent's
    memory, is ignored.
    """
    try:
        method = getattr(participant, "learned", None)
        if not callable(method) or inspect.iscoroutinefunction(method):
            return ()
        return tuple(clean(str(sentence)) for sentence in method())
    except Exception:
        return ()


def require_domains(agent: object, config: RunConfig, tasks: Sequence[Task]) -> None:
    """Raise UserError if an agent that lists its domains gets tasks of another domain."""
    known: Sequence[str] | None = getattr(agent, "domains", None)
    other = next((task.domain for task in tasks if known and task.domain not in known), None)
    if known and other:
        raise UserError(
            f"--agent {config.agent}: it supports {' and '.join(known)} tasks, but {config.tasks} "
            f"has {other} tasks; choose another agent, such as {get_domain(other).defaults.agent}, "
            f"or select tasks with --domain {known[0]}"
        )


def require_tokens(agent: object, config: RunConfig) -> None:
    """Raise UserError if tokens must be recorded for an agent that does not provide them."""
    if config.record_tokens and not getattr(agent, "records_tokens", False):
        raise UserError(
            f"--record-tokens: {config.agent} does not record tokens; use vllm:MODEL, or "
            "openai:MODEL@URL with a vLLM server"
        )


def why_single(role: Role, participant: object, *, given: bool) -> str:
    """Return why a run with this participant must have a single process; "" if it can have several.

    A participant given as an object (`given`) cannot move to another process. Any other participant may give a reason
    in its attribute `single_process`.
    """
    if given:
        return (
            f"the {role} was given as an object, which cannot be sent to another process; pass a "
            f"spec, such as my_{role}.py:My{role.title()}, or use one process and the executor local"
        )
    reason: str = getattr(participant, "single_process", "")
    return f"the {role} needs a run with a single process: {reason}" if reason else ""


async def start(stack: AsyncExitStack, role: str, participant: Any) -> None:
    """Start a participant that is a context manager. The exit stack stops the participant.

    Errors while stopping are only logged. ColBench's own errors at the start pass unchanged. Raises UserError if the
    participant fails to start with any other error.
    """
    if not hasattr(participant, "__aenter__"):
        return
    try:
        await participant.__aenter__()
    except ColBenchError:
        raise
    except Exception as cause:
        raise UserError(
            f"--{role}: the {role} could not be started\n{describe_exception(cause)}"
        ) from cause

    async def stop(*error: Any) -> None:
        try:
            async with asyncio.timeout(LEAVING):
                await participant.__aexit__(*error)
        except Exception as cause:
            text = describe_exception(cause)
            logging.getLogger("colbench").warning("stopping the %s failed: %s", role, text)

    stack.push_async_exit(stop)
