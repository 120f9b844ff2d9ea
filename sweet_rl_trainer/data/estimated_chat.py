"""A substitute for a tokenizer that is not on this machine, for planning: token counts are estimates.

A regular expression splits texts approximately as the tokenizers of Llama 3 and Qwen do: into words of at most ten
letters, groups of at most three digits, and runs of punctuation or space. Messages are framed as in the template of
Llama 3. The IDs have no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32

from colbench.messages import Message
from sweet_rl_trainer.data.chat import Chat

PIECES = re.compile(r"<\|\w+\|>| ?[^\W\d_]{1,10}| ?\d{1,3}|(?: ?[^\w\s<]|_){1,3}|<|\s+")
MARKS = ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")


class EstimatedChat(Chat):
    """A substitute for `Chat` that estimates numbers of tokens without a tokenizer."""

    def __init__(self) -> None:
        self.name = "an estimate"

    def encode(self, text: str) -> list[int]:
        """Return a number for each piece of a text; equal pieces have equal numbers."""
        return list(_pieces(text))

    def encode_prompt(self, text: str) -> list[int]:
        """Return a number for each piece of a recorded prompt string."""
        return self.encode(text)

    @property
    def bos(self) -> list[int]:
        """An empty list, because one BOS token would hardly change the estimated number of tokens."""
        return []

    def prompt(self, messages: Sequence[Message], *, where: str) -> list[int]:  # noqa: ARG002
        """Return the token IDs of a prompt: the messages with their marks, then the marks that begin a reply."""
        said = [each for message in messages for each in self._framed(message)]
        return [*said, *self._start("assistant")]

    def reply(self, text: str, *, where: str) -> list[int]:  # noqa: ARG002
        """Return the token IDs of a reply, followed by the ID of its end token."""
        return [*self.encode(text.strip()), self.end]

    @property
    def end(self) -> int:
        """The ID of the token that ends a turn."""
        return self.encode(MARKS[-1])[0]

    def header(self, messages: Sequence[Message], *, where: str) -> list[int]:  # noqa: ARG002
        """Return the tokens of the first message that precede its text."""
        return self._start(messages[0].role)

    def check(self, ids: Sequence[int], text: str, *, where: str) -> None:
        """Accept all recorded tokens, because no tokenizer is available to check them."""

    def _framed(self, message: Message) -> list[int]:
        return [*self._start(message.role), *self.encode(message.content.strip()), self.end]

    def _start(self, role: str) -> list[int]:
        return self.encode(f"{MARKS[0]}{role}{MARKS[1]}\n\n")


@lru_cache(maxsize=100_000)
def _pieces(text: str) -> tuple[int, ...]:
    return tuple(crc32(piece.encode()) >> 1 for piece in PIECES.findall(text))
