"""`index.html`: the stages of a run on one page, rewritten before each stage that runs, and at the end.

The page works offline. It loads only pictures, from the stages' folders, which are next to the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from colbench.numbers import duration
from colbench.web.assets import content_security_policy, csp_hash, read_asset
from colbench.web.templating import page_templates
from sweet_rl_trainer.pipeline import outcome
from sweet_rl_trainer.pipeline.base import EXPORT, MODEL, RUN
from sweet_rl_trainer.pipeline.missing import eval_command, evaluating
from sweet_rl_trainer.pipeline.paper_diff import as_text, paper_diff
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Report, Stage
from sweet_rl_trainer.pipeline.view import View

INDEX = "index.html"
PACKAGE = "sweet_rl_trainer.pipeline"
TEMPLATES = page_templates(PACKAGE)
REFRESH = 20
"""Seconds between reloads of the page while a stage runs."""
RESULTS = (
    "success",
    "score",
    "accuracy",
    "held-out accuracy",
    "held-out nll",
    "reward",
    "pairs",
    "pairs taken",
    "dialogues taken",
)
"""Names of the most informative values, the most important first.

The table of stages shows the first two of these values that a stage has. If a stage has none of them, the table shows
the first two values of the stage.
"""


class Run(Struct, frozen=True, kw_only=True):
    """The run that a page describes."""

    recipe: Recipe
    paper: Recipe
    """The recipe with the paper's values."""
    goal: str
    """The goal given with `--until`; without `--until`, the name of the method."""
    stages: Sequence[Stage]
    out: Path


def write_page(run: Run, running: Stage | None = None) -> None:
    """Write the page of a run; `running` is the stage that is being run."""
    recipe, stages, out = run.recipe, run.stages, run.out
    shown = [_stage(number, stage, out, running) for number, stage in enumerate(stages, 1)]
    names = {stage.name for stage in stages}
    style = read_asset(PACKAGE, "page.css")
    content = TEMPLATES.get_template("index.html").render(
        recipe=recipe,
        goal=run.goal,
        model=recipe.model.name or "a model with random weights",
        stages=shown,
        done=sum(each["state"] == "done" for each in shown),
        running=running is not None,
        alarms=_alarms(shown),
        seconds=duration(sum(each["report"].seconds for each in shown if each["report"])),
        differences=[tuple(map(as_text, row)) for row in paper_diff(recipe, run.paper, names)],
        commands=list(_commands(recipe, stages, out)),
        style=style,
        policy=content_security_policy(img_src="'self' file:", style_src=csp_hash(style)),
        refresh=REFRESH,
    )
    part = out / f"{INDEX}.part"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_text(content, "utf-8")
    part.rename(out / INDEX)


def _alarms(shown: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], str]]:
    """Return each alarm once, with the first stage that raised it."""
    first: dict[str, dict[str, Any]] = {}
    for stage in shown:
        for text in stage["alarms"]:
            first.setdefault(text, stage)
    return [(stage, text) for text, stage in first.items()]


def _stage(number: int, stage: Stage, out: Path, running: Stage | None) -> dict[str, Any]:
    folder, report = stage.folder(out), stage.report(out)
    found: dict[str, Any] = {
        "number": number,
        "name": stage.name,
        "folder": folder.name,
        "state": _state(stage, report, folder, running),
        "report": report,
        "alarms": outcome.alarms(report) if report else [],
        "details": False,
    }
    return found | (_outcome(stage, report, folder) if report else {})


def _state(stage: Stage, report: Report | None, folder: Path, running: Stage | None) -> str:
    if report:
        return "done"
    if stage is running:
        return "running"
    return "interrupted" if folder.is_dir() else "to do"


def _outcome(stage: Stage, report: Report, folder: Path) -> dict[str, Any]:
    """Return the page's entry for a finished stage. The field `details` is False if one line is enough."""
    view = stage.view(folder) if stage.view else View()
    values = dict(outcome.numbers(stage, report))
    left = list(outcome.left_out(report))
    return {
        "seconds": duration(report.seconds),
        "memory": outcome.peak(report),
        "numbers": values,
        "result": ", ".join(_results(values)),
        "left": left,
        "view": view,
        "dialogues": f"{RUN}/report.html" if (folder / RUN / "report.html").is_file() else "",
        "details": bool(view.tables or view.pairs or left or outcome.alarms(report)),
    }


def _results(values: Mapping[str, str]) -> list[str]:
    """Return the two most informative values of a stage, as text."""
    known = [name for name in RESULTS if name in values] or list(values)
    return [f"{name} {values[name]}" for name in known[:2]]


def _commands(recipe: Recipe, stages: Sequence[Stage], out: Path) -> Iterator[str]:
    """Yield the commands that evaluate the exported policies, the last policy first."""
    for stage in reversed(stages):
        if stage.name == EXPORT and stage.report(out):
            yield eval_command(evaluating(recipe, str(stage.folder(out) / MODEL)))
