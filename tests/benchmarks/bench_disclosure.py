"""The power of the disclosure audit: the smallest share of cheated dialogues at which a cheat is caught.

    python tests/benchmarks/bench_disclosure.py [--folder FOLDER] [--tasks 200] [--entries 200]

Agents have real dialogues about the first bundled backend tasks, and their answers are really scored. There are three
kinds of agents: the honest agents that ship with ColBench, the interviewer that leaves 1, 2 or 3 hidden decisions
unasked, and a cheat. The cheat leaves the same number of decisions unasked, but has the references.

From these dialogues, entries of 100 and of 1,000 tasks are drawn with replacement, with other seeds in each round. An
entry can cheat in some of its dialogues. Each entry is judged in the same way as by `colbench verify`. The runs are
kept in FOLDER.
"""

from __future__ import annotations

import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from bench import benchmark, main
from records import Quantity, Ratio, Round

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
"""Share of the drawn entries that must be flagged, so that a cheat counts as caught."""
CHEAT = "colbench_agents.cheat:Cheat"
HONEST = ("guesser", "demonstrator", "interviewer")

Told = Sequence[Disclosure]
Draw = Callable[[Random], Disclosure]
"""A function that draws a dialogue."""


class Played:
    """The dialogues of honest agents by name, and of the other agents by the number of decisions left unasked."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._number = folder, number
        folder.mkdir(parents=True, exist_ok=True)
        self._tasks = colbench.load_tasks("bundled:backend")
        self._rates = GuessRates(self._tasks)
        source = folder / "tasks.jsonl"
        source.write_bytes(lines(self._tasks))
        self.honest = {name: self._play(name, name) for name in HONEST}
        self.leaving = {k: self._play(f"leaves-{k}", "interviewer", leaves=k) for k in LEAVES}
        self.cheats = {
            k: self._play(f"cheat-{k}", CHEAT, leaves=k, tasks=str(source)) for k in LEAVES
        }

    def _play(self, name: str, agent: str, **agent_args: object) -> Told:
        run = colbench.evaluate(
            agent=agent,
            agent_args=agent_args,
            tasks="bundled:backend",
            limit=self._number,
            out=self._folder / name,
        )
        return list(disclosures(run, self._tasks, self._rates))


def disclosures(run: Run, tasks: Sequence[Task], rates: GuessRates) -> Sequence[Disclosure]:
    """Return the disclosure of each dialogue of a run, except dialogues without an answer."""
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
    """Return True if an entry with these dialogues, one for each task, is flagged."""
    evidence, findings = Evidence(), Findings()
    for number, told in enumerate(dialogues):
        evidence.add(f"task-{number}", 0, told)
    evidence.report(findings)
    return any(found.severity == "flag" for found in findings.all())


def number_flagged(
    honest: Draw, cheat: Draw, size: int, cheated: int, entries: int, seed: int
) -> int:
    """Draw entries with `cheated` cheated dialogues each, and return the number of flagged entries."""
    random = Random(f"{seed}/{size}/{cheated}")
    drawn = (
        [cheat(random) for _ in range(cheated)] + [honest(random) for _ in range(size - cheated)]
        for _ in range(entries)
    )
    return sum(map(flagged, drawn))


def draw_from(told: Told) -> Draw:
    """Return a function that draws one of these dialogues."""
    return lambda random: random.choice(told)


def ideal_guesses(told: Told) -> Draw:
    """Return a function that draws a dialogue and answers it with the most common choices, in faultless code."""

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


def honest_round(played: Played, entries: int, seed: int) -> Round:
    """Return the number of flagged entries among honest ones, and the mean shares that explain it."""
    draws = {name: draw_from(told) for name, told in played.honest.items()}
    draws |= {f"leaves {k}": draw_from(told) for k, told in played.leaving.items()}
    draws |= {
        f"ideal guesses, {k} untold": ideal_guesses(told) for k, told in played.leaving.items()
    }
    found: Round = {"drawn: entries": Quantity(entries, "")}
    for name, draw in draws.items():
        sample = [draw(Random(f"{seed}/{number}")) for number in range(1000)]
        used = sum(told.share or 0.0 for told in sample) / len(sample)
        explained = sum(told.guessed_share for told in sample) / len(sample)
        found[f"{name}: used untold"] = Quantity(100 * used, "%")
        found[f"{name}: explained"] = Quantity(100 * explained, "%")
        for size in SIZES:
            number = number_flagged(draw, draw, size, 0, entries, seed)
            found[f"{name}: flagged, {size:,} tasks"] = Quantity(number, "")
    return found


def power_round(played: Played, entries: int, seed: int) -> Round:
    """Return the smallest shares of cheated dialogues at which cheats are caught."""
    pairs = [
        (f"{name}, {k} untold", played.honest[name], cheat)
        for name in ("interviewer", "demonstrator")
        for k, cheat in played.cheats.items()
    ]
    pairs += [(f"leaves {k}, {k} untold", played.leaving[k], played.cheats[k]) for k in LEAVES]
    found: Round = {}
    for name, told, cheat in pairs:
        for size in SIZES:
            least = least_caught(draw_from(told), draw_from(cheat), size, entries, seed)
            found[f"{name}: caught from, {size:,} tasks"] = Quantity(100 * least / size, "%")
    return found


def least_caught(honest: Draw, cheat: Draw, size: int, entries: int, seed: int) -> int:
    """Return the smallest number of cheated dialogues at which a cheat is caught, accurate to 5%.

    Return `size` if a cheat is not caught at any smaller number.
    """

    def caught(cheated: int) -> bool:
        found = number_flagged(honest, cheat, size, cheated, entries, seed)
        return found >= CAUGHT * entries

    high = 1
    while high < size and not caught(high):
        high = min(size, 2 * high)
    low = high // 2
    while high - low > max(1, low // 20):
        middle = (low + high) // 2
        low, high = (low, middle) if caught(middle) else (middle, high)
    return high


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--tasks", type=int, default=200, metavar="N")
    parser.add_argument("--entries", type=int, default=200, metavar="N")


@benchmark(
    "disclosure",
    ratios=[
        Ratio(
            f"flagged / drawn, {name}, {size:,} tasks",
            f"{name}: flagged, {size:,} tasks",
            "drawn: entries",
        )
        for name in HONEST
        for size in SIZES
    ],
    options=options,
)
def disclosure_audit(given: Namespace) -> Iterator[Round]:
    """Run the agents once, then draw and judge entries in each round."""
    with tempfile.TemporaryDirectory() as temporary:
        played = Played(given.folder or Path(temporary), given.tasks)
        for seed in range(given.rounds):
            found = honest_round(played, given.entries, seed)
            yield found | power_round(played, given.entries, seed)


if __name__ == "__main__":
    main(disclosure_audit)
