"""A study run: its parts in order, their costs, and the report, which is rewritten after each part.

OUT/NAME-KEY/       the stages
OUT/base            the base model, a link into them
OUT/results.json    what was found, as far as it goes (`stored`)
OUT/report/         the report
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import permutations, product
from pathlib import Path
from typing import Any

import msgspec
import torch
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from colbench.errors import DataError, UserError
from colbench.run_folder import hold
from colbench.version import __version__
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.pipeline.base import model_in
from sweet_rl_trainer.pipeline.stage import Stage, order, rerun_advice
from sweet_rl_trainer.study.graph import Graph
from sweet_rl_trainer.study.methods import METHODS, QUESTIONS, RETURNS, Method
from sweet_rl_trainer.study.results import (
    Cost,
    Credit,
    Critic,
    Exchange,
    Part,
    Results,
    Row,
    Scaling,
)
from sweet_rl_trainer.study.scales import Scale
from sweet_rl_trainer.study.stale import stamped
from sweet_rl_trainer.study.stored import LOCK, add, read, set_aside
from sweet_rl_trainer.study.study import Study

PROMPT = "no-prompt.txt"
BASE = "base"
GPU = "gpu"
"""The scale that takes days without one."""


class Runner:
    """Does the stages that are asked for, says so, and keeps account of them."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._console = Console(stderr=True)
        self.now: tuple[str, int] = ("", 0)
        """The method and the seed that the next stages are for."""
        self.costs: dict[str, Cost] = {}
        """By the key of the stage."""
        self.done = 0
        """Stages that were not there already."""

    def made(self, last: Stage) -> Path:
        """Run a stage after those it needs, each unless it is done; return its folder."""
        for stage in order(last):
            report = stage.report(self._out)
            if report is None:
                self.say(f"{stage.name}: {stage.folder(self._out).name}")
                report = stage.run(self._out)
                self.done += 1
            method, seed = self.now
            cost = Cost(
                key=stage.key,
                stage=stage.name,
                method=method,
                seed=seed,
                seconds=report.seconds,
                memory=report.said.get("memory", report.memory),
            )
            self.costs.setdefault(stage.key, cost)
        return last.folder(self._out)

    def say(self, text: str) -> None:
        """Print a text with the method and the seed."""
        method, seed = self.now
        where = f"{method}, seed {seed}: " if method else ""
        self._console.print(Text(f"{where}{text}"))


def run(
    name: str, scale: Scale, out: Path, *, seeds: int, only: Sequence[str] = ()
) -> Iterator[Results]:
    """Run a study with `seeds` seeds, or some of its methods, and add it to the existing results.

    Several processes may run different methods of a study at once: a stage runs in one process, and the others wait for
    it. Yields the results after each part that ran a stage, and at the end.
    """
    methods = chosen(scale, only)
    if name == GPU and not torch.cuda.is_available():
        raise UserError(f"--scale {GPU}: PyTorch finds no GPU; --scale cpu is for two cores")
    out.mkdir(parents=True, exist_ok=True)
    read(out)  # damaged results are reported before anything is run
    (out / PROMPT).write_bytes(b"")
    graph = Graph(scale, out / PROMPT)
    runner = Runner(out)
    base = runner.made(graph.base)
    _link(out / BASE, model_in(base))
    own = Results(
        scale=name,
        study=msgspec.json.decode(msgspec.json.encode(scale)),
        version=__version__,
        machine=machine(),
        base=_facts(base) | _learnt(graph, out),
        rows=(),
        critics=(),
        scaling=(),
        costs=(),
    )
    if old := set_aside(own, out):
        runner.say(f"what was found here of another study, version or base is kept in {old}")
    done = 0
    for part in parts(Study(graph, runner.made), runner, methods, scale, range(seeds)):
        own = replace(extended(own, part), costs=tuple(runner.costs.values()))
        if runner.done > done:
            done = runner.done
            yield add(own, out)
    yield add(own, out, whole=not only)


def _link(place: Path, folder: Path) -> None:
    with hold(place.with_name(LOCK), place.parent, wait=True):
        part = place.with_name(f"{place.name}.part")
        part.unlink(missing_ok=True)
        part.symlink_to(folder.relative_to(place.parent))
        part.replace(place)


def extended(results: Results, part: Part) -> Results:
    """Return results with one more part, which is of the present revision of its methods."""
    part = stamped(part)
    match part:
        case Row():
            return replace(results, rows=(*results.rows, part))
        case Critic():
            return replace(results, critics=(*results.critics, part))
        case Scaling():
            return replace(results, scaling=(*results.scaling, part))
        case Credit():
            return replace(results, credits=(*results.credits, part))
        case Exchange():
            return replace(results, exchanges=(*results.exchanges, part))
    return results


def parts(
    study: Study, runner: Runner, methods: Sequence[Method], scale: Scale, seeds: Sequence[int]
) -> Iterator[Part]:
    """Yield all parts, the main rows of all seeds first; the first seed's rows choose the rates of the others.

    Groups that the scale does not repeat, credit and the curve over the amount of data have the first seed alone. Turns
    are judged if a critic is; credit needs the returns, and an exchange both of its methods.
    """
    rows: dict[tuple[str, int], Row] = {}
    first = min(seeds)
    planned = [
        (seed, method)
        for seed, method in product(seeds, methods)
        if seed == first or {method.group, method.name} & {*scale.repeated}
    ]
    for seed, method in sorted(planned, key=lambda each: each[1].group != "main"):
        runner.now = method.name, seed
        rows[method.name, seed] = study.row(method, seed, rows.get((method.name, first)))
        yield rows[method.name, seed]
        if method.goal == "actor":
            yield study.critic(method, seed)
    judged = [method for method in methods if method.goal == "actor" and method.name != RETURNS]
    if judged:
        runner.now = "", first
        yield study.counting()
    for method in (*judged, QUESTIONS) if RETURNS in {each.name for each in methods} else ():
        runner.now = "" if method is QUESTIONS else method.name, first
        yield study.credit(method, first)
    exchanged = [method.name for method in methods if method.name in scale.exchanged]
    for seed, (asker, writer) in product(seeds, permutations(exchanged, 2)):
        if {(asker, seed), (writer, seed)} <= rows.keys():
            runner.now = asker, seed
            yield study.exchange(rows[asker, seed], rows[writer, seed])
    for method in methods:
        runner.now = method.name, first
        for share in scale.shares if method.name in scale.scaling else ():
            yield study.scaling(method, first, share, rows[method.name, first].rate)


def chosen(scale: Scale, only: Sequence[str]) -> list[Method]:
    """Return the methods of a study. Raises UserError for one that it does not have."""
    for name in only:
        if name not in scale.methods:
            raise UserError(f"--only {name}: expected one of {', '.join(scale.methods)}")
    return [each for each in METHODS if each.name in (only or scale.methods)]


def machine() -> str:
    """Return a description of this machine."""
    accelerator = torch.cuda.get_device_name() if torch.cuda.is_available() else "no accelerator"
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers"))
    cores = f"cores: {os.cpu_count()}, threads of a process: {torch.get_num_threads()}"
    where = f"{cores}, {platform.machine()}, {accelerator}"
    return f"{where}; Python {platform.python_version()}, {versions}"


def _learnt(graph: Graph, out: Path) -> dict[str, Any]:
    """Return what the base was trained on, including its own dialogues."""

    def said(name: str, what: str) -> list[int]:
        reports = (stage.report(out) for stage in order(graph.base) if stage.name == name)
        return [report.said[what] for report in reports if report]

    dialogues, tokens = said("rft-data", "dialogues"), said("rft", "tokens")
    rounds = graph.scale.base_rounds
    found = {"demonstrations": dialogues[0], "tokens learnt from": sum(tokens[:rounds])}
    if graph.scale.own:
        own = {"own dialogues": dialogues[-1], "tokens learnt from them": sum(tokens[rounds:])}
        found |= own
    return found


def _facts(folder: Path) -> dict[str, Any]:
    """Return size and digest of the base model. Raises DataError if it is damaged."""
    from safetensors import SafetensorError, safe_open

    path = model_in(folder) / "model.safetensors"
    try:
        with safe_open(path, framework="pt") as weights:
            shapes = {name: weights.get_slice(name).get_shape() for name in weights.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as cause:
        raise DataError(f"{path}: {cause}; {rerun_advice(folder)}") from cause
    digest = model_digest(model_in(folder))
    return {"parameters": sum(map(math.prod, shapes.values())), "digest": digest[:12]}
