"""The human played by a model behind a server: `openai:MODEL[@URL]` and `azure:DEPLOYMENT[@ENDPOINT]`."""

from __future__ import annotations

from colbench.config import ArgValue
from colbench.messages import NotNegative
from colbench.models.dialect import refuse_misspelled
from colbench.models.openai_chat import OpenAIChat
from colbench.models.pictures import MAX_EDGE
from colbench.models.transports import Client
from colbench.plugin_arguments import Positive, Seconds, Temperature
from colbench.prompted_human import PromptedHuman
from colbench.registry import get_domain


class ModelHuman(PromptedHuman):
    """A human played by `openai:MODEL[@URL[,URL…]]`; PromptedHuman and OpenAIChat explain the arguments."""

    azure = False
    """True for Azure OpenAI."""

    def __init__(
        self,
        spec: str,
        *,
        prompt: str | None = None,
        temperature: Temperature = 0.0,
        max_tokens: Positive | None = None,
        max_chars: Positive | None = None,
        max_image_edge: Positive = MAX_EDGE,
        concurrency: Positive = 256,
        timeout: Seconds = 600.0,
        retries: NotNegative = 6,
        api_key_env: str | None = None,
        client: Client = "openai",
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
            azure=self.azure,
            **fields,
        )
        super().__init__(
            self.chat,
            prompt=prompt,
            temperature=temperature,
            max_tokens=max_tokens,
            max_chars=max_chars,
        )

    async def __aenter__(self) -> ModelHuman:
        await self.chat.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.chat.__aexit__(*error)

    def describe(self) -> dict[str, str]:
        """Return the human's entry in the record of the run."""
        return {"model": self.chat.model}

    def learned(self) -> list[str]:
        """Return the properties of the model and its server that were found during the run."""
        return self.chat.learned()

    def describe_domain(self, name: str) -> dict[str, str]:
        """Return the human's additional entries for the domain `name` in the record of the run."""
        own = super().describe_domain(name)
        edge = {"max_image_edge": str(self.chat.max_image_edge)}
        return own | edge if get_domain(name).pictured else own


class AzureHuman(ModelHuman):
    """A human played by `azure:DEPLOYMENT[@ENDPOINT]` on Azure OpenAI; see `colbench_agents.model.AzureAgent`."""

    azure = True
