"""Candidates from a transformers model in this process: for machines without a server, and for small models."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from colbench.config import derive_seed
from sweet_rl_trainer.console import progress
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.tokens import encode_prompt
from sweet_rl_trainer.methods.ranking.candidates import CandidateFile, Found, Record, Sampler
from sweet_rl_trainer.methods.ranking.turns import Reply, Turn
from sweet_rl_trainer.model.generate import context_of, ends_of, generate

ROWS = 64
"""Maximum number of replies in a batch, unless a single turn has more."""


def sample_in_process(
    turns: Sequence[Turn],
    model: Any,
    chat: Chat,
    sampler: Sampler,
    file: CandidateFile,
    *,
    dropped: Counter[str] | None = None,
) -> Found:
    """Return the candidates of the turns, in order; candidates in the file are not sampled again.

    Each reply has its own seed, so a reply does not depend on other replies. The prompt consists of exactly the tokens
    that the agent saw: the recorded tokens, if they exist. Turns that leave no room for a reply of `max_tokens` in the
    model's context are left out and counted in `dropped`. The model is put into evaluation mode.
    """
    prompts = [array("i", encode_prompt(turn.trajectory, turn.number, chat)) for turn in turns]
    keys = [sampler.key(list(prompt)) for prompt in prompts]
    room = context_of(model) - sampler.max_tokens
    model.eval()
    with file.writing():
        missing = {
            key: prompt
            for key, prompt in zip(keys, prompts, strict=True)
            if key not in file and len(prompt) <= room
        }
        with progress("candidates", len(missing)) as advance:
            for batch in _batches(missing, max(1, ROWS // sampler.count)):
                for record in _sample(model, chat, sampler, batch):
                    file.add(record)
                    advance()
    lost = sum(key not in file for key in keys)
    if dropped is not None and lost:
        dropped[f"no room for a reply of {sampler.max_tokens} tokens"] += lost
    return file.collect(turns, keys)


def _batches(missing: Mapping[str, array[int]], size: int) -> Iterator[dict[str, list[int]]]:
    """Yield batches of prompts of about the same length, which need little padding."""
    by_length = sorted(missing.items(), key=lambda each: len(each[1]))
    for first in range(0, len(by_length), size):
        yield {key: list(prompt) for key, prompt in by_length[first : first + size]}


def _sample(
    model: Any, chat: Chat, sampler: Sampler, batch: Mapping[str, list[int]]
) -> Iterator[Record]:
    count = sampler.count
    replies = generate(
        model,
        list(batch.values()),
        [derive_seed("candidates", key, number) for key in batch for number in range(count)],
        ends=ends_of(model, chat),
        temperature=sampler.temperature,
        max_tokens=sampler.max_tokens,
    )
    for place, (key, prompt) in enumerate(batch.items()):
        own = replies[place * count : (place + 1) * count]
        said = tuple(_reply(chat, reply) for reply in own)
        yield Record(key=key, replies=said, prompt=tuple(prompt))


def _reply(chat: Chat, ids: list[int]) -> Reply:
    text: str = chat.tokenizer.decode(
        ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return Reply(text=text, ids=tuple(ids))
