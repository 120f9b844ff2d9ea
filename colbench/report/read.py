"""Reading of `report.json` files of this version and the previous one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from colbench.domain import Domain
from colbench.errors import DataError
from colbench.registry import get_domain
from colbench.report.model import SCHEMA, RunReport

SCHEMA_1 = "colbench.report/1"
"""The schema of the previous version, which stores the mean of the leading metric under the metric's own name."""
UNREADABLE = (
    msgspec.DecodeError,
    UnicodeDecodeError,
    RecursionError,
    AttributeError,
    LookupError,
    TypeError,
)
"""Exceptions that decoding or converting a file raises if the file is not a report."""


def read_report(path: str | Path) -> RunReport:
    """Return the report in a file.

    Raises DataError, which names the file, if the file cannot be read or is not a report. Raises UserError if the
    report has the previous schema and one of its domains is not installed.
    """
    path = Path(path)
    try:
        content: dict[str, Any] = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        schema = content.get("schema")
        if schema == SCHEMA_1:
            content = _from_1(content)
        elif schema != SCHEMA:
            raise DataError(
                f"{path}: not a report that this version reads: its schema is {schema}, expected {SCHEMA} or {SCHEMA_1}"
            )
        return msgspec.convert(content, RunReport)
    except OSError as cause:
        raise DataError(f"{path}: cannot be read: {cause.strerror}") from cause
    except KeyError as cause:
        raise DataError(f"{path}: not a report: the field {cause} is missing") from cause
    except UNREADABLE as cause:
        raise DataError(f"{path}: not a report: {cause}") from cause


def _from_1(content: dict[str, Any]) -> dict[str, Any]:
    domains = {name: _domain(get_domain(name), found) for name, found in content["domains"].items()}
    return {**content, "schema": SCHEMA, "domains": domains}


def _domain(domain: Domain, found: dict[str, Any]) -> dict[str, Any]:
    taken = (metric.name for metric in domain.metrics if metric.name in found)
    lead = next(taken, domain.primary.name)
    delta = found["delta"] and {
        **found["delta"],
        "success_rate": _success(domain, found["delta"]),
    }
    return {
        **_mode(domain, lead, found),
        "lead": lead,
        "modes": {mode: _mode(domain, lead, each) for mode, each in found["modes"].items()},
        "delta": delta,
        "by_turn": [{**each, "success_rate": _success(domain, each)} for each in found["by_turn"]],
    }


def _mode(domain: Domain, lead: str, found: dict[str, Any]) -> dict[str, Any]:
    """Convert a mode's numbers to the current format: `value` is the leading metric's mean, `metrics` has all means."""
    rates = _rates(domain, lead, found)
    metrics = found.get("metrics") or {lead: rates["value"]}
    if domain.success:
        metrics = {domain.success.name: rates["success_rate"], **metrics}
    zero = found["unscored_as_zero"]
    return {
        **{key: value for key, value in found.items() if key != lead},
        **rates,
        "unscored_as_zero": zero and _rates(domain, lead, zero),
        "metrics": metrics,
    }


def _rates(domain: Domain, lead: str, found: dict[str, Any]) -> dict[str, Any]:
    return {"success_rate": _success(domain, found), "value": found[lead]}


def _success(domain: Domain, found: dict[str, Any]) -> Any:
    return found["success_rate"] if domain.success else None
