"""The limit on open files of this process, which many concurrent dialogues can reach."""

from __future__ import annotations

import resource

from colbench.errors import UserError

OF_THE_HARNESS = 200
"""Number of open files outside dialogues: the interpreter, sandbox workers, a browser, the run's folder."""
OF_A_DIALOGUE = 3
"""Number of open files of one dialogue: connections of agent and human. An agent's `descriptors` are added."""


def provide_descriptors(dialogues: int, agent: object) -> None:
    """Raise the limit on open files of this process as far as the system permits.

    Raises UserError, which names `--concurrency`, if the limit is too low for `dialogues` concurrent dialogues.
    """
    hard = raise_limit()
    each = OF_A_DIALOGUE + int(getattr(agent, "descriptors", 0))
    needed = OF_THE_HARNESS + each * dialogues
    if hard != resource.RLIM_INFINITY and needed > hard:
        raise UserError(
            f"--concurrency {dialogues}: about {needed} open files are needed, but the limit of this "
            f"process is {hard}; raise the limit (`ulimit -n {needed}`, as root) or use --concurrency "
            f"{max(1, (hard - OF_THE_HARNESS) // each)}"
        )


def raise_limit() -> int:
    """Raise this process's limit on open files as far as the system permits, and return the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
