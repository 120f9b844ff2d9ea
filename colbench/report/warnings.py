"""Warnings about a report's numbers, for example that answers were not scored with the tools of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from colbench.config import RunConfig
from colbench.domain import Domain
from colbench.numbers import percent
from colbench.plugins import known_origin
from colbench.registry import get_domain
from colbench.report.cells import Cells
from colbench.report.dialogue_stats import DialogueStats
from colbench.report.facts import reply_counts
from colbench.report.model import DomainReport, RunReport
from colbench.report.verdicts import metric_of
from colbench.run_folder import RunRecord
from colbench.shards import shard_name

NOTEWORTHY = 0.01
"""Share of replies above which a warning is given."""
PROBLEMS = {
    "empty": "empty: a token limit may have been reached before the first word",
    "cut": "cut: max_tokens=N in --agent-arg or --human-arg sets the limit",
    "filtered": "ended by the provider's filter",
    "refused": "refusals by the model",
}
"""The kinds of delivery problems (`reply_counts`) in words."""


def warnings(
    report: RunReport, config: RunConfig, record: RunRecord, cells: Mapping[str, Cells]
) -> Iterator[str]:
    """Yield the warnings of a report, one sentence each; `cells` maps each domain's name to its dialogues."""
    pins = [pin for pin in record.pins.values() if isinstance(pin, dict)]
    played = {str(pin["environment"]) for pin in pins if "environment" in pin}
    if record.config.shard:
        yield f"this is {shard_name(record.config.shard)} of a run: `colbench merge` combines the shards"
    for role, learned in record.learned.items():
        yield f"the {role}'s model: {'; '.join(learned)}"
    for name, found in report.domains.items():
        domain = get_domain(name)
        if found.mode != config.scoring:
            yield _other_mode(domain, found, config.scoring)
        if _has_answers(found):
            yield from _below_floors(domain, found, config.tasks)
        yield from _replies(found)
        if record.environments.get(name):
            yield from _other_tools(cells[name].dialogues, played)


def _has_answers(found: DomainReport) -> bool:
    """Return False if the agent failed in every scored dialogue, else True."""
    failed = found.failures.get("agent")
    return failed is None or failed.count < found.scored


def _below_floors(domain: Domain, found: DomainReport, source: str) -> Iterator[str]:
    """Yield a warning about the highest floor that the score does not reach.

    Floors are the scores of answers that need no dialogue and of agents that ask nothing.
    """
    origin = known_origin(source)
    floors = [
        (
            metrics.get(found.lead),
            "an answer that needs no dialogue",
            domain.floors.get(name, name),
            "",
        )
        for name, metrics in found.floors.items()
    ] + [
        (
            metrics.get(found.lead),
            "an agent that asks nothing",
            f"`{agent}`",
            f" on all of {source}",
        )
        for agent, metrics in (origin.floors if origin else {}).items()
    ]
    lead, worth = metric_of(domain, found.lead), found.value.mean
    missed = [
        (floor, kind, name, where)
        for floor, kind, name, where in floors
        if worth is not None and floor is not None and worth < floor < lead.bounds[1]
    ]
    if missed:
        floor, kind, name, where = max(missed)
        yield (
            f"{lead.label} {percent(worth)} is below that of {kind} "
            f"({name}: {percent(floor)}{where})"
        )


def _replies(report: DomainReport) -> Iterator[str]:
    """Yield a warning for each delivery problem that affects more than 1% of a role's replies."""
    for role, found in report.replies.items():
        for name, number in reply_counts(found).items():
            if number > NOTEWORTHY * found.total:
                yield (
                    f"{number:,} of the {role}'s {found.total:,} replies ({percent(number / found.total)}) "
                    f"were {PROBLEMS[name]}"
                )


def _other_mode(domain: Domain, found: DomainReport, wanted: str) -> str:
    lead = metric_of(domain, found.lead).label
    text = f"--scoring {wanted}: in this mode, no {domain.noun} has the metric {lead}, so {found.mode} scores are shown"
    if domain.fallback and found.lead == domain.fallback.name and wanted in domain.modes:
        text += f"; the {domain.primary.label} {domain.primary.lacking}"
    return text


def _other_tools(dialogues: Sequence[DialogueStats], played: set[str]) -> Iterator[str]:
    scored = {score.environment for each in dialogues for score in each.scores.values()}
    if played and (others := scored - played - {""}):
        yield (
            "answers were scored with other tools than the run's, so scores may differ: "
            f"{' and '.join(sorted(others))}; tools of the run: {' and '.join(sorted(played))}"
        )
