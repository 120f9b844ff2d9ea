"""The amount of work of the stages in a plan, as far as it is known before they run (`Stage.estimate`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sweet_rl_trainer.pipeline.base import BASE
from sweet_rl_trainer.pipeline.stage import Amount, Known, Source, Stage


def count(stages: Sequence[Stage], out: Path, temporary: Path) -> list[Amount]:
    """Return the work of each stage, in order.

    A base model with random weights that does not exist yet is created in `temporary`, because its tokenizer is needed.
    """
    return list(_Counter(out, temporary).amounts(stages))


def missing(stages: Sequence[Stage], out: Path) -> list[str]:
    """Return what is missing to run these stages, each with a fix, such as the command that provides it.

    No model is read, so this takes only seconds. Problems that only a tokenizer reveals, such as dialogues that are too
    long, appear only when the stages run.
    """
    pending = [stage for stage in stages if not stage.report(out)]
    return lacks(pending, list(_Counter(out, None).amounts(pending)))


def lacks(stages: Sequence[Stage], amounts: Sequence[Amount]) -> list[str]:
    """Return what is missing to run stages with these amounts of work, without duplicates."""
    sources = (each for stage in stages for each in stage.inputs.values())
    found = [
        *(each.missing for each in sources if isinstance(each, Source)),
        *(amount.missing for amount in amounts),
    ]
    return [each for each in dict.fromkeys(found) if each]


class _Counter:
    """A counter of the examples, tokens and steps of stages.

    `temporary`: the folder in which the base model is created; if None, no model is created or read.
    """

    def __init__(self, out: Path, temporary: Path | None) -> None:
        self._out = out
        self._temporary = temporary
        self._amounts: dict[str, Amount] = {}

    def amounts(self, stages: Sequence[Stage]) -> Iterator[Amount]:
        for stage in stages:
            amount = self._amounts[stage.key] = self._amount(stage)
            yield amount

    def _amount(self, stage: Stage) -> Amount:
        report = stage.report(self._out)
        if stage.name == BASE and not report and self._temporary:
            stage.run(self._temporary)
        if stage.estimate is None:
            return Amount()
        known = Known(
            inputs=dict(self._inputs(stage)),
            amounts={
                name: self._amounts.get(each.key, Amount())
                for name, each in stage.inputs.items()
                if isinstance(each, Stage)
            },
            said=report.said if report else None,
            absent=frozenset(
                name
                for name, each in stage.inputs.items()
                if isinstance(each, Source) and each.path is None
            ),
            with_models=self._temporary is not None,
        )
        return stage.estimate(known)

    def _inputs(self, stage: Stage) -> Iterator[tuple[str, Path]]:
        """Yield the name and the folder of each input that exists.

        The input `model` is left out if no model may be read.
        """
        for name, each in stage.inputs.items():
            if name == "model" and not self._temporary:
                continue
            if isinstance(each, Source):
                if each.path is not None:
                    yield name, each.path
                continue
            for root in filter(None, (self._out, self._temporary)):
                if each.report(root):
                    yield name, each.folder(root)
                    break
