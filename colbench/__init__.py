"""ColBench: a harness that measures how well an agent works with a person who knows more than they say.

    import colbench

    run = colbench.evaluate(agent="my_agent.py:MyAgent", tasks="bundled:backend", limit=50)
    run.report.success_rate.mean

Importing the package is fast: each name's dependencies are loaded when the name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from colbench.version import __version__

if TYPE_CHECKING:
    from colbench.comparison.compare import compare
    from colbench.comparison.model import Comparison
    from colbench.config import RunConfig
    from colbench.domain import Defaults, Domain, Metric, Resources
    from colbench.errors import (
        AgentError,
        ColBenchError,
        DataError,
        EndpointError,
        InfrastructureError,
        UserError,
    )
    from colbench.evaluation import Observer, evaluate, evaluate_async
    from colbench.interfaces import Agent, Episode, HumanSimulator, Scorer, StatefulAgent
    from colbench.merging import Merged, merge
    from colbench.messages import Message, Usage
    from colbench.progress import ConsoleObserver
    from colbench.rollout import Rollout, Turn
    from colbench.run import Run, load_run
    from colbench.score import Score
    from colbench.selection import load_tasks
    from colbench.session import Session, Step, Talk
    from colbench.task import Fact, Hidden, Task

_PLACES = {
    "comparison.compare": ("compare",),
    "comparison.model": ("Comparison",),
    "config": ("RunConfig",),
    "domain": ("Defaults", "Domain", "Metric", "Resources"),
    "errors": (
        "AgentError",
        "ColBenchError",
        "DataError",
        "EndpointError",
        "InfrastructureError",
        "UserError",
    ),
    "evaluation": ("Observer", "evaluate", "evaluate_async"),
    "interfaces": ("Agent", "Episode", "HumanSimulator", "Scorer", "StatefulAgent"),
    "merging": ("Merged", "merge"),
    "messages": ("Message", "Usage"),
    "progress": ("ConsoleObserver",),
    "rollout": ("Rollout", "Turn"),
    "run": ("Run", "load_run"),
    "score": ("Score",),
    "selection": ("load_tasks",),
    "session": ("Session", "Step", "Talk"),
    "task": ("Fact", "Hidden", "Task"),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "Agent",
    "AgentError",
    "ColBenchError",
    "Comparison",
    "ConsoleObserver",
    "DataError",
    "Defaults",
    "Domain",
    "EndpointError",
    "Episode",
    "Fact",
    "Hidden",
    "HumanSimulator",
    "InfrastructureError",
    "Merged",
    "Message",
    "Metric",
    "Observer",
    "Resources",
    "Rollout",
    "Run",
    "RunConfig",
    "Score",
    "Scorer",
    "Session",
    "StatefulAgent",
    "Step",
    "Talk",
    "Task",
    "Turn",
    "Usage",
    "UserError",
    "__version__",
    "compare",
    "evaluate",
    "evaluate_async",
    "load_run",
    "load_tasks",
    "merge",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
