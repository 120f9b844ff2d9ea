"""States in which every decision is known, in dialogues written out here."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from colbench.asking.opening import opening
from colbench.errors import UserError
from colbench.messages import ANSWER_MARKER, Message
from colbench.stats import mean_interval
from colbench.task import Fact, Hidden, Task
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.critic.states import (
    known_states,
    preference,
    right_answer,
    still_hidden,
)
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Turn

LATE = "The last day is not late."
EMPTY = "Nothing gives 0."
SIGN = "A minus is a mistake."
REFERENCE = "def late(days):\n    return 0\n"
ANSWER = f"{ANSWER_MARKER}\ndef late(days):\n    return 1"


def a_task(request, *, family="", facts=True, **fields):
    known = (
        Fact(name="late", topics=("late",), statement=LATE),
        Fact(name="empty", topics=("empty",), statement=EMPTY),
        Fact(name="sign", topics=("sign",), statement=SIGN, stated=True),
    )
    hidden = Hidden(reference=REFERENCE, tests=("late(1)",), facts=known if facts else ())
    return Task(
        id=request, domain="backend", request=request, hidden=hidden, family=family, **fields
    )


ONE = a_task("Write it. A minus is a mistake.", family="late")
TWIN = a_task("Write that.", family="late")
STRANGER = a_task("Write this.", family="other")
PLAIN = a_task("Write something.", facts=False)
TASKS = {task.hash: task for task in (ONE, TWIN, STRANGER, PLAIN)}


def a_dialogue(name, task, *turns, answer=ANSWER):
    """Return a dialogue; turns are pairs of a reply and the human's reply to it."""
    replies = [*(reply for reply, _ in turns), answer]
    heard = [task.request, *(said for _, said in turns)]
    public = [reply.rpartition("OUTPUT:")[2].strip() for reply in replies]
    return Trajectory(
        id=name,
        task_id=task.id,
        task_hash=task.hash,
        domain="backend",
        privileged=REFERENCE,
        messages=tuple(
            Message(role=role, content=text)
            for both in zip(heard, replies, strict=True)
            for role, text in zip(("user", "assistant"), both, strict=True)
        ),
        said=tuple(text.partition(ANSWER_MARKER)[0].strip() for text in public),
        reward=0.0,
        ended_by="answer",
    )


WHOLE = a_dialogue(
    "whole",
    ONE,
    ("Late?", LATE),
    ("Empty?", f"{EMPTY} The rest of your question I don't know."),
    ("More?", "I don't know."),
)
OTHERS = [
    a_dialogue("other", ONE, ("Late?", "I don't know."), ("Hm. OUTPUT: Odd?", "I don't know.")),
    a_dialogue("twin", TWIN, ("Even?", "I don't know."), ("Empty?", EMPTY), ("Long?", LATE)),
    a_dialogue("stranger", STRANGER, ("Blue?", "I don't know.")),
    a_dialogue("plain", PLAIN, ("Red?", "I don't know.")),
]


def test_a_state_is_a_turn_after_all_hidden_facts_were_told():
    dropped = Counter()
    states = known_states([WHOLE, *OTHERS], TASKS, questions=9, dropped=dropped)
    assert [each.turn.name for each in states] == ["whole, turn 3", "whole, turn 4", "twin, turn 4"]
    assert dropped == {
        "dialogues about a task without known facts": 1,
        "dialogues without a turn at which every decision is known": 2,
    }


def test_everything_is_known_at_once_if_the_first_message_says_it():
    asked = a_dialogue("at once", TWIN, ("Sure?", "I don't know."))
    request = Message(role="user", content=opening(TWIN, "all"))
    at_once = replace(asked, messages=(request, *asked.messages[1:]))
    assert list(still_hidden(at_once, TWIN)) == [0, 0]
    assert list(still_hidden(asked, TWIN)) == [2, 2]
    states = known_states([at_once, *OTHERS], TASKS)
    assert [each.turn.name for each in states] == ["at once, turn 2", "twin, turn 4"]


def test_the_right_answer_is_compared_with_questions_of_the_task_then_its_family():
    states = known_states([WHOLE, *OTHERS], TASKS, questions=9)
    answer = f"{ANSWER_MARKER}\n{REFERENCE.strip()}"
    said = [[reply.text for reply in each.replies] for each in states]
    assert said[0] == [answer, "Odd?", "Even?"]
    assert said[1] == [answer, "Odd?", *said[1][2:]]
    assert set(said[1][2:]) == {"Even?", "Long?"}
    assert said[2][0] == answer
    assert set(said[2][1:]) == {"Late?", "More?", "Odd?"}
    fewer = known_states([WHOLE, *OTHERS], TASKS, questions=1)
    assert [[reply.text for reply in each.replies] for each in fewer] == [each[:2] for each in said]


def test_questions_depend_on_the_seed_and_not_on_the_order_of_dialogues():
    many = [a_dialogue(f"other {n}", ONE, (f"Question {n}?", "I don't know.")) for n in range(30)]

    def drawn(dialogues, seed):
        states = known_states(dialogues, TASKS, questions=4, seed=seed)
        return [reply.text for each in states for reply in each.replies]

    first = drawn([WHOLE, *many], 0)
    assert first == drawn([*reversed(many), WHOLE], 0)
    assert first != drawn([WHOLE, *many], 1)
    assert len(first) == 2 * 5


def test_a_state_requires_another_question():
    dropped = Counter()
    assert known_states([WHOLE], TASKS, dropped=dropped) == []
    assert dropped["states without a further question"] == 2
    loner = a_task("Write that and this.")
    alone = [a_dialogue("a", loner, ("Late?", f"{LATE} {EMPTY}")), *OTHERS]
    assert known_states(alone[:1], {**TASKS, loner.hash: loner}) == []
    assert known_states([WHOLE, *OTHERS], {}) == []
    with pytest.raises(UserError, match="`questions` is 0; expected at least 1"):
        known_states([WHOLE], TASKS, questions=0)


def test_the_diagnosis_says_why_it_has_no_states(chat, make_scorer, byte_model):
    from sweet_rl_trainer.methods.critic.diagnosis import Asked
    from sweet_rl_trainer.pipeline.read import read

    recipe = read("tiny-cpu", ["critic.max_length=8"])
    scorer = make_scorer(byte_model())
    critic = Asked(recipe=recipe, row_tokens=512, chat=chat, critic=scorer, reference=scorer)
    missing = {}
    assert critic.states([WHOLE, *OTHERS], TASKS, missing) is None
    reason = "in all 3 states, the answer or every question is too long (critic.max_length)"
    assert missing == {"states": reason}
    assert critic.states([WHOLE], TASKS, missing) is None
    assert missing == {"states": "no state qualifies (states without a further question: 2)"}


def test_the_answer_has_a_code_fence_if_most_answers_have_one():
    fenced = f"{ANSWER_MARKER}\n```python\nx\n```"
    dialogues = [replace(each, id=f"{each.id} {n}") for n in range(2) for each in [WHOLE, *OTHERS]]
    (plain, *_) = known_states(dialogues, TASKS)
    assert plain.replies[0].text == right_answer(ONE, fenced=False)
    dialogues += [a_dialogue(f"fenced {n}", PLAIN, answer=fenced) for n in range(11)]
    (state, *_) = known_states(dialogues, TASKS)
    expected = f"{ANSWER_MARKER}\n```python\n{REFERENCE.strip()}\n```"
    assert state.replies[0].text == expected
    page = replace(ONE, domain="frontend", hidden=Hidden(reference="<p>\n"))
    assert right_answer(page, fenced=True) == f"{ANSWER_MARKER}\n```html\n<p>\n```"


def test_preferences_are_averaged_over_tasks():
    pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
    from sweet_rl_trainer.methods.ranking.turns import Scored

    def state(dialogue, *scores):
        turn = Turn(trajectory=dialogue, number=1)
        replies = tuple(Reply(text=str(n)) for n in range(len(scores)))
        candidates = Candidates(turn=turn, replies=replies)
        return Scored(candidates=candidates, scores=scores, lengths=(1,) * len(scores))

    scored = [
        state(WHOLE, 2.0, 1.0, 5.0),  # mean 3, best 5
        state(WHOLE, 2.0, 0.0, None, 3.0),  # mean 1.5, best 3
        state(WHOLE, 2.0, 1.0, 3.0),  # mean 2: a tie
        state(OTHERS[1], 1.0, 0.0, 0.5),
        state(OTHERS[1], None, 0.0, 0.5),  # an answer too long to be scored
        state(OTHERS[1], 1.0, None),
    ]
    found = preference(scored)
    assert found.mean == mean_interval([[1.0, 0.0, 0.5], [0.0]])
    assert found.best == mean_interval([[1.0, 1.0, 1.0], [0.0]])
    assert found.answer == pytest.approx((2 + 1) / 2)
    assert found.question == pytest.approx(((3 + 1.5 + 2) / 3 + 0.25) / 2)
    assert (found.states, found.tasks) == (4, 2)
    assert preference(scored[4:]) is None
