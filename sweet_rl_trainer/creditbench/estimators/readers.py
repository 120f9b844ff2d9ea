"""Models that read states and candidates: log-probabilities of replies, and sums over earlier replies."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from torch import Tensor
from transformers import AutoConfig

from colbench.config import digest
from colbench.registry import get_domain
from colbench.task import Task
from sweet_rl_trainer.creditbench.states import Bench, BenchState
from sweet_rl_trainer.creditbench.truths import MOST_TURNS
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.examples import Example
from sweet_rl_trainer.data.privileged import Template, preface_of
from sweet_rl_trainer.data.token_weights import weigh
from sweet_rl_trainer.data.tokens import encode
from sweet_rl_trainer.data.trajectories import Trajectory, messages_of
from sweet_rl_trainer.methods.ranking.scorers import trained_digest
from sweet_rl_trainer.methods.ranking.turns import (
    Candidates,
    Reply,
    Turn,
    encode_candidates,
    reply_lengths,
)
from sweet_rl_trainer.model.attention import can_share
from sweet_rl_trainer.model.checkpoint import is_adapters, load_tokenizer
from sweet_rl_trainer.model.load import load_trained
from sweet_rl_trainer.model.lora import score_of
from sweet_rl_trainer.pipeline.base import tokenizer_digests
from sweet_rl_trainer.settings import Precision, Score
from sweet_rl_trainer.train.loss import READERS
from sweet_rl_trainer.train.reference_cache import ReferenceCache
from sweet_rl_trainer.train.scorer import Scorer, group_values

ATTENTION = "sdpa"
PRECISION: Precision = "float32"
BUDGET = 4096
"""Maximum number of tokens in one row of a batch."""
MAX_LENGTH = 4096
"""Maximum number of tokens of a dialogue plus the reference in the gain potential; a longer dialogue has no score."""


class Reader:
    """A language model or a value model, with a cache of computed values that later runs reuse."""

    def __init__(self, folder: Path, base: Path, cache: Path, *, system: str | None = None) -> None:
        """Prepare a model, which is loaded on first use.

        Raises UserError if the tokenizer of `base` cannot be loaded, and DataError if it has no chat template.

        Args:
            folder: The model, or adapters.
            base: The base model of the adapters, if any; in any case, the model whose tokenizer is used.
            cache: The folder of computed values.
            system: The system prompt: "" for no prompt, None for the built-in prompt of the task's domain.
        """
        self._folder, self._base, self._cache = folder, base, cache
        self._system = system
        self.chat = Chat(load_tokenizer(base))

    def system(self, task: Task) -> str:
        """Return the system prompt for a task; "" means no prompt."""
        prompt = self._system
        if prompt is None:
            prompt = get_domain(task.domain).agent_prompt(single_turn=False, pictures=False)
        return prompt.replace("{max_turns}", str(MOST_TURNS))

    @property
    def key(self) -> str:
        """The identity of the weights, the tokenizer with its chat template, and the system prompt."""
        return digest([self.digest, tokenizer_digests(self._base), self._system])

    @cached_property
    def digest(self) -> str:
        """The digest of the weights; for adapters, this digest includes the base model."""
        return trained_digest(self._folder, self._base)

    @cached_property
    def score(self) -> Score:
        """The kind of model: "value" if it has a value head, otherwise "log-ratio"."""
        if is_adapters(self._folder):
            return score_of(self._folder)
        kinds = AutoConfig.from_pretrained(self._folder).architectures or []
        return "value" if any("TokenClassification" in each for each in kinds) else "log-ratio"

    @cached_property
    def scorer(self) -> Scorer:
        """The model, wrapped as the `Scorer` that the trainer uses."""
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
        """Return, for each group, each example's weighted sum of log-probabilities or of values.

        The examples of a group may share a prefix.
        """
        return group_values([[[each] for each in group] for group in groups], self.scorer, BUDGET)


Examples = list[list[Example]]
"""For each state, its candidates as examples."""


def replies(bench: Bench, reader: Reader, *, told: bool) -> Examples:
    """Return each state's candidates as examples. If `told`, prompts begin with the reference.

    The weights are such that `Reader.sums` returns the mean over a candidate's tokens.
    """
    return _encoded(bench.task, bench.states, reader, "preamble" if told else None)


def informed_replies(bench: Bench, reader: Reader, opening: str) -> Examples:
    """Return each state's candidates as examples without the reference.

    `opening` replaces the human's first message.
    """
    states = [replace(each, heard=(opening, *each.heard[1:])) for each in bench.states]
    return _encoded(bench.task, states, reader, None)


def _encoded(
    task: Task, states: Sequence[BenchState], reader: Reader, template: Template | None
) -> Examples:
    system = reader.system(task)
    return [
        encode_candidates(ranked(task, each, system), reader.chat, "turn-mean", privileged=template)
        for each in states
    ]


def ranked(task: Task, state: BenchState, system: str) -> Candidates:
    """Return a state's candidates in the ranking scorers' format; an empty `system` means no system message."""
    trajectory = trajectory_of(task, state.id, state.heard, (*state.said, ""), system)
    turn = Turn(trajectory=trajectory, number=len(state.said))
    return Candidates(turn=turn, replies=tuple(Reply(text=each.text) for each in state.candidates))


def trajectory_of(
    task: Task, name: str, heard: tuple[str, ...], said: tuple[str, ...], system: str
) -> Trajectory:
    """Return a dialogue in the form that the trainer reads; `heard` and `said` have the same length."""
    return Trajectory(
        id=name,
        task_id=task.id,
        task_hash=task.hash,
        domain=task.domain,
        privileged=task.hidden.reference,
        messages=messages_of(system, heard, said),
        said=said,
        reward=0.0,
        ended_by="unknown",
    )


def lengths(examples: Examples) -> list[tuple[int, ...]]:
    """Return the number of tokens of each candidate."""
    return [reply_lengths(each) for each in examples]


def earlier_replies(task: Task, state: BenchState, reader: Reader) -> Example | None:
    """Return an example with a statement of the reference and then the earlier turns; None in the first turn.

    The agent's tokens have weight 1.
    """
    if not state.said:
        return None
    dialogue = trajectory_of(task, state.id, state.heard[:-1], state.said, reader.system(task))
    stated = preface_of(dialogue, "preamble")
    (sequence,) = encode(dialogue, reader.chat, preface=stated.text, inside=stated.inside).sequences
    weights = weigh(sequence.turns, "sum")
    return Example(ids=array("i", sequence.ids), token_weights=array("f", weights))
