"""The code sandbox, which runs candidates (the code of answers) in isolated processes; see docs/sandbox.md."""

from __future__ import annotations

from colbench.sandbox.box import CodeSandbox
from colbench.sandbox.jobs import CallResult, Job, JobResult, Limits, Namespace
from colbench.sandbox.selection import TierReport, probe

__all__ = [
    "CallResult",
    "CodeSandbox",
    "Job",
    "JobResult",
    "Limits",
    "Namespace",
    "TierReport",
    "probe",
]
