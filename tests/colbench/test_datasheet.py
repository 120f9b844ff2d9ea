"""Datasheets: every figure is compared with one that was counted manually or computed in another way."""

from __future__ import annotations

import hashlib
import json
import random
import shlex
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from colbench.cli import main
from colbench.cli.datasheet.similar import near_duplicates
from colbench_agents.interviewer import recognize
from colbench_tasks.bundled import lines
from colbench_tasks.families import FAMILIES
from colbench_tasks.family import statements
from colbench_tasks.generate import generate

FLAWED = {
    "fine": ("def fine(a):\n    return [a]", "1", "1.0", "2", "3"),
    "constant": ("def constant(a):\n    return 7", "1", "2"),
    "nothing": ("def nothing(a):\n    pass", "1", "2"),
    "some_nothing": ("def some_nothing(a):\n    return a or None", "0", "2"),
    "raises": ("def raises(a):\n    return 6 // a", "0", "1", "2"),
    "hangs": ("def hangs(a):\n    while True:\n        pass", "1"),
    "chance": ("import random\ndef chance(a):\n    return random.random()", "1", "2"),
    "strange": ("def strange(a):\n    return (lambda: a) if a else 'x'", "0", "1"),
}
WORDS = {name: f"my {name} wish about {name} and what {name} does" for name in FLAWED}
EXPECTED = {
    "the request is a near-duplicate": 1,  # `again`
    "the reference is the same as an earlier one": 1,  # `again`
    "all calls give the same value": 2,  # constant, nothing
    "all calls give None": 1,  # nothing
    "some call gives None": 2,  # nothing, some_nothing
    "some call raises": 2,  # raises, hangs
    "some call gives another value the second time": 1,  # chance
    "some value cannot be compared": 1,  # strange
    "no call can be scored": 2,  # hangs, chance
    "the reference does not score 1 (in the default mode)": 0,
    # nothing, some_nothing: None; raises, hangs: no value; strange: equal to no value; chance: no call remains
    "the reference does not score 1 officially": 6,
}


def row(name, request, reference, *arguments):
    function = reference.partition("def ")[2].partition("(")[0]
    calls = {f"test{n}": f"{function}({argument})" for n, argument in enumerate(arguments, 1)}
    return {
        "id": name,
        "problem_description": f"{request}. The signature of the function is: def {function}(a)",
        "ground_truth": reference,
        "test_cases": calls,
    }


@pytest.fixture
def flawed(tmp_path):
    """Write a file of nine tasks with planted flaws, and two invalid rows."""
    rows = [row(name, WORDS[name], *task) for name, task in FLAWED.items()]
    rows.append(row("again", WORDS["fine"].upper(), *FLAWED["fine"]))
    path = tmp_path / "flawed.jsonl"
    path.write_text("\n".join(["{", *map(json.dumps, rows), '{"problem_description": 1}']))
    return path


@pytest.fixture
def sheet(tmp_path):
    """Return a function that makes a source's sheet and returns its cells, by the first cell of a row, and its text."""

    def sheet(source, *flags):
        out = tmp_path / "sheet.md"
        argv = ["tasks", "datasheet", str(source), "--license", "CC0", "--out", str(out), *flags]
        assert main(argv) == 0
        text = out.read_text("utf-8")
        rows = [line[2:-2].split(" | ") for line in text.splitlines() if line[:1] == "|"]
        return {cells[0]: cells[1:] for cells in rows}, text

    return sheet


def test_planted_flaws_are_counted_correctly(flawed, sheet):
    cells, _ = sheet(flawed)
    for flaw, number in EXPECTED.items():
        (found,) = [cells[name] for name in cells if name.startswith(flaw)]
        assert found == [str(number)], flaw


def test_statistics_equal_manual_counts(flawed, sheet):
    cells, text = sheet(flawed, "--origin", "a | b")
    assert text.startswith("# `flawed.jsonl`\n")
    assert cells["Size"] == ["9 tasks, and 2 rows that cannot be read"]
    assert cells["License"] == ["CC0"]
    assert r"| Origin | a \| b |" in text
    # "my X wish about X and what X does." is 9 words, the signature 8
    assert cells["request, words"] == ["17", "17", "17"]
    assert cells["reference, lines"] == ["2", "2", "3"]
    assert cells["calls, number"] == ["1", "2", "4"]
    assert cells["one call, characters"] == ["7", "9", "15"]
    # 8 lists; 2 + 1 + 2 int; 2 + 1 None; 2 float; 1 str and 1 function: 20 values in all
    kinds = "list 40.0%, int 25.0%, None 15.0%, float 10.0%, opaque 5.0%, str 5.0%"
    found = text.partition("references return: ")[2].partition(".\n")[0]
    assert sorted(found.split(", ")) == sorted(kinds.split(", "))
    # none: hangs; one: constant, nothing, and chance, as every call starts from the same random seed;
    # two: some_nothing, raises, strange; three: fine, again
    assert cells["different values in a task"] == ["0", "1", "2", "3"]
    assert cells["tasks"] == ["1", "3", "3", "2"]


def test_the_hash_covers_the_exported_bytes_and_no_task_content_is_shown(sheet, tmp_path):
    tasks = generate(FAMILIES["parking"], 4, "sheet")
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(lines(tasks))
    cells, text = sheet(path, "--sample", "0")
    assert hashlib.sha256(path.read_bytes()).hexdigest() in cells["SHA-256"][0]
    assert "Tasks by family (1): parking 4." in text
    assert cells["hidden decisions"] == [
        str(number) for number in sorted({task.difficulty for task in tasks})
    ]
    stated = sum(fact.stated for task in tasks for fact in task.hidden.facts)
    assert f"Requests state {stated} further decision" in text
    assert "Guessing" not in text
    assert not any(task.request in text or task.hidden.reference in text for task in tasks)


def test_known_families_get_policy_success_rates_and_question_shares(sheet, tmp_path):
    tasks = generate(FAMILIES["parking"], 10, "sheet") + generate(FAMILIES["grading"], 10, "sheet")
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(lines(tasks))
    cells, text = sheet(path)
    hidden = [(task, fact) for task in tasks for fact in task.hidden.facts if not fact.stated]
    usual = [stated_choices(task)[fact.name][1] for task, fact in hidden]
    cost = f"{100 * sum(usual) / len(usual):.1f}%"
    constant, guess = constant_and_usual(tasks)
    assert cells["**all**"] == ["20", constant, guess, "100.0%", cost, cost]
    assert f"({len(hidden)} dialogues)" in text
    assert f"{len(hidden)} dialogues succeeded or failed as expected" in text
    for family, name in {(task.family, fact.name) for task, fact in hidden}:
        those = [
            stated_choices(task)[name][1]
            for task, fact in hidden
            if (task.family, fact.name) == (family, name)
        ]
        share = f"{100 * sum(those) / len(those):.1f}%"
        assert cells[f"{family}.{name}"] == [str(len(those)), share, share]
    asked = sum(len(decision(task, fact.name).asks) for task, fact in hidden)
    assert cells["a plain question about a hidden decision gets its fact"][0].endswith(
        f" of {asked:,}"
    )
    assert cells["an unrelated question gets no fact"][0].endswith(f" of {12 * len(tasks)}")


def test_the_constant_policy_is_left_out_for_families_with_few_tasks(sheet, tmp_path):
    path = tmp_path / "tasks.jsonl"
    tasks = generate(FAMILIES["parking"], 10, "sheet") + generate(FAMILIES["grading"], 9, "sheet")
    path.write_bytes(lines(tasks))
    cells, text = sheet(path)
    assert cells["grading"][:2] == ["9", "–"]
    assert cells["**all**"][:2] == ["19", "–"]
    assert cells["parking"][1].endswith("%")
    assert "Families with fewer than 10 tasks are left out (–)" in text


def test_the_sheet_of_a_selection_names_its_limit(sheet):
    cells, text = sheet("bundled:frontend", "--limit", "6", "--sample", "0")
    assert text.startswith("# `bundled:frontend`: 6 tasks (`--limit 6`)\n")
    assert cells["Size"] == ["6 tasks; the whole set has 500, selected by `--limit 6`"]
    export = "colbench tasks export bundled:frontend --limit 6 --out FILE.jsonl"
    assert f"of these tasks as JSON lines (`{export}`)" in cells["SHA-256"][0]


def test_the_sheet_names_the_command_that_makes_it_again(flawed, sheet, capsys, monkeypatch):
    cells, text = sheet(flawed, "--limit", "2", "--sample", "0", "--origin", "my own")
    command = cells["Made with"][0].split("`")[1]
    assert command.endswith("--limit 2 --sample 0 --license CC0 --origin 'my own'")
    monkeypatch.chdir(flawed.parent)
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out == text


def test_the_export_command_of_a_sheet_writes_a_file_with_the_hash_of_the_sheet(
    sheet, tmp_path, monkeypatch
):
    path = tmp_path / "my tasks.jsonl"
    path.write_bytes(lines(generate(FAMILIES["parking"], 3, "sheet")))
    cells, _ = sheet(path, "--limit", "2", "--sample", "0")
    digest, command = cells["SHA-256"][0].split("`")[1:4:2]
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) == 0
    assert hashlib.sha256(Path("FILE.jsonl").read_bytes()).hexdigest() == digest


def decision(task, name):
    return next(d for d in FAMILIES[task.family].decisions if d.name == name)


def stated_choices(task):
    """Return, by decision, the choice that the task's fact states, and whether it is the usual choice."""
    family, theme = recognize(task.request)
    said = {fact.name: fact.statement for fact in task.hidden.facts}
    chosen = {
        d.name: next(choice for choice, words in statements(d, theme) if words == said[d.name])
        for d in family.decisions
    }
    return {name: (choice, choice == family.usual()[name]) for name, choice in chosen.items()}


def constant_and_usual(tasks):
    """Return the shares solved by the most frequent and by the usual choices. The code is our own, so it runs here."""
    counts = defaultdict(Counter)
    for task in tasks:
        for fact in task.hidden.facts:
            if not fact.stated:
                counts[task.family, fact.name][stated_choices(task)[fact.name][0]] += 1
    wins = Counter()
    for task in tasks:
        family, theme = recognize(task.request)
        for policy in ("constant", "usual"):
            design = {name: choice for name, (choice, _) in stated_choices(task).items()}
            for fact in task.hidden.facts:
                if not fact.stated and policy == "constant":
                    design[fact.name] = counts[task.family, fact.name].most_common(1)[0][0]
                elif not fact.stated:
                    design[fact.name] = family.usual()[fact.name]
            wins[policy] += values(family.source(theme, design), task) == values(
                task.hidden.reference, task
            )
    return [f"{100 * wins[policy] / len(tasks):.1f}%" for policy in ("constant", "usual")]


def values(source, task):
    namespace = {}
    exec(source, namespace)
    return [eval(call, dict(namespace)) for call in task.hidden.tests]


def test_sample_limits_the_number_of_tasks_played(sheet, tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(lines(generate(FAMILIES["parking"], 3, "sheet")))
    cells, _ = sheet(path, "--sample", "2")
    assert cells["Size"] == ["3 tasks"]
    assert cells["**all**"][0] == "2"


def test_pages_are_described_but_not_rendered_without_a_browser(sheet, tmp_path):
    path = tmp_path / "pages.jsonl"
    page = "<html><body>Tea</body></html>"
    path.write_text(json.dumps({"problem_description": "A page. For tea!", "ground_truth": page}))
    cells, text = sheet(path, "--sample", "0")
    assert cells["page, characters"] == [str(len(page))] * 3
    assert "render" not in text


@pytest.mark.weekly
def test_stable_pages_are_reported_with_no_differing_renders(browser, sheet, tmp_path):
    path = tmp_path / "pages.jsonl"
    pages = ["<html><body>Tea</body></html>", "<html><body>Coffee</body></html>"]
    path.write_text(
        "\n".join(json.dumps({"problem_description": p[12:15], "ground_truth": p}) for p in pages)
    )
    cells, _ = sheet(path, "--browser", str(browser), "--browser-workers", "1")
    name = "two renders of the page differ (of the 2 pages rendered)"
    assert cells[name] == ["0"]


def test_the_sheet_is_printed_if_no_file_is_named(flawed, capsys):
    assert main(["tasks", "datasheet", str(flawed), "--license", "CC0", "--limit", "1"]) == 0
    assert capsys.readouterr().out.startswith("# `flawed.jsonl`: 1 task (`--limit 1`)")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("generated:backend/new?number=2&families=parking", "Generated from the seed `new`"),
        ("generated:frontend/train?number=1", "the training split"),
    ],
)
def test_sheets_of_generated_sets_state_origin_and_license(source, said, capsys):
    assert main(["tasks", "datasheet", source, "--sample", "0"]) == 0
    sheet = capsys.readouterr().out
    assert said in sheet
    assert "| License | Apache-2.0" in sheet


def test_the_sheet_of_official_rows_states_their_license_and_total(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "backend_tasks"
    folder.mkdir()
    (folder / "test.jsonl").write_text(json.dumps(row("", WORDS["fine"], *FLAWED["fine"])))
    monkeypatch.setenv("COLBENCH_OFFICIAL_DIR", str(tmp_path))
    assert main(["tasks", "datasheet", "official:backend/test"]) == 0
    sheet = capsys.readouterr().out
    assert "CC-BY-NC-4.0" in sheet
    assert "1 task; the whole set has 1,000" in sheet
    assert str(tmp_path) not in sheet


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--license: set the license of"),
        (["--license", "x", "--sample", "many"], "--sample many: expected a whole number"),
        (["--license", "x", "--sample", "-1"], "--sample -1: expected a whole number"),
        (["--license", "x", "--domain", "frontend"], "has no task of this domain"),
        (["--license", "x", "--limit", "zero"], "--limit: expected a whole number"),
    ],
)
def test_invalid_arguments_are_reported_without_a_traceback(flawed, capsys, flags, message):
    assert main(["tasks", "datasheet", str(flawed), *flags]) == 2
    said = capsys.readouterr().err.strip()
    assert message in said
    assert "Traceback" not in said


def test_an_existing_sheet_is_kept_without_overwrite(flawed, tmp_path, capsys):
    out = tmp_path / "sheet.md"
    out.write_text("mine")
    argv = ["tasks", "datasheet", str(flawed), "--license", "x", "--out", str(out), "--limit", "1"]
    assert main(argv) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert main([*argv, "--overwrite"]) == 0
    assert out.read_text().startswith("# ")


def test_near_duplicates_equal_those_of_a_comparison_of_all_pairs():
    chance = random.Random(5)
    vocabulary = "the a fee park car hour day night price each for of is".split()
    requests = []
    for _ in range(60):
        words = [chance.choice(vocabulary) for _ in range(chance.randrange(1, 40))]
        for _ in range(4):
            words[chance.randrange(len(words))] = chance.choice(vocabulary)
            requests.append(" ".join(words))

    def trigrams(text):
        words = text.split()
        return {tuple(words[n : n + 3]) for n in range(max(len(words) - 3, 0) + 1)}

    def similar(one, other):
        return 5 * len(trigrams(one) & trigrams(other)) >= 4 * len(trigrams(one) | trigrams(other))

    found = [any(similar(one, other) for other in requests[:n]) for n, one in enumerate(requests)]
    assert 20 < sum(found) < 200
    assert near_duplicates(requests) == sum(found)


def test_near_duplicates_ignore_signature_case_and_punctuation():
    one = "Please count the eggs of my hens. The signature: def eggs(hens)"
    same = "please, count the eggs (of my hens)! The signature: def other_name(days, weeks)"
    assert near_duplicates([one, same, "Something else entirely: def eggs(hens)"]) == 1
    assert near_duplicates(["", ""]) == 1
    assert near_duplicates([]) == 0
