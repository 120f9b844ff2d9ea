"""The arguments of a factory of agents or humans: their names, their defaults, and what an error says about them.

`registered` is true if the spec starts with an installed name: the factory's first parameter then receives the text
after the colon.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from colbench.config import ArgValue
from colbench.config_errors import did_you_mean
from colbench.errors import UserError

Factory = Callable[..., Any]
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]
Temperature = Annotated[float, Meta(ge=0)]


def named(factory: Factory, *, registered: bool) -> tuple[str, list[str]]:
    """Return the name of a factory's parameter for the text after the spec's colon, and the other parameters' names.

    The first name is "" if the factory does not take the text after the colon.
    """
    parameters = list(inspect.signature(factory).parameters.values())
    names = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    first = parameters[0] if parameters else None
    if registered and first is not None and first.kind is first.POSITIONAL_OR_KEYWORD:
        return first.name, names[1:]
    return "", names


def defaults(factory: Factory, *, registered: bool) -> dict[str, str]:
    """Return the default of each named argument: "not set" for None, "required" for an argument without a default."""
    parameters = inspect.signature(factory).parameters
    _, names = named(factory, registered=registered)
    return {name: _default(parameters[name]) for name in names}


def require_known(
    flag: str, spec: str, factory: Factory, args: Mapping[str, ArgValue], *, registered: bool
) -> None:
    """Raise UserError if `args` contains an argument that the factory does not have."""
    parameters = inspect.signature(factory).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return
    for name in args:
        if name not in parameters:
            usage = describe_usage(flag, spec, factory, registered=registered)
            hint = did_you_mean(name, named(factory, registered=registered)[1], then=usage)
            raise UserError(f"{flag} {spec}: no argument `{name}`{hint}")


def require_fitting(flag: str, factory: Factory, args: Mapping[str, ArgValue]) -> None:
    """Raise UserError if a value does not fit its argument's annotation; only numbers and booleans are checked."""
    hints = _hints(factory)
    for name in args.keys() & hints.keys():
        if not _is_checked(hints[name]):
            continue
        try:
            msgspec.convert(args[name], hints[name])
        except msgspec.ValidationError as cause:
            problem = str(cause).replace("Expected", "expected").replace(" | null", "")
            raise UserError(f"{flag}-arg {name}={args[name]}: {problem}") from cause


def with_flag(flag: str, spec: str, args: Mapping[str, ArgValue], message: str) -> str:
    """Return a factory's error message, preceded by the flag that the user should change.

    The flag is `FLAG-arg`, such as `--agent-arg`, if the message begins with the name of an argument in `args`. A
    message that already begins with a flag is returned unchanged.
    """
    if message.startswith("--"):
        return message
    if message.startswith(f"{spec.rstrip(':')}:"):
        return f"{flag} {message}"
    name = re.split("[=:]", message, maxsplit=1)[0]
    return f"{flag}-arg {message}" if name in args else f"{flag} {spec}: {message}"


def _hints(factory: Factory) -> dict[str, Any]:
    """Return the annotations of a factory's parameters; empty if they cannot be evaluated."""
    built: Any = factory
    function = built.__init__ if isinstance(factory, type) else built
    try:
        return get_type_hints(function, include_extras=True)
    except Exception:
        return {}


def _is_checked(hint: Any) -> bool:
    """Return True if an annotation consists of numbers, bool and None."""
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = (get_args(each)[0] if get_origin(each) is Annotated else each for each in members)
    return all(kind in (int, float, bool, NoneType) for kind in kinds)


def describe_usage(flag: str, spec: str, factory: Factory, *, registered: bool) -> str:
    """Describe a factory's arguments for an error message: the one after the spec's colon, and the named ones."""
    first, names = named(factory, registered=registered)
    after = f"argument after the colon: {first}; " if first else ""
    if registered and ":" in spec and not first:
        after = "nothing may follow the colon; "
    if not names:
        return f"{after}it has no arguments for {flag}-arg"
    hint = (
        "; if the function itself is the agent, its first parameter receives the messages and "
        "cannot be set"
        if flag == "--agent" and inspect.isfunction(factory) and not registered
        else ""
    )
    return f"{after}arguments for {flag}-arg NAME=VALUE: {', '.join(names)}{hint}"


def _default(parameter: inspect.Parameter) -> str:
    default = parameter.default
    if default is parameter.empty:
        return "required"
    if default is None:
        return "not set"
    return str(default).lower() if isinstance(default, bool) else str(default)
