"""The command line. Exit code 0: done; 1: the run has unscored cells; 2: a mistake in what was asked."""

from __future__ import annotations

import argparse
import asyncio
import io
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import colbench
from colbench.cli import (
    agents,
    doctor,
    evaluate,
    play,
    render,
    report,
    sandbox,
    score,
    tasks,
    validate,
    view,
)
from colbench.errors import InfrastructureError, UserError

COMMANDS = (evaluate, play, score, report, view, render, validate, tasks, agents, sandbox, doctor)
USER_MISTAKE = 2
UNSCORED = 1
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        with _log_on_stderr():
            code: int = args.run(args)
    except UserError as error:
        return _fail(str(error), USER_MISTAKE)
    except InfrastructureError as error:
        return _fail(f"{error.boundary}: {error}", UNSCORED)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return _fail("interrupted; the same command goes on from here", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        return _fail(
            f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}",
            USER_MISTAKE,
        )
    return code


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="colbench", description="How well does an LLM agent work with a person?"
    )
    top.add_argument("--version", action="version", version=f"colbench {colbench.__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    return top


@contextmanager
def _log_on_stderr() -> Iterator[None]:
    """Show what long starts have to say, such as a model server that is loading."""
    log, handler = logging.getLogger("colbench"), logging.StreamHandler()
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def _fail(message: str, code: int) -> int:
    sys.stdout.flush()
    print(f"colbench: {message}", file=sys.stderr)
    return code
