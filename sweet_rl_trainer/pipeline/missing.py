"""Missing inputs of a training run, with a fix for each, such as the command that provides it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.errors import DataError
from colbench.flags import command_flags
from colbench.plugins import files_of, names
from colbench.registry import get_domain
from colbench.run_folder import RunFolder
from sweet_rl_trainer.data.examples import NothingLeftError
from sweet_rl_trainer.data.pairs import NoPairsError
from sweet_rl_trainer.data.runs import NoRewardsError, TasksMissingError, training_tasks
from sweet_rl_trainer.pipeline.recipe import MODEL_PLACEHOLDER, Recipe
from sweet_rl_trainer.pipeline.stage import Amount, Known

TRIALS = 3
"""The paper's number of dialogues per task, from which pairs are made."""


def eval_command(config: RunConfig, out: str = "") -> str:
    """Return the command line that creates a run in the folder `out`; if `out` is "", the command chooses a folder."""
    return shlex.join(
        ["colbench", "eval", *command_flags(config), *(["--out", out] if out else [])]
    )


def collecting(recipe: Recipe) -> RunConfig:
    """Return the configuration of a run that collects dialogues: the recipe's model on its domain's training tasks."""
    name = recipe.model.name
    return RunConfig(
        agent=f"vllm:{name}" if name else "",
        domain=recipe.domain,
        tasks=training_tasks(recipe.domain),
        trials=TRIALS,
        record_tokens=bool(name),
    )


def of_dialogues(known: Known, config: RunConfig) -> Amount:
    """Return what a run of dialogues lacks: its tasks or its agent (`Stage.estimate`).

    Only names are checked, so other problems appear when the run starts. A finished run lacks nothing.
    """
    if known.said is not None:
        return Amount()
    sources, agents = names("tasks"), names("agent")
    found = []
    if not (Path(config.tasks).expanduser().is_file() or _name(config.tasks) in sources):
        listed = ", ".join(f"{each}:…" for each in sources)
        found.append(f"tasks {config.tasks!r}: neither a file nor one of {listed}")
    files = files_of("agent", config.agent)
    if _name(config.agent) not in agents and not any(each.exists() for each in files):
        found.append(
            f"agent {config.agent!r}: neither a file or module (file.py:NAME) nor one of {', '.join(agents)}"
        )
    return Amount(missing="\n".join(found))


def _name(spec: str) -> str:
    return spec.partition(":")[0]


def evaluating(recipe: Recipe, model: str) -> RunConfig:
    """Return the run that evaluates a checkpoint: the recipe's run or, by default, a run on the domain's tasks."""
    own = next((each for each in recipe.evaluate if MODEL_PLACEHOLDER in each.agent), None)
    if own:
        return replace(own, agent=own.agent.replace(MODEL_PLACEHOLDER, model))
    return RunConfig(
        agent=f"vllm:{model}", domain=recipe.domain, tasks=get_domain(recipe.domain).defaults.tasks
    )


def no_dialogues(recipe: Recipe) -> str:
    """Return advice for a recipe that names no dialogues and collects none."""
    out = f"runs/{recipe.domain}-train"
    return (
        "data.runs: set run folders (--runs), trajectory files (data.official), files of your own dialogues "
        "(data.chats) or a [[collect]] table; this command creates a run with a rule-based human:\n  "
        f"{eval_command(collecting(recipe), out)}\n"
        f"then add --runs {out} (the comment at the top of a recipe names the tasks and the "
        "human of the paper)"
    )


def unfit_dialogues(cause: DataError, runs: Iterable[Path]) -> str:
    """Return the message of `cause` and the fixes; `cause` says that the dialogues of these runs yield no examples.

    If `cause` is any other error, such as an error about a malformed file, it is raised.
    """
    if not isinstance(cause, NoPairsError | NothingLeftError | NoRewardsError | TasksMissingError):
        raise cause
    return "\n".join([str(cause), *_fixes(cause, list(runs))])


def _fixes(cause: DataError, runs: list[Path]) -> Iterator[str]:
    match cause:
        case NoPairsError() | NothingLeftError() if runs:
            yield "if more dialogues per task can help, extend a run:"
            yield from (_again(folder, more=True) for folder in runs)
        case NoRewardsError() if runs:
            yield "to score and continue a run:"
            yield from (_again(folder) for folder in runs)
        case TasksMissingError():
            yield "set the task file with --set data.tasks=FILE"


def _again(folder: Path, *, more: bool = False) -> str:
    config = RunFolder(folder).record().config
    if more:
        config = replace(config, trials=max(TRIALS, config.trials + 2))
    return f"  {eval_command(config, str(folder))}"
