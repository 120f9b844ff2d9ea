"""The domain of backend programming."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from colbench.checks import Bar, Examination, TaskCheck
from colbench.code_resources import CodeResources
from colbench.config import RunConfig
from colbench.domain import Defaults, Domain, Metric, Resources
from colbench.domains.backend.answers import MAX_ANSWER, extract_code
from colbench.domains.backend.copies import copies, shape
from colbench.domains.backend.items import python_items
from colbench.interfaces import HumanSimulator, Scorer
from colbench.items import Items
from colbench.presentation import Draft
from colbench.score import LEFT_OUT, Score
from colbench.task import Fact, Task

SIGNATURE = re.compile(r"\bdef\s+\w+\s*\([^()]*\)(?:\s*->\s*[\w.\[\], |]+)?")


class BackendDomain(Domain):
    """The domain of Python functions, scored by the share of hidden tests that they pass."""

    name = "backend"
    title = "Backend programming"
    noun = "function"
    language = "python"
    modes = ("default", "official")
    metrics = (
        Metric(
            name="success",
            label="success rate",
            role="success",
            description="dialogues whose function passes every hidden test",
        ),
        Metric(
            name="tests_passed",
            label="tests passed",
            role="primary",
            description="hidden tests that the function passes",
        ),
    )
    floors = {"constant": "best constant answer"}  # noqa: RUF012
    defaults = Defaults(
        tasks="bundled:backend", agent="interviewer", training="bundled:backend/train"
    )
    leaderboard_sets = {"bundled:backend/test": 1000, "official:backend/test": 1000}  # noqa: RUF012
    own_sources = frozenset({"bundled:backend", "bundled:backend/test"})
    unjudged = "no test could be counted"
    example_request = (
        "Please write a function that adds up the numbers of a list, but not the ones that do "
        "not count."
        "\n\ndef {name}(numbers):"
    )
    play_rules = (
        "You are the agent. The human knows what the function has to do, but has not told you everything. Ask; then "
        "answer with /answer, or with a message that consists of `I WANT TO ANSWER:` and the code."
    )
    privileged_note = (
        "For your eyes only. The person in the conversation below has exactly this Python function in mind, and "
        "the assistant, who cannot see it, is to find out what it does and write one that behaves the same:\n\n"
        "```python\n{reference}\n```"
    )

    def resources(self, config: RunConfig, tasks: Sequence[Task]) -> CodeResources:  # noqa: ARG002
        """Return the code sandbox."""
        return CodeResources(config)

    def scorer(self, resources: Resources) -> Scorer:
        """Return the scorer that runs the hidden tests."""
        from colbench.domains.backend.scorer import UnitTestScorer

        assert isinstance(resources, CodeResources)  # noqa: S101
        return UnitTestScorer(resources.sandbox)

    def keyless_human(self, resources: Resources | None) -> HumanSimulator:  # noqa: ARG002
        """Return the human who answers from a task's facts or, for a task without facts, from the reference code."""
        from colbench.domains.backend.human.keyless import BackendHuman

        return BackendHuman()

    def decisions(self, task: Task) -> tuple[Fact, ...]:
        """Return the task's facts or, if the task has no facts, the decisions found in its reference code.

        The result is empty if the task has no facts and the code cannot be read.
        """
        from colbench.domains.backend.human.human import decisions

        return task.hidden.facts or decisions(task)

    def asked(self, task: Task, said: str) -> tuple[Fact, ...]:
        """Return the decisions that a message asks for, as the rule-based human understands the message."""
        from colbench.domains.backend.human.human import asked_decisions

        return super().asked(task, said) if task.hidden.facts else asked_decisions(task, said)

    def items(self, source: str) -> Items:
        """Return the names, numbers, strings and runs of tokens of Python source code."""
        return python_items(source)

    def source(self, answer: str) -> str:
        """Return the program to run; "" if the answer is too long."""
        return extract_code(answer, "default") if len(answer) <= MAX_ANSWER else ""

    def copied(self, task: Task, source: str) -> bool:
        """Return True if a program and the reference have nearly the same syntax, regardless of names."""
        return copies(task.hidden.reference, source)

    def shape(self, source: str) -> Sequence[str]:
        """Return a program's constants and the types of its syntax nodes, in order."""
        return shape(source)

    def floors_of(self, score: Score) -> Mapping[str, Mapping[str, float]]:
        """Return the scores of always answering with the most frequent expected value; empty if no test counts."""
        expected = Counter(each.expected for each in score.checks if each.outcome not in LEFT_OUT)
        if not expected:
            return {}
        share = max(expected.values()) / expected.total()
        return {"constant": {"success": float(share == 1), "tests_passed": share}}

    def draft(self, dialogue: Sequence[str]) -> Draft:
        """Return the first line (`def`) of the requested function; an empty text if the request has no signature."""
        found = SIGNATURE.findall(dialogue[0])
        return Draft(text=f"{found[-1]}:\n    " if found else "", suffix=".py", required=True)

    async def check(
        self, tasks: Sequence[Task], config: RunConfig, done: Callable[[], None]
    ) -> list[TaskCheck]:
        """Check that every reference passes all its tests, and that an empty answer passes none."""
        from colbench.domains.backend.check import check_functions

        async with self.resources(config, tasks) as resources:
            return await check_functions(tasks, resources.sandbox, done)

    async def vet(self, task: Task, resources: Resources) -> None:
        """Raise RejectedError if the request reveals the reference, or if the reference is unsuitable for scoring."""
        from colbench.domains.backend.vetting import vet

        assert isinstance(resources, CodeResources)  # noqa: S101
        await vet(task, resources.sandbox)

    def sizes(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[int]]:
        """Return sizes by label: the number of lines per reference, calls per task, and characters per call."""
        return {
            "reference, lines": [len(task.hidden.reference.splitlines()) for task in tasks],
            "calls, number": [len(task.hidden.tests) for task in tasks],
            "one call, characters": [len(call) for task in tasks for call in task.hidden.tests],
        }

    async def examine(
        self,
        tasks: Sequence[Task],
        config: RunConfig,
        sample: int,  # noqa: ARG002
        bar: Bar,
    ) -> Examination:
        """Run all reference functions; return the types of the values that they return, and the flaws found."""
        from colbench.domains.backend.examine import examine_functions

        async with self.resources(config, tasks) as resources:
            return await examine_functions(tasks, resources.sandbox, bar("references", len(tasks)))
