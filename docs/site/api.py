"""The library reference, which mkdocstrings generates from the docstrings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

TOPICS: Mapping[str, tuple[str, ...]] = {
    "Runs": ("evaluate", "evaluate_async", "load_run", "Run", "RunConfig", "merge", "Merged"),
    "Comparisons": ("compare", "Comparison"),
    "Dialogues": ("Session", "Talk", "Step", "Message", "Usage"),
    "Tasks": ("load_tasks", "Task", "Hidden", "Fact"),
    "Rollouts and scores": ("Rollout", "Turn", "Score"),
    "Agents and humans": ("Agent", "StatefulAgent", "Episode", "HumanSimulator", "Scorer"),
    "Domains": ("Domain", "Metric", "Defaults", "Resources"),
    "Observers": ("Observer", "ConsoleObserver"),
    "Errors": (
        "ColBenchError",
        "UserError",
        "DataError",
        "AgentError",
        "EndpointError",
        "InfrastructureError",
    ),
}
"""The public names of `colbench` by topic, in the order of the page."""
INTRODUCTION = """\
::: colbench
    options:
      members: false
      show_root_heading: false
      show_root_toc_entry: false"""
EXTENSIONS: Mapping[str, str] = {
    "Extra scorers": "colbench.scorers",
    "Task families": "colbench_tasks.family",
    "Training methods": "sweet_rl_trainer.pipeline.method",
}
"""For each kind of extension, by title, the module that an extension package builds on."""


def library(public: Iterable[str]) -> str:
    """Return the page of the public names.

    Raises ValueError if a public name is listed under no topic, or if a listed name is not public.
    """
    listed = {name for names in TOPICS.values() for name in names}
    if wrong := listed ^ {name for name in public if not name.startswith("_")}:
        raise ValueError(f"docs/site/api.py: TOPICS and colbench.__all__ differ in {sorted(wrong)}")
    topics = (
        f"## {topic}\n\n" + "\n\n".join(f"::: colbench.{name}" for name in names)
        for topic, names in TOPICS.items()
    )
    return "\n\n".join(["# `colbench`", INTRODUCTION, *topics])


def extensions() -> str:
    """Return the page of the modules that extensions build on."""
    modules = (f"## {title}\n\n::: {module}" for title, module in EXTENSIONS.items())
    return "\n\n".join(["# Extension points", *modules])
