"""Ways around a defense: disguised copies, and texts that are meant to crash or slow down their readers."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest
from msgspec.structs import replace

from colbench.config import digest
from colbench.domains.backend.human.human import answer as of_code
from colbench.facts.human import answer as of_facts
from colbench.registry import get_domain
from colbench.rollout import Rollout, Turn
from colbench.task import Hidden, Task
from colbench_leaderboard.bundle.lock_rules import MOST
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.verify.disclosure import disclosure
from colbench_leaderboard.verify.guessing import GuessRates
from colbench_leaderboard.verify.receipt import Receipt
from colbench_leaderboard.verify.transcripts import duplicated


def with_private_text(lines):
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


def test_a_copy_with_an_extra_word_per_question_and_a_comment_is_flagged(
    interviewer, forge, verify
):
    """Verify without replay, because other words may get another reply."""
    copy = forge(interviewer, reworded, submission=lambda one: one.update(name="Somebody else"))
    receipt = verify(copy, "--against", str(interviewer), "--replay", "0", code=0)
    (found,) = [one for one in receipt["findings"] if one["rule"] == "audit.duplicates"]
    assert "6 of 6 dialogues" in found["message"]
    assert "0 of them word for word" in found["message"]


def test_a_copy_of_parts_of_three_entries_is_flagged(interviewer, forge, verify, tmp_path):
    parts = [
        forge(interviewer, partial(keep_each_third, part)).rename(tmp_path / f"part-{part}")
        for part in range(3)
    ]
    against = [word for part in parts for word in ("--against", str(part))]
    receipt = verify(interviewer, *against, code=0)
    found = [one["message"] for one in receipt["findings"] if one["rule"] == "audit.duplicates"]
    assert len(found) == 3
    for message in found:
        assert message.startswith("2 of 6 dialogues")
        assert "(together with other entries: 6): bundle " in message
    digests = {read_bundle(part).digest for part in parts}
    assert set(duplicated(msgspec.convert(receipt, Receipt))) == digests


def keep_each_third(part, lines):
    lines[:] = lines[part::3]


@pytest.mark.parametrize("dress", [with_private_text, in_other_layout])
def test_disguised_transcripts_are_detected_as_duplicates(interviewer, forge, verify, dress):
    """Verify without replay, because the messages to the human may be in capitals."""
    copy = forge(interviewer, dress, submission=lambda one: one.update(name="Somebody else"))
    receipt = verify(copy, "--against", str(interviewer), "--replay", "0", code=0)
    (found,) = [one for one in receipt["findings"] if one["rule"] == "audit.duplicates"]
    assert "6 of 6 dialogues" in found["message"]


def test_transcripts_with_other_seeds_and_trials_are_detected_as_duplicates(
    interviewer, bundle_of, verify
):
    again = bundle_of("again", "--agent", "interviewer", "--seed", "7", "--trials", "2")
    receipt = verify(again, "--against", str(interviewer), code=0)
    (found,) = [one for one in receipt["findings"] if one["rule"] == "audit.duplicates"]
    assert "12 of 12 dialogues" in found["message"]


def test_a_number_with_thousands_of_digits_does_not_break_copy_detection():
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


def test_a_copied_page_is_detected_inside_any_amount_of_other_text():
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
        (lambda lock: lock.update(sandbox=f"x | {'y' * 301}"), "lock.text"),
        (lambda lock: lock.update(browser=" | ".join(map(str, range(21)))), "lock.text"),
        (lambda lock: lock.update(started="2026-13-32T25:61:61Z"), "lock.text"),
    ],
)
def test_lock_values_that_would_break_or_fill_the_site_are_refused(
    interviewer, forge, verify, change, rule
):
    assert verify.rules(forge(interviewer, lock=change), code=1) == {rule}


@pytest.mark.parametrize("name", ["trials", "max_turns"])
def test_a_huge_number_of_trials_or_turns_is_refused(interviewer, forge, verify, name):
    def change(lock):
        lock["config"][name] = lock["pins"]["config"][name] = 10**18
        lock["tasks"]["trials"] = lock["config"].get("trials", 1)
        lock["digest"] = digest(lock["pins"])

    receipt = verify(forge(interviewer, lock=change), code=1)
    assert [(one["rule"], one["message"]) for one in receipt["findings"]] == [
        ("lock.config", f"`{name}` is {10**18}; at most {MOST[name]} is allowed")
    ]


def test_another_human_recorded_as_keyless_is_refused(interviewer, forge, verify):
    """Record another human as keyless; if accepted, its replies would not be replayed."""

    def replace_human(lock):
        lock["pins"]["human"] = {"class": "mine:Human"}
        lock["digest"] = digest(lock["pins"])

    def make_up(lines):
        lines[0]["turns"][0]["human"] = "Here is all that I know."

    assert verify.rules(forge(interviewer, make_up, lock=replace_human), code=1) == {"lock.pins"}


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("unit", [":", "\n", " ", ": ", ", and ", "(", "?\n", "`", "e.g. "])
def test_the_human_replies_quickly_to_long_repetitive_messages(tasks, unit):
    """Read long messages. When the time was quadratic in the length, each of these took minutes."""
    said = unit * (20_000 // len(unit))
    without_facts = replace(tasks[0], hidden=replace(tasks[0].hidden, facts=()))
    assert of_facts(tasks[0], said)
    assert of_code(without_facts, said)
