"""How a human played by a model speaks: a prompt with the conversation in it, asked at once, cut to length."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from msgspec import Struct

from colbench.errors import SimulatorError, UserError
from colbench.messages import Message
from colbench.models.openai_chat import OpenAIChat
from colbench.task import Domain


class Voice(Struct, frozen=True, kw_only=True):
    """A prompt with placeholders, and how the model is sampled with it."""

    prompt: str
    temperature: float
    max_tokens: int
    max_chars: int

    async def speak(
        self, chat: OpenAIChat, values: Mapping[str, str], images: tuple[bytes, ...] = ()
    ) -> Message:
        """The model's words as the human. Raises SimulatorError if there are none."""
        prompt = fill(self.prompt, values)
        said = await chat.chat(
            [Message(role="user", content=prompt, images=images)],
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=0,
        )
        words = said.content.strip()[: self.max_chars].strip()
        if not words:
            raise SimulatorError(f"{chat.model} gave an empty reply")
        return Message(role="user", content=words, usage=said.usage)

    def describe(self) -> dict[str, str]:
        """What is recorded in the run."""
        return {
            "prompt": "sha256:" + hashlib.sha256(self.prompt.encode()).hexdigest(),
            "temperature": f"{self.temperature:g}",
            "max_tokens": str(self.max_tokens),
            "max_chars": str(self.max_chars),
        }


def fill(prompt: str, values: Mapping[str, str]) -> str:
    """The prompt with its placeholders filled; what is filled in is not searched for placeholders."""
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}", lambda found: values[found.group(1)], prompt)


def builtin_prompt(domain: Domain) -> str:
    """ColBench's own prompt for the human of a domain."""
    files = resources.files("colbench.simulators")
    return files.joinpath("prompts", f"{domain}.txt").read_text("utf-8").strip()


def read_prompt(path: str) -> str:
    """A user's prompt. Raises UserError if it cannot be read or has no place for the conversation."""
    try:
        prompt = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise UserError(f"--human-prompt: {path} cannot be read: {cause}") from cause
    require(prompt, "dialogue_history")
    return prompt


def require(prompt: str, placeholder: str) -> None:
    """Raise UserError if a user's prompt leaves out what the human must know."""
    if f"{{{placeholder}}}" not in prompt:
        raise UserError(f"--human-prompt: the prompt lacks the placeholder {{{placeholder}}}")
