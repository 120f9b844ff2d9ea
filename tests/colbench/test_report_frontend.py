from __future__ import annotations

from io import StringIO

import msgspec
import pytest
from rich.console import Console

from colbench.config import RunConfig
from colbench.registry import get_domain
from colbench.report.console import render_table
from colbench.report.summary import summarize
from colbench.report.tables import score_tables
from colbench.rollout import Failure, Rollout, Turn
from colbench.score import Score
from colbench.task import Hidden, Task

CONFIG = RunConfig(max_turns=4)
LAYOUT = ("ssim", "block", "text", "position", "color", "layout")
NO_WEIGHTS = "no cosine without CLIP's weights; `colbench score` adds it later"
FLOORS = {
    "black": {"cosine": 0.4, "layout": 0.0},
    "other": {"cosine": 0.6, "layout": 0.2},
    "target": {"cosine": 1.0, "layout": 1.0},
}


def task(name: str, domain: str = "frontend") -> Task:
    return Task(
        id=name, domain=domain, request="?", hidden=Hidden(reference=f"<html>{name}</html>")
    )


def judged(cosine: float | None, layout: float, note: str = "", floors=None) -> Score:
    """Return a verdict whose layout metrics are all `layout`."""
    metrics = dict.fromkeys(LAYOUT, layout)
    if cosine is not None:
        metrics |= {"cosine": cosine, "cosine_page": cosine}
    return Score(
        scorer="pages", value=cosine, success=None, metrics=metrics, note=note, floors=floors or {}
    )


def turn(score: Score | None = None) -> Turn:
    return Turn(raw="a", said="a page", human="b", score=score)


def cell(name: str, score: Score | None, *turns: Turn, trial: int = 0, **rest: object) -> Rollout:
    fields: dict[str, object] = {
        "answer": "x",
        "ended_by": "answer",
        "scores": {"default": score} if score else {},
    }
    return Rollout(
        key=f"{name}/{trial}",
        task_id=name,
        task_hash=task(name).hash,
        domain="frontend",
        trial=trial,
        seed=0,
        request="?",
        turns=turns,
        **(fields | rest),
    )


def agent_failed(name: str) -> Rollout:
    lost = Score(scorer="none", value=0.0, success=None, note="the agent failed: KeyError")
    failure = Failure(boundary="agent", reason="KeyError")
    scores = {"default": lost, "official": lost}
    return cell(name, None, answer=None, ended_by="failure", failure=failure, scores=scores)


def frontend(tasks: str, rollouts: list[Rollout], trials: int = 1, config: RunConfig = CONFIG):
    return summarize([task(name) for name in tasks], trials, rollouts, config).domains["frontend"]


def shown(report) -> str:
    out = StringIO()
    Console(file=out, width=80, no_color=True).print(render_table(report))
    return out.getvalue()


def test_metrics_are_means_over_tasks_and_agent_failures_count_as_0():
    rollouts = [cell("a", judged(0.8, 0.5)), cell("b", judged(0.6, 0.3)), agent_failed("c")]
    domain = frontend("abc", rollouts)
    assert domain.lead == "cosine"
    assert domain.value.mean == pytest.approx(1.4 / 3)
    assert domain.metrics["cosine"].mean == pytest.approx(1.4 / 3)
    assert domain.metrics["layout"].mean == pytest.approx(0.8 / 3)
    assert list(domain.metrics) == [
        "cosine", "cosine_page", "layout", "block", "text", "position", "color", "ssim",
    ]  # fmt: skip


def test_pages_neither_succeed_nor_fail():
    rollouts = [cell("a", judged(1.0, 1.0), trial=0), agent_failed("a")]
    domain = frontend("a", [rollouts[0], msgspec.structs.replace(rollouts[1], trial=1)], trials=2)
    assert domain.success_rate is None
    assert domain.pass_k == ()
    assert all(each.success_rate is None for each in domain.by_turn)
    assert "success" not in shown(summarize([task("a")], 2, rollouts, CONFIG))


def test_the_layout_leads_without_clip_weights_and_no_page_is_unscored():
    rollouts = [
        cell("a", judged(None, 0.5, NO_WEIGHTS)),
        cell("b", judged(None, 0.3, NO_WEIGHTS)),
        agent_failed("c"),
    ]
    rollouts[0] = msgspec.structs.replace(
        rollouts[0],
        scores=rollouts[0].scores
        | {"official": Score(scorer="pages", value=None, success=None, note=NO_WEIGHTS)},
    )
    for scoring in ("default", "official"):
        domain = frontend("abc", rollouts, config=RunConfig(max_turns=4, scoring=scoring))
        assert (domain.lead, domain.mode, list(domain.modes)) == ("layout", "default", ["default"])
        assert domain.value.mean == pytest.approx(0.8 / 3)
        assert (domain.scored, domain.unscored, domain.unjudged) == (3, 0, 0)
        assert not {"cosine", "cosine_page"} & domain.metrics.keys()
        assert domain.notes == ()
    table = shown(summarize([task(name) for name in "abc"], 1, rollouts, CONFIG))
    assert "needs CLIP's weights; `colbench score" in table


def test_a_cosine_that_only_some_pages_have_does_not_lead():
    domain = frontend("ab", [cell("a", judged(0.9, 0.5)), cell("b", judged(None, 0.3))])
    assert domain.lead == "layout"
    assert domain.value.mean == pytest.approx(0.4)


def test_unscored_pages_are_left_out_and_also_counted_as_zero():
    lost = cell("b", None, ended_by="failure", failure=Failure(boundary="render", reason="gone"))
    domain = frontend("abc", [cell("a", judged(0.8, 0.5)), lost])
    assert (domain.unscored, domain.missing) == (2, 1)
    assert domain.value.mean == pytest.approx(0.8)
    assert domain.unscored_as_zero.value.mean == pytest.approx(0.8 / 3)


def test_a_page_without_a_target_is_excluded_from_every_denominator():
    unjudged = cell("a", Score(scorer="pages", value=None, success=None, note="no target"))
    domain = frontend("ab", [unjudged, cell("b", judged(0.8, 0.5))])
    assert (domain.unjudged, domain.unscored, domain.value.mean) == (1, 0, 0.8)


def test_the_curve_uses_the_latest_page_at_each_turn():
    final = judged(0.8, 0.5)
    asks_first = cell("a", final, turn(), turn(judged(0.6, 0.1)), turn(), turn(final))
    early = cell("b", judged(0.4, 0.2), turn(judged(0.4, 0.2)))
    never = cell("c", judged(0.0, 0.0), turn(), turn())
    curve = frontend("abc", [asks_first, early, never]).by_turn
    expected = [0.4 / 3, 1.0 / 3, 1.0 / 3, 1.2 / 3]
    assert [each.value.mean for each in curve] == pytest.approx(expected)
    assert [each.answered for each in curve] == pytest.approx([1 / 3, 2 / 3, 2 / 3, 1.0])


def test_the_curve_of_an_agent_that_never_shows_a_page_is_0():
    curve = frontend("a", [cell("a", judged(0.0, 0.0), turn(), turn())]).by_turn
    assert {each.value.mean for each in curve} == {0.0}


def test_the_curve_ends_at_the_score_of_the_run_despite_failures():
    rollouts = [
        cell("a", judged(0.8, 0.5), turn(judged(0.7, 0.5)), turn(judged(0.8, 0.5))),
        msgspec.structs.replace(agent_failed("b"), turns=(turn(),)),
        cell("c", None, turn(), failure=Failure(boundary="scorer", reason="x"), ended_by="answer"),
    ]
    domain = frontend("abc", rollouts)
    assert domain.by_turn[-1].value.mean == pytest.approx(domain.value.mean)


def test_turns_without_verdicts_give_no_curve():
    report = summarize([task("a")], 1, [cell("a", judged(0.8, 0.5), turn(), turn())], CONFIG)
    assert all(each.value is None for each in report.domains["frontend"].by_turn)
    assert "by turn" not in shown(report)


def test_the_scorers_of_the_verdicts_are_counted_and_shown():
    other = msgspec.structs.replace(judged(0.8, 0.5), scorer="pages/2 clip tiny")
    rollouts = [cell("a", judged(0.8, 0.5)), cell("b", judged(0.7, 0.5)), cell("c", other)]
    report = summarize([task(name) for name in "abcd"], 1, [*rollouts, agent_failed("d")], CONFIG)
    assert report.domains["frontend"].scorers == {"pages": 2, "pages/2 clip tiny": 1}
    assert "pages/2 clip tiny" in shown(report)


def test_floors_are_means_over_tasks():
    other = {"black": {"cosine": 0.2, "layout": 0.0}, "other": {"cosine": 0.7, "layout": 0.4}}
    rollouts = [
        cell("a", judged(0.8, 0.5, floors=FLOORS)),
        cell("b", judged(0.8, 0.5, floors=other)),
    ]
    floors = frontend("ab", rollouts).floors
    assert floors["black"]["cosine"] == pytest.approx(0.3)
    assert floors["other"] == pytest.approx({"cosine": 0.65, "layout": 0.3})
    assert floors["target"]["layout"] == 1.0
    assert "white" not in floors


def test_notes_that_differ_only_in_their_numbers_are_counted_together():
    notes = ["no page; black has 0.41", "no page; black has 0.52", "timeout: 15 s; black has 0.4"]
    rollouts = [cell(name, judged(0.0, 0.0, note)) for name, note in zip("abc", notes, strict=True)]
    without = cell("d", judged(None, 0.0, notes[0]))
    found = frontend("abcd", [*rollouts, without]).notes
    assert [(each.count, each.reason) for each in found] == [(3, "no page"), (1, notes[2])]


def test_scoring_modes_of_pages_are_compared_by_the_cosine():
    both = cell("a", judged(0.8, 0.5))
    official = Score(scorer="pages", value=0.7, success=None, metrics={"cosine": 0.7})
    both = msgspec.structs.replace(both, scores=both.scores | {"official": official})
    report = summarize([task("a")], 1, [both], RunConfig(scoring="official"))
    domain = report.domains["frontend"]
    assert (domain.mode, domain.value.mean) == ("official", 0.7)
    assert list(domain.metrics) == ["cosine"]
    assert domain.modes["default"].metrics["layout"].mean == 0.5
    assert domain.delta.value.mean == pytest.approx(-0.1)
    (metrics,) = score_tables(get_domain("frontend"), domain)
    for table in (shown(report), str(metrics)):
        assert "70.0%" in table
        assert "80.0%" in table
        assert "50.0%" in table


def test_a_run_of_both_domains_reports_both():
    tests = Score(scorer="t", value=1.0, success=True)
    other = task("b", "backend")
    code = msgspec.structs.replace(cell("b", tests, turn()), domain="backend", task_hash=other.hash)
    report = summarize([task("a"), other], 1, [cell("a", judged(0.8, 0.5)), code], CONFIG)
    assert report.domains["backend"].success_rate.mean == 1.0
    assert list(report.domains["backend"].metrics) == ["success", "tests_passed"]
    assert report.domains["frontend"].value.mean == 0.8
    table = shown(report)
    assert "tests passed" in table
    assert "cosine" in table


def test_a_run_without_a_finished_dialogue_has_a_report():
    table = shown(summarize([task("a")], 1, [], CONFIG))
    assert "no dialogue is finished yet" in " ".join(table.split())
    assert "success" not in table


def test_only_the_text_around_a_page_counts_as_words():
    said = "Here it is:\n```html\n<html><p>many words in here</p></html>\n```\nDo you like it?"
    talk = (Turn(raw=said, said=said, human="No."), Turn(raw="x", said=""))
    assert frontend("a", [cell("a", judged(0.8, 0.5), *talk)]).words.agent.mean == 7
