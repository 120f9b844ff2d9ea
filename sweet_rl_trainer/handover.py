"""An agent of two checkpoints: one talks, and when it would answer, the other writes the answer.

So what a policy asks and what it writes can be told apart (`reproduce.exchanges`).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from colbench.messages import ANSWER_MARKER, Message, Usage
from colbench_agents.model import PromptedAgent
from sweet_rl_trainer.local_agent import LocalChat


class HandOver(PromptedAgent):
    """`sweet_rl_trainer.handover:HandOver` with the checkpoints `asker` and `writer`; sampled as `local:` is.

    A talk that ends at its last turn without the words that announce an answer stays the asker's.
    Raises UserError for what is no checkpoint.
    """

    records_tokens = False

    def __init__(
        self,
        *,
        asker: str,
        writer: str,
        prompt: str | None = None,
        temperature: float = 1.0,
        max_tokens: int = 1024,
    ) -> None:
        self._asker, self._writer = (
            LocalChat(each, dtype="float32", rows=64) for each in (asker, writer)
        )
        chat = HandOverChat(self._asker, self._writer)
        super().__init__(chat, prompt=prompt, temperature=temperature, max_tokens=max_tokens)

    def describe(self) -> dict[str, str]:
        """What is recorded in the run beside the flag."""
        models = {"asker": self._asker.digest, "writer": self._writer.digest}
        return models | super().describe()


class HandOverChat:
    """A chat model whose answers are written by another one, from where they are announced."""

    def __init__(self, asker: LocalChat, writer: LocalChat) -> None:
        self._asker = asker
        self._writer = writer

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        temperature: float,
        max_tokens: int,
        seed: int | None,
        tokens: bool = False,
    ) -> Message:
        """The next message, of one of the two; its usage is that of both."""
        said = await self._asker.chat(
            messages, temperature=temperature, max_tokens=max_tokens, seed=seed, tokens=tokens
        )
        words, marker, code = said.content.partition(ANSWER_MARKER)
        if not marker:
            return said
        gap = code[: len(code) - len(code.lstrip())]
        written = await self._writer.chat(
            messages,
            temperature=temperature,
            max_tokens=max_tokens,
            seed=seed,
            begun=words + marker + gap,
        )
        return replace(written, usage=(said.usage or Usage()) + (written.usage or Usage()))
