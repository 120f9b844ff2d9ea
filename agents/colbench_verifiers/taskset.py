"""ColBench's tasks as a taskset of verifiers: only the requests, without hidden information."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import verifiers.v1 as vf
from pydantic import Field, model_validator

from colbench.errors import UserError
from colbench.hosted.sessions import HostedSession, session_for
from colbench.task import BACKEND


class ColBenchConfig(vf.TasksetConfig):
    """The configuration of a taskset: the tasks, the human and the scoring."""

    domain: str = BACKEND
    """Name of an installed domain."""
    tasks: str = ""
    """A task source or a task file; empty for the bundled tasks."""
    human: str = "keyless"
    """The simulated human: a value of `--human`, such as keyless or openai:MODEL[@URL]."""
    max_turns: int = 10
    """Maximum number of turns in a dialogue."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Further settings, with the keys of a `--config` file of `colbench eval`."""

    @property
    def session(self) -> HostedSession:
        """The session that runs the tasks' dialogues. Raises UserError if the configuration is not valid."""
        named = self.model_dump(include={"domain", "tasks", "human", "max_turns"})
        for name in sorted(named.keys() & self.settings.keys()):
            raise UserError(
                f"settings.{name}: not allowed here; set `{name}` next to `settings` instead"
            )
        return session_for({**self.settings, **named})

    @model_validator(mode="after")
    def _found(self) -> Self:
        try:
            _ = self.session
        except UserError as error:
            raise ValueError(str(error)) from error
        return self


class ColBenchTaskset(vf.Taskset[vf.Task, ColBenchConfig]):
    """A taskset with one task for each task of ColBench; `session` runs their dialogues."""

    def __init__(self, config: ColBenchConfig) -> None:
        super().__init__(config)
        self.session = config.session

    def load(self) -> Iterator[vf.Task]:
        """Yield the tasks in order."""
        for task in self.session.tasks.values():
            yield vf.Task(
                vf.TaskData(
                    id=task.id,
                    prompt=task.request,
                    system_prompt=self.session.prompt(task.domain),
                ),
                self.config.task,
            )
