"""Rejection fine-tuning: imitate the dialogues that succeeded.

    rft-data    the successful dialogues, tokenized; weights 1 / (agent tokens of the dialogue)
    rft         L = -(1/N) Σ_τ (1/|M_τ|) Σ_{i in M_τ} log π(x_i)      M_τ: all tokens that the agent wrote
    export

Paper: arXiv 2503.15478, section 5 (baselines) and the appendix on hyper-parameters: learning rate 2e-7, batches of 32,
4 epochs (8 in frontend design), at most 16,384 tokens. A dialogue is successful if its reward is 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.examples import Examples, NothingLeftError, Report, success_examples
from sweet_rl_trainer.data.privileged import Template
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.pipeline.examples import TrainingData, of_both_sides
from sweet_rl_trainer.pipeline.inputs import Data
from sweet_rl_trainer.pipeline.iteration import Iteration
from sweet_rl_trainer.pipeline.method import Method, paper_epochs
from sweet_rl_trainer.pipeline.stage import Stage
from sweet_rl_trainer.settings import Count, TrainSettings

PAPER_BATCH = 32
UNANSWERED = "dialogues without an answer"
"""The reason that a summary gives for leaving out dialogues because of `RftSettings.answered`."""


class RftSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for imitating successes or, with a low `at_least`, all dialogues (supervised fine-tuning)."""

    train: TrainSettings
    at_least: float = 1.0
    """Minimum reward of a success."""
    answered: bool = False
    """True to leave out dialogues without an answer, regardless of their reward. Ours."""
    privileged: tuple[Template, ...] = ("preamble",)
    """Templates that state the privileged information before the dialogues of `[[collect_privileged]]`.

    Each of these dialogues uses one template; the templates alternate.
    """
    max_length: Count = 16_384
    """Maximum number of tokens; a longer dialogue is left out. Paper."""


class Rft(Method):
    """The baseline method: imitation of successful dialogues."""

    name = "rft"
    tables: ClassVar[Mapping[str, type[Struct]]] = {"rft": RftSettings}
    goals: ClassVar[Mapping[str, str]] = {
        "rft": "train the baseline by imitation of successful dialogues, and export it"
    }

    def paper(self, table: str, domain: str, train: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the paper's settings for the batch size and the epochs."""
        return {"train": {"batch_size": PAPER_BATCH, "epochs": paper_epochs(domain)}}

    def stages(self, iteration: Iteration, goal: str) -> Sequence[Stage]:
        """Return the stage that exports the policy."""
        return [iteration.exported(trained(iteration))]


def trained(iteration: Iteration) -> Stage:
    """Return the stage that trains the policy."""
    table = iteration.recipe.table(RftSettings)
    settings: dict[str, Any] = {"at_least": table.at_least, "max_length": table.max_length}
    if table.answered:
        settings["answered"] = True
    if iteration.privileged:
        settings["privileged"] = table.privileged
    made = iteration.examples("rft", successes, iteration.privileged, **settings)
    return iteration.training("rft", table.train, made)


def successes(
    data: Data,
    chat: Chat,
    *,
    at_least: float,
    max_length: int,
    answered: bool = False,
    privileged: Sequence[Template] = (),
) -> TrainingData:
    """Return the successful dialogues as examples. With `answered`, leave out dialogues without an answer.

    With `privileged`, the examples include successes of agents that knew the privileged information c. Each of these
    successes begins with a statement of c, in one of the templates in `privileged`; the templates alternate. Raises
    DataError if no success of an agent that did not know c remains for training.
    """

    def imitated(
        trajectories: Sequence[Trajectory], template: Template | None = None
    ) -> tuple[Examples, Report]:
        taken = [each for each in trajectories if each.ended_by == "answer" or not answered]
        lost = +Counter({UNANSWERED: len(trajectories) - len(taken)})
        if lost and not taken:
            raise NothingLeftError(
                f"none of {len(trajectories)} dialogues ended with an answer (rft.answered)",
                dropped=lost,
                too_long=False,
            )
        made, report = success_examples(
            taken, chat, at_least=at_least, privileged=template, max_length=max_length
        )
        return made, replace(report, dropped={**report.dropped, **lost})

    made = of_both_sides(data, imitated)
    train, report = [*made.train], made.report
    for number, template in enumerate(privileged):
        try:
            more, added = imitated(data.privileged[number :: len(privileged)], template)
        except NothingLeftError as cause:
            report = replace(report, dropped=Counter(report.dropped) + Counter(cause.dropped))
        else:
            train, report = [*train, *more], report + added
    return replace(made, train=train, report=report)
