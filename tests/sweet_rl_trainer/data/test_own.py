"""Own dialogues: the trajectory of a line, and the error for a wrong line."""

from __future__ import annotations

import json

import pytest

from colbench.domain import Domain
from colbench.errors import DataError, UserError
from sweet_rl_trainer.data.own import read_own
from sweet_rl_trainer.data.privileged import preface_of

TALK = (("user", "A table, please."), ("assistant", "For how many?"), ("user", "Four."))
TALK = (*TALK, ("assistant", "Booked for four."))


def line(*said, **fields):
    messages = [{"role": role, "content": content} for role, content in said or TALK]
    return {"messages": messages, "reward": 1.0, **fields}


def read(tmp_path, *lines):
    path = tmp_path / "my.jsonl"
    path.write_text(
        "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines)
    )
    return list(read_own(path))


def test_a_line_becomes_a_trajectory_with_unchanged_messages(tmp_path):
    (found,) = read(tmp_path, line(("system", "You book tables."), *TALK, privileged="four at 8"))
    assert [each.role for each in found.messages] == ["system"] + ["user", "assistant"] * 2
    assert found.replies == found.said == ("For how many?", "Booked for four.")
    assert (found.id, found.reward, found.privileged) == ("line 1", 1.0, "four at 8")
    assert (found.ended_by, found.prompts, found.sampled) == ("unknown", (), ())
    (answered,) = read(tmp_path, line(TALK[0], ("assistant", "I WANT TO ANSWER: four")))
    assert answered.ended_by == "answer"


def test_a_byte_order_mark_before_the_first_line_is_ignored(tmp_path):
    (found,) = read(tmp_path, "\ufeff" + json.dumps(line()))
    assert found.id == "line 1"


def test_dialogues_are_grouped_by_task_or_by_first_user_message(tmp_path):
    other = (("user", "A taxi."), ("assistant", "Where to?"))
    found = read(
        tmp_path,
        line(),
        line(("system", "Be kind."), *TALK[:2], reward=0),
        line(*other),
        line(*other, task="a"),
        "  ",
        line(task="a"),
    )
    hashes = [each.task_hash for each in found]
    assert hashes[0] == hashes[1] != hashes[2] != hashes[3] == hashes[4]
    assert found[-1].id == "line 6"
    assert found[-1].task_id == "a"


def test_privileged_text_has_the_general_wording_or_that_of_its_domain(tmp_path):
    plain, backend = read(
        tmp_path, line(privileged="four"), line(privileged="def f(): 0", domain="backend")
    )
    note = Domain.privileged_note.replace("{reference}", "four")
    assert preface_of(plain, "preamble").text == note
    assert "this Python function" in preface_of(backend, "preamble").text


def test_a_missing_privileged_text_is_reported_with_its_line(tmp_path):
    (found,) = read(tmp_path, line())
    said = r"line 1: privileged information is missing; .*critic.privileged = .none."
    with pytest.raises(UserError, match=said):
        preface_of(found, "preamble")


WRONG = {
    "messages: required, but missing": {"reward": 1},
    "reward: required, but missing": {"messages": []},
    r"rewrad: unknown key; did you mean `reward`\?": line(rewrad=1),
    r"messages\[0\].contents: unknown key; did you mean `content`\?": {
        "messages": [{"role": "user", "contents": "A."}],
        "reward": 1,
    },
    r"messages\[0\].text: unknown key; use the key `content`": {
        "messages": [{"role": "user", "text": "A."}],
        "reward": 1,
    },
    r"messages\[0\].from: unknown key; use the key `role`": {
        "messages": [{"from": "human", "value": "A."}],
        "reward": 1,
    },
    r"messages\[0\].role: expected .*assistant.*, got human": line(("human", "A.")),
    r"messages\[1\].content: expected a string": line(TALK[0], ("assistant", ["B."])),
    "reward: expected a number, got True": line(reward=True),
    'reward: expected a number, got "1.0"': line(reward="1.0"),
    "messages: empty": line() | {"messages": []},
    "messages: only a system message; a dialogue needs": line(("system", "Be kind.")),
    r"messages\[0\]: the first message is the assistant's": line(*TALK[1:]),
    r"messages\[2\]: the role is assistant, but must be user after": line(*TALK[:2], TALK[1]),
    r"messages\[2\]: the role is system, but must be user after": line(
        *TALK[:2], ("system", "Be kind."), *TALK[2:]
    ),
    "messages: the last message is the user's; .* add the assistant's reply": line(*TALK[:3]),
    "domain: unknown domain `backnd`; .* backend": line(domain="backnd"),
    "with finite numbers": json.dumps(line(reward=float("nan"))),
    "out of range .* finite numbers": json.dumps(line()).replace("1.0", "1e999"),
    "write one JSON object per line": "{",
    "expected a table": "[]",
}


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_line_is_reported_with_file_line_and_reason(said, tmp_path):
    with pytest.raises(DataError, match=rf"my.jsonl:2: .*({said})"):
        read(tmp_path, line(), WRONG[said])


def test_an_empty_file_and_a_missing_one_are_errors(tmp_path):
    with pytest.raises(DataError, match="my.jsonl: contains no dialogue; write one JSON object"):
        read(tmp_path, "", " ")
    with pytest.raises(DataError, match="gone.jsonl: cannot be read"):
        list(read_own(tmp_path / "gone.jsonl"))
