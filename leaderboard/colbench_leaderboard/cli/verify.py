"""`colbench verify`: recompute every number of a bundle from its transcripts, offline, with your own tasks."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from colbench.command import describe
from colbench.config import RunConfig
from colbench.errors import DataError, UserError
from colbench.flags import add_config_flags, read_config
from colbench_leaderboard.cli import examples, output

if TYPE_CHECKING:
    from colbench.task import Task
    from colbench_leaderboard.bundle.read import Bundle
    from colbench_leaderboard.bundle.refused import Refused
    from colbench_leaderboard.verify.receipt import Finding, Outcome

EXAMPLES = examples.VERIFY
REFUSED = 1
"""Exit code for a refused bundle."""
FLAGS = (
    "sandbox_workers",
    "sandbox_tier",
    "sandbox_packages",
    "browser",
    "browser_workers",
    "clip_weights",
    "clip_device",
    "allow_other_clip",
)


def add_to(commands: Any) -> None:
    """Add the command `verify` to `commands`, the subcommands of `colbench`."""
    parser = commands.add_parser(
        "verify", help="recompute every number of a submission", description=describe(__doc__)
    )
    parser.add_argument("bundle", metavar="BUNDLE", help="a folder or a .tar.gz")
    parser.add_argument(
        "--tasks",
        metavar="SOURCE",
        help="your own copy of the tasks (default: the tasks that the bundle names, if ColBench or an installed "
        "package contains them)",
    )
    parser.add_argument(
        "--replay",
        metavar="SHARE",
        default="1",
        help="share of the dialogues whose simulated human is replayed, 0 to 1 (default: 1)",
    )
    parser.add_argument(
        "--against",
        metavar="BUNDLE",
        action="append",
        default=[],
        help="another bundle, to find transcripts that both bundles contain; may be repeated",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder for the receipt (default: BUNDLE.verified, without .tar.gz)",
    )
    parser.add_argument("--json", action="store_true", help="print receipt and summary as JSON")
    add_config_flags(parser, only=FLAGS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Verify a bundle, write the receipt, and print the outcome. Returns 1 if the bundle is refused.

    A bundle that cannot be read gets no receipt, and the files of its earlier verification are removed.
    """
    from colbench_leaderboard.bundle.read import read_bundle
    from colbench_leaderboard.bundle.refused import Refused
    from colbench_leaderboard.verify.receipt import remove_files
    from colbench_leaderboard.verify.verification import Settings, verify

    path = Path(args.bundle)
    _refuse_run(path)
    out = Path(args.out) if args.out else _default_out(path)
    if out.resolve() == path.resolve() or path.resolve() in out.resolve().parents:
        raise UserError(
            f"--out {out}: a receipt inside the bundle would damage it; use another folder"
        )
    settings = Settings(
        config=read_config(args, base=RunConfig()),
        replay=_share(args.replay),
        against=tuple(map(Path, args.against)),
    )
    try:
        with read_bundle(path) as bundle, output.progress() as seen:
            outcome = verify(bundle, own_tasks(bundle, args.tasks), settings, seen)
    except Refused as refused:
        remove_files(out)
        return _unread(path, refused, as_json=args.json)
    outcome.write(out)
    if args.json:
        sys.stdout.write(output.as_json(outcome))
    else:
        output.say_outcome(outcome, out)
    return REFUSED if outcome.receipt.level is None else 0


def own_tasks(bundle: Bundle, source: str | None) -> list[Task]:
    """Return the tasks of `source` or, if `source` is None, of the source that the bundle names.

    Raises UserError if `source` is None and no installed domain provides the source that the bundle names. That source
    is not read, because a stranger wrote the bundle.
    """
    from colbench.plugins import resolve_tasks
    from colbench_leaderboard.bundle.refused import shown
    from colbench_leaderboard.bundle.tracks import own_sources

    named = bundle.lock.tasks.source
    if source is None and named not in own_sources():
        raise UserError(
            f"--tasks is missing: the bundle uses {shown(named)}, which comes neither with ColBench nor with an "
            "installed package; add your own copy, such as --tasks official:backend/test"
        )
    return resolve_tasks(source or named)


def _refuse_run(path: Path) -> None:
    """Raise UserError, which names the next command, if the path is a run instead of a bundle."""
    from colbench_leaderboard.bundle.schema import MANIFEST

    if not (path / "run.json").exists() or (path / MANIFEST).exists():
        return
    bundle = path / "bundle"
    fix = (
        f"verify its bundle: colbench verify {shlex.quote(str(bundle))}"
        if bundle.exists()
        else f"first: colbench submit pack {shlex.quote(str(path))} --meta FILE"
    )
    raise UserError(f"{path} is a run, not a bundle; {fix}")


def _default_out(bundle: Path) -> Path:
    named = bundle if bundle.name not in ("", "..") else bundle.resolve()
    return named.with_name(named.name.removesuffix(".tar.gz") + ".verified")


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UserError(f"--replay: expected a share from 0 to 1, got {text}")
    return share


def _unread(path: Path, refused: Refused, *, as_json: bool) -> int:
    """Print why a bundle could not be read, and return the exit code.

    No receipt is written, because the digest of the bundle may be unknown.
    """
    if as_json:
        sys.stdout.write(output.refusal_as_json(refused))
    else:
        output.say_refusal(path, refused)
    return REFUSED


def add_store_flags(parser: Any) -> None:
    """Add the flags that `verify_for_store` reads."""
    parser.add_argument(
        "--tasks",
        dest="sources",
        metavar="SOURCE",
        action="append",
        default=[],
        help="your own copy of the tasks, for bundles whose tasks do not come with ColBench; may be repeated: each "
        "bundle is verified with the source that has its tasks",
    )
    add_config_flags(parser, only=FLAGS)


def verify_for_store(
    args: argparse.Namespace,
    bundle: Path,
    against: Sequence[Path],
    carried: tuple[Finding, ...] = (),
) -> Outcome:
    """Verify a bundle with the settings that all stores use, so that an audit creates the same receipt.

    All human replies are replayed, and transcripts are compared with the transcripts of the bundles `against`. Answers
    may import the packages of the run if `--sandbox-packages` allows these packages. For `carried`, see `Settings`.
    Raises DataError if the bundle cannot be read, and UserError if `--tasks` lacks the bundle's tasks.
    """
    from colbench_leaderboard.bundle.read import read_bundle
    from colbench_leaderboard.bundle.refused import Refused
    from colbench_leaderboard.verify.findings import Findings
    from colbench_leaderboard.verify.lock import run_config
    from colbench_leaderboard.verify.verification import Settings, verify

    config = read_config(args, base=RunConfig())
    try:
        with read_bundle(bundle) as found, output.progress() as seen:
            run = run_config(found.lock, Findings())
            if run and set(run.sandbox_packages) <= set(config.sandbox_packages):
                config = replace(config, sandbox_packages=run.sandbox_packages)
            settings = Settings(config=config, against=tuple(against), carried=carried)
            return verify(found, _matching_tasks(found, run, args.sources), settings, seen)
    except Refused as refused:
        raise DataError(f"{bundle}: {refused}") from refused


def _matching_tasks(bundle: Bundle, run: RunConfig | None, sources: Sequence[str]) -> list[Task]:
    """Return the tasks with which to verify a bundle.

    If an installed domain provides the task source that the bundle names, return the tasks of this source. Otherwise,
    try each source in `sources`: select tasks as the run did, and compare their hash with the hash in the bundle's
    lock. Return all tasks of the first source for which the two hashes are equal.

    `run` is the run's configuration. If `run` is None (invalid), return the tasks of the first source unchecked,
    because the bundle is refused anyway. Raises UserError if no source provides the tasks.
    """
    from colbench.plugins import resolve_tasks
    from colbench_leaderboard.bundle.refused import shown
    from colbench_leaderboard.bundle.tracks import own_sources
    from colbench_leaderboard.verify.findings import Findings
    from colbench_leaderboard.verify.grid import tasks_hash
    from colbench_leaderboard.verify.lock import selected

    stated = bundle.lock.tasks
    if not sources or stated.source in own_sources():
        return own_tasks(bundle, None)
    for tasks in map(resolve_tasks, sources):
        if run is None or tasks_hash(selected(run, tasks, Findings())) == stated.hash:
            return tasks
    raise UserError(
        f"--tasks: bundle {bundle.digest[:12]} cannot be verified, because none of the sources has its tasks "
        f"({shown(stated.source)}, hash {shown(stated.hash)}); add --tasks with your copy of these tasks"
    )
