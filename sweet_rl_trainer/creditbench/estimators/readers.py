"""Models that read states and candidates: log-probabilities of replies, and sums over the replies before."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from torch import Tensor
from transformers import AutoConfig

from colbench.task import Task
from sweet_rl_trainer.creditbench.states import Bench, BenchState, trajectory_of
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.examples import Example
from sweet_rl_trainer.data.privileged import preface_of
from sweet_rl_trainer.data.token_weights import weigh
from sweet_rl_trainer.data.tokens import encode
from sweet_rl_trainer.methods.ranking.turns import Candidates, encode_candidates, reply_lengths
from sweet_rl_trainer.model.attention import can_share
from sweet_rl_trainer.model.checkpoint import is_adapters, load_tokenizer
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.model.load import load_trained
from sweet_rl_trainer.settings import Score
from sweet_rl_trainer.train.loss import READERS
from sweet_rl_trainer.train.reference_cache import ReferenceCache
from sweet_rl_trainer.train.scorer import Scorer, group_values

ATTENTION = "sdpa"
PRECISION = "float32"
BUDGET = 4096
"""Tokens of a row."""
MAX_LENGTH = 4096
"""Tokens of a dialogue, at most; a longer one has no score."""


class Reader:
    """A language model or a value model, and the cache of what it computed, which a later run reads."""

    def __init__(self, folder: Path, base: Path, cache: Path) -> None:
        """Prepare a model, which is loaded when it is first needed; `base` is that of adapters.

        Raises UserError if a folder has no model.
        """
        self._folder, self._base, self._cache = folder, base, cache
        self.chat = Chat(load_tokenizer(base))

    @cached_property
    def digest(self) -> str:
        """The digest of the weights."""
        return model_digest(self._folder)

    @cached_property
    def score(self) -> Score:
        """The kind of model."""
        config = AutoConfig.from_pretrained(self._base if self._adapted else self._folder)
        kinds = config.architectures or []
        return "value" if any("TokenClassification" in each for each in kinds) else "log-ratio"

    @property
    def _adapted(self) -> bool:
        return is_adapters(self._folder)

    @cached_property
    def scorer(self) -> Scorer:
        """The model as the trainer's scorers are."""
        config = AutoConfig.from_pretrained(self._base, attn_implementation=ATTENTION)
        cache = ReferenceCache(self._cache, model=self.digest, precision=PRECISION)
        return Scorer(cache=cache, logprobs=self._read, share=can_share(config), score=self.score)

    def _read(self, row: Any) -> Tensor:
        model = self._model
        device = next(model.parameters()).device
        return READERS[self.score](model, model.config, row.to(device))

    @cached_property
    def _model(self) -> Any:
        return load_trained(
            self._folder, self._base, dtype=PRECISION, attention=ATTENTION, score=self.score
        )

    def sums(self, groups: Sequence[Sequence[Example]]) -> list[list[float]]:
        """Return Σ w log π, or Σ w v, of each example; those of a group may share their beginning."""
        return group_values([[[each] for each in group] for group in groups], self.scorer, BUDGET)


Examples = list[list[Example]]
"""The candidates of each state."""


def replies(bench: Bench, chat: Chat, *, told: bool) -> Examples:
    """Return the candidates of a task's states, each with the mean over its tokens; `told`, c is stated before."""
    return _encoded([state.ranked(bench.task) for state in bench.states], chat, told=told)


def informed_replies(bench: Bench, chat: Chat, opening: str) -> Examples:
    """Return the same after another first message of the human."""
    states = [replace(each, heard=(opening, *each.heard[1:])) for each in bench.states]
    return _encoded([each.ranked(bench.task) for each in states], chat, told=False)


def _encoded(states: Sequence[Candidates], chat: Chat, *, told: bool) -> Examples:
    template = "preamble" if told else None
    return [encode_candidates(each, chat, "turn-mean", privileged=template) for each in states]


def lengths(examples: Examples) -> list[tuple[int, ...]]:
    """Return the number of tokens of each candidate."""
    return [reply_lengths(each) for each in examples]


def before(task: Task, state: BenchState, chat: Chat, *, told: bool) -> Example | None:
    """Return the replies before a state with weight 1 for each of their tokens; None in the first turn."""
    if not state.said:
        return None
    trajectory = trajectory_of(task, state.id, state.heard[:-1], state.said)
    preface = preface_of(trajectory, "preamble").text if told else ""
    (sequence,) = encode(trajectory, chat, preface=preface).sequences
    weights = weigh(sequence.turns, "sum")
    return Example(ids=array("i", sequence.ids), token_weights=array("f", weights))


def fits(example: Example) -> bool:
    """Return True if a model may read a dialogue of this length."""
    return len(example.ids) <= MAX_LENGTH
