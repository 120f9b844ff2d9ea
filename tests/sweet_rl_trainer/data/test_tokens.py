"""Trajectories as tokens: exactly what the agent said is marked, with any chat template."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from colbench.errors import DataError
from colbench.messages import Sampled
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.tokens import encode, encode_prompt

HEARD = ("Count the late orders.", "Only after the last day.", "Yes.")
REPLIES = ("Is the last day late?", "And an empty list?", "I WANT TO ANSWER: def count(): return 0")
SYSTEM = "You write what a person needs."
END = {"llama": "<|eot|>", "chatml": "<|im_end|>", "marked": "<|im_end|>", "mistral": "</s>"}


def spans(tokenizer, encoded):
    """Return the marked text of each turn, in order."""
    texts = {}
    for sequence in encoded.sequences:
        assert len(sequence.ids) == len(sequence.turns)
        for turn in sorted(set(sequence.turns) - {-1}):
            places = [n for n, each in enumerate(sequence.turns) if each == turn]
            assert places == list(range(places[0], places[-1] + 1))
            assert turn not in texts
            texts[turn] = tokenizer.decode([sequence.ids[n] for n in places])
    assert sorted(texts) == list(range(len(texts)))
    return list(texts.values())


def dicts(trajectory, turns=None):
    messages = trajectory.messages if turns is None else trajectory.context(turns)
    return [{"role": each.role, "content": each.content} for each in messages]


def rendered(tokenizer, messages, **options):
    return tokenizer.apply_chat_template(messages, return_dict=False, **options)


def strip_end(ids, end):
    """Remove what a template writes after the last end-of-turn token."""
    return ids[: len(ids) - ids[::-1].index(end)]


@pytest.mark.parametrize("name", ["llama", "chatml", "marked", "mistral"])
def test_one_sequence_equals_the_template_applied_to_the_whole_dialogue(
    name, tokenizer, trajectory
):
    fast = tokenizer(name)
    system = "" if name == "mistral" else SYSTEM
    dialogue = trajectory(HEARD, REPLIES, system, said=REPLIES)
    encoded = encode(dialogue, Chat(fast))
    assert encoded.form == "one sequence"
    assert encoded.sources == ("rendered",) * 3
    (sequence,) = encoded.sequences
    whole = rendered(fast, dicts(dialogue), date_string="26 Jul 2024")
    assert sequence.ids == strip_end(whole, fast.convert_tokens_to_ids(END[name]))
    assert spans(fast, encoded) == [reply + END[name] for reply in REPLIES]


def test_marks_equal_the_assistant_mask_of_a_template_that_has_one(tokenizer, trajectory):
    fast = tokenizer("marked")
    dialogue = trajectory(HEARD, REPLIES, SYSTEM)
    (sequence,) = encode(dialogue, Chat(fast)).sequences
    marked = fast.apply_chat_template(
        dicts(dialogue), return_dict=True, return_assistant_tokens_mask=True
    )
    said = [int(turn >= 0) for turn in sequence.turns]
    assert said == marked["assistant_masks"][: len(said)]
    assert not any(marked["assistant_masks"][len(said) :])


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
MARKS = [
    "<|im_end|>",
    "<|eot|>",
    "</s>",
    "[INST]",
    "OUTPUT:",
    "I WANT TO ANSWER:",
    "</think>",
    "\n",
]
SAYINGS = st.lists(st.one_of(WORDS, st.sampled_from(MARKS)), max_size=4).map("".join)


@pytest.mark.parametrize("name", ["llama", "chatml", "thinking", "mistral", "moving", "plain"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=st.lists(st.tuples(SAYINGS, SAYINGS), min_size=1, max_size=4), data=st.data())
def test_the_marked_spans_are_the_replies_for_any_text(name, tokenizer, trajectory, turns, data):
    fast = tokenizer(name)
    chat = Chat(fast)
    heard, replies = zip(*turns, strict=True)
    system = "" if name == "mistral" else data.draw(SAYINGS)
    dialogue = trajectory(heard, replies, system)
    encoded = encode(dialogue, chat)
    end = fast.decode([chat.end])
    assert spans(fast, encoded) == [reply + end for reply in replies]
    prompts = [
        rendered(fast, dicts(dialogue, n), add_generation_prompt=True, date_string="26 Jul 2024")
        for n in range(len(replies))
    ]
    for turn, prompt in enumerate(prompts):
        (sequence,) = (each for each in encoded.sequences if turn in each.turns)
        assert sequence.ids[: sequence.turns.index(turn)] == prompt


def test_thoughts_that_the_template_strips_are_only_in_their_own_turn(tokenizer, trajectory):
    fast = tokenizer("thinking")
    replies = ("<think>\nHm.\n</think>\n\nLate?", "<think>\nNow.\n</think>\n\ndef f(): 0")
    encoded = encode(trajectory(HEARD[:2], replies), Chat(fast))
    assert encoded.form == "a sequence for each turn"
    assert spans(fast, encoded) == [reply + "<|im_end|>" for reply in replies]
    first, second = (fast.decode(sequence.ids) for sequence in encoded.sequences)
    assert "Hm." in first
    assert "Hm." not in second
    assert "<|im_start|>assistant\nLate?<|im_end|>" in second


def test_a_private_part_is_only_in_its_own_turn(tokenizer, trajectory):
    fast = tokenizer("chatml")
    replies = ("Which days? OUTPUT: Is the last day late?", "def f(): 0")
    dialogue = trajectory(HEARD[:2], replies, SYSTEM)
    encoded = encode(dialogue, Chat(fast))
    assert encoded.form == "a sequence for each turn"
    assert spans(fast, encoded) == [reply + "<|im_end|>" for reply in replies]
    assert "Which days?" not in fast.decode(encoded.sequences[1].ids)


def test_each_turn_keeps_its_own_prompt_if_the_system_message_moves(tokenizer, trajectory):
    fast = tokenizer("moving")
    encoded = encode(trajectory(HEARD, REPLIES, SYSTEM), Chat(fast))
    assert encoded.form == "a sequence for each turn"
    last = fast.decode(encoded.sequences[-1].ids)
    assert last.count(SYSTEM) == 1
    assert f"[INST] {SYSTEM}\n\nYes. [/INST]" in last


def test_turns_end_with_eos_if_the_template_does_not_mark_their_end(tokenizer, trajectory):
    fast = tokenizer("plain")
    encoded = encode(trajectory(HEARD, REPLIES), Chat(fast))
    assert spans(fast, encoded) == [reply + "</s>" for reply in REPLIES]
    with pytest.raises(DataError, match="tiny-plain: no token marks the end of a reply"):
        encode(trajectory(), Chat(tokenizer("plain", eos_token=None)))


def test_a_default_system_prompt_is_not_marked_as_the_agents_text(tokenizer, trajectory):
    fast = tokenizer("chatml")
    encoded = encode(trajectory(HEARD, REPLIES), Chat(fast))
    assert "You are a helpful assistant." in fast.decode(encoded.sequences[0].ids)
    assert spans(fast, encoded) == [reply + "<|im_end|>" for reply in REPLIES]


def test_the_date_in_a_template_is_fixed_by_default_and_can_be_given(tokenizer, trajectory):
    fast = tokenizer("llama")
    default = encode(trajectory(), Chat(fast))
    given = encode(trajectory(), Chat(fast, template_args={"date_string": "01 Jan 2030"}))
    assert "Today: 26 Jul 2024\n" in fast.decode(default.sequences[0].ids)
    assert "Today: 01 Jan 2030\n" in fast.decode(given.sequences[0].ids)


def test_text_that_spells_a_special_token_is_encoded_as_plain_text(tokenizer, trajectory):
    fast = tokenizer("chatml")
    encoded = encode(trajectory(HEARD[:1], ("Say <|im_end|> now.",)), Chat(fast))
    (sequence,) = encoded.sequences
    said = [token for token, turn in zip(sequence.ids, sequence.turns, strict=True) if turn == 0]
    assert said.count(fast.convert_tokens_to_ids("<|im_end|>")) == 1
    assert spans(fast, encoded) == ["Say <|im_end|> now.<|im_end|>"]


def test_replies_are_aligned_in_sentence_pieces(tokenizer, trajectory):
    fast = tokenizer("mistral", pieces=True)
    replies = ("Is the last day late?", "def count_late(orders, days)")
    encoded = encode(trajectory(HEARD[:2], replies), Chat(fast))
    assert [text.strip() for text in spans(fast, encoded)] == [reply + "</s>" for reply in replies]


def test_a_reply_that_the_tokenizer_cannot_represent_is_refused(tokenizer, trajectory):
    fast = tokenizer("mistral", pieces=True)
    dialogue = trajectory(HEARD[:2], ("Is the last day late?", "漢字"))
    with pytest.raises(
        DataError,
        match="dialogue-.*, turn 2: the tokenizer of tiny-mistral cannot represent the reply",
    ):
        encode(dialogue, Chat(fast))


def test_a_tokenizer_without_a_chat_template_is_refused(tokenizer):
    with pytest.raises(DataError, match="tiny-none has no chat template; use the tokenizer of"):
        Chat(tokenizer("none"))


def test_a_template_that_rejects_the_messages_is_reported_with_the_turn(tokenizer, trajectory):
    said = r"x, turn 1: the chat template of tiny-mistral rejects .*\(system, user …\).*alternate"
    with pytest.raises(DataError, match=said):
        encode(trajectory(HEARD, REPLIES, SYSTEM, id="x"), Chat(tokenizer("mistral")))


def test_a_template_that_omits_a_message_is_reported_with_the_turn(tokenizer, trajectory):
    said = "x, turn 1: the chat template of tiny-deaf leaves out or changes a system message, 'You"
    with pytest.raises(DataError, match=said):
        encode(trajectory(HEARD, REPLIES, SYSTEM, id="x"), Chat(tokenizer("deaf")))


def sampled(fast, dialogue, *, drift=False):
    """Return the tokens that a server would record; with `drift`, replies are sampled letter by letter."""
    turns = []
    for number, reply in enumerate(dialogue.replies):
        prompt = rendered(fast, dicts(dialogue, number), add_generation_prompt=True)
        pieces = reply if drift else [reply]
        ids = [n for piece in pieces for n in fast(piece, add_special_tokens=False).input_ids]
        ids.append(fast.convert_tokens_to_ids("<|im_end|>"))
        turns.append(Sampled(prompt=prompt, ids=ids, logprobs=[-1.0] * len(ids)))
    return tuple(turns)


def test_recorded_tokens_are_used_unchanged(tokenizer, trajectory):
    fast = tokenizer("chatml")
    plain = trajectory(HEARD, REPLIES, SYSTEM, said=REPLIES)
    tokens = sampled(fast, plain)
    recorded = trajectory(HEARD, REPLIES, SYSTEM, said=REPLIES, sampled=tokens)
    encoded = encode(recorded, Chat(fast))
    assert encoded.sources == ("sampled",) * 3
    assert encoded.form == "one sequence"
    assert encoded.sequences == encode(plain, Chat(fast)).sequences
    assert encoded.sequences[0].ids == [*tokens[-1].prompt, *tokens[-1].ids]


def test_recorded_tokens_that_differ_from_the_retokenized_text_are_kept(tokenizer, trajectory):
    fast = tokenizer("chatml")
    tokens = sampled(fast, trajectory(HEARD, REPLIES, SYSTEM, said=REPLIES), drift=True)
    dialogue = trajectory(HEARD, REPLIES, SYSTEM, said=REPLIES, sampled=tokens)
    encoded = encode(dialogue, Chat(fast))
    assert encoded.form == "a sequence for each turn"
    for turn, sequence in zip(tokens, encoded.sequences, strict=True):
        assert sequence.ids == [*turn.prompt, *turn.ids]


def test_a_truncated_reply_has_no_marked_end_token(tokenizer, trajectory):
    fast = tokenizer("chatml")
    tokens = sampled(fast, trajectory(HEARD, REPLIES, SYSTEM, said=REPLIES))
    cut = Sampled(prompt=tokens[0].prompt, ids=tokens[0].ids[:-1], logprobs=tokens[0].logprobs[:-1])
    dialogue = trajectory(HEARD, REPLIES, SYSTEM, said=REPLIES, sampled=(cut, *tokens[1:]))
    encoded = encode(dialogue, Chat(fast))
    assert encoded.form == "one sequence"
    assert spans(fast, encoded)[0] == REPLIES[0]
    assert encoded.sequences[0].ids == [*tokens[-1].prompt, *tokens[-1].ids]


def test_turns_without_recorded_tokens_are_rendered(tokenizer, trajectory):
    fast = tokenizer("chatml")
    plain = trajectory(HEARD, REPLIES, SYSTEM, said=REPLIES)
    tokens = (None, *sampled(fast, plain)[1:])
    mixed = encode(trajectory(HEARD, REPLIES, SYSTEM, said=REPLIES, sampled=tokens), Chat(fast))
    assert mixed.sources == ("rendered", "sampled", "sampled")
    assert mixed.sequences == encode(plain, Chat(fast)).sequences


@pytest.mark.parametrize("ids", [(5000, 5001), (3, 4, 5)])
def test_tokens_of_another_tokenizer_are_refused(ids, tokenizer, trajectory):
    tokens = (Sampled(prompt=(1,), ids=ids, logprobs=(0.0,) * len(ids)),)
    dialogue = trajectory(HEARD[:1], REPLIES[:1], sampled=tokens)
    with pytest.raises(
        DataError, match="turn 1: its recorded tokens do not decode to the reply 'Is the"
    ):
        encode(dialogue, Chat(tokenizer("chatml")))


def test_recorded_prompt_strings_get_exactly_one_bos(tokenizer, trajectory):
    fast = tokenizer("llama")
    plain = trajectory(HEARD, REPLIES, SYSTEM, said=REPLIES)
    strings = [
        fast.apply_chat_template(
            dicts(plain, n), tokenize=False, add_generation_prompt=True, date_string="26 Jul 2024"
        )
        for n in range(3)
    ]
    assert strings[0].startswith("<s>")
    for prompts in (strings, [text.removeprefix("<s>") for text in strings]):
        recorded = trajectory(HEARD, REPLIES, said=REPLIES, prompts=tuple(prompts))
        encoded = encode(recorded, Chat(fast))
        assert encoded.sources == ("recorded",) * 3
        assert encoded.sequences == encode(plain, Chat(fast)).sequences
        assert encoded.sequences[0].ids.count(fast.bos_token_id) == 1


@pytest.mark.parametrize(
    ("name", "system"),
    [(name, "") for name in ("llama", "thinking", "mistral", "moving")]
    + [(name, SYSTEM) for name in ("llama", "chatml", "thinking", "moving")],
)
def test_a_preface_inside_is_prepended_to_the_first_message(name, system, tokenizer, trajectory):
    fast = tokenizer(name)
    plain = trajectory(HEARD, REPLIES, system, said=REPLIES)
    stated = encode(plain, Chat(fast), preface="The answer is 0.")
    if system:
        told = trajectory(HEARD, REPLIES, f"The answer is 0.\n\n{system}", said=REPLIES)
    else:
        told = trajectory((f"The answer is 0.\n\n{HEARD[0]}", *HEARD[1:]), REPLIES, said=REPLIES)
    texts, expected = (
        [fast.decode(each.ids) for each in encoded.sequences]
        for encoded in (stated, encode(told, Chat(fast)))
    )
    moved = (
        name == "moving" and system
    )  # in later turns only the system message moves; the preface stays in front
    assert texts[:1] == expected[:1]
    assert moved or texts == expected
    assert all(text.count("The answer is 0.") == 1 for text in texts)
    assert spans(fast, stated) == spans(fast, encode(plain, Chat(fast)))


def test_a_preface_outside_is_placed_between_bos_and_the_first_message(tokenizer, trajectory):
    fast = tokenizer("llama")
    dialogue = trajectory(HEARD, REPLIES, SYSTEM)
    (plain,) = encode(dialogue, Chat(fast)).sequences
    (stated,) = encode(dialogue, Chat(fast), preface="It is <|eot|> 0.", inside=False).sequences
    added = len(stated.ids) - len(plain.ids)
    assert stated.ids == [plain.ids[0], *stated.ids[1 : 1 + added], *plain.ids[1:]]
    assert fast.decode(stated.ids[1 : 1 + added]) == "It is <|eot|> 0.\n\n"
    assert fast.convert_tokens_to_ids("<|eot|>") not in stated.ids[1 : 1 + added]


def test_a_preface_follows_bos_in_a_recorded_prompt_of_another_format(tokenizer, trajectory):
    fast = tokenizer("llama")
    dialogue = trajectory(HEARD[:1], REPLIES[:1], prompts=("<s>Human: Count. Agent:",))
    encoded = encode(dialogue, Chat(fast), preface="It is 0.")
    assert fast.decode(encoded.sequences[0].ids).startswith("<s>It is 0.\n\nHuman: Count. Agent:Is")


@pytest.mark.parametrize("preface", ["", "The answer is 0."])
@pytest.mark.parametrize("inside", [True, False])
def test_encode_prompt_returns_the_tokens_before_a_turn(preface, inside, tokenizer, trajectory):
    dialogue = trajectory(HEARD, REPLIES, SYSTEM, said=REPLIES)
    chat = Chat(tokenizer("chatml"))
    (sequence,) = encode(dialogue, chat, preface=preface, inside=inside).sequences
    for turn in range(3):
        prompt = encode_prompt(dialogue, turn, chat, preface=preface, inside=inside)
        assert prompt == sequence.ids[: sequence.turns.index(turn)]


def test_turns_whose_prompts_differ_have_separate_sequences(tokenizer, trajectory):
    fast = tokenizer("llama")
    plain = trajectory(HEARD[:2], REPLIES[:2], SYSTEM, said=REPLIES[:2])
    days = ("01 Jan 2030", "02 Jan 2030")  # midnight passed between them
    strings = tuple(
        fast.apply_chat_template(
            dicts(plain, n), tokenize=False, add_generation_prompt=True, date_string=day
        )
        for n, day in enumerate(days)
    )
    encoded = encode(
        trajectory(HEARD[:2], REPLIES[:2], said=REPLIES[:2], prompts=strings), Chat(fast)
    )
    assert encoded.form == "a sequence for each turn"
    for day, sequence in zip(days, encoded.sequences, strict=True):
        assert f"Today: {day}" in fast.decode(sequence.ids)
