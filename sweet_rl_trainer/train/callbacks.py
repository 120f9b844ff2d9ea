"""Output of a training run: a JSONL file, alarms, and the progress on the console.

The file has a line for each logged step and for each evaluation of the held-out examples.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column
from transformers import TrainerCallback

from colbench.console import errors
from sweet_rl_trainer.console import PLAIN_INTERVAL
from sweet_rl_trainer.train.alarms import Watch
from sweet_rl_trainer.train.history import ALARMS

SHOWN = ("loss", "reward", "nll", "accuracy", "margin", "eval_loss", "eval_nll", "eval_accuracy")


class Alarms(TrainerCallback):
    """A callback that adds new alarms to the log line that caused them, and prints the alarms.

    It must run before the other callbacks, because these also log the line with its alarms.
    """

    def __init__(self) -> None:
        self._watch = Watch()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Give `Watch` the values that a resumed run logged before its checkpoint, so that no alarm is repeated."""
        for values in state.log_history:
            self._watch.see(values)

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Add the new alarms to the latest log line, and print them."""
        if found := self._watch.see(state.log_history[-1]):
            state.log_history[-1][ALARMS] = found
            if state.is_world_process_zero:
                for text in found:
                    errors().out(f"! step {state.global_step}: {text}", highlight=False)


class LogCheckpoints(TrainerCallback):
    """A callback that logs the last step and each step with a checkpoint, even if `log_every` leaves the step out.

    A checkpoint does not contain the values since the last log line. Without a line at each checkpoint, a resumed run
    would lose these values and log different means.
    """

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Request a log line after the last step and before a checkpoint is written."""
        if control.should_save or state.global_step >= state.max_steps:
            control.should_log = True


class LogFile(TrainerCallback):
    """A callback that writes logged values to a file.

    When a run resumes, the callback restores the file from the checkpoint.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Replace the file's content with the values logged before the checkpoint that the run resumes from."""
        if state.is_world_process_zero:
            self._path.write_bytes(b"".join(map(_line, state.log_history)))

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Write the latest values."""
        if state.is_world_process_zero:
            with self._path.open("ab") as file:
                file.write(_line(state.log_history[-1]))


def _line(values: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"step": values["step"], **values}) + b"\n"


class OnConsole(TrainerCallback):
    """A callback that shows progress on standard error: as a bar in a terminal, or else as occasional lines."""

    def __init__(self) -> None:
        self._console = errors()
        self._bar = Progress(
            TextColumn("train"),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn(
                "[dim]{task.fields[text]}[/dim]",
                table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
            ),
            console=self._console,
            expand=True,
            disable=not self._console.is_terminal,
        )
        self._shown = self._bar.add_task("", text="")
        self._latest: dict[str, Any] = {}
        self._line = self._printed = ""
        self._said = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Start the progress display; the steps before a resumed checkpoint count as done."""
        if state.is_world_process_zero:
            self._bar.update(self._shown, total=state.max_steps, completed=state.global_step)
            self._bar.start()

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Show the latest values."""
        if not state.is_world_process_zero:
            return
        self._latest |= state.log_history[-1]
        names = (name for name in SHOWN if self._latest.get(name) is not None)
        text = " · ".join(f"{name} {self._latest[name]:.4g}" for name in names)
        self._bar.update(self._shown, completed=state.global_step, text=text)
        self._line = f"{state.global_step}/{state.max_steps} · {text}"
        if time.monotonic() - self._said > PLAIN_INTERVAL:
            self._say()

    def _say(self) -> None:
        if self._line not in ("", self._printed) and not self._console.is_terminal:
            self._said, self._printed = time.monotonic(), self._line
            self._console.out(self._line, highlight=False)

    def stop(self) -> None:
        """Print the pending line and stop the display."""
        self._say()
        self._bar.stop()
