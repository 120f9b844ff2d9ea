"""`colbench eval`: run an agent on tasks with a simulated human, and report."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.agent_isolation import IN_PROCESS
from colbench.cli.stopping import stoppable
from colbench.command import UNSCORED, describe, printable
from colbench.console import add_output_flags
from colbench.errors import AgentError, EndpointError
from colbench.evaluation import Evaluation
from colbench.executors.choice import is_local
from colbench.failures import TOKEN_LIMIT, broken_agent, read_reasons
from colbench.flags import add_config_flags, read_config
from colbench.numbers import count
from colbench.progress import ConsoleObserver, show_line
from colbench.shards import shard_name

if TYPE_CHECKING:
    from colbench.report.model import RunReport


def add_to(commands: Any) -> None:
    """Add the command `eval` to the parser."""
    parser = commands.add_parser("eval", description=describe(__doc__))
    add_config_flags(parser)
    parser.add_argument(
        "--out", metavar="DIR", help="the run's folder (default: runs/AGENT-TASKS-…)"
    )
    parser.add_argument(
        "--retry-failed",
        metavar="REASON,…",
        default="",
        help="run again the folder's dialogues with one of these reasons: the part that failed (agent, endpoint …), "
        "the kind of failure (timeout, exception …), or both (PART:KIND); the reasons empty, cut, filtered and "
        "refused select dialogues with such a reply of the agent, even if the dialogue did not fail",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the plan of the run, and exit"
    )
    add_output_flags(parser, document="the report")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run or resume the evaluation, and report. Return the exit code."""
    config = read_config(args)
    reasons = read_reasons(args.retry_failed, "--retry-failed")
    out = Path(args.out) if args.out else None
    evaluation = Evaluation(config, out=out, retry_failed=reasons)
    show_plan(evaluation)
    if args.dry_run:
        return 0
    advised = False
    with stoppable() as stop:
        try:
            stop.run(evaluation.run(ConsoleObserver()))
        except EndpointError as error:
            say(f"stopped: {error}; repeat the command to continue")
            advised = True
        except AgentError:
            say("stopped")  # the reason is printed with the report
        code = finish(evaluation, interrupted=bool(stop.code), advised=advised, as_json=args.json)
        return stop.code or code


def show_plan(evaluation: Evaluation) -> None:
    """Print the main settings of a run: agent, human, tasks, folder, and where the dialogues and the agent run."""
    config, record = evaluation.config, evaluation.record
    turns = count(config.max_turns, "turn")
    for name, value in (
        ("agent", f"{config.agent} ({record.pins['agent']['class']})"),
        ("human", f"{config.human} ({record.pins['human']['class']})"),
        ("tasks", f"{config.tasks}: {_size(evaluation)} of at most {turns}"),
        ("run", f"{evaluation.folder.path}  (configuration {record.digest[:12]})"),
    ):
        show_line(name, value)
    if workers := _workers(evaluation):
        show_line("workers", workers)
    if record.pins["agent"]["process"] != IN_PROCESS:
        show_line("process", record.pins["agent"]["process"])
    if evaluation.agent_access:
        show_line("access", evaluation.agent_access)


def _workers(evaluation: Evaluation) -> str:
    """Return a description of the executor that runs the dialogues; "" if this process runs the dialogues."""
    processes = count(evaluation.processes, "process", "processes")
    if not is_local(evaluation.config):
        return f"{evaluation.config.executor}, {processes} on each node"
    return processes if evaluation.processes > 1 else ""


def _size(evaluation: Evaluation) -> str:
    """Describe the size of a run: its tasks and dialogues and, for a shard, how many dialogues the shard has."""
    config, tasks = evaluation.config, len(evaluation.tasks)
    dialogues = count(tasks * config.trials, "dialogue")
    size = f"{count(tasks, 'task')} x {config.trials} = {dialogues}"
    if config.shard is None:
        return size
    return f"{shard_name(config.shard)}, {evaluation.planned:,} of {size}"


def finish(
    evaluation: Evaluation,
    *,
    interrupted: bool = False,
    advised: bool = False,
    as_json: bool = False,
) -> int:
    """Write and show the report of the finished dialogues.

    `interrupted`: a signal stopped the run. `advised`: the user was already told to repeat the command.

    Return 1 in each of these cases: a dialogue is unscored, a domain has no scored dialogue, or the agent failed in
    every dialogue. Otherwise, return 0. If the run was interrupted before a dialogue finished, return 1 without a
    report.
    """
    from colbench.cli.report import write_and_show

    if interrupted and not evaluation.folder.has_rollouts:
        say("interrupted; repeat the command to continue")
        return UNSCORED
    report = write_and_show(
        evaluation.folder,
        evaluation.tasks,
        evaluation.config,
        evaluation.others,
        as_json=as_json,
        short=True,
    )
    if report.ignored:
        say(narrowed(report))
    if note := not_judged(report):
        say(note)
    code = exit_code(report)
    if interrupted:
        say("interrupted; repeat the command to continue")
    elif broken := broken_agent(each for _, each in evaluation.folder.latest()):
        say(broken)
        return UNSCORED
    elif code and is_unsettled(report) and not advised:
        say(retry_advice(report))
    return code


def narrowed(report: RunReport) -> str:
    """Return a note about the dialogues that are in the folder but not in the report."""
    covered = sum(each.cells - each.missing for each in report.domains.values())
    total = count(covered + report.ignored, "dialogue")
    return (
        f"note: the report covers {covered:,} of the {total} in the folder; the others are not selected "
        "(--domain, --limit, --task-ids, --trials, --shard), or are about earlier versions of tasks"
    )


def not_judged(report: RunReport) -> str:
    """Return a note about the answers that cannot be compared with the reference; "" without such answers."""
    number = sum(each.unjudged for each in report.domains.values())
    if not number:
        return ""
    return (
        f"{count(number, 'dialogue')} not judged, because the reference cannot be compared; "
        f"`colbench tasks validate {shlex.quote(report.tasks)}` shows why"
    )


def retry_advice(report: RunReport) -> str:
    """Return advice on how to get scores for the unscored dialogues.

    The advice is to repeat the command or, if replies reached a token limit before their first word, to start another
    run with a higher limit.
    """
    found = [
        each
        for domain in report.domains.values()
        for boundary, each in domain.failures.items()
        if boundary != "agent"
    ]
    reasons = [reason for each in found for reason in each.reasons]
    at_limit = {
        flag: sum(each.count for each in reasons if flag in each.reason)
        for flag in TOKEN_LIMIT.values()
    }
    flags = " ".join(flag for flag, number in at_limit.items() if number)
    if not flags:
        return "repeat the command to retry unscored dialogues"
    others = sum(each.count for each in found) > sum(at_limit.values())
    return (
        f"replies reached the token limit before any word; use {flags} with a higher limit, and another --out"
        + ("; to retry the other unscored dialogues, repeat the command" if others else "")
    )


def is_unsettled(report: RunReport) -> bool:
    """Return True if dialogues failed for reasons other than the agent."""
    return any(each.failures.keys() - {"agent"} for each in report.domains.values())


def exit_code(report: RunReport) -> int:
    """Return 1 if a dialogue is unscored or if no dialogue of a domain is scored, else 0.

    Dialogues whose reference cannot be compared count as neither scored nor unscored. If all dialogues of a domain are
    of this kind, the result is therefore also 1.
    """
    found = report.domains.values()
    return UNSCORED if any(each.unscored or not each.scored for each in found) else 0


def say(text: str) -> None:
    """Print a line about the run on standard error."""
    print(f"colbench: {printable(text)}", file=sys.stderr)
