"""Measure the rows of the table in docs/results.md: for each row, make a run, pack its bundle, and verify the bundle.

    python leaderboard/examples/measure.py OUT --model NAME=FOLDER --trained NAME=FOLDER

The script measures the rule-based agents and the given models on the first tasks of two sets: the bundled and the
official tasks. Each model runs on each of the --servers, once with up to ten turns and once with one turn. Running the
script again continues an interrupted measurement. At the end, it prints a Markdown table of all rows measured in OUT.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

COLBENCH = (sys.executable, "-m", "colbench.cli")
BUNDLED = "bundled:backend/test"
MULTI_TURN = 10
MAX_TOKENS = "max_tokens=320"
"""Maximum number of tokens in a reply; the interviewer's longest answer has fewer than 300 SmolLM2 tokens."""
ARGS = {
    "vllm": (
        *(MAX_TOKENS, "dtype=bfloat16", "max_model_len=8192", "max_num_batched_tokens=8192"),
        *("enable_chunked_prefill=false", "enforce_eager=true", "gpu_memory_utilization=0.25"),
    ),
    "local": (MAX_TOKENS, "dtype=bfloat16"),
}
"""Arguments of the models' agents, by server; the arguments for vLLM suit vLLM's CPU build."""
LOCAL_AT_ONCE = 16
"""Number of concurrent dialogues with `local:`.

Concurrent dialogues end at about the same time, so with a larger number, more work is lost when the run is killed. With
64 dialogues, a model of 0.3 GB also needs 14 GB for its key-value cache.
"""
RULES = {"blank": 1, "guesser": 1, "interviewer": MULTI_TURN, "demonstrator": MULTI_TURN}
"""The rule-based agents, each with its turn limit."""
BUNDLED_ONLY = "demonstrator"
"""The agent that is measured only on bundled tasks, because it fails on tasks outside the known families."""
RULE_BASED = "rule-based, with the code of the task families"
TRAINED = "fine-tuned on dialogues about ColBench's training tasks"
COLUMNS = (
    *("agent", "tasks", "turns allowed", "tests passed, %", "success, %"),
    *("turns", "answered, %", "agent tokens, in + out", "CPU-minutes", "bundle"),
)


class Row(NamedTuple):
    """One row of the table of results."""

    system: str
    """The system's name in the table."""
    agent: str
    args: tuple[str, ...]
    place: str
    """The task set: `bundled` or `real`."""
    turns: int
    notes: str = ""
    """The parts of ColBench that the agent contains or was trained on; "" if it uses no part."""
    model: str = ""

    @property
    def slug(self) -> str:
        """The name of the row's run folder and bundle."""
        words = f"{self.system} {self.place} {self.setting if self.model else ''}"
        return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")

    @property
    def setting(self) -> str:
        """The setting in words: `multi-turn`, or `single-turn` if the agent has only one turn."""
        return "multi-turn" if self.turns > 1 else "single-turn"


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of each task set: first the rows of rule-based agents, then the rows of models."""
    models = [(*each, "") for each in arguments.model]
    models += [(*each, TRAINED) for each in arguments.trained]
    for place in ("bundled", "real"):
        for name, turns in RULES.items():
            if place == "bundled" or name != BUNDLED_ONLY:
                notes = "" if name == "blank" else RULE_BASED
                yield Row(name, name, (), place, turns, notes)
        for (name, folder, notes), server in product(models, arguments.servers):
            for turns in (MULTI_TURN, 1):
                agent = f"{server}:{folder}"
                yield Row(f"{name}, {server}", agent, ARGS[server], place, turns, notes, name)


def measure(row: Row, out: Path, source: str, limit: int) -> None:
    """Run and pack a row unless its bundle exists, then verify the bundle.

    Raises CalledProcessError if a command fails, and SystemExit if the receipt differs from an earlier one.
    """
    folder, bundle = out / row.slug, out / f"{row.slug}.tar.gz"
    if not bundle.exists():
        given = [f"--agent-arg={each}" for each in row.args]
        places = (f"--tasks={source}", f"--limit={limit}", f"--max-turns={row.turns}")
        if row.agent.startswith("local:"):
            given.append(f"--concurrency={LOCAL_AT_ONCE}")
        with counted(cpu_time(row, out)):
            call("eval", f"--agent={row.agent}", *given, *places, f"--out={folder}")
        meta = out / f"{row.slug}.toml"
        meta.write_text(submission(row), encoding="utf-8")
        call("submit", "pack", str(folder), "--meta", str(meta), "--out", str(bundle))
    receipt = out / f"{row.slug}.verified" / "receipt.json"
    before = receipt.read_bytes() if receipt.exists() else None
    call("verify", str(bundle), *(() if row.place == "bundled" else ("--tasks", source)))
    if before not in (None, receipt.read_bytes()):
        sys.exit(f"{receipt} differs from the receipt of the previous verification")


@contextmanager
def counted(file: Path) -> Iterator[None]:
    """Measure the CPU seconds of the processes that end in the `with` block, and add them to the number in a file.

    The processes include model servers.
    """
    before = spent()
    try:
        yield
    finally:
        earlier = float(file.read_text(encoding="utf-8")) if file.exists() else 0.0
        file.write_text(f"{earlier + spent() - before:.1f}\n", encoding="utf-8")


def spent() -> float:
    """Return the CPU seconds of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def call(*words: str) -> None:
    """Print a `colbench` command, and run it."""
    print("$ colbench", *words, file=sys.stderr, flush=True)
    subprocess.run([*COLBENCH, *words], check=True, stdout=sys.stderr)  # noqa: S603 - our own command


def submission(row: Row) -> str:
    """Return the answers to the questions of `colbench submit pack`, as TOML."""
    answers = {
        "name": f"{row.system}, {row.setting}" if row.model else row.system,
        "organization": "ColBench",
        "authors": ["The authors of ColBench"],
        "contact": "the issue tracker of ColBench",
        "track": "open",
        "description": "An example: see docs/results.md of ColBench.",
        "license": "CC-BY-4.0",
    }
    disclosures = {
        "trained_on_colbench": bool(row.notes),
        "training_notes": row.notes,
        "human_in_the_loop": False,
        "tools": "none",
    }
    model = {"name": row.model, "open_weights": True}
    parts = [toml(answers), "[disclosures]", toml(disclosures)]
    parts += ["[[models]]", toml(model)] if row.model else []
    return "\n".join(parts if row.model else ["models = []", *parts]) + "\n"


def toml(values: dict[str, Any]) -> str:
    """Return values as lines of TOML.

    Each value is encoded as JSON, because texts, booleans and lists of texts look the same in JSON and TOML.
    """
    return "\n".join(f"{name} = {json.dumps(value)}" for name, value in values.items())


def table(found: Sequence[Row], out: Path) -> str:
    """Return a Markdown table of the rows in `found` that have been measured."""
    head = [cells(COLUMNS), cells(["---"] * len(COLUMNS))]
    return "\n".join([*head, *(line(row, out) for row in found if verified(row, out).exists())])


def cells(values: Iterable[object]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(map(str, values))} |"


def cpu_time(row: Row, out: Path) -> Path:
    """Return the file with the CPU seconds of a row's run."""
    return out / f"{row.slug}.cpu"


def verified(row: Row, out: Path) -> Path:
    """Return the path of the file with the recomputed means of a row."""
    return out / f"{row.slug}.verified" / "summary.json"


def line(row: Row, out: Path) -> str:
    """Return a row of the table: scores as verified, tokens as reported by the run, and measured CPU time."""
    means = json.loads(verified(row, out).read_text(encoding="utf-8"))
    receipt = json.loads(verified(row, out).with_name("receipt.json").read_text(encoding="utf-8"))
    report = json.loads((out / row.slug / "report.json").read_text(encoding="utf-8"))
    cost = report["domains"]["backend"]
    minutes = float(cpu_time(row, out).read_text(encoding="utf-8")) / 60
    values = (
        *(row.system, f"{means['tasks']} {row.place}", row.turns),
        *(percent(means["value"]), percent(means["success"])),
        *(f"{means['turns']['mean']:.1f}", f"{100 * means['answered']:.0f}"),
        *(tokens(cost["tokens"]["agent"], cost["cells"]), f"{minutes:.1f}"),
        f"`{receipt['bundle'][:12]}`",
    )
    return cells(values)


def percent(mean: dict[str, float]) -> str:
    """Return a mean and its 95% interval, both in percent."""
    return "{mean:.1f} ({low:.1f} to {high:.1f})".format(**{k: 100 * v for k, v in mean.items()})


def tokens(counted: dict[str, int] | None, dialogues: int) -> str:
    """Return the mean numbers of tokens that the model read and wrote per dialogue; a dash if no model was called."""
    if not counted:
        return "–"
    return f"{counted['prompt'] / dialogues:,.0f} + {counted['completion'] / dialogues:,.0f}"


def named(text: str) -> tuple[str, str]:
    """Parse `NAME=FOLDER` into the name and the folder."""
    name, equals, folder = text.partition("=")
    if not (name and equals and folder):
        raise argparse.ArgumentTypeError(f"{text}: expected NAME=FOLDER")
    return name, folder


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("out", type=Path, metavar="OUT", help="folder for runs, bundles and receipts")
    made.add_argument(
        "--model",
        type=named,
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        help="a model that was not trained on ColBench's tasks: its name in the table and its folder; repeatable",
    )
    made.add_argument(
        "--trained",
        type=named,
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        help="a model that was fine-tuned on ColBench's training tasks; repeatable",
    )
    made.add_argument(
        "--servers",
        nargs="+",
        choices=("vllm", "local"),
        default=("vllm", "local"),
        help="kinds of agents that run the models (default: both)",
    )
    made.add_argument(
        "--real",
        default="official:backend/test",
        metavar="SOURCE",
        help="source of the official tasks (default: %(default)s)",
    )
    made.add_argument(
        "--limit", type=int, default=100, metavar="N", help="tasks of each set (default: 100)"
    )
    made.add_argument(
        "--only",
        default="",
        metavar="TEXT",
        help="only rows whose name contains this text; see --list",
    )
    made.add_argument("--list", action="store_true", help="print the names of the rows, and exit")
    return made


def main() -> None:
    """Measure the rows, and print the table."""
    arguments = parser().parse_args()
    every = list(rows(arguments))
    chosen = [row for row in every if arguments.only in row.slug]
    if arguments.list:
        print(*(row.slug for row in chosen), sep="\n")
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    for row in chosen:
        measure(
            row,
            arguments.out,
            BUNDLED if row.place == "bundled" else arguments.real,
            arguments.limit,
        )
    print(table(every, arguments.out))


if __name__ == "__main__":
    main()
