"""The human played by any chat model, with the domain's prompt or the user's (paper, section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from colbench.domain import Domain
from colbench.interfaces import ChatModel, HumanSimulator, Viewer
from colbench.messages import Message
from colbench.models.dialect import Suggested
from colbench.models.human import Voice, read_prompt
from colbench.pages.render import PageRenderer
from colbench.registry import get_domain
from colbench.task import Task


class PromptedHuman:
    """A chat model that plays the human of any domain: from the hidden information, or by comparing pictures of pages.

    By default, the model is sampled at temperature 0, and the domain limits a reply: in frontend design to 512 tokens
    and 1,000 characters, in other domains usually to 256 tokens and 400 characters (`Domain.human_limits`). A model
    that thinks before it writes gets more tokens. `prompt` is a file that replaces the built-in prompt. Its
    placeholders are `{problem_description}`, `{dialogue_history}` and `{hidden_information}`; in frontend design,
    `{pictures}` takes the place of `{hidden_information}`.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        prompt: str | None = None,
        temperature: float = 0.0,
        max_tokens: int | None = None,
        max_chars: int | None = None,
    ) -> None:
        self._chat = chat
        self._prompt = read_prompt(prompt) if prompt else None
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._max_chars = max_chars
        self._renderer: PageRenderer | None = None
        self._humans: dict[str, HumanSimulator] = {}

    def use_renderer(self, renderer: PageRenderer) -> None:
        """Use a renderer for the pictures that the human compares."""
        self._renderer = renderer

    def describe_domain(self, name: str) -> dict[str, str]:
        """Return the entries that the human adds to a run's record for the domain `name`."""
        return self._voice(get_domain(name)).describe()

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message | str:
        """Return the model's reply as the human.

        Raises SimulatorError if the model's reply is empty or a refusal. Raises UserError if a user's prompt has no
        placeholder for the hidden information. Errors of the model's client, such as EndpointError, and of the browser
        (RenderError) pass unchanged.
        """
        return await self._human(task.domain).respond(task, dialogue)

    def _human(self, name: str) -> HumanSimulator:
        if name not in self._humans:
            domain = get_domain(name)
            human = domain.model_human(self._chat, self._voice(domain))
            if self._renderer and isinstance(human, Viewer):
                human.use_renderer(self._renderer)
            self._humans[name] = human
        return self._humans[name]

    def _voice(self, domain: Domain) -> Voice:
        tokens, characters = domain.human_limits
        return Voice(
            prompt=self._prompt or domain.prompt("human"),
            temperature=self._temperature,
            max_tokens=self._max_tokens or Suggested(tokens),
            max_chars=self._max_chars or characters,
        )
