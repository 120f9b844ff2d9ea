from __future__ import annotations

import msgspec
import pytest

from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.messages import Usage
from colbench.registry import get_domain
from colbench.report.brief import brief
from colbench.report.facts import sections
from colbench.report.summary import summarize
from colbench.report.view import domain_view
from colbench.rollout import Failure, Leak, Rollout, Turn
from colbench.score import Score
from colbench.task import Hidden, Task

CONFIG = RunConfig(max_turns=4)


def task(name: str, domain: str = "backend") -> Task:
    return Task(id=name, domain=domain, request="?", hidden=Hidden(reference="def f(): pass"))


def verdict(value: float | None) -> Score:
    return Score(scorer="t", value=value, success=None if value is None else value == 1)


def cell(
    name: str,
    value: float | None = None,
    *,
    trial: int = 0,
    official: float | None = None,
    turns: tuple[Turn, ...] = (Turn(raw="a", said="a"),),
    ended_by: str = "answer",
    failure: Failure | None = None,
    **rest: object,
) -> Rollout:
    scores = {"default": verdict(value)} if value is not None else {}
    if official is not None:
        scores["official"] = verdict(official)
    return Rollout(
        key=f"{name}/{trial}",
        task_id=name,
        task_hash=task(name).hash,
        domain="backend",
        trial=trial,
        seed=0,
        request="?",
        turns=turns,
        answer="x",
        ended_by=ended_by,
        failure=failure,
        scores=scores,
        **rest,
    )


def backend(tasks, rollouts, trials=1, config=CONFIG):
    return summarize([task(name) for name in tasks], trials, rollouts, config).domains["backend"]


def talk(turns: int) -> tuple[Turn, ...]:
    asked = Turn(raw="what is it?", said="what is it?", human="a b c")
    return (asked,) * (turns - 1) + (Turn(raw="so be it", said="so be it"),)


def lost(name: str, boundary: str = "simulator", reason: str = "down") -> Rollout:
    failure = Failure(boundary=boundary, reason=reason)
    return cell(name, failure=failure, ended_by="failure", turns=())


def test_the_encoded_report_has_its_documented_fields():
    report = summarize([task("a"), task("b")], 1, [cell("a", 1.0), cell("b", 0.5)], CONFIG)
    content = msgspec.json.decode(msgspec.json.encode(report))
    assert content["schema"] == "colbench.report/2"
    domain = content["domains"]["backend"]
    assert (domain["tasks"], domain["trials"], domain["unscored"]) == (2, 1, 0)
    assert domain["lead"] == "tests_passed"
    assert domain["value"]["mean"] == 0.75
    assert domain["success_rate"]["mean"] == 0.5
    assert domain["value"].keys() >= {"mean", "low", "high"}
    assert domain["metrics"] == {
        "success": domain["success_rate"],
        "tests_passed": domain["value"],
    }
    assert domain["unscored_as_zero"] is None


def test_unscored_cells_are_left_out_and_also_counted_as_zero():
    domain = backend("abcd", [cell("a", 1.0), cell("b", 0.5), lost("c")])
    assert (domain.cells, domain.scored, domain.unscored, domain.missing) == (4, 2, 2, 1)
    assert domain.value.mean == 0.75
    assert domain.unscored_as_zero.value.mean == pytest.approx(1.5 / 4)
    assert domain.unscored_as_zero.success_rate.mean == pytest.approx(1 / 4)


def test_a_failure_of_the_agent_counts_as_zero():
    domain = backend("ab", [cell("a", 1.0), lost("b", "agent")])
    assert domain.unscored == 0
    assert domain.success_rate.mean == 0.5


def test_a_run_without_scored_cells_has_no_mean():
    domain = backend("a", [lost("a")])
    assert domain.value.mean is None
    assert domain.unscored_as_zero.value.mean == 0.0
    assert domain.by_turn[-1].answered is None


def test_an_unjudged_dialogue_is_counted_but_excluded_from_every_denominator():
    unjudged = msgspec.structs.replace(cell("a"), scores={"default": verdict(None)})
    domain = backend("abc", [unjudged, lost("b"), cell("c", 1.0)])
    assert (domain.unscored, domain.unjudged, domain.scored) == (1, 1, 1)
    assert domain.unscored_as_zero.value.mean == pytest.approx(1 / 2)
    assert list(domain.failures) == ["simulator"]


def test_rollouts_of_unplanned_cells_are_ignored_and_counted():
    rollouts = [cell("a", 1.0), cell("a", 0.0, trial=1), cell("z", 0.0)]
    report = summarize([task("a")], 1, rollouts, CONFIG)
    assert report.ignored == 2
    assert report.domains["backend"].success_rate.mean == 1.0


def test_a_dialogue_on_an_earlier_version_of_a_task_does_not_count():
    old = msgspec.structs.replace(cell("a", 1.0), task_hash="old")
    report = summarize([task("a")], 1, [old], CONFIG)
    assert report.ignored == 1
    assert report.domains["backend"].missing == 1


def test_the_turns_of_a_report_end_with_the_longest_dialogue():
    config = RunConfig(max_turns=1_000_000)
    domain = backend("ab", [cell("a", 1.0, turns=talk(3)), cell("b", 1.0)], config=config)
    assert [each.turn for each in domain.by_turn] == [1, 2, 3]
    assert domain.turns.distribution == (1, 0, 1)


def test_trials_are_averaged_by_task_and_give_pass_k():
    results = {"a": [1.0, 1.0], "b": [1.0, 0.0]}
    rollouts = [cell(n, v, trial=t) for n, row in results.items() for t, v in enumerate(row)]
    domain = backend("ab", rollouts, trials=2)
    assert domain.cells == 4
    assert [each.rate.mean for each in domain.pass_k] == [0.75, 0.5]
    assert [each.tasks for each in domain.pass_k] == [2, 2]


def test_tasks_with_a_scored_dialogue_are_counted():
    rollouts = [cell("a", 1.0), cell("a", 0.0, trial=1), cell("b", 0.5), lost("c")]
    assert backend("abc", rollouts, trials=2).scored_tasks == 2


def test_few_scored_tasks_give_a_warning_however_many_were_planned():
    names = [f"t{n}" for n in range(31)]
    rollouts = [cell(name, 0.5 if name != "t0" else 0.0) for name in names]
    for scored, warned in ((29, True), (31, False)):
        report = backend(names, rollouts[:scored])
        page, facts = (
            domain_view(get_domain("backend"), report, []),
            sections(get_domain("backend"), report),
        )
        assert ("the intervals are rough" in page.scoring) == warned
        notes = [fact.note for section in facts for fact in section.facts]
        assert any("the intervals are rough" in note for note in notes) == warned


def test_a_single_trial_has_no_pass_k():
    assert backend("a", [cell("a", 1.0)]).pass_k == ()


def test_both_scoring_modes_are_reported_with_their_difference():
    rollouts = [cell("a", 1.0, official=0.0), cell("b", 0.5, official=0.5), cell("c", 1.0)]
    domain = backend("abc", rollouts)
    assert domain.modes["official"].value.mean == 0.25
    assert domain.modes["official"].unscored == 1
    delta = domain.delta
    assert (delta.mode, delta.base, delta.cells, delta.differing) == ("official", "default", 2, 1)
    assert delta.value.mean == -0.5
    assert delta.success_rate.mean == -0.5


def test_the_configured_scoring_mode_leads():
    config = RunConfig(scoring="official")
    domain = backend("a", [cell("a", 1.0, official=0.2)], config=config)
    assert domain.mode == "official"
    assert domain.value.mean == 0.2


def test_success_by_turn_counts_an_answer_from_its_turn_on():
    rollouts = [
        cell("a", 1.0, turns=talk(1)),
        cell("b", 1.0, turns=talk(3)),
        cell("c", 0.0, turns=talk(2)),
        cell("d", 1.0, turns=talk(4), ended_by="limit"),
    ]
    curve = backend("abcd", rollouts).by_turn
    assert [each.turn for each in curve] == [1, 2, 3, 4]
    assert [each.success_rate.mean for each in curve] == [0.25, 0.25, 0.5, 0.75]
    assert [each.answered for each in curve] == [0.25, 0.5, 0.75, 0.75]


def test_turns_and_words_are_averaged_over_complete_dialogues():
    rollouts = [
        cell("a", 1.0, turns=talk(2)),
        cell("b", 0.0, turns=talk(4), ended_by="limit"),
        lost("c"),
    ]
    domain = backend("abc", rollouts)
    assert domain.turns.mean.mean == 3
    assert domain.turns.distribution == (0, 1, 0, 1)
    assert domain.words.human.mean == (3 + 9) / 2
    assert domain.words.agent.mean == (6 + 9) / 2
    assert domain.ended_by == {"answer": 1, "limit": 1, "failure": 1}


def test_tokens_are_summed_by_role_and_priced():
    agent = Usage(prompt_tokens=1000, completion_tokens=500, requests=1)
    human = Usage(prompt_tokens=10, completion_tokens=1, requests=2)
    turns = (
        Turn(raw="a", said="a", human="b", agent_usage=agent, human_usage=human),
        Turn(raw="a", said="a"),
    )
    config = RunConfig(max_turns=4, agent_price=(2.0, 4.0))
    domain = backend("a", [cell("a", 1.0, turns=turns)], config=config)
    used = domain.tokens["agent"]
    assert (used.prompt, used.completion, used.requests, used.uncounted) == (1000, 500, 1, 1)
    assert domain.tokens["human"].uncounted == 0
    assert domain.cost.agent == pytest.approx(0.004)
    assert domain.cost.human is None


def test_uncounted_tokens_are_unknown_and_not_zero():
    domain = backend("a", [cell("a", 1.0)], config=RunConfig(agent_price=(1.0, 1.0)))
    assert domain.tokens == {"agent": None, "human": None}
    assert domain.cost.agent is None


USED = Usage(prompt_tokens=1_000_000, completion_tokens=500_000, requests=1)


def cost_tiles(trials=1, human=None, last=None, **prices):
    """Return label, value and note of each cost tile in the report on one dialogue of two turns."""
    turns = (
        Turn(raw="a", said="a", human="b", agent_usage=USED, human_usage=human),
        Turn(raw="a", said="a", agent_usage=last),
    )
    report = backend("a", [cell("a", 1.0, turns=turns)], trials, RunConfig(max_turns=4, **prices))
    tiles = domain_view(get_domain("backend"), report, [task("a")]).tiles
    return [(tile.label, tile.value, tile.note) for tile in tiles if "ost" in tile.label]


def test_the_cost_covers_the_dialogues_so_far():
    tiles = cost_tiles(trials=3, last=USED, agent_price=(1.0, 2.0))
    assert tiles == [("Cost", "$4.00", "for 1 dialogue")]


def test_a_cost_that_covers_only_one_role_names_that_role():
    one, other = {"agent_price": (1.0, 1.0)}, {"human_price": (2.0, 2.0)}
    assert cost_tiles(human=USED, last=USED, **one)[0][:2] == ("Agent cost", "$3.00")
    assert cost_tiles(human=USED, last=USED, **other)[0][:2] == ("Human cost", "$3.00")
    assert cost_tiles(human=USED, last=USED, **one, **other)[0][:2] == ("Cost", "$6.00")
    assert cost_tiles(human=USED) == []


def test_the_note_of_a_cost_says_how_many_replies_are_not_counted():
    tiles = cost_tiles(agent_price=(1.0, 1.0))
    assert tiles == [("Cost", "$1.50", "for 1 dialogue; 1 reply not counted")]


def test_the_summary_in_the_terminal_says_how_many_replies_are_not_counted():
    turns = (Turn(raw="a", said="a", human="b", agent_usage=USED), Turn(raw="a", said="a"))
    report = backend("a", [cell("a", 1.0, turns=turns)])
    notes = {fact.label: fact.note for fact in brief(get_domain("backend"), report, 40)}
    assert notes["agent tokens"].split("; ")[-1] == "1 reply not counted"


def test_leaks_add_up_over_a_dialogue():
    leak = Leak(identifiers=0.25, literals=0.75, ngrams=0.0)
    leaky = (Turn(raw="a", said="a", human="b", leak=leak),) * 2
    silent = (Turn(raw="a", said="a", human="b", leak=Leak(identifiers=0, literals=0, ngrams=0)),)
    domain = backend(
        "abc", [cell("a", 1.0, turns=leaky), cell("b", 1.0, turns=silent), cell("c", 1.0)]
    )
    assert domain.leaks.dialogues == 2
    assert (domain.leaks.identifiers.mean, domain.leaks.identifiers.max) == (0.25, 0.5)
    assert domain.leaks.literals.max == 1.0
    (leaked,) = (
        f for f in brief(get_domain("backend"), domain, 40) if f.label == "leaked by human"
    )
    assert leaked.value == "50.0%"
    assert leaked.note == "of the reference's literals, unasked;\nidentifiers 25.0%, n-grams 0.0%"


def test_failures_are_counted_by_boundary_with_their_most_frequent_reasons():
    rollouts = [
        lost("a", "agent", "KeyError"),
        lost("b", reason="timeout"),
        lost("c", reason="timeout"),
        lost("d", reason="refused"),
    ]
    failures = backend("abcd", rollouts).failures
    assert list(failures) == ["simulator", "agent"]
    assert failures["simulator"].count == 3
    assert [(r.reason, r.count) for r in failures["simulator"].reasons] == [
        ("timeout", 2),
        ("refused", 1),
    ]


def test_the_summary_in_the_terminal_shortens_a_long_address_and_keeps_its_beginning():
    url = "http://127.0.0.1:8000/v1/a/rather/long/path/chat/completions"
    report = backend("a", [lost("a", reason=f"the server at {url} answered 500")])
    notes = {fact.label: fact.note for fact in brief(get_domain("backend"), report, 40)}
    assert notes["simulator failed"] == f"the server at\n{url[:40]}… …"


def test_values_are_counted_in_tenths_without_rounding_to_0_or_1():
    values = {"a": 0.0, "b": 0.01, "c": 0.5, "d": 0.99, "e": 1.0}
    counts = backend(values, [cell(n, v) for n, v in values.items()]).distribution
    assert counts == (1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1)


def test_wall_time_leaves_out_the_pause_before_a_resumed_run():
    rollouts = [
        cell("a", 1.0, started="2025-01-01T00:00:00+00:00", seconds=10.0),
        cell("b", 1.0, started="2025-01-01T00:00:05+00:00", seconds=10.0),
        cell("c", 1.0, started="2025-01-02T00:00:00+00:00", seconds=1.0),
    ]
    assert backend("abc", rollouts).wall_seconds == 16.0


def test_a_report_on_one_domain_exposes_its_numbers_directly():
    report = summarize([task("a")], 1, [cell("a", 1.0)], CONFIG)
    domain = report.domains["backend"]
    assert report.success_rate is domain.success_rate
    assert report.value is domain.value
    assert report.metrics is domain.metrics


def test_a_report_on_several_domains_says_where_its_numbers_are():
    report = summarize([task("a"), task("b", "frontend")], 1, [cell("a", 1.0)], CONFIG)
    for name in ("success_rate", "value", "metrics"):
        with pytest.raises(UserError, match=r"backend and frontend.*report\.domains"):
            getattr(report, name)


def test_unmeasured_answers_are_counted_and_their_notes_come_first():
    notes = [
        ("varies", "v"),
        ("timeout", "t"),
        ("", "a"),
        ("", "a"),
        ("", "b"),
        ("", "c"),
        ("", "d"),
    ]
    scores = [Score(scorer="t", value=0.0, success=None, outcome=o, note=n) for o, n in notes]
    tasks = [task(str(number), "frontend") for number in range(len(scores))]
    cells = [
        msgspec.structs.replace(
            cell(each.id), domain="frontend", task_hash=each.hash, scores={"default": score}
        )
        for each, score in zip(tasks, scores, strict=True)
    ]
    report = summarize(tasks, 1, cells, CONFIG).domains["frontend"]
    assert report.outcomes == {"varies": 1, "timeout": 1}
    assert [note.reason for note in report.notes] == ["v", "t", "a", "b", "c"]
    (noted,) = (s for s in sections(get_domain("frontend"), report) if s.title == "Notes on scores")
    assert [fact.label for fact in noted.facts[1:3]] == ["1 dialogue", "2 dialogues"]
