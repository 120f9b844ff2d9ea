"""The text that a chat template puts around a reply, and the tokens of a reply that are its text."""

from __future__ import annotations

import pytest

from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.tokens import encode_prompt


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("llama", "<|start|>assistant<|stop|>\n\n"),
        ("chatml", "\n<|im_start|>assistant\n"),
        ("mistral", " [/INST]"),
        ("plain", "\nassistant: "),
    ],
)
def test_the_reply_header_is_the_template_text_after_the_humans_message(
    name, header, tokenizer, trajectory
):
    fast = tokenizer(name)
    chat = Chat(fast)
    assert fast.decode(chat.reply_header) == header
    prompt = encode_prompt(trajectory(), 1, chat)
    assert prompt[-len(chat.reply_header) :] == chat.reply_header


def test_the_text_of_a_reply_excludes_its_end_token(tokenizer):
    fast = tokenizer("llama")
    chat = Chat(fast)
    ids = chat.encode("Late?")
    eos = fast.convert_tokens_to_ids("</s>")
    assert [chat.text_length(each) for each in (ids, [*ids, chat.end], [*ids, eos], [])] == [
        *[len(ids)] * 3,
        0,
    ]
