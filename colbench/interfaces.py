"""The interfaces of the harness.

A class need not inherit from these protocols; having the method is enough. The signatures hide tasks from agents: an
agent receives messages, and never a task.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

from colbench.errors import AgentError
from colbench.messages import Message
from colbench.pages.render import PageRenderer
from colbench.rollout import Followed
from colbench.score import Score
from colbench.task import BACKEND, Task


class Agent(Protocol):
    """The agent under test.

    An agent with the attribute `accepts_images = True` also receives pictures of its pages. An agent with an attribute
    `domains`, such as `("backend",)`, is refused for tasks of other domains.
    """

    async def reply(self, dialogue: Sequence[Message]) -> Message | str:
        """Return the agent's next message, given all messages so far, beginning with the human's request."""
        ...


class Episode(Struct, frozen=True, kw_only=True):
    """The information that an agent receives about one dialogue, in addition to its messages."""

    id: str
    """Identifier that is unique in the run and reveals nothing about the task."""
    seed: int
    """Seed for the agent's own sampling, derived from the run's seed, the task and the trial."""
    max_turns: int
    domain: str = BACKEND
    record_tokens: bool = False
    """True if replies must carry their tokens (`Message.sampled`); set only for agents with `records_tokens`."""


@runtime_checkable
class StatefulAgent(Protocol):
    """An agent with separate state for each dialogue: `open` returns the agent of one dialogue."""

    def open(self, episode: Episode) -> AbstractAsyncContextManager[Agent]:
        """Return a context manager for the agent of one dialogue.

        The context is opened when the dialogue starts, and always closed when the dialogue ends.
        """
        ...


class Rule(Struct, frozen=True, kw_only=True):
    """A rule for agents, and the way in which `colbench agents check` checks the rule."""

    name: str
    """The requirement, in a few words."""
    fix: str | Callable[[AgentError], str]
    """Advice for fixing an agent that breaks the rule; or a function that returns the advice for an error."""
    see: str
    """The page that documents the rule."""
    probe: Callable[[], Awaitable[str | None]]
    """A function that returns None if the rule is followed, or the reason why the rule does not apply.

    Raises AgentError if the rule is broken.
    """
    needs: tuple[str, ...] = ()
    """Names of earlier rules; this rule is checked only if the agent follows them."""
    replies: int = 0
    """Maximum number of replies that the probe requests; rules that share a dialogue count its replies only once."""
    advice: bool = False
    """True if the rule is only advice: breaking it makes no dialogue fail."""


@runtime_checkable
class Checkable(Protocol):
    """An agent with its own rules, in addition to the rules for every agent."""

    def conformance_rules(self, patience: float) -> Sequence[Rule]:
        """Return the agent's rules, in the order of checking; `patience` is the time limit in seconds for one reply."""
        ...


class HumanSimulator(Protocol):
    """The simulated human, which belongs to the harness and, unlike the agent, sees the task."""

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message | str:
        """Return the human's reply to the agent's last message."""
        ...


@runtime_checkable
class Viewer(Protocol):
    """A human or an agent that uses pictures of pages."""

    def use_renderer(self, renderer: PageRenderer) -> None:
        """Receive the renderer. Called once, before the first dialogue of a run on a domain with a renderer."""
        ...


@runtime_checkable
class ResourceUser(Protocol):
    """A human or an agent that uses the resources of the domains, such as the sandbox or the browser."""

    def use_resources(self, resources: Mapping[str, Any]) -> None:
        """Receive the started resources by domain name; called once, before the first dialogue of a run."""
        ...


@runtime_checkable
class LogKeeper(Protocol):
    """An agent that keeps a log."""

    def use_log_folder(self, folder: Path) -> None:
        """Receive the log folder next to the rollouts; it need not exist yet. Called once, before a run starts."""
        ...


class Scorer(Protocol):
    """A scorer of the answers of one domain."""

    async def score(self, task: Task, answer: str) -> dict[str, Score]:
        """Return the score of the answer in each scoring mode, by the mode's name."""
        ...


@runtime_checkable
class ProgressScorer(Scorer, Protocol):
    """A scorer that can also measure the progress of a dialogue at each turn."""

    async def score_turn(self, task: Task, said: str) -> Score | None:
        """Return the score of the agent's answer in one turn; None if the turn has no answer."""
        ...


@runtime_checkable
class ReplyScorer(ProgressScorer, Protocol):
    """A progress scorer that can also decide whether the agent followed the human's remarks."""

    async def score_replies(
        self, task: Task, shown: Sequence[str], replies: Sequence[str | None]
    ) -> list[Followed | None]:
        """Return, for each turn, what became of the differences that the human's reply pointed out.

        `shown`: the agent's message in each turn; for the last turn, the agent's answer.
        `replies`: the human's reply in each turn; None for a turn without a reply.
        """
        ...


class ChatModel(Protocol):
    """A language model behind a chat interface."""

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        temperature: float,
        max_tokens: int,
        seed: int | None,
        tokens: bool = False,
    ) -> Message:
        """Return the model's next message, with usage if the server counts tokens, and token IDs if `tokens` is set."""
        ...


Reason = Literal[
    "refused",
    "malformed",
    "not_a_function",
    "bad_calls",
    "gives_away",
    "fails",
    "unstable",
    "none",
    "constant",
    "unofficial",
    "near_duplicate",
    "guessed",
]
"""Reasons why a model's output is not a valid task, in the order of checking; see `colbench.synthesis.records`."""


class RejectedError(Exception):
    """The error for a model's output that is not a valid task."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: Reason = reason
        self.detail = detail


class TaskIndex(Protocol):
    """An index that finds near-duplicates of tasks."""

    def add(self, task: Task) -> None:
        """Add a task."""
        ...

    def like(self, task: Task) -> str:
        """Return a description of the indexed task that `task` nearly duplicates; "" without such a task."""
        ...


class Recipe(Protocol):
    """A recipe for tasks that a model writes: the prompt, the schema of a reply, and the parser of replies.

    Each entry point of the group `colbench.recipes` creates a recipe, without arguments.
    """

    domain: str
    """Name of the domain of the tasks."""
    fingerprint: str
    """SHA-256 of the prompt."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a reply."""
        ...

    def messages(self, text: str) -> list[Message]:
        """Return the messages that ask the model to write a task from the seed text `text`."""
        ...

    def read(self, reply: str) -> Task:
        """Parse the task in a reply, without running anything. Raises RejectedError if the reply is malformed."""
        ...

    def index(self) -> TaskIndex:
        """Return an empty index."""
        ...


class Origin(Struct, frozen=True, kw_only=True):
    """The origin and the properties of a task source.

    Each entry point of the group `colbench.origins` is a function for one source. The function receives the text after
    the colon of the source's spec, and returns the origin.
    """

    what: str
    made: str
    """The author of the source, and the way it was made."""
    license: str
    how: str
    """The way to obtain the source."""
    tasks: int | None = None
    """Number of tasks of the whole set, if known; this machine may have only part of it."""
    floors: Mapping[str, Mapping[str, float]] = {}
    """Measured scores of agents that ask nothing, on the whole set, by agent and metric."""


class Design(Protocol):
    """A task's decisions, as the task's author knows them; every field is keyed by a decision's name.

    Each entry point of the group `colbench.designs` is a function that returns the design of a task, or None for an
    unknown task.
    """

    chosen: Mapping[str, Hashable]
    """The choices that the task's reference makes."""
    usual: Mapping[str, Hashable]
    """The choices of the most likely guess."""
    questions: Mapping[str, Sequence[str]]
    """Plain questions about each decision."""

    def source(self, choices: Mapping[str, Any]) -> str:
        """Return the source of the function with these choices."""
        ...
