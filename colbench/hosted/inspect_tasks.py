"""ColBench as Inspect AI tasks: `inspect eval colbench/DOMAIN` for each installed domain, such as `colbench/backend`.

A sample is a task, and an epoch is a trial. The solver is the dialogue of Inspect's model with the simulated human. The
scorer is ColBench's own. The Inspect task and the scorer have the domain's name.

Parameters (`-T`) are `tasks`, `human`, `max_turns` and other keys of a `--config` file of `colbench eval`, except
`domain` and keys in `sessions.NOT_OURS`. A domain with pictures also has the parameter `pictures`: if it is true, the
model sees pictures of its own pages. Written for inspect-ai 0.3.285.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from rich.markup import escape

from colbench.domain import Domain
from colbench.errors import (
    AgentError,
    EndpointError,
    InfrastructureError,
    UserError,
    describe_exception,
)
from colbench.hosted.sessions import measures, session_for
from colbench.messages import Message, with_newest_picture
from colbench.models.dialect import PLAIN_TOKENS
from colbench.models.pictures import data_url
from colbench.registry import installed_domains
from colbench.rollout import Rollout
from colbench.version import __version__

ROLLOUT = "colbench_rollout"
"""Key of the dialogue in a sample's store; also the key of the scored dialogue in the score's metadata."""
SETTINGS = "colbench_settings"
"""Key of the session's settings in the store, which `inspect score` reads."""
SAMPLING = GenerateConfig(temperature=1.0, max_tokens=PLAIN_TOKENS)
"""Sampling as in the paper; the settings of `inspect eval` take precedence."""
METRICS = [mean(), stderr(cluster="task")]


@solver
def dialogue(pictures: bool, settings: dict[str, Any]) -> Solver:
    """Return a solver that runs the dialogue with the simulated human, by the rules of `colbench.dialogue`.

    `pictures`: True if the model sees pictures of its pages. `settings`: the settings of the session (`session_for`).
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        session = session_for(settings)
        await session.start()
        cell = (str(state.sample_id), state.epoch - 1)
        prompt = session.prompt(session.tasks[cell[0]].domain, pictures=pictures)
        model = _Model(state, generate, prompt, pictures)
        cut = session.unfinished(*cell, "a limit of Inspect ended the dialogue")
        state.store.set(SETTINGS, settings)
        state.store.set(ROLLOUT, msgspec.to_builtins(cut))
        try:
            rollout = await session.run_dialogue(*cell, model)
        except InfrastructureError:
            if model.error:
                raise model.error from None
            raise
        state.store.set(ROLLOUT, msgspec.to_builtins(rollout))
        return state

    return solve


class _Model:
    """Inspect's model as the agent.

    `error` is the model's last exception, which the solver raises for Inspect to handle.
    """

    def __init__(self, state: TaskState, generate: Generate, prompt: str, pictures: bool) -> None:
        self.accepts_images = pictures
        self.error: Exception | None = None
        self._state, self._generate, self._prompt = state, generate, prompt

    async def reply(self, dialogue: Sequence[Message]) -> str:
        self._state.messages = [
            ChatMessageSystem(content=self._prompt),
            *map(_chat_message, with_newest_picture(dialogue)),
        ]
        try:
            said = await self._generate(self._state)
        except Exception as error:
            self.error = error
            raise EndpointError(describe_exception(error)) from error
        if said.output.stop_reason == "model_length":  # its text is the server's refusal
            raise AgentError(f"the dialogue is too long for the model: {said.output.completion}")
        return str(said.output.completion)


def _chat_message(message: Message) -> ChatMessage:
    if message.role == "assistant":
        return ChatMessageAssistant(content=message.content)
    pictures = [ContentImage(image=data_url(png)) for png in message.images]
    text = message.content
    return ChatMessageUser(content=[*pictures, ContentText(text=text)] if pictures else text)


def _add_domain(domain: Domain) -> None:
    """Register the task and the scorer of a domain under the domain's name."""
    names = [metric.name for metric in (domain.success, domain.primary) if metric]

    @scorer(name=domain.name, metrics=dict.fromkeys(names, METRICS))
    def judge() -> Scorer:
        return _scorer()

    @task(name=domain.name)
    def make(tasks: str = "", human: str = "keyless", max_turns: int = 10, **settings: Any) -> Task:
        return _task(domain, judge(), dict(settings, tasks=tasks, human=human, max_turns=max_turns))


def _task(domain: Domain, judge: Scorer, given: dict[str, Any]) -> Task:
    """Return the Inspect task of a domain. `given` may contain `pictures` only if the domain has pictures.

    Raises PrerequisiteError if a setting is wrong or this machine lacks something that the domain needs.
    """
    pictures = domain.pictured and bool(given.pop("pictures", False))
    settings = {**given, "domain": domain.name}
    try:
        if "domain" in given:
            others = ", ".join(f"colbench/{each.name}" for each in installed_domains())
            raise UserError(
                "domain: already set by the name of the Inspect task; choose one of these tasks instead: "
                f"{others}"
            )
        session = session_for(settings)
    except UserError as error:
        raise PrerequisiteError(escape(f"colbench/{domain.name}: {error}")) from error
    samples = [
        Sample(id=each.id, input=each.request, metadata={"task": each.id, "family": each.family})
        for each in session.tasks.values()
    ]
    return Task(
        dataset=MemoryDataset(samples, name=session.config.tasks),
        solver=dialogue(pictures, settings),
        scorer=judge,
        config=SAMPLING,
        version=__version__,
        metadata=session.session.describe(),
    )


def _scorer() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - the target is hidden
        talked = msgspec.convert(state.store.get(ROLLOUT), Rollout)
        session = session_for(state.store.get(SETTINGS))
        await session.start()
        rollout = await session.score(talked)
        verdict = session.verdict(rollout)
        record = {ROLLOUT: msgspec.to_builtins(rollout)}
        values = measures(verdict, rollout.domain)
        said = "\n".join([verdict.note, *verdict.failed_checks()]).strip() or None
        if not values:
            return Score.unscored(explanation=said, metadata=record)
        return Score(value=values, answer=rollout.answer, explanation=said, metadata=record)

    return score


for _domain in installed_domains():
    _add_domain(_domain)
