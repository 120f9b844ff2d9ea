"""Every Eval Ever: a record of a run's aggregate results in schema 0.3.0 of the package `every-eval-ever`.

A record goes to `data/BENCHMARK/DEVELOPER/MODEL/UUID.json`, as in the datastore of the EvalEval Coalition. It contains
no dialogue, because transcripts would publish the hidden references.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Literal

from colbench.domain import Metric
from colbench.redaction import public_spec
from colbench.registry import get_domain
from colbench.report.model import DomainReport
from colbench.result_formats.conditions import selection, unusual_settings
from colbench.result_formats.identity import model_id, run_id
from colbench.run import Run
from colbench.stats import Interval

SCHEMA = "0.3.0"
BENCHMARK = "colbench"
SELF_DEPLOYED = frozenset({"local", "vllm"})
"""Prefixes of agent specs, such as `local:`, whose model runs on the evaluator's own machine."""
LEVEL = 0.95
Relationship = Literal["first_party", "third_party", "collaborative", "other"]


def record(
    run: Run, *, model: str = "", organization: str = "", relationship: Relationship = "other"
) -> dict[str, Any]:
    """Return the record of a run.

    Args:
        run: A run with at least one scored dialogue.
        model: ID of the model, of the form OWNER/NAME; by default the ID that `model_id` derives from the agent.
        organization: Name of the organization that ran the evaluation; by default "unknown".
        relationship: Relationship of the evaluator to the model.

    Raises:
        UserError: `model` or, if it is empty, the ID derived from the agent does not have the form OWNER/NAME.
    """
    name, created = model_id(run, model), str(time.time())
    config = run.config
    kind = config.agent.partition(":")[0]
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{BENCHMARK}/{name}/{created}",
        "evaluation_timestamp": run.record.started,
        "retrieved_timestamp": created,
        "source_metadata": {
            "source_name": "ColBench",
            "source_type": "evaluation_run",
            "source_organization_name": organization or "unknown",
            "evaluator_relationship": relationship,
        },
        "eval_library": {
            "name": "colbench",
            "version": run.record.colbench,
            "additional_details": {"commit": run.record.commit, "configuration": run.record.digest},
        },
        "model_info": {
            "name": name.rpartition("/")[2],
            "id": name,
            "developer": name.partition("/")[0],
            "additional_details": {
                "deployment_type": "self_deployed" if kind in SELF_DEPLOYED else "unknown",
                "model_availability": "open_weights" if kind in SELF_DEPLOYED else "unknown",
                "agent": public_spec(config.agent),
            },
        },
        "evaluation_results": list(_results(run)),
    }


def path_of(run: Run, name: str) -> PurePosixPath:
    """Return the path of a run's record, always the same for the same run. `name` is the model's ID."""
    developer, _, model = name.partition("/")
    file = f"{run_id(run)}.json"
    return PurePosixPath("data", BENCHMARK, developer, model.replace("/", "_"), file)


def _results(run: Run) -> Iterator[dict[str, Any]]:
    for domain, report in run.report.domains.items():
        for metric in get_domain(domain).metrics:
            found = _interval(metric, report)
            if found is not None and found.mean is not None:
                yield _result(run, domain, report, metric, found)


def _interval(metric: Metric, report: DomainReport) -> Interval | None:
    if metric.role == "success":
        return report.success_rate
    return report.value if metric.name == report.lead else report.metrics.get(metric.name)


def _result(
    run: Run, domain: str, report: DomainReport, metric: Metric, found: Interval
) -> dict[str, Any]:
    config, source = run.config, run.record.tasks
    return {
        "evaluation_result_id": f"{domain}.{metric.name}",
        "evaluation_name": f"{BENCHMARK}/{domain}",
        "source_data": {
            "dataset_name": public_spec(source.source),
            "source_type": "other",
            "additional_details": {
                "tasks": str(report.tasks),
                "selection": selection(config) or "all",
                "sha256": source.hash,
            },
        },
        "metric_config": {
            "evaluation_description": metric.description or metric.label,
            "metric_id": f"{BENCHMARK}.{domain}.{metric.name}",
            "metric_name": metric.label,
            "metric_unit": "proportion" if metric.unit == "%" else metric.unit or "points",
            "lower_is_better": metric.direction == "lower",
            "score_type": "continuous",
            "min_score": _bound(metric.bounds[0]),
            "max_score": _bound(metric.bounds[1]),
            "additional_details": {
                "scoring_mode": report.mode,
                "scorers": ", ".join(report.scorers),
            },
        },
        "score_details": {
            "score": found.mean,
            "details": {"dialogues": str(report.scored), "unscored": str(report.unscored)},
            **_uncertainty(found, report),
        },
        "generation_config": {
            "additional_details": {
                **unusual_settings(run),
                "human": public_spec(config.human),
                "max_turns": str(config.max_turns),
                "trials": str(report.trials),
                "seed": str(config.seed),
                "told": str(config.told),
            }
        },
    }


def _uncertainty(found: Interval, report: DomainReport) -> dict[str, Any]:
    if found.low is None or found.high is None:
        return {}
    interval = {
        "lower": found.low,
        "upper": found.high,
        "confidence_level": LEVEL,
        "method": found.method,
    }
    return {"uncertainty": {"confidence_interval": interval, "num_samples": report.scored}}


def _bound(value: float) -> float | str:
    """Return a bound; the schema writes infinity as a string."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
