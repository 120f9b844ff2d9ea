"""`sweet-rl`: trains agents by the stages of a recipe. Exit code 0: done; 2: a mistake in what was asked."""

from __future__ import annotations

import argparse
import io
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import colbench
from colbench.errors import ColBenchError
from sweet_rl_trainer.cli import commands

USER_MISTAKE = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        with _log_on_stderr():
            args.run(args)
    except ColBenchError as error:
        return _fail(str(error), USER_MISTAKE)
    except KeyboardInterrupt:
        return _fail("interrupted; the same command goes on from here", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        return _fail(f"{error.strerror or error}{place}", USER_MISTAKE)
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="sweet-rl", description="Train an agent to work with a person."
    )
    top.add_argument("--version", action="version", version=f"colbench {colbench.__version__}")
    commands.add_to(top.add_subparsers(title="commands", metavar="COMMAND", required=True))
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
    print(f"sweet-rl: {message}", file=sys.stderr)
    return code
