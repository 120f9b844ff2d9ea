"""The candidates of phase 2, sampled by the model that training starts from.

FOLDER/candidates.jsonl   as they come (`ranking.candidates`)
FOLDER/sampled.jsonl      of each turn, in order: what `rank` goes by
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from colbench.errors import UserError
from colbench.models.openai_chat import OpenAIChat
from colbench_agents.vllm import VLLMServer
from sweet_rl_trainer.models import load_model
from sweet_rl_trainer.ranking.candidates import CandidateFile, Sampler
from sweet_rl_trainer.ranking.local import sample_in_process
from sweet_rl_trainer.ranking.server import sample_from_server
from sweet_rl_trainer.ranking.turns import Candidates, Reply, Turn, turns_of
from sweet_rl_trainer.recipe import Recipe, SampleSettings
from sweet_rl_trainer.reference import model_digest
from sweet_rl_trainer.stages.base import chat_of, model_in
from sweet_rl_trainer.stages.data import Data, load
from sweet_rl_trainer.stages.stage import Job
from sweet_rl_trainer.trajectories import Trajectory

SAMPLED = "sampled.jsonl"
IN_PROCESS, VLLM = "in-process", "vllm"


class Sampled(Struct, frozen=True, kw_only=True):
    """A line of `sampled.jsonl`."""

    trajectory: str
    turn: int
    replies: tuple[Reply, ...]
    prompt: tuple[int, ...] = ()


def sample(job: Job, recipe: Recipe) -> dict[str, Any]:
    """Sample at the turns of a share of both sides' trajectories."""
    model = model_in(job.inputs["model"])
    data = load(recipe.data, job.inputs)
    check_prompts(data, recipe)
    wanted = turns(data, recipe.sample)
    settings = recipe.sample
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
        chat = chat_of(model, recipe.model)
        precision = recipe.actor.train.precision
        found = sample_in_process(
            wanted, load_model(model, dtype=precision), chat, sampler, file, dropped=dropped
        )
    else:
        found = asyncio.run(
            _from_server(wanted, model, recipe=recipe, sampler=sampler, file=file, dropped=dropped)
        )
    _write(job.folder / SAMPLED, found)
    return {"turns": len(found), "left out": dict(dropped)}


def turns(data: Data, settings: SampleSettings) -> list[Turn]:
    """Those at which replies are sampled."""
    return [
        turn
        for side in (data.train, data.held_out)
        if side
        for turn in turns_of(side, data_fraction=settings.data_fraction, seed=settings.seed)
    ]


def check_prompts(data: Data, recipe: Recipe) -> None:
    """A server makes its own prompts of messages, among which official files have no system prompt.

    Asked before a critic learns from them, too: with another system prompt it would learn anew. Raises UserError.
    """
    if recipe.sample.server == IN_PROCESS or recipe.data.system is not None:
        return
    if any(each.prompts for each in (*data.train, *data.held_out)):
        raise UserError(
            "data.official: the files hold the agent's system prompt in prompt strings alone, which a server is not "
            'given; give it (data.system), or sample by these strings (sample.server="in-process")'
        )


async def _from_server(
    wanted: Sequence[Turn],
    model: Path,
    *,
    recipe: Recipe,
    sampler: Sampler,
    file: CandidateFile,
    dropped: Counter[str],
) -> list[Candidates]:
    settings = recipe.sample

    async def ask(spec: str) -> list[Candidates]:
        async with OpenAIChat(spec, concurrency=settings.concurrency) as chat:
            return await sample_from_server(
                wanted, chat, sampler, file, tokens=settings.record_tokens, dropped=dropped
            )

    if settings.server != VLLM:
        return await ask(settings.server)
    async with VLLMServer(str(model), **server_args(recipe)) as server:
        return await ask(f"{server.model}@{server.base_url}")


def server_args(recipe: Recipe) -> dict[str, Any]:
    """Flags of our own server, which speaks by the same chat template with the same variables as training."""
    variables = recipe.model.template_args
    said = {"default_chat_template_kwargs": msgspec.json.encode(variables).decode()}
    return {**(said if variables else {}), **recipe.sample.server_args}


def _write(path: Path, found: Iterable[Candidates]) -> None:
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        for each in found:
            line = Sampled(
                trajectory=each.turn.trajectory.id,
                turn=each.turn.number,
                replies=each.replies,
                prompt=each.prompt,
            )
            file.write(msgspec.json.encode(line) + b"\n")
    part.rename(path)


def read(folder: Path, trajectories: dict[str, Trajectory]) -> list[Candidates]:
    """What was sampled."""
    decoder = msgspec.json.Decoder(Sampled)
    lines = map(decoder.decode, (folder / SAMPLED).read_bytes().splitlines())
    return [
        Candidates(
            turn=Turn(trajectory=trajectories[line.trajectory], number=line.turn),
            replies=line.replies,
            prompt=line.prompt,
        )
        for line in lines
    ]
