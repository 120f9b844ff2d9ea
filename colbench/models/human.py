"""The human played by a language model, which gets a prompt with the conversation and returns a short reply."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from colbench.errors import SimulatorError, UserError
from colbench.failures import TOKEN_LIMIT
from colbench.interfaces import ChatModel
from colbench.messages import Delivery, Message, split_thoughts
from colbench.task import Task

REFUSED_TRIES = 3
"""Maximum number of requests for one reply if the human's model keeps refusing."""
SPEAKERS = {"user": "Person", "assistant": "Programmer"}


class Voice(Struct, frozen=True, kw_only=True):
    """A prompt with placeholders, and the model's sampling settings for it."""

    prompt: str
    temperature: float
    max_tokens: int
    """Token limit of a reply; `Suggested` if the user sets no limit."""
    max_chars: int

    async def speak(
        self, chat: ChatModel, values: Mapping[str, str], images: tuple[bytes, ...] = ()
    ) -> Message:
        """Return the human's message: the model's reply, cut to `max_chars` characters.

        `values` are the values of the prompt's placeholders. `images` are sent with the prompt.

        Raises SimulatorError if the reply is empty, or if the model has refused REFUSED_TRIES requests.
        """
        prompt = Message(role="user", content=fill(self.prompt, values), images=images)
        for seed in range(REFUSED_TRIES):
            said = await chat.chat(
                [prompt], temperature=self.temperature, max_tokens=self.max_tokens, seed=seed
            )
            if not (said.delivery and said.delivery.refused):
                break
        inner, text = split_thoughts(said.content)
        words = text.strip()[: self.max_chars].strip()
        if not words or (said.delivery and said.delivery.refused):
            raise _silent(said)
        return replace(said, role="user", content=words, thoughts=inner or said.thoughts)

    def describe(self) -> dict[str, str]:
        """Return the human's entry in the record of the run."""
        return {
            "prompt": "sha256:" + hashlib.sha256(self.prompt.encode()).hexdigest(),
            "temperature": f"{self.temperature:g}",
            "max_tokens": str(self.max_tokens),
            "max_chars": str(self.max_chars),
        }


def _silent(said: Message) -> SimulatorError:
    """Return the error for a reply of the human's model that is empty or a refusal."""
    delivery = said.delivery or Delivery()
    reason = "the human's model gave an empty reply"
    if delivery.refused:
        reason = f"the human's model refused to reply: {said.content[:200]}"
    elif delivery.cut:
        reason = f"the human's reply was empty; raise the token limit with {TOKEN_LIMIT['human']}"
    elif delivery.filtered:
        reason = "the provider's filter withheld the human's reply"
    return SimulatorError(reason, kind="empty")


def fill(prompt: str, values: Mapping[str, str]) -> str:
    """Return a prompt with its placeholders replaced by their values; `{...}` within a value stays unchanged."""
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}", lambda found: values[found.group(1)], prompt)


def read_prompt(path: str) -> str:
    """Read a user's prompt. Raises UserError if the file cannot be read or lacks a placeholder for the conversation."""
    try:
        prompt = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise UserError(f"--human-prompt: {path} cannot be read: {cause}") from cause
    require(prompt, "dialogue_history")
    return prompt


def require(prompt: str, placeholder: str) -> None:
    """Raise UserError unless a user's prompt contains a placeholder."""
    if f"{{{placeholder}}}" not in prompt:
        raise UserError(f"--human-prompt: the prompt lacks the placeholder {{{placeholder}}}")


class TextHuman:
    """The human of a task with text answers, played by a model that reads the hidden information.

    The placeholders of its prompt are `{problem_description}`, `{hidden_information}` and `{dialogue_history}`.
    """

    def __init__(self, chat: ChatModel, voice: Voice) -> None:
        self.chat = chat
        self.voice = voice

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message:
        """Return the model's reply as the human.

        Raises SimulatorError if the model gives no reply. Raises UserError if a user's prompt has no placeholder for
        the hidden information.
        """
        require(self.voice.prompt, "hidden_information")
        values = {
            "problem_description": task.request,
            "hidden_information": task.hidden.information,
            "dialogue_history": history(dialogue),
        }
        return await self.voice.speak(self.chat, values)


def history(dialogue: Sequence[Message]) -> str:
    """Return the conversation so far as text for a prompt; each message begins on a new line, after its speaker."""
    return "\n".join(f"{SPEAKERS[message.role]}: {message.content}" for message in dialogue)
