"""Generate the study's pages, pictures and reports from the recorded results: `python docs/make_study.py`.

docs/study/WORLD.json.gz    input: the results of a study in a world, which is `results.json` of `sweet-rl study`
docs/study/finetuned-first.json.gz    input: results in `finetuned` with an earlier base
docs/study/finetuned-more.json.gz    input: results in `finetuned` with twelve more seeds, for predictions 27 and 28
docs/PAGE.md.jinja          input: the text of a page (`PAGES`); this script computes the numbers in it
docs/PAGE.md                output: the page
docs/study/WORLD.md         output: the report of a world
docs/credit-bench-models    input: results of CreditBench with the base of `asking` and critics trained from it

The picture of a dialogue shows the rule-based demonstrator and the credit of each of its turns, also computed here.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import TYPE_CHECKING

import jinja2
import msgspec
from msgspec.structs import replace

import colbench
from colbench.numbers import number, percent, percent_with_range, signed, whole_percent
from sweet_rl_trainer import figures
from sweet_rl_trainer.creditbench import results as creditbench
from sweet_rl_trainer.creditbench.truths import MAIN
from sweet_rl_trainer.data.runs import read_run
from sweet_rl_trainer.figures import BLUE, INK, MUTED, ORANGE
from sweet_rl_trainer.methods.credit.advantage import advantages
from sweet_rl_trainer.methods.credit.facts import FactsPotential
from sweet_rl_trainer.methods.credit.state import states_of
from sweet_rl_trainer.study import report, world
from sweet_rl_trainer.study.arms import ARMS
from sweet_rl_trainer.study.measures import (
    BySeed,
    Measure,
    Summary,
    answered,
    difference,
    exchanged,
    on_tests,
    success,
    success_if_told,
    summary,
    told,
)
from sweet_rl_trainer.study.plots import draw_arm
from sweet_rl_trainer.study.report import RIVAL
from sweet_rl_trainer.study.results import ORACLE, Outcome, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
PARTS = HERE / "study"
WORLDS = ("asking", "population", "finetuned", "smollm2")
PAGES = ("study", "study-appendix")
MAIN_ARMS = (*world.read("smollm2").arms, "turn-rft", "turn-rft-gain")
"""The arms that all worlds have, and turn-wise RFT."""
CREDIT = HERE / "credit-bench-models" / "credit-bench" / "results.json"
TASKS = "generated:backend/study?number=1&families=loyalty"
MEASURES: dict[str, Measure] = {
    "success": success,
    "code": success_if_told,
    "answered": answered,
    "found out": told,
}
"""The measures of differences, by the names that the text uses."""
UNDECIDED = "\\*"
PLUS_MINUS = "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"
WIDTH = 80
"""Characters in a line of the pictured dialogue."""
TOLD_LATER = 0.5
"""The probability p of the credit method `facts`, as in the study."""
FIRST_NEW = 6
"""The first of the seeds that predictions 27 and 28 count; earlier seeds suggested prediction 27."""
SIMILAR = 0.1
"""Greatest difference between similar numbers of supervised tokens, as a share of the number of `RIVAL`."""


def main() -> None:
    """Write the pages, the pictures and the reports."""
    worlds = {name: read(PARTS / f"{name}.json.gz") for name in WORLDS if has(name)}
    figures.save(draw_dialogue(), PARTS / "dialogue", "A dialogue, and the credit of its turns")
    figures.save(draw_worlds(worlds), PARTS / "success", "Success on the test tasks, by arm")
    for name, results in worlds.items():
        (PARTS / f"{name}.md").write_text(report.markdown(results), "utf-8")
    for name in PAGES:
        (HERE / f"{name}.md").write_text(page(name, worlds), "utf-8")


def has(world: str) -> bool:
    """Return True if the file with a world's results exists."""
    return (PARTS / f"{world}.json.gz").is_file()


def read(path: Path) -> Results:
    """Return the results in a file."""
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=Results)


def new_seeds(results: Results) -> Results:
    """Return the results of the seeds that predictions 27 and 28 count."""
    return replace(results, rows=tuple(row for row in results.rows if row.seed >= FIRST_NEW))


def page(name: str, worlds: dict[str, Results]) -> str:
    """Return the page of this name."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown
    )
    numbers = {world: Numbers(results) for world, results in worlds.items()}
    numbers["first"] = Numbers(read(PARTS / "finetuned-first.json.gz"))
    numbers["more"] = Numbers(new_seeds(read(PARTS / "finetuned-more.json.gz")))
    text = (HERE / f"{name}.md.jinja").read_text("utf-8")
    return environment.from_string(text).render(
        numbers,
        worlds=worlds,
        useful=useful,
        fit=whole_percent(report.ZERO_SHOT[1]),
        similar=whole_percent(SIMILAR),
        cells=lambda part, *arms: (
            f"{' | '.join(getattr(numbers[each], part)(*arms) for each in worlds)} |"
        ),
    )


def useful(estimator: str) -> str:
    """Return the share of pairs in which an estimator prefers a revealing question to one that reveals nothing."""
    estimators = {each.name: each for each in creditbench.read(CREDIT).estimators}
    return percent_with_range(estimators[estimator].agreements[MAIN].measures["auc"])


class Numbers:
    """The numbers from one world's results, formatted for the text of the page."""

    def __init__(self, results: Results) -> None:
        self._results = results

    def success(self, arm: str) -> str:
        """Return the mean success of an arm over seeds: `66.0%`."""
        return percent(_mean(summary(on_tests(self._results, arm), success)))

    def share(self, arm: str) -> str:
        """Return the mean success of an arm with the interval over seeds: `66.0% ± 1.2`."""
        return _share(summary(on_tests(self._results, arm), success))

    def wins(self, arm: str, other: str) -> str:
        """Return in how many seeds an arm has a higher success than another: `5 of 6`."""
        found = self._difference(arm, other)
        seeds = found.seeds if found else ()
        return f"{sum(lead > 0 for lead in seeds)} of {len(seeds)}"

    def answered(self, arm: str) -> str:
        """Return the share of an arm's dialogues that the agent ended with an answer."""
        return percent(_mean(summary(on_tests(self._results, arm), answered)))

    def told(self, arm: str) -> str:
        """Return the mean share of hidden decisions revealed before the answer."""
        return percent(_mean(summary(on_tests(self._results, arm), told)))

    def success_if_told(self, arm: str) -> str:
        """Return the mean success of the answers given after all decisions were revealed."""
        return percent(_mean(summary(on_tests(self._results, arm), success_if_told)))

    def knew_all(self, arm: str) -> str:
        """Return the share of an arm's dialogues without an answer in which all decisions were revealed."""
        return percent(_mean(summary(on_tests(self._results, arm), _knew_all)))

    def turns(self, arm: str) -> str:
        """Return the mean number of turns of an arm's dialogues: `4.7`."""
        return number(_mean(summary(on_tests(self._results, arm), _turns)))

    def each(self, arm: str) -> str:
        """Return the success of each seed of an arm: `27.5, 48.3%`."""
        found = summary(on_tests(self._results, arm), success)
        return f"{', '.join(f'{each * 100:.1f}' for each in (found.seeds if found else ()))}%"

    def seeds(self, arm: str) -> int:
        """Return the number of seeds of an arm."""
        return len(on_tests(self._results, arm))

    def asked_seeds(self) -> int:
        """Return the number of seeds that the study was run with."""
        return self._results.seeds

    def unfinished(self) -> str:
        """Return the arms of the world that lack seeds: `` `gain-nll` (3 of 6 seeds), `pmi` ``."""
        defined = world.read(self._results.name)
        most = {arm: defined.fewer.get(arm, self._results.seeds) for arm in defined.arms}
        return ", ".join(
            f"`{arm}`" + (f" ({self.seeds(arm)} of {count} seeds)" if self.seeds(arm) else "")
            for arm, count in most.items()
            if self.seeds(arm) < count
        )

    def supervised(self, arm: str) -> str:
        """Return the mean number of supervised tokens in a step of an arm: `2,110`."""
        return f"{self._supervised()[arm]:,.0f}"

    def uneven(self) -> str:
        """Return the arms whose supervised tokens in a step differ from RFT's by more than `SIMILAR`.

        The form is `` `sweet-nll` (1,220) ``.
        """
        found = self._supervised()
        return ", ".join(
            f"`{arm}` ({self.supervised(arm)})"
            for arm, tokens in found.items()
            if abs(tokens / found[RIVAL] - 1) > SIMILAR
        )

    def _supervised(self) -> dict[str, float]:
        """Return the mean number of supervised tokens in a step, by arm, where it is known."""
        found: dict[str, list[float]] = {}
        for row in self._results.rows:
            if row.budget.supervised:
                found.setdefault(row.arm, []).append(row.budget.supervised)
        return {arm: fmean(tokens) for arm, tokens in found.items()}

    def table(self) -> Iterator[str]:
        """Yield the rows of the table of the main arms."""
        for name in MAIN_ARMS:
            if on_tests(self._results, name):
                cells = (
                    self.share(name),
                    "" if name == RIVAL else self.gap(name, RIVAL),
                    self.answered(name),
                    self.told(name),
                    self.success_if_told(name),
                )
                yield f"| `{name}` | {self.seeds(name)} | {' | '.join(cells)} |"

    def cell(self, arm: str) -> str:
        """Return the mean success of an arm and its difference from RFT in points: `55.2% (−18.8)`; "" without rows."""
        if not on_tests(self._results, arm):
            return ""
        found = self._difference(arm, RIVAL)
        if found is None or arm == RIVAL:
            return self.success(arm)
        return f"{self.success(arm)} ({signed(found.mean * 100)}{_mark(found)})"

    def pair(self, asker: str, writer: str) -> str:
        """Return the mean success of dialogues in which one model asks and another writes: `92.9% ± 3.1`."""
        return _share(summary(exchanged(self._results, asker, writer), success))

    def lead(self, arm: str, other: str, measure: str = "success") -> str:
        """Return the difference between two arms in points, with the interval over seeds: `−20.8 ± 11.7`."""
        return _points(self._difference(arm, other, measure))

    def over_tasks(self, arm: str, other: str) -> str:
        """Return the interval over tasks of the difference between two arms in points: `+1.2 to +3.2`."""
        found = self._difference(arm, other)
        if found is None or found.tasks.low is None or found.tasks.high is None:
            raise ValueError(
                "the page states an interval, but the results contain no dialogues for it"
            )
        return f"{signed(found.tasks.low * 100)} to {signed(found.tasks.high * 100)}"

    def gap(self, arm: str, other: str) -> str:
        """Return the same difference as `lead`, marked if it is undecided; "" if one of the arms has no rows."""
        return _marked(self._difference(arm, other))

    def gap_if_asked(self, arm: str) -> str:
        """Return the points of success that an arm gains if the oracle asks instead, marked as in `gap`."""
        return self._gap_of(exchanged(self._results, ORACLE, arm), arm)

    def gap_if_written(self, arm: str) -> str:
        """Return the points of success that an arm gains if the oracle writes the answers, marked as in `gap`."""
        return self._gap_of(exchanged(self._results, arm, ORACLE), arm)

    def _gap_of(self, rows: BySeed, arm: str) -> str:
        return _marked(difference(rows, on_tests(self._results, arm), success))

    def _difference(self, arm: str, other: str, measure: str = "success") -> Summary | None:
        return difference(
            on_tests(self._results, arm), on_tests(self._results, other), MEASURES[measure]
        )


def _share(found: Summary | None) -> str:
    return _with_reach(percent(_mean(found)), found)


def _points(found: Summary | None) -> str:
    return _with_reach(signed(_mean(found) * 100), found)


def _marked(found: Summary | None) -> str:
    """Return a difference in points, marked if it is undecided or known from one seed only; "" without a difference."""
    if found is None:
        return ""
    return _points(found) + (" (one seed)" if found.reach is None else _mark(found))


def _mark(found: Summary) -> str:
    return "" if found.decided else UNDECIDED


def _with_reach(text: str, found: Summary | None) -> str:
    """Append the half-width of the interval over seeds, if there are several seeds."""
    if found is None or found.reach is None:
        return text
    return f"{text}{PLUS_MINUS}{found.reach * 100:.1f}"


def _knew_all(outcome: Outcome) -> float | None:
    """Return 1 if all decisions were revealed in a dialogue without an answer, else 0; None if it has an answer."""
    return None if outcome.answered else float(outcome.told == outcome.hidden)


def _turns(outcome: Outcome) -> float:
    return float(outcome.turns)


def _mean(found: Summary | None) -> float:
    if found is None:
        raise ValueError(
            "the page states a mean, but the results contain none of the dialogues that it is for"
        )
    return found.mean


@figures.style()
def draw_worlds(worlds: dict[str, Results]) -> Figure:
    """Draw the success of the main arms in each world: the mean, its interval over seeds, and each seed."""
    arms = [arm for arm in ARMS if arm.name in MAIN_ARMS]
    size = (7.2 / len(worlds), 0.27 * len(arms) + 1.0)
    figure, (panels,) = figures.panels(1, len(worlds), size=size, sharey="row")
    for axes, (name, results) in zip(panels, worlds.items(), strict=True):
        axes.set_title(name)
        for place, arm in enumerate(arms):
            found = summary(on_tests(results, arm.name), success)
            if found:
                draw_arm(axes, place, found)
            else:
                axes.text(0.02, place, "no result", va="center", color=MUTED)
        axes.set_xlim(0, 1)
        figures.percent(axes.xaxis)
        tasks = {outcome.task for row in results.rows for outcome in row.test}
        axes.set_xlabel(f"success, {len(tasks)} tasks")
    panels[0].set_yticks(range(len(arms)), [f"{arm.label} ({arm.name})" for arm in arms])
    panels[0].invert_yaxis()
    figures.legend(figure)
    return figure


@figures.style()
def draw_dialogue() -> Figure:
    """Draw a dialogue on the left, and the credit of each turn on the right."""
    turns = list(credited())
    heights = [1 + text.count("\n") for text, _ in turns]
    places = [sum(heights[:n]) + n * 0.7 for n in range(len(turns))]
    size = (4.0, 0.145 * (places[-1] + heights[-1]) + 0.4)
    figure, ((words, bars),) = figures.panels(1, 2, size=size, width_ratios=[2.4, 1])
    words.axis("off")
    bottom = places[-1] + heights[-1]
    for axes in (words, bars):
        axes.set_ylim(bottom, -0.8)
    for (text, credit), place, height in zip(turns, places, heights, strict=True):
        color = MUTED if credit is None else INK
        words.text(0, place, text, va="top", fontsize=8, color=color).set_in_layout(False)
        if credit is not None:
            color = BLUE if credit > 0 else ORANGE
            middle = place + height / 2
            bars.barh(middle, credit, height=0.8, color=color)
            bars.annotate(
                signed(credit * 100, 0),
                (max(credit, 0), middle),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                color=MUTED,
            )
    bars.set_yticks([])
    bars.grid(visible=False)
    bars.set_xlim(-0.1, 0.7)
    bars.set_title("credit in points (facts)")
    bars.spines["bottom"].set_visible(False)
    bars.axvline(0, color=MUTED, linewidth=0.8)
    bars.set_xticks([])
    return figure


def credited() -> Iterator[tuple[str, float | None]]:
    """Yield the request and each turn of the dialogue as text, each turn with its credit, the request with None."""
    with TemporaryDirectory() as folder:
        colbench.evaluate(
            agent="demonstrator",
            agent_args={"slips": False, "persona": "turn"},
            tasks=TASKS,
            out=folder,
        )
        (dialogue,) = read_run(Path(folder))
    (task,) = colbench.load_tasks(TASKS)
    states = states_of(dialogue, task)
    values = FactsPotential(told_later=TOLD_LATER)(states)
    credits = advantages([value or 0.0 for value in values], dialogue.reward, cost=0.01)
    yield fill(f"Human: {states[0].messages[-1].content}", WIDTH), None
    heard = [state.messages[-1].content for state in states[1:]]
    for said, reply, credit in zip(dialogue.replies, [*heard, ""], credits, strict=True):
        text = fill(f"Agent: {said}", WIDTH) if reply else f"Agent: {said}"
        yield (f"{text}\n{fill(f'Human: {reply}', WIDTH)}" if reply else text), credit


if __name__ == "__main__":
    main()
