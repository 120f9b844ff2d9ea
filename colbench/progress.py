"""Progress of a run or of other work: a live line in a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from colbench.checks import Bar
from colbench.config import RunConfig
from colbench.console import console, errors, printable
from colbench.evaluation import Observer
from colbench.messages import Usage
from colbench.numbers import count
from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench.run_folder import RunRecord

if TYPE_CHECKING:
    from rich.text import Text

PLAIN_INTERVAL = 10.0
"""Seconds between two lines when standard error is not a terminal."""
MEASURABLE = 5.0
"""Seconds after which the rate of dialogues is shown."""


class ConsoleObserver(Observer):
    """An observer that prints the environment of a run on standard output, and its progress on standard error."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._tally = Tally(RunConfig())
        self._shown: Display | None = None

    def on_start(self, record: RunRecord) -> None:
        """Print how answers are isolated, and which tools produce their scores."""
        self._tally = Tally(record.config)
        show_environments(record)

    def on_kept(self, rollout: Rollout) -> None:
        """Count a dialogue of an earlier attempt."""
        self._tally.keep(rollout)

    def on_resume(self, kept: int, total: int) -> None:
        """Start the display of progress; if all dialogues are finished already, only print their number."""
        if kept < total:
            self._shown = self._stack.enter_context(progress(self._tally, total))
        elif total:
            show_kept(total, total)

    def on_wait(self, waits: Sequence[str]) -> None:
        """Show the current waits for model servers: in a terminal with the progress, otherwise as lines of text."""
        if self._shown:
            self._shown.wait(waits)

    def on_replies(self, total: int) -> None:
        """Show the number of the agent's replies, even while no dialogue finishes."""
        if self._shown:
            self._shown.replied(total)

    def on_rollout(self, rollout: Rollout) -> None:
        """Count a dialogue."""
        if self._shown:
            self._shown.count(rollout)

    def on_end(self) -> None:
        """Stop the display."""
        self._stack.close()


def show_environments(record: RunRecord) -> None:
    """Print how a run isolates answers, and which tools its domains use."""
    if record.sandbox:
        show_line("sandbox", record.sandbox)
    for environment in record.environments.values():
        show_line("tools", environment)


def show_line(name: str, value: str) -> None:
    """Print one line that describes a run."""
    from rich.text import Text

    line = Text.assemble((f"{name:<8}", "dim"), printable(value))
    console().print(line, highlight=False, soft_wrap=True)


class Tally:
    """Running totals for the rollouts of a run; of the rollouts themselves, only the latest is kept."""

    def __init__(self, config: RunConfig, total: int = 0) -> None:
        self.total = total
        self.config = config
        self.done = self.fresh = self.unscored = self.unjudged = 0
        self.replies: int | None = None
        """Number of the agent's replies in this attempt; None if it is not known."""
        self.lost = ""
        self.sums: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self.latest: Rollout | None = None
        self.waits: Sequence[str] = ()
        self.usage = {"agent": Usage(), "human": Usage()}
        self.start = time.monotonic()

    def keep(self, rollout: Rollout) -> None:
        """Count a rollout that was finished before."""
        self._count(rollout)

    def add(self, rollout: Rollout) -> None:
        """Count a rollout that has just finished."""
        self._count(rollout)
        self.latest = rollout
        self.fresh += 1

    def _count(self, rollout: Rollout) -> None:
        self.done += 1
        measured, failure = dict(_measures(rollout, self.config.scoring)), rollout.failure
        if failure and not measured:
            self.unscored += 1
            self.lost = f"{rollout.task_id}, {failure.boundary}: {failure.reason}"
        elif not measured:
            self.unjudged += 1
        for name, value in measured.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + 1
        for turn in rollout.turns:
            self.usage["agent"] += turn.agent_usage or Usage()
            self.usage["human"] += turn.human_usage or Usage()

    def troubles(self) -> list[str]:
        """Return a line for each wait. If dialogues are unscored, add a line with their number and the last failure."""
        waits = [f"waiting: {each}" for each in self.waits]
        lost = f"unscored: {count(self.unscored, 'dialogue')}, last: {self.lost}"
        return [*waits, lost] if self.unscored else waits

    def rate(self) -> float:
        """Return the dialogues per minute in this attempt."""
        return 60 * self.fresh / max(time.monotonic() - self.start, 1e-9)

    def text(self) -> str:
        """Return one line with scores, rate, tokens and cost."""
        means = {name: total / self.counts[name] for name, total in self.sums.items()}
        parts = [f"{name} {100 * mean:.1f}%" for name, mean in means.items()]
        if self.replies is not None and self.done < self.total:
            parts.append(count(self.replies, "reply", "replies"))
        if self.fresh and time.monotonic() - self.start >= MEASURABLE:
            parts.append(f"{self.rate():.0f}/min")
        parts += [self._tokens(role) for role in self.usage if self.usage[role].requests]
        if self.unscored:
            parts.append(f"{self.unscored} unscored")
        if self.unjudged:
            parts.append(f"{self.unjudged} not judged")
        return " · ".join(parts)

    def remaining(self) -> str:
        """Return the remaining time at the current rate, as `H:MM:SS`; `-:--` until a dialogue has finished."""
        if not self.fresh:
            return "-:--"
        seconds = int(60 * (self.total - self.done) / self.rate())
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"

    def _tokens(self, role: str) -> str:
        used = self.usage[role]
        price = getattr(self.config, f"{role}_price")
        tokens = f"{role} {_short(used.prompt_tokens)}+{_short(used.completion_tokens)} tokens"
        if price is None:
            return tokens
        cost = (used.prompt_tokens * price[0] + used.completion_tokens * price[1]) / 1e6
        return f"{tokens} ${cost:.2f}"


def _measures(rollout: Rollout, mode: str) -> Iterator[tuple[str, float]]:
    """Yield the metrics to show for one dialogue, by label; nothing if it lacks the primary and the fallback metric."""
    domain, score = get_domain(rollout.domain), rollout.scores.get(mode)
    value = domain.primary.of(score)
    if value is not None:
        yield domain.primary.label, value
    elif domain.fallback and (value := domain.fallback.of(score)) is not None:
        yield domain.fallback.label, value
    if value is not None and domain.success and (success := domain.success.of(score)) is not None:
        yield "success", success


def _short(count: int) -> str:
    if count < 1_000:
        return str(count)
    thousands = count / 1_000
    return f"{thousands:.1f}k" if round(thousands, 1) < 1_000 else f"{thousands / 1_000:.1f}M"


def show_kept(done: int, total: int) -> None:
    """Print how many dialogues of a run are finished already."""
    errors().print(f"[dim]resumed: {done} of {count(total, 'dialogue')} already done[/dim]")


class Display:
    """The progress of a run on the console."""

    def __init__(self, tally: Tally, show: Callable[[], None]) -> None:
        self._tally = tally
        self._show = show

    def count(self, rollout: Rollout) -> None:
        """Count a dialogue that has just finished."""
        self._tally.add(rollout)
        self._show()

    def replied(self, total: int) -> None:
        """Show the number of the agent's replies, unless all dialogues are finished."""
        self._tally.replies = total
        if self._tally.done < self._tally.total:
            self._show()

    def wait(self, waits: Sequence[str]) -> None:
        """Show the waits for model servers, one line each."""
        self._tally.waits = waits
        self._show()


@contextmanager
def progress(tally: Tally, total: int) -> Iterator[Display]:
    """Show the progress of `total` dialogues; the caller reports each finished dialogue to the yielded display."""
    tally.total, tally.start = total, time.monotonic()
    if tally.done:
        show_kept(tally.done, total)
    with (_live if errors().is_terminal else _plain)(tally) as show:
        yield Display(tally, show)


@contextmanager
def _live(tally: Tally) -> Iterator[Callable[[], None]]:
    from rich.console import Group
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.text import Text

    bar = Progress(
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]} left"),
        TextColumn("[dim]{task.fields[text]}[/dim]"),
    )
    task = bar.add_task("", total=tally.total, completed=tally.done, left="-:--", text="")
    with Live(bar, console=errors(), refresh_per_second=4) as live:

        def show() -> None:
            bar.update(task, completed=tally.done, left=tally.remaining(), text=tally.text())
            over = tally.done == tally.total
            troubles = [Text(printable(each), style="yellow") for each in tally.troubles()]
            live.update(Group(bar, *troubles, *(() if over else _overheard(tally.latest))))

        yield show


def _overheard(rollout: Rollout | None) -> Iterator[Text]:
    """Yield the task's id and the two messages of the last exchange, one line each; nothing without an exchange."""
    from rich.text import Text

    turn = next((t for t in reversed(rollout.turns if rollout else ()) if t.human), None)
    if rollout and turn and turn.human:
        for who, said in ((rollout.task_id, ""), ("  agent", turn.said), ("  human", turn.human)):
            line = Text(printable(f"{who}  {' '.join(said.split())}"), style="dim", no_wrap=True)
            line.overflow = "ellipsis"
            yield line


@contextmanager
def _plain(tally: Tally) -> Iterator[Callable[[], None]]:
    last = time.monotonic()
    told = (False, bool(tally.unscored))

    def show() -> None:
        nonlocal last, told
        trouble = (bool(tally.waits), bool(tally.unscored))
        begins = any(now and not before for now, before in zip(trouble, told, strict=True))
        if begins or tally.done == tally.total or time.monotonic() - last >= PLAIN_INTERVAL:
            last, told = time.monotonic(), trouble
            left = [f"{tally.remaining()} left"] if tally.fresh else []
            parts = [f"{tally.done}/{tally.total}", *left, tally.text()]
            line = " · ".join(filter(None, parts))
            _print_lines(line, *map(printable, tally.troubles()))

    yield show


@contextmanager
def steps(*, every: float = PLAIN_INTERVAL) -> Iterator[Bar]:
    """Yield a function that adds a progress display for a part of the work: a bar in a terminal, else lines of text."""
    if not errors().is_terminal:
        yield _lines(every)
        return
    from rich.progress import Progress

    with Progress(console=errors(), transient=True) as progress:

        def bar(name: str, total: int) -> Callable[[], None]:
            shown = progress.add_task(name, total=total)
            return lambda: progress.advance(shown)

        yield bar


def _print_lines(*lines: str) -> None:
    """Print plain lines of progress."""
    errors().print(*lines, sep="\n", markup=False, highlight=False, soft_wrap=True)


def _lines(every: float) -> Bar:
    last = time.monotonic()

    def bar(name: str, total: int) -> Callable[[], None]:
        numbers = itertools.count(1)

        def step() -> None:
            nonlocal last
            number = next(numbers)
            if time.monotonic() - last >= every:
                last = time.monotonic()
                _print_lines(f"{name}: {number:,} of {total:,}")

        return step

    return bar
