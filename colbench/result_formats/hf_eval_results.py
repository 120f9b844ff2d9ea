"""Evaluation results for the Hugging Face Hub: files for the folder `.eval_results/` of a model's repository."""

from __future__ import annotations

from typing import Any

from colbench.numbers import count, percent_with_range
from colbench.redaction import public_spec
from colbench.registry import get_domain
from colbench.report.model import DomainReport
from colbench.report.verdicts import metric_label
from colbench.result_formats.conditions import require_complete, selection, unusual_settings
from colbench.run import Run
from colbench.stats import Interval

DIGITS = 12
"""Number of digits of the tasks' hash in the notes."""


def entries(run: Run, *, dataset: str, source: str = "") -> list[dict[str, Any]]:
    """Return the entries of a run for the YAML file, one for each domain with a scored dialogue.

    The value, in percent, is the success rate or, if the domain does not measure success, the leading metric.

    Args:
        run: A run with at least one scored dialogue.
        dataset: The benchmark's dataset repository on the Hub, whose `eval.yaml` has a task for each domain.
        source: URL of the run's dialogues or of another source.

    Raises:
        UserError: The run is incomplete; see `require_complete`.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    require_complete(run)
    found = [
        EvalResultEntry(
            dataset_id=dataset,
            task_id=domain,
            value=round(100 * mean, 2),
            date=run.record.started,
            source_url=source or None,
            notes=_notes(run, domain, report),
        )
        for domain, report in run.report.domains.items()
        if (mean := _headline(report).mean) is not None
    ]
    return eval_result_entries_to_yaml(found)


def _headline(report: DomainReport) -> Interval:
    return report.success_rate or report.value


def _notes(run: Run, domain: str, report: DomainReport) -> str:
    """Return the conditions under which a value was measured; values with other conditions are not comparable."""
    config, found = run.config, _headline(report)
    measure = (
        "success rate" if report.success_rate else metric_label(get_domain(domain), report.lead)
    )
    chosen = f" ({part})" if (part := selection(config)) else ""
    return "; ".join(
        [
            f"{measure} {percent_with_range(found)}",
            f"human {public_spec(config.human)}",
            f"{count(report.tasks, 'task')} of {public_spec(config.tasks)}{chosen} x {report.trials}",
            f"SHA-256 of the run's tasks {run.record.tasks.hash[:DIGITS]}",
            f"{config.max_turns} turns",
            ", ".join([f"{report.mode} scoring", *report.scorers]),
            *(f"{name} {value}" for name, value in unusual_settings(run).items()),
            f"colbench {run.record.colbench}",
        ]
    )
