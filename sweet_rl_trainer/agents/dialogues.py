"""Scored dialogues: a run of `colbench` in a separate process.

    python -m sweet_rl_trainer.agents.dialogues CONFIG.json FOLDER      run or resume, and print the report

When the separate process exits, the memory of the models that it used is free again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

import colbench
from colbench.console import inherited_output
from sweet_rl_trainer.subprocesses import INTERRUPTED, exit_with_parent, run

CONFIG = ".config.json"
"""Suffix of a run's configuration file, which is next to the run's folder: the folder's name, then this suffix."""
UNSCORED, USER_MISTAKE = 1, 2


def run_dialogues(
    config: colbench.RunConfig, out: Path, log: IO[bytes] | None = None, *, progress: bool = False
) -> int:
    """Start or resume the run in the folder `out`. Return the exit code of the process.

    Exit codes:
        0: Every dialogue has a score.
        1: A dialogue has no score, or the run failed for a reason that the user did not cause.
        2: A UserError was raised, for example for a wrong setting.
        130: The run was interrupted.
        -N: Signal N ended the process.

    The configuration is written to a file next to the folder, so that `colbench eval --config` can repeat the run. If
    `log` is given, the report, progress and errors are written to it. If `progress` is True, progress and errors go to
    standard error instead.
    """
    file = out.with_name(out.name + CONFIG)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(config), indent=2))
    errors = None if progress else log
    return run(__name__, (str(file), str(out)), stdout=log, stderr=errors)


def main(arguments: Sequence[str]) -> int:
    """Start or resume a run, print its report, and return the exit code (see `run_dialogues`)."""
    config, out = arguments
    exit_with_parent()
    try:
        return _run(msgspec.json.decode(Path(config).read_bytes()), out)
    except colbench.ColBenchError as error:
        print(f"sweet-rl: {error}", file=sys.stderr)
        return USER_MISTAKE if isinstance(error, colbench.UserError) else UNSCORED
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(config: dict[str, Any], out: str) -> int:
    try:
        with inherited_output():
            run = colbench.evaluate(**config, out=out, observer=colbench.ConsoleObserver())
    except colbench.EndpointError as error:
        print(f"sweet-rl: stopped: {error}", file=sys.stderr)
        run = colbench.load_run(out)
    domains = run.print_report().domains.values()
    return UNSCORED if any(domain.unscored for domain in domains) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
