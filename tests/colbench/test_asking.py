"""Asking: what each turn asked for and was told, what the questions were worth, and why a dialogue failed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

import colbench
from colbench.asking.derive import with_asking
from colbench.asking.failure_class import failure_class
from colbench.asking.measures import followed_shares
from colbench.asking.opening import opening
from colbench.cli import main
from colbench.config import RunConfig
from colbench.errors import Boundary, UserError
from colbench.registry import get_domain
from colbench.report.asking import followed_report
from colbench.report.cells import Cells
from colbench.report.dialogue_stats import Measurer
from colbench.report.facts import sections
from colbench.report.failed_facts import FEW_DIALOGUES, rarely_asked
from colbench.report.summary import summarize
from colbench.rollout import Failure, Followed, Rollout, Turn
from colbench.score import Check, Score
from colbench.task import Fact, Hidden, Task

FACTS = (
    Fact(
        name="limit",
        topics=("limit", "most"),
        statement="At most 12 items are taken.",
        examples=("How many items are taken at most?", "Is there a limit on the items?"),
    ),
    Fact(
        name="order",
        topics=("order", "sorting"),
        statement="The oldest one comes first.",
        examples=("In which order do they come?", "Which one comes first?"),
    ),
    Fact(
        name="empty",
        topics=("empty list",),
        statement="An empty list gives None.",
        examples=("What happens with an empty list?",),
        stated=True,
    ),
)
TASK = Task(
    id="t",
    domain="backend",
    request="Pick the items. An empty list gives None.\n\ndef pick(items):",
    hidden=Hidden(
        reference="def pick(items):\n    return sorted(items)[:12] or None\n",
        tests=("pick([1])",),
        facts=FACTS,
    ),
)
LIMIT, ORDER, EMPTY = (fact.statement for fact in FACTS)
ASKS_LIMIT, ASKS_ORDER = "How many items are taken at most?", "In which order do they come?"
OFF_TOPIC = "Which version of Python do you use?"
RIGHT = Score(scorer="s", value=1.0, success=True)
WRONG = Score(
    scorer="s",
    value=0.0,
    success=False,
    checks=(Check(call="pick([1])", outcome="wrong"),),
)


def dialogue(*exchanges: tuple[str, str], answer: str = "def pick(items):\n    return 1\n", **more):
    turns = [Turn(raw=said, said=said, human=reply) for said, reply in exchanges]
    rollout = Rollout(
        key="k",
        task_id=TASK.id,
        task_hash=TASK.hash,
        domain=TASK.domain,
        trial=0,
        seed=0,
        request=TASK.request,
        turns=(*turns, Turn(raw=answer, said="")),
        answer=answer,
        ended_by="answer",
        scores={"default": WRONG},
    )
    return with_asking(TASK, replace(rollout, **more))


def test_each_turn_records_the_facts_it_asked_for_and_was_told():
    turns = dialogue((ASKS_LIMIT, LIMIT), (OFF_TOPIC, "I don't know.")).turns
    assert [turn.asked for turn in turns] == [("limit",), (), ()]
    assert [turn.told for turn in turns] == [("limit",), (), None]


def test_questions_are_counted_by_their_outcome():
    asking = dialogue(
        (ASKS_LIMIT, LIMIT),
        (ASKS_LIMIT, LIMIT),
        (OFF_TOPIC, "I don't know."),
        (ASKS_ORDER, ORDER),
        (OFF_TOPIC, "I don't know."),
    ).asking
    assert (asking.questions, asking.hits, asking.redundant) == (5, 2, 1)
    assert (asking.unanswerable, asking.late) == (2, 1)
    assert (asking.hidden, asking.told, asking.needed_questions) == (2, 2, 1)
    assert asking.ask_precision == pytest.approx(2 / 5)
    assert asking.ask_recall == 1
    assert asking.ask_f1 == pytest.approx(2 * 0.4 / 1.4)


def test_a_fact_stated_in_the_request_is_not_a_hit():
    asking = dialogue(("What happens with an empty list?", EMPTY)).asking
    assert (asking.questions, asking.hits, asking.redundant, asking.hidden) == (1, 0, 1, 2)


def test_precision_is_undefined_and_f1_is_0_without_a_question():
    asking = dialogue().asking
    assert asking.ask_precision is None
    assert (asking.ask_recall, asking.ask_f1) == (0, 0)


def test_a_task_without_facts_or_a_valid_reference_has_no_asking():
    task = replace(TASK, hidden=replace(TASK.hidden, facts=(), reference="not python ("))
    assert with_asking(task, dialogue((ASKS_LIMIT, LIMIT))).asking is None


def test_asking_without_facts_is_estimated_from_the_reference():
    reference = "def pick(items):\n    if len(items) > 12:\n        return None\n    return items\n"
    task = replace(TASK, hidden=replace(TASK.hidden, facts=(), reference=reference))
    asking = with_asking(task, dialogue(("What if there are more than 12 items?", "Hm."))).asking
    assert asking.estimated
    assert asking.hidden > 0


@pytest.mark.parametrize(
    "reply", ["No more than 12 items can be taken.", "12 items are taken at the most, I think."]
)
def test_a_decision_in_other_words_counts_as_told(reply):
    assert dialogue((ASKS_LIMIT, reply)).turns[0].told == ("limit",)


@pytest.mark.parametrize("reply", ["I don't know.", "I am not sure about that."])
def test_a_reply_that_does_not_know_tells_no_decision(reply):
    assert dialogue((ASKS_LIMIT, reply)).turns[0].told == ()


def test_a_right_answer_counts_untold_decisions_as_guessed():
    asking = dialogue((ASKS_LIMIT, LIMIT), scores={"default": RIGHT}).asking
    assert asking.guessed == ("order",)


def test_an_answer_without_a_number_it_was_told_ignores_that_decision():
    told = ((ASKS_LIMIT, LIMIT), (ASKS_ORDER, ORDER))
    assert dialogue(*told).asking.ignored == ("limit",)
    kept = "def pick(items):\n    return items[:12]\n"
    assert dialogue(*told, answer=kept).asking.ignored == ()


def failed_at(boundary: Boundary) -> dict:
    failure = Failure(boundary=boundary, reason="gone")
    scores = {"default": WRONG} if boundary == "agent" else {}
    return {"failure": failure, "answer": None, "ended_by": "failure", "scores": scores}


ALL = ((ASKS_LIMIT, LIMIT), (ASKS_ORDER, ORDER))
CRASH = replace(WRONG, checks=(Check(call="pick([1])", outcome="error"),))


@pytest.mark.parametrize(
    ("exchanges", "more", "expected"),
    [
        (ALL, {"scores": {"default": RIGHT}}, None),
        (ALL, failed_at("endpoint"), None),
        (ALL, {"scores": {}}, None),
        (ALL, failed_at("agent"), "crashed"),
        ((), {"ended_by": "limit"}, "no_answer"),
        ((), {"answer": " "}, "no_answer"),
        (ALL, {"scores": {"default": CRASH}}, "crashed"),
        (ALL[:1], {}, "guessed"),
        (ALL, {}, "ignored"),
        (ALL, {"answer": "def pick(items):\n    return items[:12]\n"}, "wrong_code"),
    ],
)
def test_the_failure_class_follows_from_how_the_dialogue_failed(exchanges, more, expected):
    assert failure_class(dialogue(*exchanges, **more)) == expected


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, colbench.Run]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        agent: colbench.evaluate(
            agent=agent, tasks="bundled:backend/test", limit=60, out=folder / agent
        )
        for agent in ("interviewer", "guesser", "demonstrator")
    }


def recomputed(run: colbench.Run) -> dict[str, float]:
    """Return precision, recall and F1, computed only from the file and the tasks.

    A fact counts as told where a reply contains its statement.
    """
    tasks = {task.id: task for task in run.tasks}
    precisions, recalls, scores = [], [], []
    for line in Path(run.path, "rollouts.jsonl").read_text().splitlines():
        row = json.loads(line)
        hidden = {f.statement for f in tasks[row["task_id"]].hidden.facts if not f.stated}
        replies = [turn["human"] for turn in row["turns"] if turn.get("human") is not None]
        open_, hits = set(hidden), 0
        for reply in replies:
            said = {statement for statement in open_ if statement in reply}
            hits += bool(said)
            open_ -= said
        recall = 1 - len(open_) / len(hidden)
        precision = hits / len(replies) if replies else 0
        precisions += [precision] if replies else []
        recalls.append(recall)
        both = precision + recall
        scores.append(2 * precision * recall / both if both else 0)
    return {
        "ask_precision": sum(precisions) / len(precisions) if precisions else None,
        "ask_recall": sum(recalls) / len(recalls),
        "ask_f1": sum(scores) / len(scores),
    }


@pytest.mark.weekly
def test_the_report_agrees_with_metrics_recomputed_from_the_rollouts(runs):
    for run in runs.values():
        found = run.report.domains["backend"].asking.metrics
        for name, value in recomputed(run).items():
            assert found[name].mean == (value if value is None else pytest.approx(value)), name


@pytest.mark.slow
def test_ask_f1_separates_the_interviewer_demonstrator_and_guesser(runs):
    f1 = {
        name: run.report.domains["backend"].asking.metrics["ask_f1"].mean
        for name, run in runs.items()
    }
    assert f1["interviewer"] >= 0.95
    assert f1["guesser"] == 0
    assert 0.2 < f1["demonstrator"] < 0.9


def test_rows_have_the_asking_and_the_failure_class_of_each_dialogue(runs):
    rows = list(runs["demonstrator"].rows())
    assert all(row["ask_recall"] is not None for row in rows)
    failed = [row for row in rows if row["success"] == 0]
    assert failed
    assert all((row["failure_class"] is None) == (row["success"] == 1) for row in rows)


@pytest.mark.slow
def test_gain_per_question_compares_with_a_baseline_that_asks_no_questions(runs):
    baseline = str(runs["guesser"].path)
    run = colbench.evaluate(
        agent="interviewer", tasks="bundled:backend/test", limit=60, baseline=baseline
    )
    asking = run.report.domains["backend"].asking
    guessed = {r.task_id: r.scores["default"].value for r in runs["guesser"].rollouts}
    gains = [
        (r.scores["default"].value - guessed[r.task_id]) / r.asking.questions
        for r in run.rollouts
        if r.asking.questions
    ]
    assert asking.gain_per_question.mean == pytest.approx(sum(gains) / len(gains))
    column = run.to_pandas()["gain_per_question"]
    assert list(column.dropna()) == pytest.approx(gains)
    assert "gain_per_question" not in runs["demonstrator"].to_pandas()
    asks = colbench.evaluate(
        agent="interviewer",
        tasks="bundled:backend/test",
        limit=3,
        baseline=str(runs["demonstrator"].path),
    )
    assert asks.report.domains["backend"].asking.gain_per_question is None
    assert "gain_per_question" not in asks.to_pandas()


def test_the_counts_by_class_family_and_decision_add_up(runs):
    report = runs["demonstrator"].report.domains["backend"]
    failed = sum(
        rollout.scores["default"].success is False for rollout in runs["demonstrator"].rollouts
    )
    assert sum(report.failed.classes.values()) == failed
    families = report.failed.families.values()
    assert sum(sum(counts.values()) for counts in families) == failed
    decisions = report.asking.decisions
    hidden = sum(rollout.asking.hidden for rollout in runs["demonstrator"].rollouts)
    assert sum(row.hidden for row in decisions) == hidden
    told = sum(rollout.asking.told for rollout in runs["demonstrator"].rollouts)
    assert sum(row.told for row in decisions) == told


def test_a_decision_hidden_in_few_dialogues_is_not_called_rarely_asked(runs):
    found = runs["demonstrator"].report.domains["backend"].asking
    row = replace(found.decisions[0], asked=0, hidden=FEW_DIALOGUES)
    few = replace(row, hidden=FEW_DIALOGUES - 1)
    always = replace(row, asked=FEW_DIALOGUES)
    assert rarely_asked(replace(found, decisions=(few, row, always))) == [row]


def test_the_label_for_guessed_decisions_differs_from_the_failure_class(runs):
    """Compare the labels of two different things.

    A dialogue is `guessed` if the agent answered too early; the measure counts decisions that the agent got right.
    """
    report = runs["demonstrator"].report.domains["backend"]
    (asking,) = (each for each in sections(get_domain("backend"), report) if each.title == "Asking")
    labels = [fact.label for fact in asking.facts]
    assert "decisions guessed right" in labels
    assert "guessed decisions" not in labels


def test_asking_is_derived_for_old_runs_that_did_not_store_it(runs, tmp_path):
    old = runs["demonstrator"].save(tmp_path / "old")
    file = old.path / "rollouts.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows:
        del row["asking"]
        for turn in row["turns"]:
            turn.pop("asked", None)
            turn.pop("told", None)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert file.read_text().count('"asked"') == 0
    old = colbench.load_run(old.path)
    assert old.rollouts == runs["demonstrator"].rollouts
    rollouts = old.folder.rollouts()
    report = summarize(old.tasks, 1, rollouts, old.config)
    assert report.domains["backend"].asking == runs["demonstrator"].report.domains["backend"].asking
    changed = [replace(rollout, task_hash="another") for rollout in rollouts]
    assert summarize(old.tasks, 1, changed, old.config).domains["backend"].asking is None


def test_recall_by_turn_is_a_mean_over_tasks_of_the_mean_over_trials():
    other = replace(TASK, id="u")
    asks = dialogue((ASKS_LIMIT, LIMIT))
    rollouts = [
        asks,
        replace(asks, key="k1", trial=1),
        replace(dialogue(), key="u", task_id=other.id, task_hash=other.hash),
    ]
    report = summarize([TASK, other], 2, rollouts, RunConfig(max_turns=2))
    assert report.domains["backend"].asking.recall_by_turn == ((0.5 + 0) / 2, (0.5 + 0) / 2)


def test_the_report_has_the_shares_of_differences_fixed_kept_and_worse():
    followed = (
        [Followed(fixed=3, worse=1), None, Followed(fixed=1, kept=1)],
        [None],
        [Followed(kept=2)],
    )

    def cells(*dialogues):
        grid = tuple((Measurer().measure(pointed(*each), 0),) for each in dialogues)
        return Cells(tasks=(), trials=1, grid=grid)

    report = followed_report(cells(*followed))
    assert (report.dialogues, report.differences) == (2, 8)
    means = {name: interval.mean for name, interval in report.metrics.items()}
    assert means == {
        "differences_fixed": pytest.approx((4 / 6 + 0 / 2) / 2),
        "differences_kept": pytest.approx((1 / 6 + 2 / 2) / 2),
        "differences_worse": pytest.approx((1 / 6 + 0 / 2) / 2),
    }
    assert followed_report(cells([None])) is None
    assert set(followed_shares(Followed()).values()) == {None}


def pointed(*followed: Followed | None) -> Rollout:
    """Return a dialogue about a page that records, for each turn, what became of the differences the human named."""
    turns = tuple(Turn(raw="", said="", human="", followed=each) for each in followed)
    return replace(dialogue(), domain="frontend", turns=turns)


def test_told_all_states_every_decision_before_the_signature():
    said = opening(TASK, "all")
    assert said == f"Pick the items. An empty list gives None. {LIMIT} {ORDER} \n\ndef pick(items):"
    assert opening(TASK, "asked") == TASK.request
    asking = dialogue(request=said).asking
    assert (asking.hidden, asking.ask_recall, asking.ask_f1) == (0, None, None)
    facts = tuple(replace(fact, stated=True) for fact in TASK.hidden.facts)
    nothing_hidden = replace(TASK, hidden=replace(TASK.hidden, facts=facts))
    assert opening(nothing_hidden, "all").split() == TASK.request.split()
    assert "  " not in opening(nothing_hidden, "all")


def test_told_all_is_refused_for_a_task_without_known_decisions():
    page = replace(TASK, domain="frontend", hidden=Hidden(reference="<p>hi</p>"))
    with pytest.raises(UserError, match="--told all: the hidden decisions of t are not known"):
        opening(page, "all")


def test_the_report_has_the_ceiling_and_the_own_score_on_the_same_tasks(runs, tmp_path, capsys):
    told = colbench.evaluate(
        agent="demonstrator",
        tasks="bundled:backend/test",
        limit=40,
        told="all",
        out=tmp_path / "told",
    )
    run = colbench.load_run(runs["demonstrator"].path)
    assert main(["report", str(run.path), "--ceiling", str(told.path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)["domains"]["backend"]["ceiling"]
    ours = [r.scores["default"].value for r in run.rollouts[:40]]
    theirs = [r.scores["default"].value for r in told.rollouts]
    assert report["tasks"] == 40
    assert report["value"]["mean"] == pytest.approx(sum(theirs) / 40)
    assert report["own_value"]["mean"] == pytest.approx(sum(ours) / 40)
    assert report["value"]["mean"] > report["own_value"]["mean"]


def test_a_ceiling_from_a_run_without_told_all_is_refused(runs, capsys):
    plain = str(runs["guesser"].path)
    assert main(["report", str(runs["demonstrator"].path), "--ceiling", plain]) == 2
    assert (
        f"--ceiling {plain}: not the folder of a run that was made with --told all"
        in capsys.readouterr().err
    )


def test_the_told_setting_of_a_run_is_pinned(tmp_path, capsys):
    argv = ["eval", "--agent", "guesser", "--limit", "1", "--out", str(tmp_path / "out")]
    assert main(argv) == 0
    assert main([*argv, "--told", "all"]) == 2
    assert "told: " in capsys.readouterr().err


def test_the_table_after_a_run_fits_a_screen_and_names_the_next_commands(tmp_path, capsys):
    out = str(tmp_path / "out")
    assert main(["eval", "--agent", "demonstrator", "--limit", "30", "--out", out]) == 0
    printed = capsys.readouterr().out
    lines = printed[printed.index("Backend programming:") :].splitlines()
    assert len(lines) <= 20
    assert max(len(line) for line in lines if out not in line) <= 80
    for label in ("success rate", "tests passed", "ask F1", "failed", "turns"):
        assert any(line.strip().startswith(label) for line in lines), label
    assert f"colbench report {out}" in printed
    assert f"colbench view {out} --failed" in printed
    assert "not counted" not in printed


def never_told(run, rollout):
    """Return the decisions that no reply in a dialogue states, separated by commas."""
    (task,) = (task for task in run.tasks if task.id == rollout.task_id)
    replies = " ".join(turn.human or "" for turn in rollout.turns)
    hidden = (fact for fact in task.hidden.facts if not fact.stated)
    return ", ".join(fact.name for fact in hidden if fact.statement not in replies)


def test_view_failed_lists_failed_dialogues_with_the_decisions_never_revealed(runs, capsys):
    run = runs["demonstrator"]
    guessed = [r for r in run.rollouts if failure_class(r) == "guessed"]
    assert main(["view", str(run.path), "--failed", "guessed"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [[r.task_id, "0", "guessed"] for r in guessed]
    last = head.index("never revealed")
    assert [line[last:] for line in lines] == [never_told(run, rollout) for rollout in guessed]
    assert main(["view", str(run.path), "--failed"]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    failed = [rollout.task_id for rollout in run.rollouts if failure_class(rollout)]
    assert [line.split()[0] for line in lines] == failed
    assert main(["view", str(runs["interviewer"].path), "--failed"]) == 0
    assert capsys.readouterr().out == "no dialogue\n"


def test_view_list_has_a_line_for_each_dialogue_in_the_planned_order(runs, capsys):
    run = runs["guesser"]
    assert main(["view", str(run.path), "--list"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [rollout.task_id for rollout in run.rollouts]
    turns = head.index("turns")
    assert [int(line[turns:].split()[0]) for line in lines] == [len(r.turns) for r in run.rollouts]
    with pytest.raises(SystemExit, match="2"):
        main(["view", str(run.path), "--task", run.rollouts[0].task_id, "--list"])
    assert "not allowed with" in capsys.readouterr().err
