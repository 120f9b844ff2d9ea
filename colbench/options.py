"""Declarations for the fields of a configuration, and functions that read them."""

from __future__ import annotations

from typing import Any, Literal, get_type_hints

from msgspec import Struct, inspect

Group = Literal["agent", "human", "tasks", "run", "scoring", "sandbox", "browser"]
Effect = Literal["pinned", "selection", "execution"]
"""The effect of a field. `pinned` fields can change results and must stay the same when a run is resumed. `selection`
fields determine which dialogues run. `execution` fields, such as those for speed and display, are not pinned."""
Kind = Literal["switch", "pairs", "list", "whole", "value"]
"""The value that a flag takes: none, NAME=VALUE (repeatable), a list, a whole number, or any other value."""
KINDS: dict[type[inspect.Type], Kind] = {
    inspect.BoolType: "switch",
    inspect.DictType: "pairs",
    inspect.TupleType: "list",
    inspect.VarTupleType: "list",
    inspect.IntType: "whole",
}
"""Kind of a field, by its type."""


class Option(Struct, frozen=True):
    """The declaration of a field of a configuration, in addition to its type and default.

    Flags with their help, environment variables, docs/configuration.md and `RunConfig.pins` are derived from it.
    """

    group: Group
    text: str
    metavar: str = ""
    effect: Effect = "pinned"
    default: str = ""
    """Description of the default if its value is not self-explanatory."""
    separator: str = ","
    """The separator between the values of a list."""


class Setting(Struct, frozen=True, kw_only=True):
    """A field of a configuration, with its kind and everything that its Option declares."""

    name: str
    kind: Kind
    group: Group
    text: str
    metavar: str
    effect: Effect
    default: str
    """The default in words; empty if the default is off, empty or None and the field's Option does not describe it."""
    separator: str

    @property
    def flag(self) -> str:
        """The command-line flag. The flag of `agent_args` is `--agent-arg`, because each use sets one argument."""
        name = self.name.removesuffix("s") if self.kind == "pairs" else self.name
        return "--" + name.replace("_", "-")

    @property
    def variable(self) -> str:
        """Name of the environment variable for this setting."""
        return f"COLBENCH_{self.name.upper()}"


def read_settings(config: type[Struct]) -> dict[str, Setting]:
    """Return the settings of a configuration by name, in the order of its fields."""
    hints, defaults = get_type_hints(config, include_extras=True), config()
    return {name: _setting(name, hint, getattr(defaults, name)) for name, hint in hints.items()}


def _setting(name: str, hint: Any, default: Any) -> Setting:
    option: Option = next(each for each in hint.__metadata__ if isinstance(each, Option))
    found = inspect.type_info(hint)
    types = found.types if isinstance(found, inspect.UnionType) else (found,)
    return Setting(
        name=name,
        kind=next((KINDS[type(each)] for each in types if type(each) in KINDS), "value"),
        group=option.group,
        text=option.text,
        metavar=option.metavar,
        effect=option.effect,
        default=option.default or _show(default),
        separator=option.separator,
    )


def _show(default: Any) -> str:
    if default is False or default in (None, "", (), {}):
        return ""
    return f"{default:g}" if isinstance(default, float) else str(default)
