"""The stage that samples the candidate replies of phase 2 from the model with which training starts.

FOLDER/candidates.jsonl   the candidates of each turn, in the order of completion (module `candidates`)
FOLDER/sampled.jsonl      the same candidates, in the order of turns
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from colbench.config import ArgValue
from colbench.errors import DataError, UserError
from colbench.models.openai_chat import OpenAIChat
from colbench_agents.vllm_server import VLLMServer
from sweet_rl_trainer.methods.ranking.candidates import CandidateFile, Found, Sampler
from sweet_rl_trainer.methods.ranking.files import write_sampled
from sweet_rl_trainer.methods.ranking.server import sample_from_server
from sweet_rl_trainer.methods.ranking.turns import Turn, turns_of
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.pipeline.base import chat_of, model_in
from sweet_rl_trainer.pipeline.inputs import Data, load
from sweet_rl_trainer.pipeline.recipe import Fraction, Recipe
from sweet_rl_trainer.pipeline.stage import Amount, Job, Known
from sweet_rl_trainer.settings import Count, Positive, Precision

IN_PROCESS, VLLM = "in-process", "vllm"


class SampleSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for sampling the candidates of phase 2, which trains the actor."""

    count: Annotated[int, Meta(ge=2)] = 16
    """Number of replies for each turn. Paper."""
    temperature: Positive = 1.0
    """Sampling temperature. Paper."""
    max_tokens: Count = 1024
    """Maximum number of tokens of a reply. Paper."""
    data_fraction: Fraction = 0.1
    """Share of the trajectories at whose turns replies are sampled. Paper."""
    all_answers: bool = False
    """True to sample also at the answer turns of dialogues outside `data_fraction`, to compare all answers. Ours."""
    server: str = IN_PROCESS
    """The place of sampling: `in-process` (transformers), `vllm` (a server that the stage starts), or `MODEL@URL`.

    A server at `MODEL@URL` must have the model from which training starts, use `model.template_args`, and sample from
    the full distribution (vLLM: `--default-chat-template-kwargs`, `--generation-config=vllm`).
    """
    record_tokens: bool = True
    """True to record the tokens that the server sampled.

    False for a server that does not return tokens: the replies are tokenized again.
    """
    server_args: dict[str, ArgValue] = {}
    """Flags for `vllm serve`, such as `tensor_parallel_size`, if `server` is `vllm`."""
    concurrency: Count = 64
    """Maximum number of requests in flight."""
    seed: int = 0


def problems(settings: SampleSettings) -> Iterator[str]:
    """Yield a message for each error in the settings."""
    if settings.server not in {IN_PROCESS, VLLM} and "@http" not in settings.server:
        yield (
            f"sample.server {settings.server!r}: expected in-process, vllm or MODEL@URL, such as "
            "meta-llama/Llama-3.1-8B-Instruct@http://localhost:8000/v1"
        )


def sample(job: Job, recipe: Recipe, precision: Precision) -> dict[str, Any]:
    """Sample replies at the training and held-out turns that `turns` chooses, write them, and return a summary.

    In-process sampling uses `precision`. Raises UserError if the system prompt is unknown (`check_prompts`).
    """
    data = load(recipe.data, job.inputs)
    check_prompts(data, recipe)
    settings = recipe.table(SampleSettings)
    return sample_at(turns(data, settings), job, recipe, settings, precision)


def sample_at(
    wanted: Sequence[Turn],
    job: Job,
    recipe: Recipe,
    settings: SampleSettings,
    precision: Precision,
) -> dict[str, Any]:
    """Sample candidates at these turns, write them, and return a summary.

    `settings` determines how many candidates are sampled and how. A server is set up from the recipe's table
    `[sample]`.
    """
    model = model_in(job.inputs["model"])
    sampler = Sampler(
        model=model_digest(model),
        count=settings.count,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        seed=settings.seed,
    )
    dropped = Counter[str]()
    file = CandidateFile(job.folder / "candidates.jsonl")
    if settings.server == IN_PROCESS:
        from sweet_rl_trainer.methods.ranking.local import sample_in_process
        from sweet_rl_trainer.model.load import free_memory, load_model

        chat = chat_of(model, recipe.model)
        found = sample_in_process(
            wanted, load_model(model, dtype=precision), chat, sampler, file, dropped=dropped
        )
        free_memory()
    else:
        found = asyncio.run(
            _from_server(wanted, model, recipe=recipe, sampler=sampler, file=file, dropped=dropped)
        )
    write_sampled(job.folder, found)
    return {"turns": len(found), "left out": dict(dropped)}


def turns(data: Data, settings: SampleSettings) -> list[Turn]:
    """Return the turns at which replies are sampled."""
    return [
        turn
        for side in (data.train, data.held_out)
        if side
        for turn in turns_of(
            side,
            data_fraction=settings.data_fraction,
            all_answers=settings.all_answers,
            seed=settings.seed,
        )
    ]


def estimate(known: Known, recipe: Recipe) -> Amount:
    """Return the number of turns, if the dialogues exist (`Stage.estimate`)."""
    if known.absent - {"model"}:
        return Amount(note="known once dialogues exist")
    if known.waits:
        return Amount(note="known after the dialogues are collected")
    settings = recipe.table(SampleSettings)
    try:
        data = load(recipe.data, known.inputs)
        check_prompts(data, recipe)
        found = turns(data, settings)
    except DataError as cause:
        return Amount(note=str(cause))
    return Amount(
        examples=len(found), note=f"the examples are turns, with {settings.count} replies each"
    )


def check_prompts(data: Data, recipe: Recipe) -> None:
    """Raise UserError if a model server is to sample, but the system prompt of the official files is unknown.

    A server builds prompts from messages, but official files contain the system prompt only within prompt strings. This
    is checked before the critic is trained, because a critic trained with one system prompt does not fit candidates
    sampled with another.
    """
    here = recipe.table(SampleSettings).server == IN_PROCESS
    if here or recipe.data.system is not None:
        return
    if any(each.prompts for each in (*data.train, *data.held_out)):
        raise UserError(
            "data.official: the files contain the agent's system prompt only inside prompt strings, and a model "
            "server cannot take it from there; set data.system to a file with the system prompt, or do without a "
            'server (sample.server="in-process")'
        )


async def _from_server(
    wanted: Sequence[Turn],
    model: Path,
    *,
    recipe: Recipe,
    sampler: Sampler,
    file: CandidateFile,
    dropped: Counter[str],
) -> Found:
    settings = recipe.table(SampleSettings)

    async def ask(spec: str) -> Found:
        async with OpenAIChat(spec, concurrency=settings.concurrency) as chat:
            return await sample_from_server(
                wanted, chat, sampler, file, tokens=settings.record_tokens, dropped=dropped
            )

    if settings.server != VLLM:
        return await ask(settings.server)
    async with VLLMServer(str(model), **server_args(recipe)) as server:
        return await ask(f"{server.model}@{server.base_url}")


def server_args(recipe: Recipe) -> dict[str, Any]:
    """Return the flags for this stage's server. They give the chat template the same variables as in training."""
    variables = recipe.model.template_args
    said = {"default_chat_template_kwargs": msgspec.json.encode(variables).decode()}
    return {**(said if variables else {}), **recipe.table(SampleSettings).server_args}
