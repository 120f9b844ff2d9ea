"""The RunConfig of a command: a flag overrides an environment variable, which overrides the `--config` file."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from colbench.config import RunConfig, settings
from colbench.config_errors import did_you_mean, misspelled
from colbench.config_values import config_of
from colbench.errors import UserError
from colbench.options import Setting

PREFIX = "COLBENCH_"
OTHER_VARIABLES = {
    "COLBENCH_CACHE": "cache folder for tasks, renders and weights (default: colbench in XDG_CACHE_HOME or ~/.cache)",
    "COLBENCH_OFFICIAL_DIR": "folder with the files of the official tasks and of WebSight, used instead of the Hub",
    "COLBENCH_VLLM": "executable of vLLM for vllm: agents and humans (default: next to Python, else on PATH)",
    "COLBENCH_OFFICIAL_DATA": "folder with rows of the official tasks, only for ColBench's own tests and benchmarks",
}
"""Environment variables that are not fields of RunConfig."""
CONFIG_HELP = (
    "TOML file, or JSON file named *.json; its keys are the names of the flags; agent_args and "
    "human_args are tables"
)


Found = tuple[str, str, Any]
"""The source that gave a value, the field, and the value."""


def add_config_flags(parser: argparse.ArgumentParser, only: Sequence[str] = ()) -> None:
    """Add `--config` and the flags of all fields of RunConfig, in groups.

    If `only` lists fields, add just the flags of these fields, without `--config`.
    """
    known = settings()
    if not only:
        parser.add_argument("--config", metavar="FILE", help=CONFIG_HELP)
    groups: dict[str, Any] = {}
    for name in only or known:
        setting = known[name]
        if setting.group not in groups:
            groups[setting.group] = parser.add_argument_group(setting.group)
        _add_flag(groups[setting.group], setting)


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the task source as a positional argument, for commands about tasks.

    The argument has the same meaning as the flag `--tasks`, which `add_config_flags` adds.
    """
    parser.add_argument(
        "source",
        metavar="SOURCE",
        nargs="?",
        help="the tasks: bundled:…, official:…, a file …; the same as --tasks SOURCE",
    )


def read_source(args: argparse.Namespace) -> RunConfig:
    """Return the configuration from flags and environment; the task source is a positional argument or a flag.

    Raises UserError if the task source is given twice, or if a value is bad.
    """
    if args.source and args.tasks:
        raise UserError(
            f"--tasks {args.tasks}: cannot be combined with SOURCE; use only one of them"
        )
    args.tasks = args.source or args.tasks
    return read_config(args, base=RunConfig())


def _add_flag(group: Any, setting: Setting) -> None:
    default = f" (default: {setting.default})" if setting.default else ""
    options: dict[str, Any] = {"dest": setting.name, "help": setting.text + default}
    if setting.kind == "switch":
        options |= {"action": "store_const", "const": True}
    else:
        action = "append" if setting.kind == "pairs" else "store"
        options |= {"action": action, "metavar": setting.metavar}
    group.add_argument(setting.flag, **options)


def read_config(
    args: argparse.Namespace,
    environment: Mapping[str, str] | None = None,
    base: RunConfig | None = None,
) -> RunConfig:
    """Build the configuration from flags, environment variables (COLBENCH_AGENT …) and a `--config` file.

    If a `base` is given, such as the configuration of an earlier run, no file is read. A variable then counts only if
    the command has a flag for it. Raises UserError, which names the flag, variable or key, if a value is bad.
    """
    environment = os.environ if environment is None else environment
    sources = [environment_values(environment, args if base else None), _flag_values(args)]
    if base is None and args.config is not None:
        path = Path(args.config)
        sources.insert(0, file_values(read_file(path, f"--config {path}"), str(path)))
    return merge_sources(sources, base)


def merge_sources(sources: Iterable[Iterable[Found]], base: RunConfig | None = None) -> RunConfig:
    """Return a base configuration updated by several sources; later sources override earlier ones.

    Raises UserError if a value is bad; the message names the value's source.
    """
    merged: dict[str, Any] = msgspec.to_builtins(base) if base else {}
    places: dict[str, str] = {}
    for place, name, value in (found for source in sources for found in source):
        merged[name] = _merge(merged.get(name), value)
        places[name] = place
    return config_of(merged, places)


def _merge(earlier: Any, value: Any) -> Any:
    """Return the later of two values. If both are tables of NAME=VALUE arguments, join them.

    For equal names, the later value counts.
    """
    return earlier | value if isinstance(earlier, dict) and isinstance(value, dict) else value


def read_file(path: Path, place: str) -> dict[str, Any]:
    """Return the content of a TOML file, or of a JSON file with the name *.json.

    Raises UserError, which begins with `place`, such as `--config FILE`, if the file cannot be read or is malformed.
    """
    try:
        content = path.read_text("utf-8")
        values = json.loads(content) if path.suffix == ".json" else tomllib.loads(content)
    except OSError as cause:
        raise UserError(f"{place} cannot be read: {cause.strerror}") from cause
    except ValueError as cause:
        form = "JSON" if path.suffix == ".json" else "TOML"
        raise UserError(f"{place} is not {form}: {cause}") from cause
    if not isinstance(values, dict):
        raise UserError(f'{place} is not an object; expected JSON of the form {{"key": value}}')
    return values


def file_values(values: Mapping[str, Any], place: str) -> Iterator[Found]:
    """Yield the settings in a table of a file; `place` names the table.

    Raises UserError for an unknown key or an empty value.
    """
    known = settings()
    for key, value in values.items():
        name = key.replace("-", "_")
        if name not in known:
            hint = did_you_mean(name, known) or f"; known keys are {', '.join(known)}"
            raise UserError(f"{place}: unknown key `{key}`{hint}")
        _require_given(f"{place}, key `{name}`", value)
        yield f"{place}, key `{name}`", name, value


def environment_values(
    environment: Mapping[str, str], args: argparse.Namespace | None = None
) -> Iterator[Found]:
    """Yield the values of environment variables; with `args`, only of variables for which the command has a flag.

    Raises UserError for a variable whose name almost matches a known one, or whose value is empty or malformed.
    """
    _refuse_misspelled(environment)
    for name, setting in settings().items():
        value = environment.get(setting.variable)
        if value is not None and (args is None or hasattr(args, name)):
            yield setting.variable, name, _parse(setting, value, setting.variable)


def _refuse_misspelled(environment: Mapping[str, str]) -> None:
    """Raise UserError for a variable whose name almost matches a known one; other variables are ignored."""
    known = {setting.variable for setting in settings().values()} | OTHER_VARIABLES.keys()
    endings = [name.removeprefix(PREFIX) for name in known]
    for variable in environment:
        if not variable.startswith(PREFIX) or variable in known:
            continue
        if right := misspelled(variable.removeprefix(PREFIX), endings):
            hint = f"did you mean {PREFIX}{right}?"
            raise UserError(f"{variable}: unknown environment variable; {hint}")


def _flag_values(args: argparse.Namespace) -> Iterator[Found]:
    for name, setting in settings().items():
        value = getattr(args, name, None)
        if value is not None:
            yield setting.flag, name, _parse(setting, value, setting.flag)


def _parse(setting: Setting, value: Any, place: str) -> Any:
    _require_given(place, value)
    if setting.kind == "pairs":
        return pairs(value if isinstance(value, list) else _split(value, place), place)
    if setting.kind != "list":
        return value
    if not names(value, setting.separator):
        raise UserError(f"{place}: the list is empty; leave it out, or add an element")
    return names(value, setting.separator)


def _require_given(place: str, value: Any) -> None:
    """Raise UserError for an empty string, which would silently stand for the default."""
    if value == "":
        raise UserError(f"{place}: the value is empty; set a value, or leave it out")


def _split(text: str, place: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as cause:
        raise UserError(f"{place}: {cause} in `{text}`") from cause


def names(text: str, separator: str = ",") -> list[str]:
    """Return the parts of a string between separators, without empty ones."""
    return [part.strip() for part in text.split(separator) if part.strip()]


def pairs(given: Sequence[str], place: str) -> dict[str, Any]:
    """Return the values of NAME=VALUE arguments, by name. Raises UserError if an argument has another form."""
    return dict(_pair(pair, place) for pair in given)


def _pair(pair: str, place: str) -> tuple[str, Any]:
    name, equals, value = pair.partition("=")
    if not equals or not name.strip():
        raise UserError(f"{place}: `{pair}` is not NAME=VALUE")
    return name.strip().replace("-", "_"), _scalar(value)


def _scalar(text: str) -> str | int | float | bool:
    """Return a string as a number or boolean if it is one, else unchanged."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def command_flags(config: RunConfig) -> list[str]:
    """Return the command-line flags that set a configuration, in human-readable form, without defaults."""
    usual, values = msgspec.to_builtins(RunConfig()), msgspec.to_builtins(config)
    return [
        word
        for name, setting in settings().items()
        if values[name] != usual[name]
        for word in _words(setting, values[name])
    ]


def is_given_by_flags(config: RunConfig) -> bool:
    """Return True if `command_flags` gives exactly this configuration.

    The result can be False because flags turn a string such as "1" into the number 1.
    """
    parser = argparse.ArgumentParser()
    add_config_flags(parser)
    try:
        return read_config(parser.parse_args(command_flags(config)), {}) == config
    except UserError:
        return False


def _words(setting: Setting, value: Any) -> list[str]:
    if setting.kind == "switch":
        return [setting.flag]
    if setting.kind == "pairs":
        given = [f"{name}={_text(each)}" for name, each in value.items()]
    elif setting.kind == "list":
        given = [setting.separator.join(map(str, value))]
    else:
        given = [_text(value)]
    return [word for each in given for word in _flag(setting.flag, each)]


def _flag(flag: str, value: str) -> tuple[str, ...]:
    """Return the words of a command line that set a flag. A value with a leading dash shares a word with its flag."""
    return (f"{flag}={value}",) if value.startswith("-") else (flag, value)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
