"""The choice of a run's executor: this process, several processes of this machine, or the nodes of a Ray cluster."""

from __future__ import annotations

import sys

from colbench.config import RunConfig, workers
from colbench.errors import UserError
from colbench.executors.processes import ProcessExecutor
from colbench.executors.remote import Plan, RemoteExecutor
from colbench.executors.shares import shares

LOCAL, RAY = "local", "ray"
WORTH = 200
"""Minimum number of dialogues that justifies another process, whose start takes up to two seconds of CPU time."""


def is_local(config: RunConfig) -> bool:
    """Return True if the executor is this machine, False for a cluster. Raises UserError for an unknown executor."""
    name, colon, address = config.executor.partition(":")
    if config.executor != LOCAL and (name != RAY or (colon and not address)):
        raise UserError(
            f"--executor {config.executor}: unknown; use {LOCAL}, {RAY}, or {RAY}:HOST:PORT"
        )
    return name == LOCAL


def count_processes(config: RunConfig, dialogues: int, single: str) -> int:
    """Return the number of processes for this many dialogues; in a cluster, the number of processes on each node.

    `single` is the reason why only this process is possible, or an empty string. Raises UserError if `single` is not
    empty, but several processes or a cluster are requested.
    """
    local, auto = is_local(config), config.processes == "auto"
    asked = 1 if config.processes == "auto" else config.processes
    if single and (asked > 1 or not local):
        flag = f"--processes {asked}" if local else f"--executor {config.executor}"
        raise UserError(f"{flag}: {single}")
    if auto and local:
        return 1 if single else max(1, min(workers(0), dialogues // WORTH))
    return max(1, min(asked, dialogues, config.concurrency))


def audits_apart(dialogues: int) -> bool:
    """Return True if a one-process run with this many dialogues should audit them in a second process."""
    return dialogues >= WORTH and workers(0) > 1 and sys.platform == "linux"


def remote_executor(plan: Plan, processes: int) -> RemoteExecutor:
    """Return the executor of a run that uses several processes of this machine, or a cluster."""
    if is_local(plan.config):
        return ProcessExecutor(plan, shares(plan.config, plan.dialogues, processes))
    from colbench.executors.ray.executor import RayExecutor

    return RayExecutor(plan, processes)
