"""A tokenizer and its chat template, applied exactly as an inference server applies them when it samples replies."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from colbench.errors import DataError, describe_exception
from colbench.messages import Message

FIXED = {"date_string": "26 Jul 2024"}
"""The date given to templates that state a date (Llama 3.1 and later).

It is fixed, so that the token IDs of a prompt never change; these templates have the same default date.
"""
PROBE = "Qzxjkv"
"""The text of a test message. No template contains this text, so it can be found in a rendered prompt."""
THOUGHT = "<think>"
"""Opening tag of a thought.

Templates such as DeepSeek-R1's put this tag at the end of the prompt, so the reply lacks it.
"""


class Chat:
    """A tokenizer with its chat template.

    `template_args` are further variables of the template, such as `enable_thinking`, with the values used for
    sampling. Raises DataError if the tokenizer has no chat template.
    """

    def __init__(
        self, tokenizer: Any, *, template_args: Mapping[str, str | int | float | bool] | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self.name = tokenizer.name_or_path or "the tokenizer"
        self.template_args = {**FIXED, **(template_args or {})}
        if not tokenizer.chat_template:
            raise DataError(
                f"{self.name} has no chat template; use the tokenizer of a chat model, or add a "
                "template (`chat_template.jinja` in its folder)"
            )

    def encode(self, text: str) -> list[int]:
        """Return the token IDs of a text; special tokens in it are read as plain text."""
        ids: list[int] = self.tokenizer(
            text, add_special_tokens=False, split_special_tokens=True
        ).input_ids
        return ids

    def encode_prompt(self, text: str) -> list[int]:
        """Return the IDs of a prompt string, in which special tokens are recognized.

        A BOS token is put first if the tokenizer usually adds one and the string does not begin with it.
        """
        ids: list[int] = self.tokenizer(text, add_special_tokens=False).input_ids
        usual: list[int] = self.tokenizer("").input_ids[:1]
        return ids if usual != self.bos or ids[:1] == self.bos else [*self.bos, *ids]

    @property
    def bos(self) -> list[int]:
        """The BOS token in a list; empty if the tokenizer has none."""
        bos: int | None = self.tokenizer.bos_token_id
        return [] if bos is None else [bos]

    def render(self, messages: Sequence[Message], *, where: str, generate: bool = True) -> str:
        """Render messages with the chat template and, with `generate`, the text that begins the next reply.

        Raises DataError, which names the template and the place `where`, if the template rejects the messages.
        """
        said = [{"role": each.role, "content": each.content} for each in messages]
        try:
            text: str = self.tokenizer.apply_chat_template(
                said, tokenize=False, add_generation_prompt=generate, **self.template_args
            )
        except Exception as cause:
            roles = ", ".join(each.role for each in messages[:3])
            raise DataError(
                f"{where}: the chat template of {self.name} rejects the messages ({roles} …): "
                f"{describe_exception(cause)}"
            ) from cause
        return text

    def prompt(self, messages: Sequence[Message], *, where: str) -> list[int]:
        """Return the IDs of the prompt that a server builds from messages.

        Raises DataError if the template rejects the messages, or does not repeat the text of a system or user message.
        """
        text = self.render(messages, where=where)
        for each in messages:
            if each.role != "assistant" and each.content.strip() not in text:
                raise DataError(
                    f"{where}: the chat template of {self.name} leaves out or changes a {each.role} message, "
                    f"{each.content.strip()[:40]!r}; use another model, or another chat template"
                )
        ids: list[int] = self.tokenizer(text, add_special_tokens=False).input_ids
        return ids

    def reply(self, text: str, *, where: str) -> list[int]:
        """Return the IDs of a reply, followed by the token that ends the reply.

        If the prompt ends with the opening tag of a thought and the reply repeats the tag, the repetition is left out.
        Raises DataError if the IDs do not decode to the reply.
        """
        if self.opens_thought:
            text = _after_opening(text)
        ids = self.encode(text)
        if not _same(self._decode(ids), text):
            raise DataError(
                f"{where}: the tokenizer of {self.name} cannot represent the reply: {text[:60]!r} is decoded as "
                f"{self._decode(ids)[:60]!r}"
            )
        return [*ids, self.end]

    @cached_property
    def end(self) -> int:
        """The token that ends a turn: the one that the template writes after a reply, or else the tokenizer's EOS.

        Raises DataError if neither exists.
        """
        messages = [Message(role="user", content=PROBE), Message(role="assistant", content=PROBE)]
        text = self.render(messages, where="a question and a reply", generate=False)
        after = text.partition(PROBE)[2].partition(PROBE)[2].lstrip()
        first: list[int] = self.tokenizer(after, add_special_tokens=False).input_ids[:1]
        if first and first[0] in self.tokenizer.added_tokens_decoder:
            return first[0]
        eos: int | None = self.tokenizer.eos_token_id
        if eos is None:
            raise DataError(
                f"{self.name}: no token marks the end of a reply: the chat template writes none, "
                "and the tokenizer has no EOS token; set the tokenizer's `eos_token`"
            )
        return eos

    @cached_property
    def reply_header(self) -> list[int]:
        """The IDs that the template writes between the end of a human message and the reply to it.

        The token that ends the message is excluded. For Llama 3.1, these are 4 IDs: `<|start_header_id|>`, `assistant`,
        `<|end_header_id|>` and an empty line. ChatML also has 4 IDs, of which the first is the line break after
        `<|im_end|>`. Mistral's template has no token that ends a human message, so all IDs after the message's text are
        included (`[/INST]`).
        """
        text = self.render([Message(role="user", content=PROBE)], where="a question")
        after = text.rpartition(PROBE)[2]
        ids: list[int] = self.tokenizer(after, add_special_tokens=False).input_ids
        return ids[1:] if ids[:1] == [self.end] else ids

    def text_length(self, ids: Sequence[int]) -> int:
        """Return the number of a reply's token IDs, not counting the end token, which a truncated reply lacks."""
        return len(ids) - sum(last in self._ends for last in ids[-1:])

    @cached_property
    def _ends(self) -> frozenset[int]:
        added = self.tokenizer.added_tokens_decoder
        return frozenset({self.end, *(number for number, token in added.items() if token.special)})

    @cached_property
    def opens_thought(self) -> bool:
        """True if the template's prompts end with the opening of a thought."""
        question = [Message(role="user", content=PROBE)]
        return self.render(question, where="a question").rstrip().endswith(THOUGHT)

    def header(self, messages: Sequence[Message], *, where: str) -> list[int]:
        """Return the IDs before the text of the first message in a prompt; empty if the prompt lacks that text."""
        marked = [Message(role=messages[0].role, content=PROBE), *messages[1:]]
        before, found, _ = self.render(marked, where=where).partition(PROBE)
        ids: list[int] = self.tokenizer(before if found else "", add_special_tokens=False).input_ids
        return ids

    def check(self, ids: Sequence[int], text: str, *, where: str) -> None:
        """Raise DataError unless the decoded text of recorded IDs contains the reply."""
        said = (
            self._decode(ids, skip_special_tokens=True)
            if max(ids, default=0) < len(self.tokenizer)
            else ""
        )
        if text.strip() not in said:
            raise DataError(
                f"{where}: its recorded tokens do not decode to the reply {text[:60]!r} with the tokenizer of "
                f"{self.name}; use the model that sampled the reply"
            )

    def _decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        text: str = self.tokenizer.decode(
            ids, skip_special_tokens=skip_special_tokens, clean_up_tokenization_spaces=False
        )
        return text


def _after_opening(text: str) -> str:
    begun = text.lstrip()
    return begun.removeprefix(THOUGHT).lstrip("\n") if begun.startswith(THOUGHT) else text


def _same(one: str, other: str) -> bool:
    """Return True if texts are equal after Unicode normalization and without surrounding space."""
    first, second = (unicodedata.normalize("NFKC", text).strip() for text in (one, other))
    return first == second
