"""Shell completion of commands, flags and values, by argcomplete."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.command import first_word
from colbench.errors import UserError

if TYPE_CHECKING:
    from colbench.plugins import Kind

ACTIVE = "_ARGCOMPLETE"
"""Environment variable that the shell sets when it asks for completions."""
LINE = "COMP_LINE"
"""Environment variable with the command line so far."""


def requested_command() -> str:
    """Return the command in the line that the shell completes; "" without a command or a request for completion."""
    words = os.environ.get(LINE, "").split() if ACTIVE in os.environ else []
    return first_word(words[1:])


def complete(parser: argparse.ArgumentParser) -> None:
    """Print completions and exit if the shell asks for them and argcomplete is installed; else do nothing."""
    if ACTIVE not in os.environ or find_spec("argcomplete") is None:
        return
    import argcomplete

    for action in _actions(parser):
        if values := VALUES.get(action.dest):
            action.completer = _completer(values)  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options="long")


def script(program: str, shell: str) -> str:
    """Return the completion script of a program for a shell. Raises UserError if argcomplete is not installed."""
    if find_spec("argcomplete") is None:
        raise UserError(
            "argcomplete is not installed; install it: pip install 'colbench[completion]'"
        )
    from argcomplete.shell_integration import shellcode

    return str(shellcode([program], shell=shell)) + "\n"


def sources() -> list[str]:
    """Return the domains' task sources, such as `bundled:backend`, and all installed prefixes, such as `file:`."""
    from colbench.plugins import names
    from colbench.registry import installed_domains

    complete: set[str] = set()
    for domain in installed_domains():
        complete |= domain.own_sources | {domain.defaults.tasks, domain.defaults.training}
    return sorted({*filter(None, complete), *(f"{name}:" for name in names("tasks"))})


def _agents() -> list[str]:
    return _specs("agent")


def _humans() -> list[str]:
    return _specs("human")


def _specs(kind: Kind) -> list[str]:
    from colbench.plugins import FORMS, names

    return [f"{name}:" if name in FORMS else name for name in names(kind)]


def _domains() -> list[str]:
    from colbench.registry import domain_names

    return domain_names()


def _runs() -> list[str]:
    """Return the run folders in the current folder and in its subfolders."""
    found = (path for pattern in ("*", "*/*") for path in Path().glob(f"{pattern}/run.json"))
    return sorted(str(path.parent) for path in found)


def _modes() -> list[str]:
    from colbench.registry import installed_domains

    return sorted({mode for domain in installed_domains() for mode in domain.modes})


VALUES: dict[str, Callable[[], Iterable[str]]] = {
    "agent": _agents,
    "spec": _agents,
    "human": _humans,
    "tasks": sources,
    "source": sources,
    "domain": _domains,
    "scoring": _modes,
    "folder": _runs,
    "folders": _runs,
    "baseline": _runs,
    "ceiling": _runs,
}
"""Functions that return the possible values, by the name of the flag or argument."""


def _completer(values: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    def complete_value(prefix: str, **_: Any) -> list[str]:
        from argcomplete.completers import FilesCompleter

        known = [value for value in values() if value.startswith(prefix)]
        return known or list(FilesCompleter()(prefix))

    return complete_value


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)
