"""The dialogues, steps and time used to train a policy, counted in the output of the pipeline's stages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from colbench.run_folder import RunFolder
from sweet_rl_trainer.pipeline.base import RUN
from sweet_rl_trainer.pipeline.stage import Report, Stage, order
from sweet_rl_trainer.study.results import Budget
from sweet_rl_trainer.train.history import LOG

CRITIC, SAMPLE, TEACHER, COLLECT, ONLINE = "critic", "sample", "fic-answers", "collect", "grpo"
"""Names of the stages that are counted."""
LENGTHS = ("length", "length_chosen", "length_rejected", "completions/mean_length")
"""Names of the logged mean numbers of reply tokens: in an example, in either side of a pair, in an online dialogue."""


def counted(policy: Stage, base: Stage, goal: str, out: Path, *, evaluations: int) -> Budget:
    """Return a finished policy's budget, without the stages of `base`; `goal` is the name of the training stages."""
    before = {stage.key for stage in order(base)}
    stages = [stage for stage in order(policy) if stage.key not in before]
    reports = [(stage, report) for stage in stages if (report := stage.report(out))]
    trained = [(stage.folder(out), report) for stage, report in reports if stage.name == goal]
    steps = sum(_steps(report) for _, report in trained)
    means = [(_steps(report), _supervised(folder, report)) for folder, report in trained]
    tokens = [count * mean for count, mean in means if mean is not None]
    return Budget(
        dialogues=sum(_dialogues(stage.folder(out)) for stage in stages if stage.name == COLLECT)
        + sum(_online(report) for stage, report in reports if stage.name == ONLINE),
        candidates=sum(
            _candidates(report) for stage, report in reports if stage.name in (SAMPLE, TEACHER)
        ),
        critic_steps=sum(_steps(report) for stage, report in reports if stage.name == CRITIC),
        steps=steps,
        supervised=sum(tokens) / steps if steps and len(tokens) == len(means) else None,
        evaluations=evaluations,
        seconds=sum(report.seconds for _, report in reports),
    )


def _dialogues(folder: Path) -> int:
    return len(RunFolder(folder / RUN).rollouts())


def _online(report: Report) -> int:
    """Return the number of dialogues of a GRPO run, which runs new dialogues only once every `iterations` steps."""
    train = report.settings["train"]
    return math.ceil(_steps(report) / int(train["iterations"])) * int(train["batch_size"])


def _candidates(report: Report) -> int:
    own = report.settings["own"]
    return int(report.said["turns"]) * int(own.get("sample", own)["count"])


def _steps(report: Report) -> int:
    return int(report.said["step"])


def _supervised(folder: Path, report: Report) -> float | None:
    """Return the mean number of reply tokens in the loss of a step, over the steps up to the last line with a loss.

    Returns None if no line of the log has a loss.
    """
    batch, before, total = report.settings["train"]["batch_size"], 0, 0.0
    for line in _logged(folder):
        length = sum(line.get(name, 0.0) for name in LENGTHS)
        total += (line["step"] - before) * batch * length
        before = line["step"]
    return total / before if before else None


def _logged(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the log lines of a training run that report a loss; the log may end before the last step."""
    lines: Sequence[bytes] = (folder / RUN / LOG).read_bytes().splitlines()
    for line in map(msgspec.json.decode, lines):
        if "loss" in line:
            yield line
