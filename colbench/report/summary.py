"""From planned cells and rollouts to the report of a run."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict

from colbench.asking.derive import complete
from colbench.config import RunConfig
from colbench.domain import Domain
from colbench.registry import get_domain
from colbench.report import dialogues, scores, verdicts
from colbench.report.asking import asking_report, failed_report, followed_report
from colbench.report.baseline import Others, ceiling, compare
from colbench.report.cells import Cells, leading_metric, plan, unjudged
from colbench.report.model import DomainReport, RunReport
from colbench.rollout import Rollout
from colbench.task import Task


def summarize(
    tasks: Sequence[Task],
    trials: int,
    rollouts: Sequence[Rollout],
    config: RunConfig,
    others: Others | None = None,
) -> RunReport:
    """Return the report of a run, compared with `others`.

    The planned cells are all `tasks` times the trials 0 to `trials` - 1, or those of a shard. A cell without a rollout
    is unscored; rollouts of other cells are ignored and counted.
    Raises UserError when one of `others` has none of the tasks.
    """
    others = others or Others()
    others.require(tasks)
    rollouts = complete(tasks, rollouts)
    planned = {
        domain: plan(_of(domain, tasks), trials, rollouts, config.shard)
        for domain in sorted({task.domain for task in tasks})
    }
    return RunReport(
        agent=config.agent,
        human=config.human,
        tasks=config.tasks,
        seed=config.seed,
        max_turns=config.max_turns,
        domains={
            domain: _domain(get_domain(domain), cells, config, others)
            for domain, cells in planned.items()
            if cells.planned
        },
        ignored=len(rollouts) - sum(len(cells.rollouts) for cells in planned.values()),
    )


def _of(domain: str, tasks: Sequence[Task]) -> list[Task]:
    return [task for task in tasks if task.domain == domain]


def _domain(domain: Domain, cells: Cells, config: RunConfig, others: Others) -> DomainReport:
    rollouts, whole = cells.rollouts, cells.whole
    lead = leading_metric(domain, rollouts)
    metrics = verdicts.reported_metrics(domain, lead, rollouts)
    used = scores.modes(cells, config.scoring, domain, lead)
    mode = used[0]
    modes = {each: scores.mode_report(cells, each, domain, lead, metrics) for each in used}
    tokens = {
        "agent": dialogues.tokens(dialogues.agent_usages(rollouts)),
        "human": dialogues.tokens(dialogues.human_usages(rollouts)),
    }
    return DomainReport(
        mode=mode,
        lead=lead.name,
        tasks=len(cells.grid),
        trials=cells.trials,
        cells=cells.planned,
        missing=cells.planned - len(rollouts),
        unjudged=sum(unjudged(r, mode, lead) for r in rollouts),
        scorers=scores.scorers(rollouts, mode),
        modes=modes,
        delta=scores.mode_delta(cells, domain, lead) if len(used) > 1 else None,
        distribution=scores.distribution(cells, mode, lead),
        by_turn=scores.by_turn(cells, mode, config.max_turns, domain, lead),
        ended_by={
            ending: sum(r.ended_by == ending for r in rollouts)
            for ending in ("answer", "limit", "failure")
        },
        turns=dialogues.turns_used(whole, config.max_turns),
        words=dialogues.words(whole),
        tokens=tokens,
        replies=dialogues.replies(rollouts),
        cost=dialogues.cost(tokens, config.agent_price, config.human_price),
        leaks=dialogues.leaks(rollouts),
        failures=dialogues.failures(rollouts),
        wall_seconds=dialogues.wall_seconds(rollouts),
        floors=verdicts.floors(cells, domain, metrics),
        outcomes=verdicts.outcomes(rollouts, mode),
        notes=verdicts.notes(rollouts, mode, domain),
        win_rate=compare(domain, cells, others.baseline, mode) if others.baseline else None,
        asking=asking_report(
            cells, max_turns=config.max_turns, mode=mode, lead=lead, baseline=others.baseline
        ),
        followed=followed_report(cells),
        ceiling=ceiling(cells, others.ceiling, mode, lead) if others.ceiling else None,
        failed=failed_report(cells, mode) if domain.success else None,
        **asdict(modes[mode]),
    )
