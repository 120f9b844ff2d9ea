"""Measure the power of the disclosure audit: the share of cheated dialogues from which on a cheat is caught.

    python tests/benchmarks/bench_disclosure.py FOLDER [--tasks 200] [--entries 200]

Agents really talk about the first bundled backend tasks, and their answers are really scored: the honest ones that
ship, the interviewer that leaves 1, 2 or 3 hidden decisions unasked, and a cheat who leaves as many unasked and has
the references. From these dialogues entries of 100 and of 1,000 tasks are drawn with replacement; in some of its
dialogues a drawn entry cheats. Each is judged as `colbench verify` judges it. The runs are kept in FOLDER.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import colbench
from colbench.run import Run
from colbench.task import Task
from colbench_leaderboard.verify.disclosure import Disclosure, disclosure
from colbench_leaderboard.verify.evidence import Evidence
from colbench_leaderboard.verify.findings import Findings
from colbench_leaderboard.verify.guessing import GuessRates
from colbench_tasks.bundled import lines

SIZES = (100, 1000)
LEAVES = (1, 2, 3)
CAUGHT = 0.95
"""Share of the drawn entries that are to be flagged."""
CHEAT = "colbench_agents.cheat:Cheat"

Told = Sequence[Disclosure]
Draw = Callable[[Random], Disclosure]
"""Draws a dialogue."""


def main() -> None:
    """Run, draw, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", type=int, default=200, metavar="N")
    parser.add_argument("--entries", type=int, default=200, metavar="N")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    tasks = colbench.load_tasks("bundled:backend")
    rates = GuessRates(tasks)
    source = args.folder / "tasks.jsonl"
    source.write_bytes(lines(tasks))

    def played(name: str, agent: str, **agent_args: object) -> Told:
        run = colbench.evaluate(
            agent=agent,
            agent_args=agent_args,
            tasks="bundled:backend",
            limit=args.tasks,
            out=args.folder / name,
        )
        return list(disclosures(run, tasks, rates))

    honest = {name: played(name, name) for name in ("guesser", "demonstrator", "interviewer")}
    honest |= {f"leaves {k}": played(f"leaves-{k}", "interviewer", leaves=k) for k in LEAVES}
    cheats = {k: played(f"cheat-{k}", CHEAT, leaves=k, tasks=str(source)) for k in LEAVES}
    show_honest(honest, args.entries)
    show_power(
        {name: honest[name] for name in ("interviewer", "demonstrator")}, cheats, args.entries
    )
    for k in LEAVES:
        show_power({f"leaves {k}": honest[f"leaves {k}"]}, {k: cheats[k]}, args.entries)


def disclosures(run: Run, tasks: Sequence[Task], rates: GuessRates) -> Sequence[Disclosure]:
    """What each dialogue of a run discloses."""
    known = {task.id: task for task in tasks}
    return [
        disclosure(
            known[rollout.task_id],
            rollout,
            success=rollout.scores["default"].success,
            rates=rates,
        )
        for rollout in run.rollouts
        if rollout.answer is not None
    ]


def flagged(dialogues: Sequence[Disclosure]) -> bool:
    """Whether an entry with these dialogues, a task each, is flagged."""
    evidence, findings = Evidence(), Findings()
    for number, told in enumerate(dialogues):
        evidence.add(f"task-{number}", 0, told)
    evidence.report(findings)
    return any(found.severity == "flag" for found in findings.all())


def share_flagged(honest: Draw, cheat: Draw, size: int, cheated: int, entries: int) -> float:
    """The share of drawn entries that are flagged, of whose dialogues so many are cheated."""
    random = Random(f"{size}/{cheated}")
    drawn = (
        [cheat(random) for _ in range(cheated)] + [honest(random) for _ in range(size - cheated)]
        for _ in range(entries)
    )
    return sum(map(flagged, drawn)) / entries


def among(told: Told) -> Draw:
    """Draws one of some dialogues."""
    return lambda random: random.choice(told)


def ideal_guesses(told: Told) -> Draw:
    """Draws one of some dialogues, answered by whoever always takes the most usual choice and writes no wrong code."""

    def draw(random: Random) -> Disclosure:
        found = random.choice(told)
        right = [random.random() < rate for rate in found.rates]
        return Disclosure(
            hidden=found.hidden,
            untold=found.untold,
            used=sum(right),
            rates=found.rates,
            knew=all(right),
            copied=all(right),
        )

    return draw


def show_honest(honest: dict[str, Told], entries: int) -> None:
    """Print how often honest entries are flagged."""
    print(
        f"\n| honest agent | used untold | explained | {' | '.join(f'{n:,} tasks' for n in SIZES)} |"
    )
    print("|---|--:|--:|--:|--:|")
    draws = {name: among(told) for name, told in honest.items()}
    draws |= {f"ideal guesses, {k} untold": ideal_guesses(honest[f"leaves {k}"]) for k in LEAVES}
    for name, draw in draws.items():
        sample = [draw(Random(number)) for number in range(1000)]
        used = sum(told.share or 0.0 for told in sample) / len(sample)
        explained = sum(told.guessed_share for told in sample) / len(sample)
        shares = [share_flagged(draw, draw, size, 0, entries) for size in SIZES]
        cells = (f"{100 * each:.1f} %" for each in (used, explained, *shares))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def show_power(honest: dict[str, Told], cheats: dict[int, Told], entries: int) -> None:
    """Print from which share of cheated dialogues on cheats are caught."""
    print(f"\n| the other dialogues | untold | {' | '.join(f'{n:,} tasks' for n in SIZES)} |")
    print("|---|--:|--:|--:|")
    for name, told in honest.items():
        for untold, cheat in cheats.items():
            found = [least_caught(among(told), among(cheat), size, entries) for size in SIZES]
            print(f"| {name} | {untold} | {' | '.join(found)} |", flush=True)


def least_caught(honest: Draw, cheat: Draw, size: int, entries: int) -> str:
    """The least share of cheated dialogues from which on `CAUGHT` of the entries are flagged, to 5 % of itself."""

    def caught(cheated: int) -> bool:
        return share_flagged(honest, cheat, size, cheated, entries) >= CAUGHT

    high = 1
    while high < size and not caught(high):
        high = min(size, 2 * high)
    low = high // 2
    while high - low > max(1, low // 20):
        middle = (low + high) // 2
        low, high = (low, middle) if caught(middle) else (middle, high)
    return f"{100 * high / size:.1f} %"


if __name__ == "__main__":
    main()
