"""An agent that tries every way to reveal a task or change its score, and reports as JSON what succeeded.

Its targets are in `plan.json` next to it; the test writes the process ID of the harness to `harness.pid`.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
PLAN = json.loads((HERE / "plan.json").read_text())
WORD = PLAN["word"]


def harness() -> int:
    file = HERE / "harness.pid"
    while not (file.exists() and file.read_text()):
        time.sleep(0.05)
    return int(file.read_text())


def references() -> bool:
    """Return whether a list in memory holds a task whose reference contains the word."""
    lists = (each for each in gc.get_objects() if type(each) is list)
    hidden = (getattr(item, "hidden", None) for each in lists for item in list(each))
    return any(WORD in str(getattr(each, "reference", "")) for each in hidden)


def frames() -> bool:
    """Return whether a variable of a calling function or of an event-loop task holds the task with the word."""
    frame = sys._getframe()
    values = []
    while frame:
        values += frame.f_locals.values()
        frame = frame.f_back
    for task in asyncio.all_tasks():
        values += [value for each in task.get_stack() for value in each.f_locals.values()]
    return any(WORD in str(getattr(getattr(v, "hidden", None), "reference", "")) for v in values)


def generator() -> bool:
    """Return whether the generator of the bundled tasks can be imported from anywhere."""
    sys.path += PLAN["packages"]
    importlib.invalidate_caches()
    return len(importlib.import_module("colbench_tasks.bundled").load("backend")) > 0


def memory() -> bool:
    with open(f"/proc/{harness()}/mem", "rb"):
        return True


def appends(path: str | Path) -> bool:
    with open(path, "a"):
        return True


ATTEMPTS = {
    "references in memory": references,
    "references in frames": frames,
    "the task file": lambda: WORD in Path(PLAN["tasks"]).read_text(),
    "the generator": generator,
    "the generator's files": lambda: any(Path(PLAN["package"]).iterdir()),
    "the run's record": lambda: bool(Path(PLAN["out"], "run.json").read_text()),
    "writing into the run's folder": lambda: appends(Path(PLAN["out"], "rollouts.jsonl")),
    "a new file in the run's folder": lambda: appends(Path(PLAN["out"], "report.html")),
    "writing into the harness's code": lambda: appends(PLAN["code"]),
    "writing into the folder of the run": lambda: appends(HERE / "left"),
    "the memory of the harness": memory,
    "the environment of the harness": lambda: bool(Path(f"/proc/{harness()}/environ").read_bytes()),
    "a signal to the harness": lambda: os.kill(harness(), 0) is None,
    "a setting of the run": lambda: "COLBENCH_SEED" in os.environ,
}


def succeeds(name: str) -> bool:
    try:
        return bool(ATTEMPTS[name]())
    except (OSError, ImportError, AttributeError):
        return False


class Prying:
    async def reply(self, dialogue):
        return "I WANT TO ANSWER:\n" + json.dumps({name: succeeds(name) for name in ATTEMPTS})


class Patching:
    """An agent that gives every answer full marks if the harness code is within reach."""

    async def reply(self, dialogue):
        from colbench import dialogue as dialogues
        from colbench.domains.backend.scorer import UnitTestScorer
        from colbench.score import Score

        async def score(self, task, answer):
            full = Score(scorer="mine", value=1.0, success=True)
            return {"default": full, "official": full}

        UnitTestScorer.score = score
        dialogues.ANSWER_MARKER = "NEVER:"
        return "I WANT TO ANSWER:\nnothing"
