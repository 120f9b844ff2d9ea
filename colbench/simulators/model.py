"""The human played by a language model: `openai:MODEL[@BASE_URL]`, as in the paper (section 1 of its facts)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from colbench.config import ArgValue
from colbench.domain import Domain
from colbench.interfaces import HumanSimulator, Viewer
from colbench.messages import Message
from colbench.models.dialect import Suggested
from colbench.models.human import Voice, read_prompt
from colbench.models.openai_chat import OpenAIChat, refuse_misspelled
from colbench.models.pictures import MAX_EDGE
from colbench.models.transports import Client
from colbench.pages.render import PageRenderer
from colbench.registry import get_domain
from colbench.task import Task


class ModelHuman:
    """A model that plays the human of any domain: from the hidden information, or by comparing pictures of pages.

    Sampled at temperature 0. By default a domain sets how many tokens and characters a reply may have (256 and 400;
    frontend design 512 and 1,000); a model that thinks before it speaks is given more tokens. `prompt` is a file with a
    prompt in place of the built-in one, with the placeholders `{problem_description}`, `{dialogue_history}` and
    `{hidden_information}`, in frontend design `{pictures}`. The other arguments are those of OpenAIChat.
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
        client: Client = "openai",
        azure: bool = False,
        **fields: ArgValue,
    ) -> None:
        refuse_misspelled("human", fields, ModelHuman)
        self.chat = OpenAIChat(
            spec,
            concurrency=concurrency,
            timeout=timeout,
            retries=retries,
            api_key_env=api_key_env,
            max_image_edge=max_image_edge,
            client=client,
            azure=azure,
            **fields,
        )
        self._prompt = read_prompt(prompt) if prompt else None
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._max_chars = max_chars
        self._renderer: PageRenderer | None = None
        self._humans: dict[str, HumanSimulator] = {}

    async def __aenter__(self) -> ModelHuman:
        await self.chat.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.chat.__aexit__(*error)

    def use_renderer(self, renderer: PageRenderer) -> None:
        """Use a renderer for the pictures that it looks at."""
        self._renderer = renderer

    def describe(self) -> dict[str, str]:
        """Return what the run's record holds about it."""
        return {"model": self.chat.model}

    def learned(self) -> list[str]:
        """Return what was learned of the model and its server."""
        return self.chat.learned()

    def describe_domain(self, name: str) -> dict[str, str]:
        """Return what the record of a run with tasks of a domain holds as well."""
        domain = get_domain(name)
        own = self._voice(domain).describe()
        return own | {"max_image_edge": str(self.chat.max_image_edge)} if domain.pictured else own

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message | str:
        """Return the model's words as the human.

        Raises SimulatorError if there are none, UserError if a user's prompt has no place for what the human knows.
        """
        return await self._human(task.domain).respond(task, dialogue)

    def _human(self, name: str) -> HumanSimulator:
        if name not in self._humans:
            domain = get_domain(name)
            human = domain.model_human(self.chat, self._voice(domain))
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


class AzureHuman(ModelHuman):
    """`azure:DEPLOYMENT[@ENDPOINT]`: the same on Azure OpenAI; see `colbench_agents.model.AzureAgent`."""

    def __init__(self, spec: str, **arguments: Any) -> None:
        super().__init__(spec, azure=True, **arguments)
