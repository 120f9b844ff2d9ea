"""An agent of two models: one conducts the dialogue, the other writes the answer. Either of them may be the oracle.

Such an agent separates the effect of a policy's questions from the effect of its answers (`study.evaluate`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from colbench.messages import ANSWER_MARKER, Message, Usage
from colbench_agents.model import PromptedAgent
from sweet_rl_trainer.agents.local import LocalChat
from sweet_rl_trainer.agents.oracle import ORACLE, OracleAsker, OracleWriter
from sweet_rl_trainer.settings import Precision


class Speaker(Protocol):
    """A chat model that can continue a message."""

    @property
    def digest(self) -> str:
        """The model's identity in the record of a run."""

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        temperature: float,
        max_tokens: int,
        seed: int | None,
        tokens: bool = False,
        begun: str = "",
    ) -> Message:
        """Return the next message, which starts with `begun`."""


class TwoModelAgent(PromptedAgent):
    """An agent of two checkpoints, `asker` and `writer`: `sweet_rl_trainer.agents.two_model:TwoModelAgent`.

    In each turn, the asker replies first. If this reply contains the answer marker, the writer, instead of the asker,
    writes the text after the marker. Replies are sampled in the same way as with `local:`. Either model can also be
    `oracle` (`agents.oracle`) instead of a checkpoint; as the asker, the oracle asks at most `questions` questions.
    Raises UserError if `asker` or `writer` is neither a checkpoint nor `oracle`, or if `questions` is negative.
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
        dtype: Precision = "float32",
        rows: int = 64,
        questions: int = 9,
    ) -> None:
        self._asker: Speaker = OracleAsker(questions)
        self._writer: Speaker = OracleWriter()
        if asker != ORACLE:
            self._asker = LocalChat(asker, dtype=dtype, rows=rows)
        if writer != ORACLE:
            self._writer = LocalChat(writer, dtype=dtype, rows=rows)
        chat = TwoModelChat(self._asker, self._writer)
        super().__init__(chat, prompt=prompt, temperature=temperature, max_tokens=max_tokens)

    def describe(self) -> dict[str, str]:
        """Return the agent's entry in the record of the run."""
        models = {"asker": self._asker.digest, "writer": self._writer.digest}
        return models | super().describe()


class TwoModelChat:
    """A chat model made of two models: the asker writes all messages, and the writer rewrites the answers in them."""

    def __init__(self, asker: Speaker, writer: Speaker) -> None:
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
        """Return the asker's message or, if it begins an answer, the writer's message. The usage counts both models."""
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
