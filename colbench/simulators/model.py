"""The human played by a language model: `openai:MODEL[@BASE_URL]`, as in the paper (section 1 of its facts)."""

from __future__ import annotations

from collections.abc import Sequence

from colbench.messages import Message
from colbench.models.openai_chat import OpenAIChat
from colbench.models.pictures import MAX_EDGE
from colbench.pages.render import PageRenderer
from colbench.simulators.vision import VisionHuman
from colbench.simulators.voice import Voice, builtin_prompt, read_prompt, require
from colbench.task import Task

SPEAKERS = {"user": "Person", "assistant": "Programmer"}


class ModelHuman:
    """A model that answers from the hidden information or, in frontend design, compares pictures of pages.

    Sampled at temperature 0. By default a reply has at most 256 tokens and 400 characters; in frontend design
    512 and 1,000. `prompt` is a file with a prompt in place of the built-in one, with the placeholders
    `{problem_description}`, `{dialogue_history}` and, in backend programming, `{hidden_information}`, in
    frontend design `{pictures}`. The other arguments are those of OpenAIChat.
    """

    def __init__(
        self,
        spec: str,
        *,
        prompt: str | None = None,
        temperature: float = 0.0,
        max_tokens: int | None = None,
        max_chars: int | None = None,
        max_image_edge: int = MAX_EDGE,
        concurrency: int = 256,
        timeout: float = 600.0,
        retries: int = 6,
        api_key_env: str | None = None,
    ) -> None:
        self.chat = OpenAIChat(
            spec,
            concurrency=concurrency,
            timeout=timeout,
            retries=retries,
            api_key_env=api_key_env,
            max_image_edge=max_image_edge,
        )
        own = read_prompt(prompt) if prompt else None
        self.voice = Voice(
            prompt=own or builtin_prompt("backend"),
            temperature=temperature,
            max_tokens=max_tokens or 256,
            max_chars=max_chars or 400,
        )
        self.viewer = VisionHuman(
            self.chat,
            Voice(
                prompt=own or builtin_prompt("frontend"),
                temperature=temperature,
                max_tokens=max_tokens or 512,
                max_chars=max_chars or 1000,
            ),
        )

    async def __aenter__(self) -> ModelHuman:
        await self.chat.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.chat.__aexit__(*error)

    def use_renderer(self, renderer: PageRenderer) -> None:
        """What turns pages into the pictures that it looks at."""
        self.viewer.use_renderer(renderer)

    def describe(self) -> dict[str, str]:
        """What is recorded in the run beside the flag; `frontend_…` is for frontend design alone."""
        frontend = {
            **self.viewer.voice.describe(),
            "max_image_edge": str(self.chat.max_image_edge),
        }
        return {
            "model": self.chat.model,
            **self.voice.describe(),
            **{f"frontend_{name}": value for name, value in frontend.items()},
        }

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message:
        """The model's words as the human.

        Raises SimulatorError if there are none, UserError if a prompt of the user's has no place for what the
        human knows.
        """
        if task.domain == "frontend":
            return await self.viewer.respond(task, dialogue)
        require(self.voice.prompt, "hidden_information")
        values = {
            "problem_description": task.request,
            "hidden_information": task.hidden.information,
            "dialogue_history": history(dialogue),
        }
        return await self.voice.speak(self.chat, values)


def history(dialogue: Sequence[Message]) -> str:
    """The conversation so far, for a prompt."""
    return "\n".join(f"{SPEAKERS[message.role]}: {message.content}" for message in dialogue)
