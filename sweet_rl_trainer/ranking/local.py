"""Candidates from a model of transformers in this process: for machines without a server, and for small models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any

import torch

from colbench.config import derive_seed
from sweet_rl_trainer.chat import Chat
from sweet_rl_trainer.progress import progress
from sweet_rl_trainer.ranking.candidates import CandidateFile, Record, Sampler
from sweet_rl_trainer.ranking.turns import Candidates, Reply, Turn
from sweet_rl_trainer.tokens import encode_prompt


def sample_in_process(
    turns: Sequence[Turn],
    model: Any,
    chat: Chat,
    sampler: Sampler,
    file: CandidateFile,
    *,
    dropped: Counter[str] | None = None,
) -> list[Candidates]:
    """The candidates of the turns, in their order; what the file has is not sampled again.

    A turn's replies are one batch with a seed of its own, so they do not depend on what else is sampled. They follow
    the very tokens that the agent saw, recorded ones where there are. Turns that leave no room for a reply of
    `max_tokens` in the model's context are left out and counted in `dropped`. The model is put into evaluation mode.
    """
    prompts = [encode_prompt(turn.trajectory, turn.number, chat) for turn in turns]
    keys = [sampler.key(prompt) for prompt in prompts]
    room = context_of(model) - sampler.max_tokens
    model.eval()
    with file.writing():
        missing = {
            key: prompt
            for key, prompt in zip(keys, prompts, strict=True)
            if key not in file and len(prompt) <= room
        }
        with progress("candidates", len(missing)) as advance:
            for key, prompt in missing.items():
                file.add(
                    Record(
                        key=key,
                        replies=_sample(model, chat, sampler, prompt, key),
                        prompt=tuple(prompt),
                    )
                )
                advance()
    lost = sum(key not in file for key in keys)
    if dropped is not None and lost:
        dropped[f"no room for a reply of {sampler.max_tokens} tokens"] += lost
    return file.collect(turns, keys)


def context_of(model: Any) -> float:
    """Tokens that the model was made for; without a number, as many as there are."""
    return float(getattr(model.config.get_text_config(), "max_position_embeddings", inf))


def _sample(
    model: Any, chat: Chat, sampler: Sampler, prompt: Sequence[int], key: str
) -> tuple[Reply, ...]:
    ends = ends_of(model, chat)
    ids = torch.tensor([prompt], device=model.device)
    devices = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(devices), plain(model), torch.inference_mode():
        torch.manual_seed(derive_seed("candidates", key))
        found = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            do_sample=True,
            temperature=sampler.temperature,
            top_k=0,
            num_return_sequences=sampler.count,
            max_new_tokens=sampler.max_tokens,
            eos_token_id=ends,
            pad_token_id=ends[0],
        )
    return tuple(_reply(chat, reply, ends) for reply in found[:, len(prompt) :].tolist())


@contextmanager
def plain(model: Any) -> Iterator[None]:
    """While this is open, nothing that a checkpoint says of sampling (top-k, a penalty …) makes it something else."""
    from transformers import GenerationConfig

    settings: Any = GenerationConfig
    own, model.generation_config = model.generation_config, settings()
    try:
        yield
    finally:
        model.generation_config = own


def ends_of(model: Any, chat: Chat) -> list[int]:
    """The tokens that end a reply: the template's, and those that the checkpoint names."""
    named = model.generation_config.eos_token_id
    more = named if isinstance(named, list) else [named]
    return list(dict.fromkeys([chat.end, *(each for each in more if each is not None)]))


def _reply(chat: Chat, ids: list[int], ends: list[int]) -> Reply:
    end = next((place for place, token in enumerate(ids) if token in ends), len(ids))
    said = ids[: end + 1]
    text: str = chat.tokenizer.decode(
        said, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return Reply(text=text, ids=tuple(said))
