"""The arguments of a factory of agents or humans: their names, their defaults, and what an error says about them.

`registered` is true if the spec starts with an installed name: the factory's first parameter then receives the text
after the colon.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from colbench.config import ArgValue
from colbench.config_errors import did_you_mean
from colbench.errors import UserError

Factory = Callable[..., Any]


def named(factory: Factory, *, registered: bool) -> tuple[str, list[str]]:
    """Return the names of a factory's parameters: the one for the text after the colon, and all others.

    The first is "" if the factory takes no such text.
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
            hint = did_you_mean(name, named(factory, registered=registered)[1])
            raise UserError(f"{flag} {spec}: no argument `{name}`{hint}; {usage}")


def describe_usage(flag: str, spec: str, factory: Factory, *, registered: bool) -> str:
    """Describe, for an error message, a factory's argument after the colon of the spec, and its named arguments."""
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
