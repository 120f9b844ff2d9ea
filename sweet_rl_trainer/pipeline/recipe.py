"""A recipe: the whole definition of a training run, as one frozen value.

This module has the settings that are common to all methods. Each method adds tables of its own, such as `[critic]`
(`method.Method.tables`). An omitted setting has the paper's value if the paper states the setting; "ours" marks
settings that the paper does not state. `read` reads recipes from TOML files.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct

from colbench.config import ArgValue, RunConfig
from colbench.task import BACKEND
from sweet_rl_trainer.settings import Count, LoraSettings, Shape

T = TypeVar("T")
MODEL_PLACEHOLDER = "{model}"
"""Placeholder for the model's folder in a run's setting `agent`, as in `vllm:{model}`."""
Fraction = Annotated[float, Meta(gt=0, le=1)]
Side = Annotated[float, Meta(ge=0, lt=1)]


class ModelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model that training starts from."""

    name: str = ""
    """A folder, or `OWNER/NAME` or `OWNER/NAME@REVISION` on the Hugging Face Hub."""
    tiny: Shape | None = None
    """A small model with random weights, to use instead of a named model."""
    template_args: dict[str, ArgValue] = {}
    """Variables of the chat template, with the values used when the rollouts were sampled.

    The agents `local:{model}` and `vllm:{model}` of the recipe's runs also get these variables.
    """


class DataSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The dialogues to learn from.

    If `runs`, `official` and `chats` are empty, dialogues are collected first (`[[collect]]`).
    """

    runs: tuple[str, ...] = ()
    """Run folders of `colbench eval`."""
    official: tuple[str, ...] = ()
    """Trajectory files in the official format."""
    chats: tuple[str, ...] = ()
    """Files of your own dialogues: JSONL with `messages` and `reward` (docs/own-dialogues.md)."""
    negatives: tuple[str, ...] = ()
    """Run folders. Only the dialogues that reached the turn limit are used, and only as rejected dialogues."""
    tasks: str = ""
    """The source of the runs' tasks. It replaces the recorded source, for example if that source was deleted."""
    system: str | None = None
    """A file with the agent's system prompt, for official files, and for runs whose recorded prompt cannot be found."""
    held_out: Side = 0.05
    """Share of the tasks that are held out of training, for diagnoses and for the choice of the checkpoint. Ours."""
    share: Fraction = 1.0
    """Share of the tasks outside `held_out` to train on; a smaller share shows the effect of fewer tasks. Ours."""
    seed: int = 0
    """Seed of the random choice of the tasks for `held_out` and `share`."""

    @property
    def given(self) -> bool:
        """True if the recipe names existing dialogues to learn from, other than `negatives`."""
        return bool(self.runs or self.official or self.chats)


class LaunchSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings for starting the processes of a training run."""

    config: str = ""
    """A shipped configuration (`fsdp2`, `zero3`, `ddp`, `one-gpu`) or an accelerate config file; "" for one process."""
    processes: Count = 1
    args: tuple[str, ...] = ()
    """Further flags of `accelerate launch`, such as `--num_machines=2`."""


class ExportSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of the checkpoint that is exported to be served."""

    dtype: Literal["bfloat16", "float32"] = "bfloat16"


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a whole run."""

    method: str = "sweet"
    """Name of an installed method (entry points `colbench.methods`)."""
    domain: str = BACKEND
    """Name of an installed domain; see docs/new-domain.md."""
    iterations: Count = 1
    """Number of times that the method is applied, one after another.

    From the second iteration on, `[[collect]]` provides the dialogues, and `{model}` in `[[collect]]` stands for the
    policy of the previous iteration.
    """
    executor: str = ""
    """The executor for dialogues of all runs and their continuations, and for scoring (`colbench eval --executor`).

    If empty, each run uses its own setting.
    """
    model: ModelSettings = ModelSettings()
    data: DataSettings = DataSettings()
    collect: tuple[RunConfig, ...] = ()
    """Runs of `colbench eval`; `{model}` in an agent's name is the folder of the model.

    By default, a run uses the domain's rule-based agent and the training tasks.
    """
    evaluate: tuple[RunConfig, ...] = ()
    """Runs of `colbench eval` with the exported policy, `{model}`, after each iteration."""
    negatives: tuple[RunConfig, ...] = ()
    """Runs to collect rejected dialogues: only dialogues that reach the turn limit are used (see `data.negatives`)."""
    collect_privileged: tuple[RunConfig, ...] = ()
    """Runs of agents that know the privileged information c. RFT imitates their dialogues, with c stated first."""
    lora: LoraSettings | None = None
    launch: LaunchSettings = LaunchSettings()
    export: ExportSettings = ExportSettings()
    tables: dict[str, Any] = {}
    """The methods' own tables, by name. In a TOML file they are at the top level."""

    def table(self, kind: type[T]) -> T:
        """Return the method's table that has the type `kind`."""
        return next(table for table in self.tables.values() if isinstance(table, kind))
