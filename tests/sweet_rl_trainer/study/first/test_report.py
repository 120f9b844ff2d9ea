from __future__ import annotations

import re
from io import StringIO

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace
from rich.console import Console

from colbench.errors import DataError
from sweet_rl_trainer.study.first import report
from sweet_rl_trainer.study.first.methods import METHODS, TURNS
from sweet_rl_trainer.study.first.report import markdown
from sweet_rl_trainer.study.first.results import (
    Agreement,
    Credit,
    Critic,
    Exchange,
    Scaling,
    Timing,
)

pytestmark = pytest.mark.weekly


def written(results, folder):
    page = report.write(results, folder)
    assert page == folder / "reproduction.md"
    return page.read_text("utf-8")


def tables(page):
    """Return the tables as rows of cells, counted from the source, as Markdown would pad a short row silently."""
    found = re.findall(r"(?m)^\|.*(?:\n\|.*)*", page)
    return [
        [
            re.split(r"(?<!\\)\|", line.removeprefix("|").removesuffix("|"))
            for line in table.split("\n")
        ]
        for table in found
    ]


def section(page, head):
    return page.partition(f"# {head}\n")[2].partition("\n#")[0]


def row(page, first):
    """Return the cells of the first row that begins with a cell."""
    lines = [line for line in page.split("\n") if line.startswith(f"| {first} |")]
    return [cell.strip() for cell in lines[0].strip("|").split("|")]


def test_the_table_stands_beside_the_paper_s(make, tmp_path):
    page = written(make.whole(), tmp_path)
    cells = row(section(page, "The paper's comparison"), "SWEET-RL")
    assert cells[1] == "40.4 %"
    assert cells[2].startswith("75.0 % (")
    assert cells[3] == "70.0 · 75.0 · 80.0"
    assert cells[4] == "56.8 %"
    assert cells[5].startswith("87.5 % (")
    assert cells[6:] == ["3.0", "0.0 %", "10.0"]
    repeated = row(section(page, "The paper's comparison").partition("command")[2], "SWEET-RL")
    assert repeated[1] == "0.001 (10) · 0.001 (10) · 0.001 (10)"
    assert repeated[2] == "`sweet-rl study --scale cpu --seeds 3 --only sweet`"
    assert "`evaluate-sweet-2`" in repeated[3]


def test_every_table_is_whole_and_every_chart_is_there(make, tmp_path):
    page = written(make.whole(), tmp_path)
    for table in tables(page):
        assert {len(line) for line in table} == {len(table[0])}
    charts = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page)
    assert len(charts) == 7
    assert {tmp_path / each for each in charts} == set((tmp_path / "reproduction").glob("*.svg"))
    pictures = {each.stem for each in (tmp_path / "reproduction").glob("*.png")}
    assert pictures == {each.stem for each in (tmp_path / "reproduction").glob("*.svg")}
    assert "{{" not in page
    assert "Missing" not in page


@pytest.mark.slow
def test_the_same_results_give_the_same_report(make, tmp_path):
    first, second = (written(make.whole(), tmp_path / name) for name in ("one", "other"))
    assert first == second


def headline(results):
    page = report.markdown(results, {})
    return section(page, "What was found")


def test_the_headline_follows_the_numbers(make):
    ours = headline(make.whole())
    assert "**SWEET-RL** has the highest success on the test tasks: 75.0 %" in ours
    assert re.search("SWEET-RL against Multi-turn DPO: \\+20.0 .+ \\*\\*above.+ 3 of 3 seeds", ours)
    names = {"sweet": "rft", "rft": "sweet"}
    results = make.whole()
    turned = replace(
        results,
        rows=tuple(
            replace(each, method=names.get(each.method, each.method)) for each in results.rows
        ),
    )
    theirs = headline(turned)
    assert "**Rejection fine-tuning** has the highest success on the test tasks: 75.0 %" in theirs
    assert re.search("SWEET-RL against Rejection .+: −30.0 .+ \\*\\*below.+ 0 of 3 seeds", theirs)
    rows = [make.row("sweet", {"a": "1", "b": "0"}), make.row("mtdpo", {"a": "0", "b": "1"})]
    equals = headline(make.results([*rows, make.row("rft", {"a": "0", "b": "0"})]))
    assert re.search(": 0.0 .+ \\*\\*not decided.+ 0 of 1 seed", equals)
    assert "Multi-turn DPO and SWEET-RL have the highest success" in equals


def test_the_headline_counts_orderings(make):
    rows = [make.row("sweet", make.marks(18)), make.row("mtdpo", make.marks(3))]
    assert (
        "Of 21 orderings that the paper's numbers imply, with one seed, which says nothing of other trainings, "
        "1: 1 as in the paper; 20 missing. " in headline(make.results(rows))
    )


def test_the_headline_tells_of_a_collapse(make):
    tries = [make.tried((0, "0001"), (10, "0111"), (20, "----"))]
    told = headline(make.results([make.row("sweet", {}, tries=tries, step=10)]))
    assert "75.0 %" in told
    assert (
        "0.0 % (0.0 to 60.2, exact) at the end of training, where 100.0 % of the dialogues" in told
    )


def critic(method, accuracy):
    return Critic(method=method, seed=0, pairs=9, accuracy=accuracy, with_turns=0.0, best_of=())


def test_the_headline_holds_critics_against_chance(make):
    critics = (critic("sweet", (0.6, 0.52, 0.7)), critic("pmi", (0.6, 0.49, 0.7)))
    told = headline(make.results(critics=critics))
    assert "above: SWEET-RL (60.0 %) — not decided: PMI scorer, no critic (60.0 %)" in told


def test_a_row_that_is_another_one_over_again_is_told(make):
    rows = [
        make.row("sweet", {"a": "1", "b": "0"}, step=10),
        make.row("limit-negatives", {"a": "1", "b": "0"}, step=10),
        make.row("pmi", {"a": "0", "b": "1"}, step=10),
        make.row("released", {"a": "1", "b": "0"}, seed=2),
    ]
    told = headline(make.results(rows))
    assert "**SWEET-RL, negatives at the limit is SWEET-RL over again**" in told
    assert told.count("over again") == 1
    refused = "**No checkpoint of SWEET-RL, as in the released code was better than the base**"
    assert f"{refused} on the validation tasks (seed 2)" in told


def test_p_values_of_remedies_are_adjusted(make):
    # 7 of 20 tasks apart: p is 2 / 2 ** 7 = 0.016, and five times that where there are five methods; then four times 0
    rows = [make.row("sweet", make.marks(8)), make.row("calibrated", make.marks(1))]
    ours = "Remedies (one seed each) against SWEET-RL, with p adjusted for all methods"
    assert f"{ours}: below: SWEET-RL, answers calibrated." in headline(make.results(rows))
    names = ("rft", "mtdpo", "pmi", "released")
    more = [make.row(name, make.marks(8)) for name in names]
    assert f"{ours}: not decided: SWEET-RL, answers calibrated." in headline(
        make.results([*rows, *more])
    )


def test_what_a_study_was_never_to_have_is_not_there_yet_to_come(make):
    study = {"methods": ["zero-shot", "rft"], "scaling": [], "exchanged": []}
    page = markdown(make.results(study=study), {})
    for name in (
        "Credit turn by turn",
        "What success goes with",
        "Amount of data",
        "Who asks, who writes",
    ):
        assert "None in this study." in section(page, name), name
        assert "Not there yet." not in section(page, name), name
    assert "Not there yet." in section(markdown(make.results(), {}), "Credit turn by turn")


def test_less_data_is_told_with_what_the_dialogues_were_like(make):
    half = Scaling(method="sweet", seed=0, share=0.5, tasks=9, test=make.outcomes({"a": "1-"}))
    results = make.results([make.row("sweet", {"a": "11"})], scaling=(half,))
    (table,) = tables(section(markdown(results, {}), "Amount of data"))
    first, second = ([cell.strip() for cell in line] for line in table[2:])
    assert first[1:3] == ["50 %", "9"]
    assert first[3].startswith("50.0 %")
    assert first[4:] == ["50.0", "3.0", "50.0 %"]
    assert second[1:3] == ["100 %", "all"]
    assert second[4:] == ["100.0", "3.0", "0.0 %"]


def test_critics_are_held_against_the_number_of_turns(make):
    one = replace(critic("sweet", (0.8, 0.7, 0.9)), matched=(0.7, 0.4, 0.9), matched_pairs=1234)
    other = replace(critic(TURNS.name, (0.82, 0.75, 0.9)), matched_pairs=1234)
    results = make.results(critics=(one, other))
    told = headline(results)
    assert "above: SWEET-RL (80.0 %); Number of turns, no model (82.0 %)." in told
    assert "equally many turns: not decided: SWEET-RL (70.0 %)." in told
    table = section(markdown(results, {}), "Critics")
    assert row(table, "SWEET-RL")[5] == "70.0 % (40.0 to 90.0) of 1,234"
    cells = row(table, "Number of turns, no model")
    assert cells[1:3] == ["–", "82.0 % (75.0 to 90.0)"]
    assert cells[5] == "–"


def test_a_study_that_has_hardly_begun_has_a_report(make, tmp_path):
    page = written(make.results(), tmp_path)
    assert "There is nothing to compare on the test tasks yet." in page
    assert page.count("Not there yet.") >= 7
    assert "!" + "[" not in page
    assert list((tmp_path / "reproduction").iterdir()) == []
    missing = section(page, "What was found").partition("**Unfinished.** Missing:")[2]
    assert all(each.label.removeprefix("… ") in missing for each in METHODS)
    assert "time and memory" in missing


def test_what_is_missing_is_named(make, tmp_path):
    whole = make.whole()
    rows = [
        each
        for each in whole.rows
        if each.method != "pmi" and (each.method, each.seed) != ("rft", 1)
    ]
    study = whole.study | {
        "scaling": ["mtdpo", "rft"],
        "shares": [0.25, 0.5],
        "exchanged": ["rft", "sweet"],
    }
    page = written(
        replace(whole, rows=tuple(rows), critics=whole.critics[1:2], study=study), tmp_path
    )
    missing = section(page, "What was found").partition("**Unfinished.** Missing:")[2]
    assert "- on the test tasks: PMI scorer, no critic\n" in missing
    assert "- Rejection fine-tuning: seed 1\n" in missing
    assert "- critics: SWEET-RL; " in missing
    assert (
        "- less data: Multi-turn DPO (25 %); Rejection fine-tuning (25 %); Rejection fine-tuning (50 %)\n"
        in missing
    )
    assert "- answers exchanged: 4 of 4\n" in missing
    assert "time and memory" not in missing
    assert row(section(page, "Ablations"), "PMI scorer, no critic")[2] == "missing"


def test_ablations_of_the_first_seed_alone_lack_nothing_where_no_more_was_planned(make):
    whole = make.whole()
    rows = [each for each in whole.rows if each.seed == 0 or each.method != "pmi"]
    lacking = "PMI scorer, no critic: seeds 1 and 2"
    for repeated, missing in ((["main"], False), (["main", "ablation"], True)):
        study = whole.study | {"repeated": repeated}
        page = markdown(replace(whole, rows=tuple(rows), study=study), {})
        assert (lacking in page) == missing


def test_a_method_that_is_repeated_by_its_name_lacks_seeds_where_it_has_one(make):
    whole = make.whole()
    rows = [each for each in whole.rows if each.seed == 0 or each.method not in {"pmi", "released"}]
    study = whole.study | {"repeated": ["main", "pmi"]}
    page = markdown(replace(whole, rows=tuple(rows), study=study), {})
    assert "PMI scorer, no critic: seeds 1 and 2" in page
    assert "as in the released code: seed" not in page


def test_what_methods_have_for_it_is_told(make):
    train = {"max_steps": 60, "batch_size": 16, "epochs": 100}
    study = {"recipe": {"critic": {"train": train}, "mtdpo": {"train": {"epochs": 1}}}}
    page = markdown(make.results(study=study), {})
    assert "| `critic` | 60 steps | 16 pairs of dialogues |" in page
    assert "| `mtdpo` | 1 epoch | 8 pairs of dialogues |" in page


def test_a_study_without_any_row_has_a_report_whatever_it_repeats(make):
    assert "Unfinished" in markdown(make.results(study={"repeated": ["main"]}), {})


def test_credit_is_missing_of_each_method_by_itself(make):
    whole = make.whole()
    credits = tuple(each for each in whole.credits if each.method != "pmi")
    assert "credit turn by turn" not in markdown(whole, {})
    page = markdown(replace(whole, credits=credits), {})
    assert "- credit turn by turn: PMI scorer, no critic\n" in page


def test_scores_of_no_model_are_judged_by_when_they_say_to_answer_alone(make):
    timing = (Timing(hidden=0, turns=5, share=(0.9, 0.8, 1.0)),)
    found = Critic(method="returns", seed=0, timing=timing)
    results = make.results(critics=(critic("sweet", (0.6, 0.5, 0.7)), found))
    page = markdown(results, {})
    judged, timed = section(page, "Critics"), section(page, "When to answer")
    assert "| SWEET-RL |" in judged
    assert "Monte-Carlo returns" not in judged
    assert row(timed, "Monte-Carlo returns, no critic")[1] == "90.0 % (80.0 to 100.0) of 5"
    assert "Monte-Carlo returns, no critic 90.0 %" in headline(results)
    assert "not decided: SWEET-RL (60.0 %)." in headline(results)


def test_scores_that_another_method_has_already_stand_once(make):
    def timed(name, share):
        timing = (Timing(hidden=0, turns=5, share=(share, 0.0, 1.0)),)
        return replace(critic(name, (0.6, 0.5, 0.7)), timing=timing)

    results = make.results(
        critics=(timed("sweet", 0.25), timed("anchored", 0.25), timed("calibrated", 0.75)),
        credits=tuple(
            Credit(
                method=name,
                seed=0,
                agreements=(Agreement(kind="any two", pairs=9, share=(x, 0, 1)),),
            )
            for name, x in (("sweet", 0.6), ("anchored", 0.6), ("pmi", 0.5))
        ),
    )
    page = markdown(results, {})
    for name, methods in (
        ("When to answer", ["SWEET-RL", "SWEET-RL, answers calibrated"]),
        ("Credit turn by turn", ["SWEET-RL", "PMI scorer, no critic"]),
    ):
        (table,) = tables(section(page, name))
        assert [line[0].strip() for line in table[2:]] == methods


def test_the_headline_tells_of_the_critic_and_what_it_is_held_against(make):
    timing = (Timing(hidden=0, turns=5, share=(0.25, 0.0, 1.0)),)
    names = ("sweet", "calibrated", "pmi")
    critics = [
        replace(critic(name, (0.6, 0.5 + n / 100, 0.7)), timing=timing if n else ())
        for n, name in enumerate(names)
    ]
    told = headline(make.results(critics=critics))
    assert "above: PMI scorer, no critic (60.0 %) — not decided: SWEET-RL (60.0 %)." in told
    assert "favour asking on): PMI scorer, no critic 25.0 %." in told


def test_the_headline_names_the_best_of_all_critics(make):
    ours = replace(critic("sweet", (0.7, 0.6, 0.8)), matched=(0.9, 0.8, 1.0))
    other = replace(critic("released", (0.9, 0.8, 1.0)), matched=(0.8, 0.7, 0.9))
    best = "the highest pair accuracy has SWEET-RL, as in the released code: 90.0 % (80.0 to 100.0)"
    told = headline(make.results(critics=(ours, other)))
    assert f"{best}; with equally many turns, SWEET-RL: 90.0 % (80.0 to 100.0)." in told
    apart = [replace(each, matched=None) for each in (ours, other)]
    assert f"{best}." in headline(make.results(critics=tuple(apart)))
    worse = critic("released", (0.6, 0.5, 0.7))
    assert "accuracy has SWEET-RL: 70.0 %" in headline(make.results(critics=(ours, worse)))
    assert "the highest" not in headline(make.results(critics=(ours,)))


def test_the_headline_tells_who_learns_fastest(make):
    rows = [
        make.row(name, {}, tries=[make.tried((0, "0000"), (10, first), (20, "1111"))], step=20)
        for name, first in (("rft", "0111"), ("sweet", "0001"))
    ]
    told = headline(make.results(rows))
    assert re.search(
        "After the first 10 steps, .+: Rejection fine-tuning 75.0 % .+, SWEET-RL 25.0 % ", told
    )
    assert "After the first" not in headline(make.results(rows[:1]))
    later = make.row("rft", {}, tries=[make.tried((0, "0000"), (12, "0111"))], step=12)
    assert "After the first" not in headline(make.results([later, rows[1]]))


def test_the_headline_tells_what_is_asking_and_what_is_writing(make):
    """0.75 and 0.25; 0.75 where SWEET-RL asks and the other writes, 0.5 the other way round."""
    rows = [make.row("rft", make.marks(15)), make.row("sweet", make.marks(5))]
    swapped = [
        Exchange(asker=asker, writer=writer, seed=0, test=make.outcomes(tasks), folder="e")
        for asker, writer, tasks in (
            ("sweet", "rft", make.marks(15)),
            ("rft", "sweet", make.marks(10)),
        )
    ]
    told = headline(make.results(rows, exchanges=tuple(swapped)))
    # writing: (0.75 - 0.5) / 2 + (0.75 - 0.25) / 2; asking: 0 / 2 + (0.5 - 0.25) / 2
    assert re.search(
        r"Of the \+50.0 .+ Rejection fine-tuning over SWEET-RL, \+37.5 .+ written, \+12.5 .+ asked",
        told,
    )


def test_what_a_smaller_study_leaves_out_is_not_missing(make):
    rows = [make.row("zero-shot", make.marks(3)), make.row("rft", make.marks(9))]
    results = make.results(rows, study={"methods": ["zero-shot", "rft"]})
    told = headline(results)
    assert "on the test tasks:" not in told.partition("Missing")[2]
    assert "critics:" not in told
    page = markdown(results, {})
    assert "SWEET-RL, " not in page
    assert "None in this study." in section(page, "Ablations")
    assert "Of 1 ordering that" in headline(results)


def test_one_seed_is_enough(make, tmp_path):
    page = written(make.whole(1), tmp_path)
    assert row(section(page, "The paper's comparison"), "SWEET-RL")[3] == "70.0"
    assert "Missing" not in page


def test_text_from_outside_stays_text(make, tmp_path):
    hostile = "<script>alert(1)</script> | *x* `y` [z](u)\n# head"
    results = replace(
        make.whole(1), machine=hostile, version=hostile, base={hostile: hostile}, scale="a|b"
    )
    results = replace(results, study={hostile: hostile, "what": hostile})
    html = MarkdownIt("commonmark").enable("table").render(written(results, tmp_path))
    assert "<script>" not in html
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt; | *x* `y` [z](u) # head") >= 6
    assert "<h1>head</h1>" not in html


def test_settings_stand_beside_the_paper_s(make):
    recipe = {"sample": {"count": 8}, "actor": {"train": {"batch_size": 32}}}
    page = report.markdown(make.results(study={"recipe": recipe, "rates": {"rft": [1e-3]}}), {})
    assert row(page, "`sample.count`")[1:] == ["8", "16"]
    assert row(page, "`actor.train.batch_size`")[1:] == ["32", "8"]
    assert row(page, "`rates.rft`")[1:] == ["0.001"]
    unknown = make.results(study={"recipe": {"nothing": {"like": "it"}}})
    assert row(report.markdown(unknown, {}), "`recipe.nothing.like`")[1:] == ["it"]


def test_as_many_learning_rates_are_said_to_be_as_many(make):
    def one(name, *rates):
        tries = [make.tried((0, "01"), (5, "11"), rate=rate) for rate in rates]
        return make.row(name, {}, tries=tries)

    alike = make.results([one("rft", 1e-4, 1e-3), one("sweet", 1e-5, 1e-3)])
    assert "Learning rates tried: 2 for each method." in report.markdown(alike, {})
    unlike = make.results([one("rft", 1e-3), one("sweet", 1e-5, 1e-3)])
    said = "**not as many for each**: 1 for Rejection fine-tuning; 2 for SWEET-RL."
    assert said in report.markdown(unlike, {})


def test_a_quick_study_is_repeated_as_one(make):
    page = report.markdown(make.results(scale="cpu-quick"), {})
    assert "`sweet-rl study --scale cpu --seeds 1 --quick --only sweet`" in page


def test_results_of_an_unknown_method_are_refused(make, tmp_path):
    with pytest.raises(DataError, match=r"unknown methods: other; those of ColBench 1\.2\.3"):
        report.write(make.results([make.row("other", {"a": "1"})]), tmp_path)


def test_the_console_shows_what_was_tested(make):
    console = Console(file=StringIO(), width=140)
    console.print(report.summary(make.whole()))
    shown = console.file.getvalue()
    assert re.search(r"SWEET-RL +75\.0 % \(.+\) +70\.0 75\.0 80\.0 +3\.0 +0\.0 %", shown)
