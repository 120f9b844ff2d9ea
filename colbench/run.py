"""A run, finished or not: its record, tasks, rollouts and report, and tables of its dialogues."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.asking.derive import complete
from colbench.asking.failure_class import failure_class
from colbench.asking.measures import followed_shares, measured
from colbench.config import RunConfig
from colbench.domain import Domain, Metric
from colbench.errors import UserError
from colbench.hub import push
from colbench.messages import Usage
from colbench.numbers import count, percent
from colbench.numbers import measure as measured_value
from colbench.registry import get_domain
from colbench.report.asking import gain_per_question, unasked_values
from colbench.report.baseline import load_others, read_baseline
from colbench.report.cells import ByTask, by_task, leading_metric, measure
from colbench.report.dialogue_stats import agent_words, human_words
from colbench.report.model import DomainReport, RunReport
from colbench.report.scores import modes
from colbench.report.summary import run_report
from colbench.report.verdicts import metric_of
from colbench.rollout import Rollout
from colbench.run_folder import RunFolder, RunRecord
from colbench.score import Score
from colbench.selection import recorded_tasks
from colbench.task import Task

if TYPE_CHECKING:
    import datasets
    import pandas


class Run:
    """A run as read from its folder.

    `tasks`, `rollouts`, `stats` and `report` are computed once; create another object to include dialogues added later.
    """

    def __init__(
        self,
        folder: RunFolder,
        *,
        tasks: Sequence[Task] | None = None,
        temporary: bool = False,
    ) -> None:
        """Open a run; `temporary`: the folder is deleted together with this object."""
        self.folder = folder
        self.record: RunRecord = folder.record()
        self._tasks = tasks
        if temporary:
            weakref.finalize(self, shutil.rmtree, folder.path, ignore_errors=True)

    def __repr__(self) -> str:
        tasks = f"{count(self.record.tasks.count, 'task')} of {self.config.tasks}"
        return f"<Run of {', '.join([f'{self.config.agent}: {tasks}', *self._scores(), str(self.path)])}>"

    def _scores(self) -> list[str]:
        """Return the main result of each domain in words; an empty list if the report cannot be made."""
        try:
            domains = self.report.domains
        except UserError:
            return []
        return [_score_in_words(get_domain(name), report) for name, report in domains.items()]

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.folder.path

    @property
    def config(self) -> RunConfig:
        """The configuration of the run."""
        return self.record.config

    @cached_property
    def tasks(self) -> list[Task]:
        """The tasks of the run. Raises UserError if the task source is missing, DataError if the tasks have changed."""
        if self._tasks is not None:
            return list(self._tasks)
        return recorded_tasks(self.folder, self.record)

    @cached_property
    def rollouts(self) -> list[Rollout]:
        """The dialogues with their scores, one for each task and trial that has been run.

        The dialogues are in the order of the plan: all tasks for the first trial, then all tasks for the next trial.
        Dialogues on tasks that are missing from the task source come last, in the order in which they ended. Dialogues
        on earlier versions of a task are left out.
        """
        order = {task.id: number for number, task in enumerate(self.known_tasks())}

        def place(each: tuple[int, Rollout]) -> tuple[bool, int, int]:
            start, rollout = each
            if rollout.task_id not in order:
                return True, 0, start
            return False, rollout.trial, order[rollout.task_id]

        found = [rollout for _, rollout in sorted(self._latest(), key=place)]
        return complete(self.known_tasks(), found)

    @cached_property
    def stats(self) -> dict[str, ByTask]:
        """Statistics of each dialogue by domain, task and trial. They contain no texts, so millions fit in memory."""
        return by_task(self.known_tasks(), self._latest())

    @cached_property
    def report(self) -> RunReport:
        """The report: every number with its interval. `write_report` adds warnings and the names of pages.

        Raises the errors of `tasks`, and UserError if the run's baseline or ceiling cannot be read.
        """
        config, others = self.config, load_others(self.config, self.tasks)
        measured = measure(self.tasks, config.trials, self.folder.latest(), config.shard)
        return run_report(measured, config, others)

    def _latest(self) -> Iterator[tuple[int, Rollout]]:
        """Yield each cell's latest dialogue and its byte offset, except dialogues on earlier versions of a task."""
        versions = {task.id: task.hash for task in self.known_tasks()}
        seen: set[tuple[str, int]] = set()
        for start, rollout in self.folder.latest():
            version, cell = versions.get(rollout.task_id), (rollout.task_id, rollout.trial)
            if version in (None, rollout.task_hash) and cell not in seen:
                seen.add(cell)
                yield start, rollout

    def write_report(self) -> RunReport:
        """Write `report.json`, `report.html` and the pages of the run's domains into the folder; return the report."""
        from colbench.report.write import write_report

        others = load_others(self.config, self.tasks)
        return write_report(self.folder, self.tasks, self.config, others)

    def print_report(self) -> RunReport:
        """Write and return the report; print its table, its warnings and the paths of its pages."""
        from colbench.report.console import print_report

        report = self.write_report()
        print_report(report, self.path)
        return report

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one flat row for each dialogue, in the order of `rollouts`: by trial, then by task.

        Columns: `task_id`, `task_hash`, `domain`, `family`, `trial`, `seed`, `ended_by` (answer, limit or failure),
        `failure` (the part that failed, such as `agent` or `endpoint`; None if nothing failed), `reason` (the cause of
        this failure, or None), `turns`, `human_words`, `agent_words`, `agent_prompt_tokens`, `agent_completion_tokens`,
        `human_prompt_tokens`, `human_completion_tokens` (None if no server counted them), `seconds`, and every metric
        of the domain by its name (None if it was not computed; `success` is 1.0 or 0.0). Metrics of a scoring mode
        other than `default` are named MODE_METRIC.

        Then follow the measures of the questions (such as `ask_f1`), the outcomes of the differences that the human
        pointed out (such as `differences_fixed`), and `failure_class`. The failure class says why the dialogue did not
        succeed. It is None if the dialogue succeeded or is unscored. In a domain that does not define success, it is
        None unless the agent failed. If the run has a baseline whose agent asked nothing, the last column is
        `gain_per_question` (None if the baseline lacks a score for the task, or if nothing was asked).

        Raises UserError if the run's baseline cannot be read.
        """
        gains = self._gains()
        families = {task.id: task.family for task in self.known_tasks()}
        for rollout in self.rollouts:
            yield {
                "task_id": rollout.task_id,
                "task_hash": rollout.task_hash,
                "domain": rollout.domain,
                "family": families.get(rollout.task_id) or None,
                "trial": rollout.trial,
                "seed": rollout.seed,
                "ended_by": rollout.ended_by,
                "failure": rollout.failure.boundary if rollout.failure else None,
                "reason": rollout.failure.reason if rollout.failure else None,
                "turns": len(rollout.turns),
                "human_words": human_words(rollout),
                "agent_words": agent_words(rollout),
                **_tokens("agent", [turn.agent_usage for turn in rollout.turns]),
                **_tokens("human", [turn.human_usage for turn in rollout.turns]),
                "seconds": rollout.seconds,
                **_metrics(rollout),
                **measured(rollout.asking),
                **followed_shares(rollout.followed),
                "failure_class": failure_class(rollout),
                **({"gain_per_question": gains(rollout)} if gains else {}),
            }

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame, one row for each dialogue; see `rows` for the columns."""
        import pandas

        return pandas.DataFrame(self._aligned_rows())

    def to_dataset(self) -> datasets.Dataset:
        """Return the dialogues as a `datasets.Dataset`, one row for each dialogue.

        The columns are as in `rows`, then `request`, `answer` (None without an answer) and `messages`, a list of
        `{"role": "user" or "assistant", "content": text}` that begins with the human's request. Each text is as the
        other participant saw it.
        """
        from datasets import Dataset

        rows = self._aligned_rows()
        for row, rollout in zip(rows, self.rollouts, strict=True):
            row["request"], row["answer"] = rollout.request, rollout.answer
            row["messages"] = _messages(rollout)
        return Dataset.from_list(rows)

    def push_to_hub(self, repository: str, *, private: bool | None = None) -> str:
        """Upload `to_dataset()` to a dataset repository of the Hugging Face Hub, and return its URL.

        Args:
            repository: Name such as `me/my-run`; a repository that does not exist is created.
            private: Visibility of a new repository. With None, the owner's settings decide, and the default is public.

        Raises:
            UserError: `repository` is malformed, the hub refuses the upload, the upload fails on this machine, or the
                run's baseline cannot be read.
            EndpointError: The hub cannot be reached or answers with HTTP 5xx.
        """
        return push(self.to_dataset(), repository, private=private)

    def save(self, path: str | Path) -> Run:
        """Copy the run's folder to `path`, and return the run there. Raises UserError if `path` exists."""
        target = Path(path)
        if target.exists():
            raise UserError(f"{target}: already exists; choose another folder")
        shutil.copytree(self.path, target, ignore=shutil.ignore_patterns(".lock"))
        return Run(RunFolder(target), tasks=self._tasks)

    def _gains(self) -> Callable[[Rollout], float | None] | None:
        """Return a function that computes a dialogue's gain per question; None without a baseline that asks nothing."""
        if not self.config.baseline:
            return None
        baseline = read_baseline(self.config.baseline)
        unasked: dict[str, float] = {}
        measures = {name: self._measure(name) for name in {task.domain for task in self.tasks}}
        for name, (mode, lead) in measures.items():
            tasks = [task for task in self.tasks if task.domain == name]
            unasked |= unasked_values(tasks, baseline, mode, lead)
        if not unasked:
            return None

        def gain(rollout: Rollout) -> float | None:
            without = unasked.get(rollout.task_hash)
            measure = measures.get(rollout.domain)
            return gain_per_question(rollout, without, *measure) if measure else None

        return gain

    def _measure(self, name: str) -> tuple[str, Metric]:
        """Return the scoring mode and the metric that a domain's report leads with."""
        domain = get_domain(name)
        rollouts = [each for each in self.rollouts if each.domain == name]
        lead = leading_metric(domain, rollouts)
        return modes(rollouts, self.config.scoring, domain, lead)[0], lead

    def known_tasks(self) -> list[Task]:
        """Return the tasks; an empty list if the task source is missing or the tasks have changed."""
        try:
            return self.tasks
        except UserError:
            return []

    def _aligned_rows(self) -> list[dict[str, Any]]:
        """Return the rows of the run, all with the same columns; a value that a row lacks is None."""
        rows = list(self.rows())
        columns = dict.fromkeys(column for row in rows for column in row)
        return [{column: row.get(column) for column in columns} for row in rows]


def load_run(path: str | Path) -> Run:
    """Return the run in a folder. Raises DataError if the folder contains no run."""
    return Run(RunFolder(Path(path)))


def _score_in_words(domain: Domain, report: DomainReport) -> str:
    if domain.success and report.success_rate:
        return f"{domain.success.name} {percent(report.success_rate.mean)}"
    lead = metric_of(domain, report.lead)
    return f"{lead.label} {measured_value(report.value.mean, lead.unit)}"


def _metrics(rollout: Rollout) -> dict[str, float | None]:
    domain = get_domain(rollout.domain)
    found: dict[str, float | None] = {}
    for mode in domain.modes:
        prefix = "" if mode == "default" else f"{mode}_"
        score = rollout.scores.get(mode)
        found |= {f"{prefix}{metric.name}": metric.of(score) for metric in domain.metrics}
        found |= {f"{prefix}{name}": value for name, value in _extras(domain, score).items()}
    return found


def _extras(domain: Domain, score: Score | None) -> dict[str, float]:
    """Return the metrics of extra scorers."""
    if score is None:
        return {}
    return {name: value for name, value in score.metrics.items() if domain.metric(name) is None}


def _tokens(role: str, usages: Sequence[Usage | None]) -> dict[str, int | None]:
    counted = [usage for usage in usages if usage]
    total = sum(counted, Usage())
    return {
        f"{role}_prompt_tokens": total.prompt_tokens if counted else None,
        f"{role}_completion_tokens": total.completion_tokens if counted else None,
    }


def _messages(rollout: Rollout) -> list[dict[str, str]]:
    found = [{"role": "user", "content": rollout.request}]
    for turn in rollout.turns:
        found.append({"role": "assistant", "content": turn.said})
        if turn.human is not None:
            found.append({"role": "user", "content": turn.human})
    return found
