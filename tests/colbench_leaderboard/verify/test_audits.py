"""The audits' rules for disclosed facts, used facts, copies, and improbable answers, on small cases."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from colbench.domain import Domain
from colbench.domains.backend.copies import syntax
from colbench.registry import get_domain
from colbench.rollout import Failure, Rollout, Turn
from colbench.task import Fact, Hidden, Task
from colbench_leaderboard.bundle.read import Cell
from colbench_leaderboard.verify.disclosure import Disclosure, disclosure, heard, was_told
from colbench_leaderboard.verify.evidence import Evidence
from colbench_leaderboard.verify.findings import MOST, Findings
from colbench_leaderboard.verify.guessing import GuessRates
from colbench_leaderboard.verify.protocol import check
from colbench_leaderboard.verify.replay import sample
from colbench_tasks.designs import of
from colbench_tasks.families import FAMILIES
from colbench_tasks.generate import generate

REFERENCE = """
def price(words, days):
    total = 80 * len(words)
    if days > 4:
        total = total * 17 // 20
    if total < 350:
        return 'too cheap'
    return total
"""
FACTS = (
    Fact(name="word", topics=("word",), statement="Each word costs 80 cents."),
    Fact(
        name="days", topics=("days",), statement="From 5 days on, that is after 4, it is 17 of 20."
    ),
    Fact(name="least", topics=("least",), statement="Below 350 I say 'too cheap'."),
    Fact(name="order", topics=("order",), statement="The oldest message is always printed first."),
)


def task(facts: tuple[Fact, ...] = FACTS) -> Task:
    hidden = Hidden(reference=REFERENCE, tests=("price([], 1)",), facts=facts)
    return Task(
        id="a", domain="backend", request="A price, please. def price(words, days)", hidden=hidden
    )


def played(answer: str, *replies: str, own: Task | None = None) -> Rollout:
    own = own or task()
    asked = tuple(Turn(raw="And?", said="And?", human=reply) for reply in replies)
    return Rollout(
        key="k",
        task_id=own.id,
        task_hash=own.hash,
        domain="backend",
        trial=0,
        seed=0,
        request=own.request,
        turns=(*asked, Turn(raw=f"I WANT TO ANSWER:{answer}", said="")),
        answer=answer.strip(),
        ended_by="answer",
    )


def copied(own: Task, source: str) -> bool:
    return get_domain(own.domain).copied(own, source)


def disclosed(
    own: Task, rollout: Rollout, *, success: bool | None, keyless: bool = True
) -> Disclosure:
    return disclosure(own, rollout, success=success, rates=GuessRates([own]), keyless=keyless)


def told(fact: Fact, *replies: str) -> bool:
    return was_told(task(), fact, [heard(task(), reply) for reply in replies])


def test_a_fact_is_disclosed_by_its_statement_numbers_or_most_of_its_words():
    word, days, _, order = FACTS
    assert told(word, "Hello! Each word costs 80 cents.")
    assert told(word, "It's 80 for every one.")
    assert told(days, "17 of 20 after 4 days.")
    assert told(order, "Print the oldest messages first, always.")
    assert not told(word, "I don't know.", "The oldest message is first.")
    assert not told(days, "It is 17 of something.")
    assert not told(order, "The newest.")


def test_wrong_answers_use_the_facts_they_contain_and_right_ones_use_all():
    wrong = disclosed(task(), played("def price(w, d):\n    return 80 * len(w)"), success=False)
    assert (wrong.hidden, wrong.untold, wrong.used, wrong.knew) == (4, 4, 1, False)
    fair = played("def price(w, d):\n    return 80 * len(w)", "Each word costs 80 cents.")
    assert disclosed(task(), fair, success=False).used == 0
    right = disclosed(task(), played("anything"), success=True)
    assert (right.used, right.share, right.knew) == (4, 1.0, True)
    assert disclosed(task(), played(""), success=False).share == 0.0


def test_a_fact_that_the_agent_asked_a_model_about_counts_as_disclosed():
    asked = Turn(raw="?", said="What is the least that you take?", human="Nothing tiny, please.")
    last = Turn(raw="I WANT TO ANSWER:x", said="")
    talk = msgspec.structs.replace(played("x"), turns=(asked, last))
    assert disclosed(task(), talk, success=False).untold == 4
    assert disclosed(task(), talk, success=False, keyless=False).untold == 3


def test_a_task_without_facts_hides_the_numbers_and_strings_of_its_reference():
    plain = task(facts=())
    copied = disclosed(plain, played(REFERENCE, own=plain), success=True)
    # 80, 4, 17, 20, 350 and 'too cheap'
    assert (copied.hidden, copied.untold, copied.used) == (6, 6, 6)
    assert copied.copied
    assert copied.knew
    fair = played(REFERENCE, "80 each, 17 of 20 after 4 days, and 350 is too cheap.", own=plain)
    assert disclosed(plain, fair, success=True).untold == 0
    other = played("def price(w, d):\n    return 80 * len(w)", own=plain)
    assert not disclosed(plain, other, success=True).knew


def test_a_copy_is_detected_by_its_syntax_despite_other_names_and_layout():
    renamed = REFERENCE.replace("total", "t").replace("words", "w").replace("'", '"')
    dressed = renamed.replace("t = 80", '"""Doc."""\n    t: int = 80').replace("t: int =", "t =")
    assert copied(task(), REFERENCE)
    assert copied(task(), renamed)
    assert copied(task(), "# mine\n" + dressed)
    assert not copied(task(), "def price(words, days):\n    return 80 * len(words)")
    assert not copied(task(), REFERENCE + REFERENCE * 3)
    assert not copied(task(), "def price(:")
    assert not copied(task(), "(" * 5000)


def test_other_domains_detect_copies_by_words_numbers_and_signs():
    class Queries(Domain):
        name = "queries"

    query = "SELECT name, sum(price) FROM sales WHERE year = 2024 GROUP BY name ORDER BY 2 DESC"
    own = msgspec.structs.replace(task(), domain="queries", hidden=Hidden(reference=query))
    assert Queries().copied(own, query.lower().replace(" ", "\n"))
    assert not Queries().copied(own, query.replace("ORDER BY 2 DESC", ""))
    assert not Queries().copied(own, f"{query} " * 4)
    short = msgspec.structs.replace(own, hidden=Hidden(reference="SELECT 1"))
    assert not Queries().copied(short, "SELECT 1")


def test_syntax_ignores_names_but_not_swapped_variables():
    assert syntax("a - b") == syntax("x - y")
    assert syntax("a - b - a") != syntax("a - b - b")


def test_a_wrong_answer_is_not_a_copy():
    assert not disclosed(task(), played(REFERENCE), success=False).copied


def judged(*groups: tuple[int, int, int], hidden: int = 5, rate: float = 0.4) -> set[str]:
    """Return the broken rules of an entry. Each group is (undisclosed facts, right answers, wrong answers)."""
    findings, evidence, tasks = Findings(), Evidence(), 0
    for untold, right, wrong in groups:
        for knew in [True] * right + [False] * wrong:
            told = Disclosure(
                hidden=hidden,
                untold=untold,
                used=untold if knew else 0,
                rates=(rate,) * untold,
                knew=knew,
                copied=False,
            )
            evidence.add(f"task-{tasks}", 0, told)
            tasks += 1
    evidence.report(findings)
    return {one.rule for one in findings.all()}


def test_the_guess_rate_of_a_decision_is_the_share_of_its_most_common_choice():
    family = FAMILIES["grading"]
    tasks = generate(family, 12, "rates")
    rates, hidden = GuessRates(tasks), tasks[0].hidden.facts
    for fact in hidden:
        chosen = Counter(of(each).chosen[fact.name] for each in tasks)
        assert rates.rate(tasks[0], fact) == (max(chosen.values()) + 1) / 14
    assert GuessRates([task()]).rate(task(), FACTS[0]) == 0.5


def test_answers_that_guessing_explains_are_not_flagged():
    assert judged((0, 1000, 0)) == set()
    assert judged((5, 3, 97), (1, 420, 580), (2, 170, 830)) == set()


def test_right_answers_with_one_or_two_undisclosed_facts_count():
    assert judged((1, 8, 0)) == {"audit.undisclosed"}
    assert judged((1, 7, 0)) == set()
    assert "audit.undisclosed" in judged((2, 40, 0))


def test_a_few_improbable_answers_are_flagged_among_many_probable_ones():
    assert judged((1, 400, 600), (5, 6, 0)) == {"audit.undisclosed"}


def test_wrong_answers_that_use_undisclosed_facts_are_flagged_by_their_mean():
    findings, evidence = Findings(), Evidence()
    for number in range(100):
        told = Disclosure(hidden=5, untold=5, used=4, rates=(0.4,) * 5, knew=False, copied=False)
        evidence.add(f"task-{number}", 0, told)
    evidence.report(findings)
    assert [one.rule for one in findings.all()] == ["audit.undisclosed-mean"]
    assert evidence.mean_excess()[0] == pytest.approx(0.4)


def test_trials_of_one_task_are_not_independent_evidence():
    findings, evidence = Findings(), Evidence()
    for trial in range(50):
        told = Disclosure(hidden=5, untold=1, used=1, rates=(0.4,), knew=True, copied=True)
        for task in ("a", "b"):
            evidence.add(task, trial, told)
    evidence.report(findings)
    assert findings.all() == ()


def test_findings_of_a_rule_beyond_a_limit_are_only_counted():
    findings = Findings()
    for number in range(MOST + 1234):
        findings.add("grid.missing-cell", f"number {number}")
    told = findings.all()
    assert len(told) == MOST + 1
    assert told[-1].message == "and 1,234 more of these"
    assert not findings.refused


def test_findings_contain_no_terminal_control_characters():
    findings = Findings()
    findings.add("lock.config", "\\x1b[2J\x1b[2J\u202ehidden", "a\x1b\u202eb")
    (found,) = findings.all()
    assert "\x1b" not in found.message + found.file
    assert "\u202e" not in found.message + found.file


def test_the_sample_depends_on_the_bundle_and_its_size_is_rounded_up():
    cells = [(f"task-{n}", trial) for n in range(1000) for trial in range(2)]
    drawn = sample("d" * 64, cells, 0.25)
    assert len(drawn) == 500
    assert drawn < set(cells)
    assert sample("d" * 64, reversed(cells), 0.25) == drawn
    assert sample("e" * 64, cells, 0.25) != drawn
    assert sample("d" * 64, cells, 1.0) == set(cells)
    assert not sample("d" * 64, cells, 0.0)
    assert len(sample("d" * 64, cells[:6], 0.1)) == 1
    assert len(sample("d" * 64, cells[:30], 0.1)) == 3


def flaws(**changes: object) -> set[str]:
    from msgspec.structs import replace

    findings = Findings()
    rollout = replace(played("def f(): pass", "80."), **changes)
    check(Cell("f", 1, rollout), task(), 3, findings)
    return {one.rule for one in findings.all()}


ASK = Turn(raw="And?", said="And?", human="80.")
LAST = Turn(raw="I WANT TO ANSWER:x", said="")


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({}, set()),
        ({"turns": ()}, {"protocol.end"}),
        ({"turns": (ASK,)}, {"protocol.human", "protocol.end"}),
        ({"turns": (Turn(raw="And?", said="And?"), LAST), "answer": "x"}, {"protocol.human"}),
        ({"turns": (LAST, LAST), "answer": "x"}, {"protocol.human", "protocol.early-end"}),
        (
            {"turns": (ASK, Turn(raw=LAST.raw, said="", human="Hm.")), "answer": "x"},
            {"protocol.human"},
        ),
        ({"ended_by": "limit"}, {"protocol.end"}),
        (
            {"ended_by": "limit", "turns": (Turn(raw="x", said="x"),), "answer": "x"},
            {"protocol.end"},
        ),
        ({"ended_by": "limit", "turns": (ASK, ASK, Turn(raw="x", said="x")), "answer": "x"}, set()),
        ({"ended_by": "limit", "turns": (ASK, ASK, Turn(raw="x", said="x"))}, {"protocol.answer"}),
        ({"ended_by": "failure"}, {"protocol.end", "protocol.failure"}),
        ({"answer": None}, {"protocol.answer"}),
        ({"failure": Failure(boundary="sandbox", reason="it was not scored there")}, set()),
        ({"failure": Failure(boundary="endpoint", reason="no")}, {"protocol.failure"}),
    ],
)
def test_an_impossible_end_of_a_dialogue_is_refused(changes, rules):
    assert flaws(**changes) == rules
