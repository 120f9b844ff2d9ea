"""The cost of `colbench eval` on the bundled tasks, compared with scoring the same answers without isolation.

    python tests/benchmarks/bench_eval.py [--tasks 1000]

The interviewer talks with the rule-based human. Answers run in the sandbox, and audits and a report are made. CPU time
is the sum over all processes, including sandbox workers and the audit process. The baseline only scores the answers, in
one process.
"""

from __future__ import annotations

import os
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from bench import benchmark, main
from bench_processes import Meter
from records import Quantity, Ratio, Round
from unsandboxed import serial_score
from usage import in_fresh_process, now, peak_mb

import colbench


def evaluate(number: int) -> Round:
    """Evaluate, then score the answers again in this process."""
    tasks = {task.id: task for task in colbench.load_tasks("bundled:backend")[:number]}
    before = now()
    meter = Meter()
    run = colbench.evaluate(
        agent="interviewer", tasks="bundled:backend", limit=number, observer=meter
    )
    spent, memory = now() - before, peak_mb()
    cost = meter.cost()
    workers = cost.everything - cost.busiest
    answers = [(tasks[rollout.task_id], rollout.answer or "") for rollout in run.rollouts]
    start = now()
    for task, answer in answers:
        serial_score(task, answer)
    alone = now() - start
    return {
        "eval: wall": Quantity(spent.wall, "s"),
        "eval: CPU": Quantity(spent.own + workers, "s"),
        "eval: CPU of sandbox and audits": Quantity(workers, "s"),
        "eval: CPU per dialogue": Quantity(1000 * (spent.own + workers) / number, "ms"),
        "eval: peak memory": Quantity(memory, "MB"),
        "answers alone: wall": Quantity(alone.wall, "s"),
        "answers alone: CPU": Quantity(alone.own, "s"),
    }


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--tasks", type=int, default=1000)


@benchmark(
    "eval",
    ratios=[
        Ratio("eval / the answers alone, CPU", "eval: CPU", "answers alone: CPU"),
        Ratio("eval / the answers alone, wall", "eval: wall", "answers alone: wall"),
    ],
    options=options,
    quick="--tasks 100",
)
def evaluation(given: Namespace) -> Iterator[Round]:
    """Evaluate in a fresh process and an empty folder in each round."""
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            yield in_fresh_process(evaluate, given.tasks)


if __name__ == "__main__":
    main(evaluation)
