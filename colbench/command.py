"""The common parts of all command lines of the project: parser, exit codes, error messages, log, renamed commands.

Exit codes:
    0    done
    1    an incomplete or bad result, such as an unscored dialogue, a failed check, or a server that cannot be reached
    2    a wrong command line or input
    130  interrupted (Ctrl-C)
    143  ended by SIGTERM
"""

from __future__ import annotations

import argparse
import asyncio
import io
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from colbench.command_help import HelpFormatter
from colbench.config_errors import did_you_mean
from colbench.errors import BoundaryError, UserError

UNSCORED = 1
USER_MISTAKE = 2
INTERRUPTED = 130
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters with which text could control a terminal: control characters except tab and newline, and characters that
set the text direction."""


class CommandParser(argparse.ArgumentParser):
    """A parser that refuses abbreviated flags, and suggests a correction for a misspelled flag or command.

    It also refuses empty values, which often come from an unset variable, as in `--agent "$AGENT"`.

    The parsers of the subcommands also have this class. Each parser reports errors with its own usage line.
    """

    advise: Callable[[Sequence[str]], str] | None = None
    """A function that returns advice for unknown flags; if it returns "", a similar flag is suggested."""

    def __init__(self, *args: Any, **options: Any) -> None:
        defaults = {"allow_abbrev": False, "formatter_class": HelpFormatter}
        super().__init__(*args, **{**defaults, **options})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse all arguments. Unknown arguments are an error, which the parser of the subcommand reports."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._hint(unknown)}")
        return found, unknown

    def _hint(self, unknown: Sequence[str]) -> str:
        """Return the end of the message about unknown arguments: advice, a flag similar to the first one, or ""."""
        flags = [word.partition("=")[0] for word in unknown if word.startswith("-")]
        if not flags:
            return ""
        if self.advise and (advice := self.advise(flags)):
            return f"; {advice}"
        return did_you_mean(flags[0], self._option_string_actions)

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, and exit with code 2.

        If the command is missing, the message also says how to list all commands.
        """
        if message.endswith(("required: COMMAND", "required: ACTION")):
            message += f"; `{self.prog} --help` lists all commands"
        super().error(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if value == "":
            advice = "" if action.required else "; set a value, or leave the argument out"
            raise argparse.ArgumentError(action, f"the value is empty{advice}")
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += did_you_mean(str(value), [str(each) for each in action.choices or ()])
            raise


def printable(text: str) -> str:
    """Return text from an untrusted source with its control characters replaced."""
    return CONTROLS.sub("\ufffd", text)


def describe(doc: str | None) -> str:
    """Return the text of a command's `--help`: its module's docstring without the command's name at the start."""
    text = re.sub(r"^`[^`]*`: ", "", doc or "")
    return text[:1].upper() + text[1:]


def run(name: str, command: Callable[[], int]) -> int:
    """Run a command of the program `name` and return its exit code. Expected errors are printed without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        with _log_on_stderr():
            return command()
    except UserError as error:
        return _fail(name, str(error), USER_MISTAKE)
    except BoundaryError as error:
        return _fail(name, f"{error.boundary}: {error}", UNSCORED)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return _fail(name, "interrupted; repeat the command to continue", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        return _fail(name, f"{error.strerror or error}{place}", USER_MISTAKE)


def first_word(words: Sequence[str]) -> str:
    """Return the first word that is not a flag: the command; "" if all words are flags."""
    return next((word for word in words if not word.startswith("-")), "")


def refuse_moved(name: str, words: Sequence[str], moved: Mapping[str, str]) -> int:
    """Report a command that was renamed, and return the exit code; return 0 if the command was not renamed.

    `name` is the program, and `words` are its arguments. `moved` maps old commands, such as `"tasks check"`, to the
    command lines that replace them.
    """
    for old, new in moved.items():
        parts = old.split()
        if list(words[: len(parts)]) == parts:
            return _fail(f"{name} {old}", f"replaced by `{new}`", USER_MISTAKE)
    return 0


@contextmanager
def _log_on_stderr() -> Iterator[None]:
    """Print log messages, such as the messages of a model server that is loading, to standard error."""
    log, handler = logging.getLogger("colbench"), logging.StreamHandler()
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def _fail(name: str, message: str, code: int) -> int:
    sys.stdout.flush()
    print(f"{name}: {printable(message)}", file=sys.stderr)
    return code
