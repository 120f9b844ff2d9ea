"""Recipes from TOML files, with the paper's values for settings that a file omits.

`[train]` applies to all training runs of a recipe; GRPO takes only `report_to` from it. Tables such as `[critic.train]`
apply to one training run, and override `[train]`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.config import ArgValue, RunConfig
from colbench.config_errors import did_you_mean, explain
from colbench.errors import UserError
from colbench.executors.choice import LOCAL, is_local
from colbench.registry import get_domain
from sweet_rl_trainer.data.runs import training_tasks
from sweet_rl_trainer.pipeline.former_names import refuse_former
from sweet_rl_trainer.pipeline.launch import launcher
from sweet_rl_trainer.pipeline.method import COMMON, Method, find_method, methods
from sweet_rl_trainer.pipeline.recipe import MODEL_PLACEHOLDER, Recipe
from sweet_rl_trainer.pipeline.recipe_files import tables
from sweet_rl_trainer.settings import TrainSettings

T = TypeVar("T")
TRACKED = "report_to"
"""Key of the only setting in `[train]` that also applies to a table `train` whose type is not TrainSettings."""
TEMPLATE_FLAGS = {
    f"local:{MODEL_PLACEHOLDER}": "template_args",
    f"vllm:{MODEL_PLACEHOLDER}": "default_chat_template_kwargs",
}
"""For each agent that runs the policy, the name of the agent's argument for the chat template's variables."""
SHARED = tuple(name for name in Recipe.__struct_fields__ if name != "tables")


def read(name: str, changes: Sequence[str] = (), values: Mapping[str, Any] | None = None) -> Recipe:
    """Return a shipped recipe, or a recipe from a file, with changes applied; `name` is the recipe's name or the file.

    `changes` are strings such as `critic.train.beta=0.2`, and `values` maps keys to values. Raises UserError if the
    recipe or a change is wrong; the message names the key.
    """
    table, place = tables(name)
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals or not key.strip():
            raise UserError(f"--set {change}: expected KEY=VALUE, such as critic.train.epochs=2")
        assign(table, key.strip(), _value(value.strip()))
    for key, value in (values or {}).items():
        assign(table, key, value)
    return convert(table, place)


def assign(table: dict[str, Any], key: str, value: Any) -> None:
    """Set a setting by its key, such as `critic.train.beta`. Raises UserError if a parent of the key is not a table."""
    *path, last = key.split(".")
    for name in path:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise UserError(f"{key}: {name} is {table}, not a table")
    table[last] = value


def convert(table: Mapping[str, Any], place: str) -> Recipe:
    """Build a recipe from its tables. Raises UserError, which begins with `place`, if a key or value is wrong."""
    try:
        refuse_former(table)
        _refuse_unknown(table)
        shared = {name: value for name, value in table.items() if name in SHARED}
        recipe = _with_domain(_checked(shared, Recipe))
        for config in (
            *recipe.collect,
            *recipe.evaluate,
            RunConfig(executor=recipe.executor or LOCAL),
        ):
            is_local(config)
        recipe = replace(recipe, tables=_tables(table, recipe.domain))
        find_method(recipe.method)
        launcher(recipe.launch)
        problem = next(_problems(recipe), None)
    except UserError as cause:
        raise UserError(f"{place}: {cause}") from cause
    if problem:
        raise UserError(f"{place}: {problem}")
    return recipe


def paper_recipe(domain: str) -> Recipe:
    """Return the recipe with the paper's values for a domain, and no model."""
    tables = {
        name: table
        for method in methods()
        for name, table in method.paper_tables.get(domain, {}).items()
    }
    return convert({"domain": domain, "model": {"name": "…"}, **tables}, "paper")


def _refuse_unknown(table: Mapping[str, Any]) -> None:
    known = [*SHARED, COMMON, *(name for method in methods() for name in method.tables)]
    for name in table:
        if name not in known:
            raise UserError(f"{name}: unknown key{did_you_mean(name, known)}")


def _tables(table: Mapping[str, Any], domain: str) -> dict[str, Any]:
    """Return the complete tables of all methods: the paper's values, updated by `[train]`, then by `table`."""
    common = _common(table.get(COMMON, {}))
    return {
        name: _checked(_complete(method, name, table, common, domain), kind, name)
        for method in methods()
        for name, kind in method.tables.items()
    }


def _complete(
    method: Method, name: str, table: Mapping[str, Any], common: Mapping[str, Any], domain: str
) -> dict[str, Any]:
    given = dict(_table(table.get(name, {}), name))
    kind = _training(method.tables[name])
    if kind is not TrainSettings:
        if TRACKED in common and kind and TRACKED in kind.__struct_fields__:
            own = _table(given.get(COMMON, {}), f"{name}.{COMMON}")
            given[COMMON] = {TRACKED: common[TRACKED], **own}
        return _merged(method.paper(name, domain, {}), given)
    given[COMMON] = {**common, **_table(given.get(COMMON, {}), f"{name}.{COMMON}")}
    return _merged(method.paper(name, domain, given[COMMON]), given)


def _training(kind: type[Struct]) -> type[Struct] | None:
    """Return the type of a table's field `train`; None if the table has no such field."""
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    return types.get(COMMON)


def _merged(paper: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the paper's values, updated with the given values; nested tables are merged as well."""
    merged = {**paper, **given}
    for key, value in paper.items():
        if isinstance(value, Mapping) and isinstance(given.get(key), Mapping):
            merged[key] = {**value, **given[key]}
    return merged


def _with_domain(recipe: Recipe) -> Recipe:
    """Return the recipe with the domain's defaults for missing tasks and agents."""
    tiny = recipe.model.tiny
    defaults = get_domain(recipe.domain).defaults

    def run(config: RunConfig, tasks: str, agent: str = "") -> RunConfig:
        return replace(
            config,
            agent=config.agent or agent,
            agent_args={**_template_flag(config, recipe), **config.agent_args},
            tasks=config.tasks or tasks,
            executor=recipe.executor or config.executor,
        )

    def collected(configs: Sequence[RunConfig]) -> tuple[RunConfig, ...]:
        tasks = training_tasks(recipe.domain)
        return tuple(run(each, tasks, defaults.agent) for each in configs)

    return replace(
        recipe,
        model=replace(
            recipe.model, tiny=tiny and replace(tiny, texts=tiny.texts or defaults.tasks)
        ),
        collect=collected(recipe.collect),
        negatives=collected(recipe.negatives),
        collect_privileged=collected(recipe.collect_privileged),
        evaluate=tuple(run(each, defaults.tasks) for each in recipe.evaluate),
    )


def _template_flag(config: RunConfig, recipe: Recipe) -> dict[str, ArgValue]:
    """Return the argument with the chat template's variables for a run's agent; {} if the agent is not the policy."""
    variables = recipe.model.template_args
    if not variables or config.agent not in TEMPLATE_FLAGS:
        return {}
    return {TEMPLATE_FLAGS[config.agent]: msgspec.json.encode(variables).decode()}


def _common(table: Any) -> Mapping[str, Any]:
    """Return the settings in `[train]`, checked before they are merged, so that errors name this table."""
    changes = _table(table, COMMON)
    score = {"score": changes["score"], "likelihood_weight": 0.0} if "score" in changes else {}
    _checked({**changes, **score}, TrainSettings, COMMON)
    return changes


def _checked(values: Mapping[str, Any], kind: type[T], table: str = "") -> T:
    """Convert values to the type `kind`. Raises UserError if a value is wrong; the message names its key in `table`."""
    try:
        return msgspec.convert(values, kind, strict=True)
    except msgspec.ValidationError as cause:
        raise UserError(str(explain(cause, kind, values, table=table, quoted=True))) from cause


def _table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{name}: expected a table, got {value}")
    return value


def _problems(recipe: Recipe) -> Iterator[str]:
    if recipe.model.name and recipe.model.tiny:
        yield "model.name and model.tiny: set only one of the two"
    if not (recipe.model.name or recipe.model.tiny):
        yield "model.name: set the model to train, a folder or a Hub ID (--model)"
    if recipe.iterations > 1 and not any(
        MODEL_PLACEHOLDER in each.agent for each in recipe.collect
    ):
        yield (
            f"iterations: more than one needs a [[collect]] table with {MODEL_PLACEHOLDER} in its agent, "
            "so that each policy collects its own dialogues"
        )
    for method in methods():
        yield from method.problems(recipe)


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
