"""The attack corpus: every attack succeeds on a naive evaluator, and none succeeds in the sandbox, on any tier."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from pathlib import Path

import pytest
from marking import mostly
from msgspec.structs import replace
from sandbox_tiers import SAFE

from colbench.cli import main
from colbench.cli.attack import print_report
from colbench.domains.backend.answers import banned_text
from colbench.domains.backend.scorer import UnitTestScorer
from colbench.sandbox.attacks import Canary, Finding, Report, attack_sandbox, attacks, controls
from colbench.sandbox.attacks.campaign import LANES
from colbench.sandbox.attacks.victim import VICTIM
from colbench.score import Check

NAIVE = Path(__file__).with_name("naive_evaluator.py")
SAMPLE = 8
"""`make test` runs one in this many attacks."""
TASK = json.dumps({"reference": VICTIM.hidden.reference, "calls": VICTIM.hidden.tests})


def run_on_naive_evaluator(attack, folder):
    """Run an attack on the naive evaluator, in its own folder; return what it reaches."""
    folder.mkdir()
    with Canary() as canary:
        answers = json.dumps([attack.answer(canary), controls()[0].answer(canary)])
        seconds = 1.2 if attack.aim == "hang" else 20.0
        naive = subprocess.Popen(
            [sys.executable, "-I", "-S", "-W", "ignore", str(NAIVE), TASK, str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            text=True,
        )
        try:
            output = naive.communicate(answers, timeout=seconds + 5)[0]
            reached = set(json.loads(output)) if output else {"end"}
        except subprocess.TimeoutExpired:
            naive.kill()
            naive.communicate()
            reached = {"hang"}
        return reached | ({"trace"} if canary.traces() else set())


@pytest.fixture(scope="module")
def naive_results(tmp_path_factory):
    """Return what each attack and control reaches on the naive evaluator."""
    folder = tmp_path_factory.mktemp("naive")
    everything = (*attacks(), *controls())
    with ThreadPoolExecutor(6) as pool:
        found = pool.map(
            run_on_naive_evaluator, everything, [folder / str(n) for n in range(len(everything))]
        )
        return dict(zip([(attack.kind, attack.name) for attack in everything], found, strict=True))


@pytest.mark.weekly
@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: f"{attack.kind}: {attack.name}")
def test_every_attack_succeeds_without_a_sandbox(naive_results, attack):
    assert attack.aim in naive_results[attack.kind, attack.name]


@pytest.mark.weekly
@pytest.mark.parametrize("control", controls(), ids=lambda control: control.name)
def test_every_control_reaches_nothing_but_its_score(naive_results, control):
    assert naive_results[control.kind, control.name] == {"score"}


@pytest.mark.parametrize("tier", SAFE[:1])
async def test_no_attack_of_a_sample_succeeds(tier):
    some = (*attacks()[::SAMPLE], *controls()[:2])
    report = await attack_sandbox(UnitTestScorer, tier=tier, chosen=some)
    assert len(report.findings) == len(some) + 1
    assert [found for found in report.findings if found.faults] == []


@pytest.mark.slow
@pytest.mark.parametrize("tier", mostly(pytest.mark.weekly, SAFE, *SAFE[:1], *SAFE[-1:]))
async def test_no_attack_succeeds_and_every_control_scores_1(tier):
    report = await attack_sandbox(UnitTestScorer, tier=tier)
    assert report.environment.startswith(f"{tier} ")
    assert len(report.findings) == len(attacks()) + len(controls()) + 1
    assert [found for found in report.findings if found.faults] == []


async def test_the_unsafe_tier_reports_the_faults_of_successful_attacks():
    kinds = {
        "a connection",
        "a raw file",
        "a daemon",
        "the task file on the disk, as a raw file",
    }
    report = await attack_sandbox(
        UnitTestScorer,
        tier="T2",
        allow_unsafe=True,
        chosen=[attack for attack in attacks() if attack.name in kinds],
    )
    faults = {found.name: found.faults for found in report.successes}
    assert faults["a connection"] == ("a connection by TCP",)
    assert faults["the task file on the disk, as a raw file"] == (
        "scored 1.0 in default mode",
        "scored 1.0 in official mode",
    )
    assert "processes left over: " in faults["processes and memory"][0]
    assert set(faults) == kinds - {"a daemon"} | {"processes and memory"}


class Slow(UnitTestScorer):
    """A scorer whose honest answers run out of time when the next item of `late` is true."""

    def __init__(self, box, late):
        super().__init__(box)
        self._late = late

    async def score(self, task, answer):
        scores = await super().score(task, answer)
        if scores["default"].value != 1 or not next(self._late):
            return scores
        checks = (Check(call="f()", outcome="timeout"),)
        return {mode: replace(score, value=0.0, checks=checks) for mode, score in scores.items()}


@pytest.mark.parametrize(
    ("late", "faults"),
    [
        ([True], ()),
        ([False, True], ()),
        (
            [True] * 4,
            (
                "an honest answer that waited behind the attack ran out of time",
                "the next honest answer ran out of time",
            ),
        ),
    ],
    ids=["behind the attack", "after the attack", "every time"],
)
async def test_an_honest_answer_that_times_out_is_a_fault_only_if_it_does_so_again(late, faults):
    told = chain([False] * LANES, late, repeat(False))
    attack = attacks()[0]
    report = await attack_sandbox(lambda box: Slow(box, told), tier=SAFE[0], chosen=[attack])
    assert [found.faults for found in report.findings if found.name == attack.name] == [faults]
    assert report.sound == (not faults)


def test_no_attack_contains_text_that_official_mode_bans():
    with Canary() as canary:
        assert {attack.name for attack in attacks() if banned_text(attack.answer(canary))} == set()


def test_the_table_shows_every_outcome_and_the_totals(capsys):
    findings = (
        Finding(kind="host", name="a file", control=False, faults=("a change of files",)),
        Finding(kind="host", name="a folder", control=False, faults=()),
        Finding(kind="controls", name="threads", control=True, faults=("scored 0.5 instead of 1",)),
        Finding(kind="controls", name="a helper", control=True, faults=()),
    )
    report = Report(environment="T0 bubblewrap+seccomp", findings=findings)
    print_report(report)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "class attack outcome",
        "host a file a change of files",
        "host a folder stopped",
        "controls threads scored 0.5 instead of 1",
        "controls a helper scored 1",
        "T0 bubblewrap+seccomp",
        "1 of 2 attacks succeeded (host 2)",
        "1 of 2 honest answers scored 1",
    ]
    assert not report.sound


def test_an_unknown_tier_is_a_user_error(capsys):
    assert main(["doctor", "--attack", "--tier", "T9"]) == 2
    assert "unknown sandbox tier T9; known: T0" in capsys.readouterr().err


def test_the_documentation_gives_the_number_of_attacks_of_every_class():
    text = Path(__file__).parents[2].joinpath("docs", "sandbox.md").read_text("utf-8")
    documented = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.MULTILINE))
    assert documented == {
        kind: str(count) for kind, count in Counter(attack.kind for attack in attacks()).items()
    }


def test_names_of_attacks_and_controls_are_unique_in_their_class():
    names = [(attack.kind, attack.name) for attack in (*attacks(), *controls())]
    assert len(names) == len(set(names))
