"""An agent of two checkpoints: one conducts the dialogue, the other writes the answer.

It separates the effect of what a policy asks from that of the answer it writes (`study.exchanges`).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from colbench.messages import ANSWER_MARKER, Message, Usage
from colbench_agents.model import PromptedAgent
from sweet_rl_trainer.agents.local import LocalChat


class TwoModelAgent(PromptedAgent):
    """`sweet_rl_trainer.agents.two_model:TwoModelAgent` with the checkpoints `asker` and `writer`; sampled as `local:`.

    A reply without the answer marker is the asker's alone, also in the last turn.
    Raises UserError if `asker` or `writer` is not a checkpoint.
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
        chat = TwoModelChat(self._asker, self._writer)
        super().__init__(chat, prompt=prompt, temperature=temperature, max_tokens=max_tokens)

    def describe(self) -> dict[str, str]:
        """Return what the run records in addition to the agent's flag."""
        models = {"asker": self._asker.digest, "writer": self._writer.digest}
        return models | super().describe()


class TwoModelChat:
    """A chat model whose answers are written by another model, from the answer marker on."""

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
        """Return the asker's next message, with the writer's answer if it announces one; usage counts both models."""
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
