"""The computation of a run's report from planned cells and rollouts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import asdict

from colbench.config import RunConfig
from colbench.domain import Domain
from colbench.registry import get_domain
from colbench.report import dialogues, scores, verdicts
from colbench.report.asking import asking_report, failed_report, followed_report
from colbench.report.baseline import Others, ceiling, compare
from colbench.report.cells import Cells, Measured, leading_metric, measure, unjudged
from colbench.report.model import DomainReport, RunReport
from colbench.rollout import Rollout
from colbench.task import Task


def summarize(
    tasks: Sequence[Task],
    trials: int,
    rollouts: Iterable[Rollout],
    config: RunConfig,
    others: Others | None = None,
) -> RunReport:
    """Return the report of a run, compared with `others`.

    The planned cells are `tasks` times trials 0 to `trials` - 1, or the cells of a shard. A cell without a rollout is
    unscored. If a cell has several rollouts, the last one counts. All other rollouts are ignored, and the report gives
    their number (`RunReport.ignored`). Raises UserError if one of `others` has none of the tasks.
    """
    others = others or Others()
    others.require(tasks)
    return run_report(measure(tasks, trials, enumerate(rollouts), config.shard), config, others)


def run_report(measured: Measured, config: RunConfig, others: Others) -> RunReport:
    """Return the report of a run whose dialogues have been measured, compared with `others`."""
    return RunReport(
        agent=config.agent,
        human=config.human,
        tasks=config.tasks,
        seed=config.seed,
        max_turns=config.max_turns,
        domains={
            name: _domain(get_domain(name), cells, config, others)
            for name, cells in measured.cells.items()
        },
        ignored=measured.ignored,
    )


def _domain(domain: Domain, cells: Cells, config: RunConfig, others: Others) -> DomainReport:
    held, whole = cells.dialogues, cells.whole
    lead = leading_metric(domain, held)
    metrics = verdicts.reported_metrics(domain, lead, held)
    used = scores.modes(held, config.scoring, domain, lead)
    mode = used[0]
    turns = min(config.max_turns, max([1, *(each.turns for each in held)]))
    modes = {each: scores.mode_report(cells, each, domain, lead, metrics) for each in used}
    tokens = {
        "agent": dialogues.tokens(each.agent for each in held),
        "human": dialogues.tokens(each.human for each in held),
    }
    return DomainReport(
        mode=mode,
        lead=lead.name,
        tasks=len(cells.grid),
        trials=cells.trials,
        cells=cells.planned,
        missing=cells.planned - len(held),
        unjudged=sum(unjudged(each, mode, lead) for each in held),
        scorers=scores.scorers(held, mode),
        modes=modes,
        delta=scores.mode_delta(cells, domain, lead) if len(used) > 1 else None,
        distribution=scores.distribution(cells, mode, lead),
        by_turn=scores.by_turn(cells, mode, turns, domain, lead),
        ended_by={
            ending: sum(each.ended_by == ending for each in held)
            for ending in ("answer", "limit", "failure")
        },
        turns=dialogues.turns_used(whole, turns),
        words=dialogues.words(whole),
        tokens=tokens,
        replies=dialogues.replies(held),
        cost=dialogues.cost(tokens, config.agent_price, config.human_price),
        leaks=dialogues.leaks(held),
        failures=dialogues.failures(held),
        wall_seconds=dialogues.wall_seconds(held),
        floors=verdicts.floors(cells, domain, metrics),
        outcomes=verdicts.outcomes(held, mode),
        notes=verdicts.notes(held, mode, domain),
        win_rate=compare(domain, cells, others.baseline, mode) if others.baseline else None,
        asking=asking_report(cells, turns=turns, mode=mode, lead=lead, baseline=others.baseline),
        followed=followed_report(cells),
        ceiling=ceiling(cells, others.ceiling, mode, lead) if others.ceiling else None,
        failed=failed_report(cells, mode) if domain.success else None,
        **asdict(modes[mode]),
    )
