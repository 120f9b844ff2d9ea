"""`colbench agents check`: run scripted dialogues with an agent, and show which rules it follows.

An agent must follow the rules of agents/README.md. An agent that talks over stdin and stdout, or over HTTP, must also
follow the rules of docs/agent-protocol.md. The exit code is 1 if a rule is broken, or is skipped because another rule
is broken or a server fails. Otherwise, it is 0. Broken advice and rules that do not apply to the agent do not count.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from colbench.command import describe
from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.flags import add_config_flags, read_config

if TYPE_CHECKING:
    from colbench.cli.agents.checking import Checking, Outcome, Verdict

PATIENCE = 30.0
STYLES = {"kept": "green", "broken": "red", "advice": "yellow"}
SIGNS = {"not applicable": "--", "skipped": "?"}
ORDER: tuple[Outcome, ...] = ("kept", "advice", "broken", "not applicable", "skipped")


def add_to(actions: Any) -> None:
    """Add the command `agents check` to the parser."""
    parser = actions.add_parser(
        "check", help="check that an agent follows the rules", description=describe(__doc__)
    )
    parser.add_argument("spec", metavar="SPEC", help="the agent, as for --agent")
    add_config_flags(parser, only=("agent_args", "agent_prompt", "in_process"))
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=PATIENCE,
        help=f"time limit for one reply (default: {PATIENCE:g})",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check every rule and print the results. Return 1 if a rule is broken or skipped, else 0.

    If the agent hangs, the function ends the process with this exit code instead of returning it.
    """
    from colbench.agent_isolation import find_agent, isolate
    from colbench.cli.agents.checking import Checking
    from colbench.progress import show_line

    if not args.timeout > 0:
        raise UserError(f"--timeout: expected seconds above 0, got {args.timeout:g}")
    config = replace(read_config(args, base=RunConfig()), agent=args.spec)
    agent = find_agent(config)
    isolate(agent, config, None)
    checking = Checking(agent, args.timeout, (lambda _: None) if args.json else show)
    if not args.json:
        rules = len(checking.own) + len(checking.general)
        show_line("agent", args.spec)
        show_line("check", f"{rules} rules; at most {checking.replies} replies are requested")
    finished = checking.run()
    code = conclude(args.spec, checking, as_json=args.json)
    if not finished:
        sys.stdout.flush()
        os._exit(code)  # the agent's code hangs and would keep the process alive
    return code


def show(verdict: Verdict) -> None:
    """Print the outcome of a rule, with the reason and the fix if there are any; `conclude` prints skipped rules."""
    style = STYLES.get(verdict.outcome, "dim")
    if verdict.outcome == "not applicable":
        _print(verdict.outcome, style, f"{verdict.rule}: {verdict.reason}")
    elif verdict.outcome != "skipped":
        fix = f"{verdict.fix} ({verdict.see})" if verdict.fix else ""
        _print(verdict.outcome, style, verdict.rule, verdict.reason, fix)


def conclude(spec: str, checking: Checking, *, as_json: bool) -> int:
    """Print the skipped rules with the reasons, then the totals. With `as_json`, print all results as JSON instead.

    Return the exit code: 1 if a rule is broken or skipped, else 0.
    """
    from colbench.console import console
    from colbench.numbers import count

    outcomes = Counter(verdict.outcome for verdict in checking.verdicts)
    counts = {outcome: outcomes[outcome] for outcome in ORDER if outcomes[outcome]}
    if as_json:
        found = {"agent": spec, "counts": counts, "rules": checking.verdicts}
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    else:
        unseen = (each.reason for each in checking.verdicts if each.outcome == "skipped")
        for reason, number in Counter(unseen).items():
            _print("skipped", "dim", f"{count(number, 'rule')} skipped: {reason}")
        words = ", ".join(f"{number} {outcome}" for outcome, number in counts.items())
        console().print(f"\n{words}", highlight=False)
    return 1 if {"broken", "skipped"} & counts.keys() else 0


def _print(outcome: Outcome, style: str, rule: str, reason: str = "", fix: str = "") -> None:
    from rich.table import Table
    from rich.text import Text

    from colbench.console import console, printable

    table = Table.grid(padding=(0, 2))
    table.add_column(width=6)
    table.add_column()
    dim = "dim" if style == "dim" else ""
    table.add_row(Text(SIGNS.get(outcome, outcome), style), Text(printable(rule), dim))
    for text, own in ((reason, ""), (fix, "dim")):
        if text:
            table.add_row("", Text(printable(text), own))
    console().print(table, highlight=False)
