"""Ways around a defence: copies in other clothes, answers and messages made to break or to hold up who reads them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from colbench.config import digest
from colbench.domains.backend.human.human import answer as of_code
from colbench.facts.human import answer as of_facts
from colbench.registry import get_domain
from colbench.rollout import Rollout, Turn
from colbench.task import Hidden, Task
from colbench_leaderboard.verify.disclosure import disclosure
from colbench_leaderboard.verify.guessing import GuessRates
from colbench_leaderboard.verify.lock import MOST


def in_private(lines):
    for line in lines:
        for turn in line["turns"]:
            turn["raw"] = f"A thought of my own. OUTPUT: {turn['raw']}"


def in_other_layout(lines):
    for line in lines:
        for turn in line["turns"][:-1]:
            turn["raw"] = turn["said"] = turn["said"].replace(" ", "  ").upper()
        last = line["turns"][-1]
        line["answer"] = line["answer"].replace("\n    ", "\n  ").replace(" = ", "=")
        last["raw"] = f"I WANT TO ANSWER:\n{line['answer']}"


def reworded(lines):
    """Add a word to every question and a comment to every answer."""
    for line in lines:
        for turn in line["turns"][:-1]:
            words = turn["said"].split()
            words.insert(len(words) // 2, "indeed")
            turn["raw"] = turn["said"] = " ".join(words)
        line["answer"] += "\n# mine"
        line["turns"][-1]["raw"] = f"I WANT TO ANSWER:\n{line['answer']}"


def test_a_copy_with_a_word_more_a_question_and_a_comment_is_flagged(interviewer, forge, verify):
    """The human is not asked again here, as other words may get another reply."""
    copy = forge(interviewer, reworded, submission=lambda one: one.update(name="Somebody else"))
    receipt = verify(copy, "--against", str(interviewer), "--replay", "0", code=0)
    (found,) = [one for one in receipt["findings"] if one["rule"] == "audit.duplicates"]
    assert "6 of 6 dialogues" in found["message"]
    assert "0 of them word for word" in found["message"]


@pytest.mark.parametrize("dress", [in_private, in_other_layout])
def test_transcripts_in_other_clothes_are_still_the_same(interviewer, forge, verify, dress):
    """The human is not asked again here, as what was said to it may be in capitals."""
    copy = forge(interviewer, dress, submission=lambda one: one.update(name="Somebody else"))
    receipt = verify(copy, "--against", str(interviewer), "--replay", "0", code=0)
    (found,) = [one for one in receipt["findings"] if one["rule"] == "audit.duplicates"]
    assert "6 of 6 dialogues" in found["message"]


def test_transcripts_under_other_seeds_and_trials_are_still_the_same(
    interviewer, bundle_of, verify
):
    again = bundle_of("again", "--agent", "interviewer", "--seed", "7", "--trials", "2")
    receipt = verify(again, "--against", str(interviewer), code=0)
    (found,) = [one for one in receipt["findings"] if one["rule"] == "audit.duplicates"]
    assert "12 of 12 dialogues" in found["message"]


def test_a_number_too_long_to_be_written_breaks_no_audit():
    reference = (
        "def f(x):\n" + "".join(f"    x = x * {n} + {n}\n" for n in range(100)) + "    return x"
    )
    task = Task(id="a", domain="backend", request="?", hidden=Hidden(reference=reference))
    assert get_domain("backend").copied(task, f"{reference}\n_ = 0x{'f' * 4000}\n")


def page_of(words):
    return f"<html><body>{''.join(f'<p>{word} is {n}</p>' for n, word in enumerate(words))}</body></html>"


def played(task, answer):
    return Rollout(
        key="k",
        task_id=task.id,
        task_hash=task.hash,
        domain=task.domain,
        trial=0,
        seed=0,
        request=task.request,
        turns=(Turn(raw=f"I WANT TO ANSWER:{answer}", said=""),),
        answer=answer,
        ended_by="answer",
    )


def test_a_copied_page_is_known_however_much_stands_around_it():
    reference = page_of(f"word{n}" for n in range(40))
    task = Task(id="a", domain="frontend", request="A page.", hidden=Hidden(reference=reference))
    rates = GuessRates([task])
    padded = reference.replace("</body>", f"<!--{'x ' * 300_000}--></body>")
    for answer in (padded, f"{'Well. ' * 500_000}\n```html\n{reference}\n```"):
        assert disclosure(task, played(task, answer), success=None, rates=rates).copied
    assert not disclosure(task, played(task, page_of("abc")), success=None, rates=rates).copied


def priced(lock):
    lock["config"]["agent_price"] = [1e308, 1e308]


def long_source(lock):
    lock["config"]["tasks"] = lock["pins"]["config"]["tasks"] = lock["tasks"]["source"] = "x" * 5000
    lock["digest"] = digest(lock["pins"])


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (priced, "lock.config"),
        (long_source, "lock.text"),
        (lambda lock: lock.update(sandbox="x" * 5000), "lock.text"),
        (lambda lock: lock.update(started="2026-13-32T25:61:61Z"), "lock.text"),
    ],
)
def test_what_would_break_the_site_or_fill_its_pages_is_refused(
    interviewer, forge, verify, change, rule
):
    assert verify.rules(forge(interviewer, lock=change), code=1) == {rule}


@pytest.mark.parametrize("name", ["trials", "max_turns"])
def test_a_grid_of_endless_size_is_refused_at_once(interviewer, forge, verify, name):
    def change(lock):
        lock["config"][name] = lock["pins"]["config"][name] = 10**18
        lock["tasks"]["trials"] = lock["config"].get("trials", 1)
        lock["digest"] = digest(lock["pins"])

    receipt = verify(forge(interviewer, lock=change), code=1)
    assert [(one["rule"], one["message"]) for one in receipt["findings"]] == [
        ("lock.config", f"`{name}` is {10**18}; at most {MOST[name]} is allowed")
    ]


def test_a_human_that_is_only_called_keyless_is_refused(interviewer, forge, verify):
    """Else its replies would not be asked for again."""

    def replace_human(lock):
        lock["pins"]["human"] = {"class": "mine:Human"}
        lock["digest"] = digest(lock["pins"])

    def make_up(lines):
        lines[0]["turns"][0]["human"] = "Here is all that I know."

    assert verify.rules(forge(interviewer, make_up, lock=replace_human), code=1) == {"lock.pins"}


@pytest.mark.parametrize("unit", [":", "\n", " ", ": ", ", and ", "(", "?\n", "`", "e.g. "])
def test_no_message_holds_up_the_human(tasks, unit):
    """Read long messages quickly: with time quadratic in the length, each of these took minutes."""
    said = unit * (20_000 // len(unit))
    without_facts = replace(tasks[0], hidden=replace(tasks[0].hidden, facts=()))
    assert of_facts(tasks[0], said)
    assert of_code(without_facts, said)
