"""Recipes: everything that a training run is made of, as one frozen value, read from a TOML file.

A recipe says what there is to say about every stage (`stages.plan`); what it leaves out has the paper's value, where
the paper has one. `[train]` holds settings of every training, `[critic.train]` and its like of one. The shipped recipes
are in `recipes/`, and are known by their names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from colbench.config import ArgValue, RunConfig
from colbench.config_errors import explain
from colbench.errors import UserError
from colbench.registry import get_domain
from colbench.task import BACKEND
from sweet_rl_trainer.former_names import refuse_former
from sweet_rl_trainer.grpo.settings import GrpoSettings
from sweet_rl_trainer.pairs import Rule as PairRule
from sweet_rl_trainer.privileged import Template
from sweet_rl_trainer.ranking.choose import Rule as ChoiceRule
from sweet_rl_trainer.ranking.score import TERMS, Preset
from sweet_rl_trainer.recipe_files import text
from sweet_rl_trainer.runs import training_tasks
from sweet_rl_trainer.settings import (
    PAPER_PAIRS,
    Count,
    LoraSettings,
    NotNegative,
    Objective,
    Positive,
    TrainSettings,
    paper,
)
from sweet_rl_trainer.tiny import Shape
from sweet_rl_trainer.token_weights import Rule as WeightRule

T = TypeVar("T")
Method = Literal["sweet", "rft", "mtdpo", "grpo"]
Fraction = Annotated[float, Meta(gt=0, le=1)]
Side = Annotated[float, Meta(ge=0, lt=1)]
TRAININGS: tuple[Objective, ...] = ("critic", "actor", "rft", "mtdpo")
"""Each has a table."""


class ModelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What training starts from."""

    name: str = ""
    """A folder, or `OWNER/NAME` or `OWNER/NAME@REVISION` on the Hugging Face hub."""
    tiny: Shape | None = None
    """In its place: a model with random weights, made on the spot."""
    template_args: dict[str, ArgValue] = {}
    """Variables of the chat template, as the rollouts were sampled with them."""


class DataSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is learnt from. Without `runs` and `official`, dialogues are collected first (`[[collect]]`)."""

    runs: tuple[str, ...] = ()
    """Run folders of `colbench eval`."""
    official: tuple[str, ...] = ()
    """Trajectory files in the official format."""
    negatives: tuple[str, ...] = ()
    """Run folders of which only the dialogues that ran into the turn limit count, as rejected ones."""
    tasks: str = ""
    """The source of the runs' tasks, where the one that they recorded is not there any more."""
    system: str | None = None
    """A file with the agent's system prompt, where the one that a run recorded is not there any more."""
    held_out: Side = 0.05
    """The share of tasks that nothing is trained on: for diagnoses, and for the choice of the checkpoint. Ours."""
    share: Fraction = 1.0
    """The share of the other tasks that is learnt from: for curves over the number of tasks. Ours."""
    seed: int = 0
    """Of what is held out, and of that share."""


class PairSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which dialogues are compared; see `pairs`. Defaults are the paper's for backend."""

    rule: PairRule = "best-vs-worse"
    margin: NotNegative = 0.0
    match_turns: bool = False
    limit_negatives: bool = False
    """Pair dialogues that ran into the turn limit with the best of their task, whatever `match_turns` says."""


class CriticSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Phase 1 (paper, section 4)."""

    train: TrainSettings
    pairs: PairSettings = PairSettings()
    token_weights: WeightRule = "turn-mean"
    privileged: Template | Literal["none"] = "preamble"
    """The template that states c to the critic; "none": the critic does not see c (an ablation of the paper)."""
    max_length: Count = 8192
    """Tokens; a longer example is left out. Paper."""


class SampleSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The candidates of phase 2."""

    count: Annotated[int, Meta(ge=2)] = 16
    """Replies for each turn. Paper."""
    temperature: Positive = 1.0
    """Paper."""
    max_tokens: Count = 1024
    """Of a reply. Paper."""
    data_fraction: Fraction = 0.1
    """Of the trajectories, at whose turns replies are sampled. Paper."""
    server: str = "in-process"
    """Where: `in-process` by transformers, `vllm` on a server that is started for it, or `MODEL@URL` of a server, which
    has the model that training starts from, is given `model.template_args`, and draws from all of its distribution
    (vLLM: `--default-chat-template-kwargs`, `--generation-config=vllm`)."""
    record_tokens: bool = True
    """Keep the tokens that the server sampled; false for one that returns none: its replies are tokenised again."""
    server_args: dict[str, ArgValue] = {}
    """Flags of `vllm serve`, such as `tensor_parallel_size`."""
    concurrency: Count = 64
    """Requests in flight."""
    seed: int = 0


class RankSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scores, and pairs of replies by them."""

    scores: Preset = "critic"
    continuations: Count = 8
    """Dialogues that the first run's agent plays on after each candidate, where scores are `returns`."""
    pairs: ChoiceRule = "halves"
    pairs_per_turn: Count = 4
    """Paper."""
    margin: NotNegative = 0.0
    calibrate: bool = False
    """Whether answers' scores are shifted by what came of the recorded ones (`ranking.calibrate`). Ours."""
    seed: int = 0
    row_tokens: Count = 16_384
    """Tokens that are scored at once, the unit of memory."""


class ActorSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Phase 2: DPO on the pairs of replies."""

    train: TrainSettings
    token_weights: WeightRule = "sum"
    max_length: Count = 16_384
    """Paper."""


class MtdpoSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The baseline: DPO on pairs of dialogues."""

    train: TrainSettings
    pairs: PairSettings = PairSettings()
    token_weights: WeightRule = "sum"
    max_length: Count = 16_384
    """Paper."""


class RftSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The baseline: imitation of successful dialogues; with `at_least` 0, of all (supervised fine-tuning)."""

    train: TrainSettings
    at_least: float = 1.0
    """The reward of a success."""
    privileged: tuple[Template, ...] = ("preamble",)
    """The templates that state c before the dialogues of `[[collect_privileged]]`, in turn."""
    max_length: Count = 16_384
    """Paper."""


class GrpoTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The baseline that learns from dialogues of its own (`grpo`)."""

    train: GrpoSettings = GrpoSettings()
    dialogues: RunConfig = RunConfig()
    """Tasks (by default the bundled ones to train on), human and so on; the agent is the model."""


class DiagnoseSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked of a critic before an actor is trained on its scores. Ours."""

    questions: Count = 4
    """Further questions that the answer is compared with, where everything is known."""
    continuations: Annotated[int, Meta(ge=0)] = 0
    """Dialogues played on after each of some candidates, for their Monte-Carlo returns; 0: none."""
    turns: Count = 50
    """At which candidates are played on."""
    candidates: Annotated[int, Meta(ge=2)] = 4
    """Of such a turn."""
    agent: str = ""
    """Who plays on; "": the agent of the first run."""
    seed: int = 0


class LaunchSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How trainings are started."""

    config: str = ""
    """One of the package's (`fsdp2`, `zero3`, `ddp`, `one-gpu`) or a file of `accelerate config`; "": one process."""
    processes: Count = 1
    args: tuple[str, ...] = ()
    """Further flags of `accelerate launch`, such as `--num_machines=2`."""


class ExportSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The checkpoint that is served."""

    dtype: Literal["bfloat16", "float32"] = "bfloat16"


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of it."""

    method: Method = "sweet"
    domain: str = BACKEND
    """Name of an installed domain; see docs/new-domain.md."""
    iterations: Count = 1
    """How often; from the second time on, dialogues are those of `[[collect]]`, `{model}` being the actor before."""
    model: ModelSettings = ModelSettings()
    data: DataSettings = DataSettings()
    collect: tuple[RunConfig, ...] = ()
    """Runs of `colbench eval`; `{model}` in an agent's name is the folder of the model.

    A run that names no agent has the domain's rule-based one, and one that names no tasks those to train on."""
    evaluate: tuple[RunConfig, ...] = ()
    """Runs of `colbench eval` with what was exported, `{model}`, after each iteration."""
    negatives: tuple[RunConfig, ...] = ()
    """Runs of which only the dialogues that ran into the turn limit count, as rejected ones; see `data.negatives`."""
    collect_privileged: tuple[RunConfig, ...] = ()
    """Runs of agents that know c. RFT also imitates them, with c stated first, and so makes a model that uses c."""
    critic: CriticSettings
    diagnose: DiagnoseSettings = DiagnoseSettings()
    sample: SampleSettings = SampleSettings()
    rank: RankSettings = RankSettings()
    actor: ActorSettings
    rft: RftSettings
    mtdpo: MtdpoSettings
    grpo: GrpoTable = GrpoTable()
    lora: LoraSettings | None = None
    launch: LaunchSettings = LaunchSettings()
    export: ExportSettings = ExportSettings()


def read(name: str, changes: Sequence[str] = (), values: Mapping[str, Any] | None = None) -> Recipe:
    """A shipped recipe by its name, or one from a file, with changes.

    These are texts such as `critic.train.beta=0.2`, or `values` by key. Raises UserError naming the file and the key,
    or the change, that is wrong.
    """
    content, place = text(name)
    try:
        table = tomllib.loads(content)
    except tomllib.TOMLDecodeError as cause:
        raise UserError(f"{place}: {cause}") from cause
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals or not key.strip():
            raise UserError(f"--set {change}: expected KEY=VALUE, such as critic.train.epochs=2")
        assign(table, key.strip(), _value(value.strip()))
    for key, value in (values or {}).items():
        assign(table, key, value)
    return convert(table, place)


def assign(table: dict[str, Any], key: str, value: Any) -> None:
    """Set a setting by its key, such as `critic.train.beta`. Raises UserError where it would be in no table."""
    *path, last = key.split(".")
    for name in path:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise UserError(f"--set {key}: {name} is no table")
    table[last] = value


def convert(table: Mapping[str, Any], place: str) -> Recipe:
    """A recipe from its tables; `place` is for messages. Raises UserError naming the key that is wrong."""
    try:
        refuse_former(table)
        recipe = _with_domain(_checked(_with_paper(table), Recipe))
    except UserError as cause:
        raise UserError(f"{place}: {cause}") from cause
    if problem := next(_problems(recipe), None):
        raise UserError(f"{place}: {problem}")
    return recipe


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _with_paper(table: Mapping[str, Any]) -> dict[str, Any]:
    """The tables with complete settings of each training: the paper's, changed by `[train]` and by its own."""
    whole = dict(table)
    common = _common(whole.pop("train", {}))
    domain = get_domain(str(whole.get("domain", BACKEND)))
    for objective in TRAININGS:
        own = dict(_table(whole.get(objective, {}), objective))
        changes = {**common, **_table(own.get("train", {}), f"{objective}.train")}
        value = objective == "critic" and changes.get("score") == "value"
        settings = paper("value" if value else objective, domain.name)
        own["train"] = {**msgspec.to_builtins(settings), **changes}
        if objective in {"critic", "mtdpo"}:
            pairs = _table(own.get("pairs", {}), f"{objective}.pairs")
            own["pairs"] = {**PAPER_PAIRS.get(domain.name, {}), **pairs}
        whole[objective] = own
    return whole


def _with_domain(recipe: Recipe) -> Recipe:
    """Return the recipe in which what names no tasks, or no agent, has the domain's own."""
    tiny = recipe.model.tiny
    defaults = get_domain(recipe.domain).defaults

    def collected(configs: Sequence[RunConfig]) -> tuple[RunConfig, ...]:
        return tuple(
            replace(
                each,
                agent=each.agent or defaults.agent,
                tasks=each.tasks or training_tasks(recipe.domain),
            )
            for each in configs
        )

    return replace(
        recipe,
        model=replace(
            recipe.model, tiny=tiny and replace(tiny, texts=tiny.texts or defaults.tasks)
        ),
        collect=collected(recipe.collect),
        negatives=collected(recipe.negatives),
        collect_privileged=collected(recipe.collect_privileged),
        evaluate=tuple(
            replace(each, tasks=each.tasks or defaults.tasks) for each in recipe.evaluate
        ),
    )


def _common(table: Any) -> Mapping[str, Any]:
    """`[train]`, checked on its own, so that a mistake is named where it is."""
    changes = _table(table, "train")
    score = {"score": changes["score"], "likelihood_weight": 0.0} if "score" in changes else {}
    _checked({**changes, **score}, TrainSettings, "train")
    return changes


def _checked(values: Mapping[str, Any], kind: type[T], table: str = "") -> T:
    """Return settings from their values. Raises UserError that names the wrong key; `table` is where they stand."""
    try:
        return msgspec.convert(values, kind, strict=True)
    except msgspec.ValidationError as cause:
        raise UserError(str(explain(cause, kind, values, table=table))) from cause


def _table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{name}: expected a table; given: {value}")
    return value


def _problems(recipe: Recipe) -> Iterator[str]:
    if recipe.model.name and recipe.model.tiny:
        yield "model.name and model.tiny: give one of the two"
    if not (recipe.model.name or recipe.model.tiny):
        yield "model.name: give the model to train, a folder or a name on the hub (--model)"
    if recipe.iterations > 1 and not any("{model}" in each.agent for each in recipe.collect):
        yield "iterations: a [[collect]] table with {model} in its agent is needed to collect from the actor"
    if recipe.sample.server not in {"in-process", "vllm"} and "@http" not in recipe.sample.server:
        yield f"sample.server {recipe.sample.server!r}: expected in-process, vllm or MODEL@URL"
    yield from _unfit(recipe)


def _unfit(recipe: Recipe) -> Iterator[str]:
    """Scores that the critic was not trained for."""
    for name in ("actor", "rft", "mtdpo"):
        if getattr(recipe, name).train.score != "log-ratio":
            yield f"{name}.train.score: only a critic can be a value model (critic.train.score)"
    scores, critic = recipe.rank.scores, recipe.critic
    if scores == "returns" and recipe.data.official and not recipe.data.runs:
        yield "rank.scores 'returns': nobody can play on in official files; name runs (data.runs)"
    of_critic = [term for term in TERMS[scores] if term.of == "critic"]
    for term in of_critic:
        if term.privileged == (critic.privileged == "none"):
            sees = "does not see" if critic.privileged == "none" else "sees"
            yield f"rank.scores {scores!r} do not fit a critic that {sees} c (critic.privileged {critic.privileged!r})"
        if (term.token_weights == "sum") != (critic.token_weights == "sum"):
            yield f"rank.scores {scores!r} do not fit critic.token_weights {critic.token_weights!r}"
        if term.score != critic.train.score:
            yield f"rank.scores {scores!r} do not fit critic.train.score {critic.train.score!r}"
