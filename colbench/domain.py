"""Domains. Each domain defines the subject of its tasks, and how answers are scored and displayed.

A domain is an object. Packages register their domains in the entry-point group `colbench.domains`; the harness, the
report, the leaderboard and the trainer find a domain by name and iterate over its metrics. docs/new-domain.md shows how
to build one.
"""

from __future__ import annotations

import asyncio
import importlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from importlib import resources as package_files
from pathlib import Path
from typing import ClassVar, Literal

from msgspec import Struct

from colbench.checks import Bar, Diagnosis, Examination, TaskCheck
from colbench.config import RunConfig
from colbench.copies import is_copy, token_parts
from colbench.errors import UserError
from colbench.facts.human import FactsHuman, asked_facts
from colbench.interfaces import ChatModel, HumanSimulator, RejectedError, Scorer
from colbench.items import Items, source_items
from colbench.models.human import TextHuman, Voice
from colbench.pages.render import PageRenderer
from colbench.pages.store import RenderStore
from colbench.presentation import AnswerPictures, DialoguePictures, Draft, ReportPages
from colbench.rollout import Rollout
from colbench.score import Score
from colbench.task import Fact, Task

FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.M | re.S)

Role = Literal["success", "primary", "fallback", "detail"]
"""Role of a metric. `success`: passed or not. `primary`: the score itself (`Score.value`). `fallback`: leads reports in
which answers lack the primary metric. `detail`: any other metric."""


class Metric(Struct, frozen=True, kw_only=True):
    """One number that a domain, or an extra scorer, reports about an answer."""

    name: str
    """Key in `report.json`, `Score.metrics` and exported tables, such as `tests_passed`."""
    label: str
    """Human-readable name, in lower case."""
    role: Role = "detail"
    bounds: tuple[float, float] = (0.0, 1.0)
    """Minimum and maximum possible values; infinite if the metric is unbounded."""
    unit: str = "%"
    """The unit; empty for a plain number. A metric with the unit `%` is a share, and is shown multiplied by 100. Any
    other unit, such as `s`, is shown after the number. Only metrics of the role `detail` may have a unit other than
    `%`."""
    direction: Literal["higher", "lower"] = "higher"
    """The direction of better values, higher or lower; `lower` is allowed only for the role `detail`."""
    digits: int | None = None
    """Number of decimal places that are the same on all machines; None if all decimal places are the same."""
    lacking: str = ""
    """Reason why an answer may lack the metric, and how to enable the metric."""
    description: str = ""
    """Meaning in a few words, such as "hidden tests that the function passes"."""

    def of(self, score: Score | None) -> float | None:
        """Return this metric's value in a score; None if it was not computed. The value of success is 1.0 or 0.0."""
        if score is None:
            return None
        if self.role == "success":
            return None if score.success is None else float(score.success)
        return score.value if self.role == "primary" else score.metrics.get(self.name)


class Defaults(Struct, frozen=True, kw_only=True):
    """The default tasks and the default agent of a run."""

    tasks: str
    agent: str
    training: str = ""
    """Task source for training, disjoint from `tasks`; empty if the domain has no training tasks."""


class Resources:
    """The tools that a domain needs to score answers. Entering the context starts the tools, and leaving it stops them.

    This base class has no tools.
    """

    workers: int = 1
    """Number of answers scored at the same time."""
    renderer: PageRenderer | None = None
    """Renderer for agents and humans that look at pages."""

    def lacking(self) -> tuple[str, ...]:
        """Return the names of the metrics that cannot be computed here, for example because weights are missing."""
        return ()

    def pins(self) -> dict[str, dict[str, str]]:
        """Return everything that scores depend on, for the run's record; known before the resources are started."""
        return {}

    @property
    def environment(self) -> str:
        """Version and settings of the tools that produce the scores; known before the tools are started."""
        return ""

    @property
    def isolation(self) -> str:
        """A description of how answers are isolated from this machine; known once the resources have been started."""
        return ""

    async def __aenter__(self) -> Resources:
        return self

    async def __aexit__(self, *error: object) -> None:
        return None


class Domain:
    """Base class of domains. A subclass must set the attributes without a default, and override `scorer`."""

    name: ClassVar[str]
    """Name in task files, flags and reports, such as `backend`."""
    title: ClassVar[str]
    """Human-readable name, such as "Backend programming"."""
    metrics: ClassVar[tuple[Metric, ...]]
    """The metrics in display order; exactly one is `primary`, at most one is `success`, at most one is `fallback`."""
    defaults: ClassVar[Defaults]
    modes: ClassVar[tuple[str, ...]] = ("default",)
    """Scoring modes of the domain's scorer, which `--scoring` chooses from.

    The first mode is `default`. Reports lead with this mode unless another mode is set, and training learns from it.
    """
    noun: ClassVar[str] = "answer"
    """The word for an answer, such as "function"."""
    language: ClassVar[str] = "text"
    """Language of answers, for code fences and highlighting, such as "python"."""
    floors: ClassVar[Mapping[str, str]] = {}
    """Display names of trivial answers, such as constants; the main answer first. `floors_of` returns their metrics."""
    pictured: ClassVar[bool] = False
    """True if the human sees a picture of the agent's answer in each turn, as in frontend design."""
    audited: ClassVar[bool] = True
    """True if replies of the human are audited for leaks (`colbench.leaks`)."""
    leaderboard_sets: ClassVar[Mapping[str, int]] = {}
    """Task sources of the leaderboard's standard track, each with its number of tasks."""
    own_sources: ClassVar[frozenset[str]] = frozenset()
    """Task sources that come with the domain's package; `colbench verify` finds their tasks by itself."""
    human_limits: ClassVar[tuple[int, int]] = (256, 400)
    """Limits, in tokens and in characters, on each reply of a human that is played by a model."""
    remedy: ClassVar[str] = ""
    """A sentence on how to get the metrics that `Resources.lacking` names."""
    unjudged: ClassVar[str] = "no part of the reference could be compared"
    """Reason that a report gives for unscored answers if nothing failed."""
    example_request: ClassVar[str] = "Please make the {name} that I have in mind."
    """Request in the dialogues of `colbench agents check`; `{name}` stands for a made-up name."""
    example_reply: ClassVar[str] = "Take what is usual there; I have no wish of my own."
    """The human's reply in the dialogues of `colbench agents check`."""
    play_rules: ClassVar[str] = (
        "You are the agent. The human knows what the answer must be, but has not said everything. "
        "Ask; then answer with /answer, or with a message of `I WANT TO ANSWER:` and the answer."
    )
    """Instructions of `colbench play` for a person who plays the agent."""
    privileged_note: ClassVar[str] = (
        "For your eyes only. The person in the conversation below has exactly this in mind, and the assistant, who "
        "cannot see it, is to find out what it is and give an answer that does the same:\n\n```\n{reference}\n```"
    )
    """Text that a critic sees before a conversation; `{reference}` is the task's reference."""

    def resources(self, config: RunConfig, tasks: Sequence[Task]) -> Resources:  # noqa: ARG002
        """Return the resources for scoring these tasks. Raises UserError if this machine lacks one of the resources."""
        return Resources()

    def scorer(self, resources: Resources) -> Scorer:
        """Return the scorer that uses these resources, which have been started."""
        raise NotImplementedError(f"the domain {self.name} has no scorer")

    def keyless_human(self, resources: Resources | None) -> HumanSimulator:  # noqa: ARG002
        """Return the simulated human that needs no model; by default it answers from the task's facts."""
        return FactsHuman()

    def model_human(self, chat: ChatModel, voice: Voice) -> HumanSimulator:
        """Return the simulated human that the model `chat` plays; `voice` has the prompt and the sampling settings."""
        return TextHuman(chat, voice)

    def scorer_flags(self, scorer: str) -> tuple[str, ...]:  # noqa: ARG002
        """Return the flags of `colbench verify` that this scorer needs; words in capitals are placeholders."""
        return ()

    def items(self, source: str) -> Items:
        """Return the parts of a reference that a reply could leak or an answer could copy; see `colbench.leaks`."""
        return source_items(source)

    def source(self, answer: str) -> str:
        """Return the part of an answer that is scored: by default the last fenced block, else the whole answer."""
        blocks = FENCED.findall(answer)
        return str(blocks[-1][1]) if blocks else answer

    def copied(self, task: Task, source: str) -> bool:
        """Return True if an answer's source is a copy or near-copy of the task's reference, even if disguised.

        By default, source and reference are compared by their words, numbers and symbols.
        """
        return is_copy(token_parts(task.hidden.reference), token_parts(source))

    def shape(self, source: str) -> Sequence[str]:
        """Return the parts of an answer's source in order, to compare the answers of two leaderboard entries.

        By default, the parts are words, numbers and symbols. An override should return parts that comments and names do
        not affect.
        """
        return token_parts(source)

    def decisions(self, task: Task) -> tuple[Fact, ...]:
        """Return the decisions behind a task, including decisions that the request states; empty if unknown.

        By default, these are the task's facts. A domain may estimate the decisions of a task without facts; see
        `Asking.estimated`.
        """
        return task.hidden.facts

    def asked(self, task: Task, said: str) -> tuple[Fact, ...]:
        """Return the decisions that an agent's message asks for, as the rule-based human understands the message."""
        return asked_facts(self.decisions(task), said)

    def floors_of(self, score: Score) -> Mapping[str, Mapping[str, float]]:
        """Return the metrics of the trivial answers in `floors` on the scored task, by default as stored in `score`."""
        return score.floors

    def committed(self, text: str, said: Sequence[str]) -> str:  # noqa: ARG002
        """Return the text to score.

        `text` is the answer or, at the turn limit, the last message. `said` contains all of the agent's messages.
        """
        return text

    def readable(self, said: str) -> str:
        """Return the words of an agent's message that the human reads."""
        return said

    def draft(self, dialogue: Sequence[str]) -> Draft:  # noqa: ARG002
        """Return the initial text of an answer, which a person who plays the agent then edits.

        `dialogue` contains the messages so far, the request first.
        """
        return Draft(text="", suffix=".txt", required=True)

    def report_pages(
        self,
        folder: Path,  # noqa: ARG002
        config: RunConfig,  # noqa: ARG002
        environment: str,  # noqa: ARG002
        tasks: Sequence[Task],  # noqa: ARG002
        rollouts: Sequence[Sequence[Rollout]],  # noqa: ARG002
    ) -> ReportPages | None:
        """Return further pages of a run's report; by default None.

        Files that the pages show may be written to `folder`. `environment`: the environment of the run's resources
        (`Resources.environment`). `tasks`: the run's tasks of this domain. `rollouts`: the finished dialogues of each
        task, read from the run on access. Raises UserError if the folder cannot be written.
        """
        return None

    def answer_pictures(
        self,
        folder: Path,  # noqa: ARG002
        renders: RenderStore,  # noqa: ARG002
        environment: str,  # noqa: ARG002
    ) -> AnswerPictures | None:
        """Return an object that makes the answers' pictures for the leaderboard's site; by default None.

        The pictures are written to `gallery/` in `folder`, from renders made in `environment`.
        """
        return None

    def dialogue_pictures(
        self,
        folder: Path,  # noqa: ARG002
        config: RunConfig,  # noqa: ARG002
        environment: str,  # noqa: ARG002
    ) -> DialoguePictures | None:
        """Return the source of a run's pictures for the viewer; by default None.

        The pictures are written to `gallery/` in `folder`, the run's folder. `environment` is the environment in which
        the run was scored.
        """
        return None

    async def check(
        self, tasks: Sequence[Task], config: RunConfig, done: Callable[[], None]
    ) -> list[TaskCheck]:
        """Return the results of checking that each task can be scored; `done` is called after each task."""
        async with self.resources(config, tasks) as resources:
            scorer = self.scorer(resources)

            async def check(task: Task) -> TaskCheck:
                found = await check_reference(scorer, task)
                done()
                return found

            return await asyncio.gather(*map(check, tasks))

    async def vet(self, task: Task, resources: Resources) -> None:
        """Raise RejectedError if a task that a model wrote cannot be used; `resources` have been started."""
        found = await check_reference(self.scorer(resources), task)
        if not found.sound:
            reason = "; ".join(found.flaws) or "an empty answer does not score 0"
            raise RejectedError("fails", reason)

    def sizes(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[int]]:
        """Return the sizes of the tasks' hidden parts for a datasheet, keyed by part and unit (`reference, lines`)."""
        return {f"{self.noun}, characters": [len(task.hidden.reference) for task in tasks]}

    async def examine(
        self,
        tasks: Sequence[Task],
        config: RunConfig,
        sample: int,  # noqa: ARG002
        bar: Bar,
    ) -> Examination:
        """Run the references of some tasks and return the findings for the datasheet.

        `sample`: if references are slow, a domain may run only the references of the first `sample` tasks.
        """
        checks = await self.check(tasks, config, bar("references", len(tasks)))
        flaws = {
            "the reference does not score 1": sum(check.default != 1 for check in checks),
            "an empty answer does not score 0": sum(check.blank != 0 for check in checks),
        }
        return Examination(flaws=flaws)

    def diagnose(self) -> Iterable[Diagnosis]:
        """Return a diagnosis of each requirement of the domain, except the code sandbox; for `colbench doctor`."""
        return ()

    def prompt(self, name: str) -> str:
        """Return a prompt: `agent`, `agent_single_turn` or `human`.

        The prompt is the file `prompts/NAME.txt` in the domain's package or, if that file does not exist, one of
        ColBench's general prompts. Raises UserError if neither file exists.
        """
        package = importlib.import_module(type(self).__module__).__package__
        for place in filter(None, (package, "colbench")):
            file = package_files.files(place).joinpath("prompts", f"{name}.txt")
            if file.is_file():
                return file.read_text("utf-8").strip().replace("{noun}", self.noun)
        raise UserError(f"the domain {self.name} has no prompt {name}")

    def agent_prompt(self, *, single_turn: bool, pictures: bool) -> str:  # noqa: ARG002
        """Return the built-in system prompt of an agent.

        `single_turn`: the agent must answer immediately. `pictures`: the agent is shown pictures of its pages.
        """
        return self.prompt("agent_single_turn" if single_turn else "agent")

    @cached_property
    def primary(self) -> Metric:
        """The metric stored in `Score.value`."""
        return next(metric for metric in self.metrics if metric.role == "primary")

    @cached_property
    def success(self) -> Metric | None:
        """The metric of success; None in a domain whose answers do not simply succeed or fail."""
        return next((metric for metric in self.metrics if metric.role == "success"), None)

    @cached_property
    def fallback(self) -> Metric | None:
        """The metric that leads a report if answers lack the primary metric; None in a domain without a fallback."""
        return next((metric for metric in self.metrics if metric.role == "fallback"), None)

    def metric(self, name: str) -> Metric | None:
        """Return the metric with this name; None if the domain has no such metric."""
        return next((metric for metric in self.metrics if metric.name == name), None)

    def lost(self, reason: str) -> dict[str, Score]:
        """Return, for each mode, the score 0 of a dialogue that ended because the agent failed."""
        success = None if self.success is None else False
        score = Score(scorer="none", value=0.0, success=success, note=reason)
        return dict.fromkeys(self.modes, score)


async def check_reference(scorer: Scorer, task: Task) -> TaskCheck:
    """Check a task by scoring its reference and an empty answer, and return the result."""
    own, blank = await scorer.score(task, task.hidden.reference), await scorer.score(task, "")
    flaws = tuple(_flaw(mode, score) for mode, score in own.items() if score.value != 1)
    worth = {mode: score.value for mode, score in own.items()}
    return TaskCheck(
        id=task.id,
        domain=task.domain,
        default=worth.get("default"),
        official=worth.get("official"),
        blank=blank["default"].value,
        flaws=flaws,
    )


def _flaw(mode: str, score: Score) -> str:
    """Return what is wrong with the score of a reference."""
    worth = "is not scored" if score.value is None else f"scores {score.value}"
    return f"the reference {worth} in {mode} mode{': ' if score.note else ''}{score.note}"
