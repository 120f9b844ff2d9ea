"""The model that writes one task per seed text, constrained by a JSON Schema if its server supports that."""

from __future__ import annotations

import logging
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from colbench.config import AtLeastOne, NotNegative, Positive, derive_seed
from colbench.interfaces import Recipe
from colbench.messages import Message, split_thoughts
from colbench.models.dialect import PLAIN_TOKENS, Suggested
from colbench.models.openai_chat import OpenAIChat, SchemaRefusedError
from colbench.synthesis.seeds import Seed

logger = logging.getLogger(__name__)


class AuthorOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options for sampling and requests: the arguments `--model-arg NAME=VALUE`."""

    temperature: Annotated[float, Meta(ge=0)] = 1.0
    max_tokens: AtLeastOne | None = None
    """Token limit of a reply. None: 4,096, or more for a model that thinks before it writes."""
    seed: bool = True
    """True to send a seed; set it to false for servers that refuse seeds."""
    structured: bool = True
    """True to send the schema as `response_format`. If the server refuses that, only the prompt asks for JSON."""
    timeout: Positive = 600.0
    """Time limit of a request in seconds."""
    retries: NotNegative = 6
    """Number of times that a failed request is repeated."""
    api_key_env: str | None = None
    """Name of the environment variable with the key; None: the provider's usual variable."""


class Author:
    """A model (`MODEL[@BASE_URL]`) that writes tasks by a recipe.

    The constructor raises UserError if `spec` is invalid or a needed key is missing. Opening the context raises
    UserError if the server does not answer or does not have the model.
    """

    def __init__(self, spec: str, recipe: Recipe, options: AuthorOptions, concurrency: int) -> None:
        self.recipe = recipe
        self._options = options
        self._structured = options.structured
        self._chat = OpenAIChat(
            spec,
            concurrency=concurrency,
            timeout=options.timeout,
            retries=options.retries,
            api_key_env=options.api_key_env,
        )
        self.model = self._chat.model

    async def __aenter__(self) -> Author:
        await self._chat.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._chat.__aexit__(*error)

    async def write(self, seed: Seed) -> Message:
        """Return the model's reply to a seed text.

        Raises EndpointError if the server does not answer, TooLongError if the prompt is too long for the model,
        UserError if the server refuses the key.
        """
        if self._structured:
            try:
                return await self._ask(seed, structured=True)
            except SchemaRefusedError as refusal:
                refused = refusal
            reply = await self._ask(seed, structured=False)
            if self._structured:
                self._structured = False
                logger.warning(
                    "the server does not accept a JSON schema for its replies, so only the prompt "
                    "asks for JSON: %s",
                    refused,
                )
            return reply
        return await self._ask(seed, structured=False)

    async def _ask(self, seed: Seed, *, structured: bool) -> Message:
        options = self._options
        reply = await self._chat.chat(
            self.recipe.messages(seed.text),
            temperature=options.temperature,
            max_tokens=options.max_tokens or Suggested(PLAIN_TOKENS),
            seed=derive_seed("synthesis", seed.key) if options.seed else None,
            schema=self.recipe.schema if structured else None,
        )
        return replace(reply, content=split_thoughts(reply.content)[1])
