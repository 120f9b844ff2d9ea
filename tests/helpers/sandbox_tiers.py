"""The sandbox tiers that work on this machine, probed once per test process."""

from __future__ import annotations

from colbench.sandbox import probe

_WORKING = [report for report in probe() if report.works]

WORKING = [report.tier for report in _WORKING]
SAFE = [report.tier for report in _WORKING if report.safe]
