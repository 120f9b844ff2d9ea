"""`index.html`: the stages of a run on one page, written again before and after each of them.

It works offline and loads nothing but the pictures in the folders of the stages next to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from colbench.numbers import duration
from colbench.web.assets import content_security_policy, csp_hash, read_asset
from colbench.web.templating import page_templates
from sweet_rl_trainer.pipeline import outcome
from sweet_rl_trainer.pipeline.base import EXPORT, MODEL, RUN
from sweet_rl_trainer.pipeline.missing import eval_command, evaluating
from sweet_rl_trainer.pipeline.paper_diff import paper_diff
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Report, Stage
from sweet_rl_trainer.pipeline.view import View

INDEX = "index.html"
PACKAGE = "sweet_rl_trainer.pipeline"
TEMPLATES = page_templates(PACKAGE)
REFRESH = 20
"""Seconds after which the page of a run that is not over is loaded again."""
RESULTS = ("accuracy", "eval_accuracy", "eval_loss", "success", "score", "reward", "pairs", "taken")
"""Values of which the table of stages shows the first two that a stage has."""


def write_page(
    recipe: Recipe, paper: Recipe, stages: Sequence[Stage], out: Path, running: Stage | None = None
) -> None:
    """Write the page; `paper` is the recipe with the paper's values, `running` the stage that is being run."""
    shown = [_stage(number, stage, out, running) for number, stage in enumerate(stages, 1)]
    names = {stage.name for stage in stages}
    style = read_asset(PACKAGE, "page.css")
    content = TEMPLATES.get_template("index.html").render(
        recipe=recipe,
        model=recipe.model.name or "a model with random weights",
        stages=shown,
        done=sum(each["state"] == "done" for each in shown),
        over=all(each["state"] == "done" for each in shown),
        alarms=[(each, text) for each in shown for text in each["alarms"]],
        seconds=duration(sum(each["report"].seconds for each in shown if each["report"])),
        differences=[tuple(map(_plain, row)) for row in paper_diff(recipe, paper, names)],
        commands=list(_commands(recipe, stages, out)),
        style=style,
        policy=content_security_policy(img_src="'self' file:", style_src=csp_hash(style)),
        refresh=REFRESH,
    )
    part = out / f"{INDEX}.part"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_text(content, "utf-8")
    part.rename(out / INDEX)


def _stage(number: int, stage: Stage, out: Path, running: Stage | None) -> dict[str, Any]:
    folder, report = stage.folder(out), stage.report(out)
    values = dict(outcome.numbers(stage, report)) if report else {}
    return {
        "number": number,
        "name": stage.name,
        "folder": folder.name,
        "state": _state(stage, report, folder, running),
        "report": report,
        "seconds": duration(report.seconds) if report else "",
        "memory": outcome.peak(report) if report else "",
        "numbers": values,
        "result": ", ".join(_results(report)) if report else "",
        "left": list(outcome.left_out(report)) if report else [],
        "alarms": outcome.alarms(report) if report else [],
        "view": stage.view(folder) if stage.view and report else View(),
        "dialogues": f"{RUN}/report.html" if (folder / RUN / "report.html").is_file() else "",
    }


def _state(stage: Stage, report: Report | None, folder: Path, running: Stage | None) -> str:
    if report:
        return "done"
    if stage is running:
        return "running"
    return "interrupted" if folder.is_dir() else "to do"


def _results(report: Report) -> Iterator[str]:
    found = [name for name in RESULTS if isinstance(report.said.get(name), int | float)]
    for name in found[:2]:
        value = report.said[name]
        text = f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
        yield f"{name.replace('eval_', 'held-out ').replace('taken', 'examples')} {text}"


def _commands(recipe: Recipe, stages: Sequence[Stage], out: Path) -> Iterator[str]:
    """Yield the commands that evaluate what was exported, by the last export first."""
    for stage in reversed(stages):
        if stage.name == EXPORT and stage.report(out):
            yield eval_command(evaluating(recipe, str(stage.folder(out) / MODEL)))


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
