"""SWEET-RL: a critic that sees the privileged information c assigns credit to each turn, and an actor learns from it.

Phase 1, credit:

    critic-data   pairs of dialogues about a task, τ⁺ better than τ⁻, each after a statement of c
    critic        L = -log σ(β Σ_t A(τ⁺_t) - β Σ_t A(τ⁻_t)) + λ NLL(τ⁺)
                  A(o_t, a_t, c) = (1/L_t) Σ_l [log π(a_t^l | c, o_t, a_t^{<l}) - log π_ref(a_t^l | c, o_t, a_t^{<l})]
    diagnose      pair accuracy and more on held-out tasks, before an actor is trained on the critic's scores

o_t is the dialogue before turn t, and L_t the number of tokens of the reply a_t.

Phase 2, policy:

    sample        16 replies from π(. | o_t), without c, at the turns of a tenth of the dialogues
    rank          the replies' scores A(o_t, a, c); 4 pairs per turn, each with one reply from the better half (chosen)
                  and one from the worse half (rejected)
    diagnose      again, with the candidates
    actor         DPO on the tokens of the replies, without c and without length normalization, + λ NLL(chosen)
    export

Paper: arXiv 2503.15478, section 4 and the appendix on hyper-parameters: β 0.1, λ 0.01, learning rate 2e-7, batches of
8. The critic has 4 epochs (8 in frontend design) and at most 8,192 tokens, the actor 1 epoch and at most 16,384 tokens.
`critic.train.score = "value"` is the paper's ablation with a regression head. In frontend design, the paper's critic
has this head on a separate model, which sees the hidden page and every shown page (`[critic.vision]`). The recipe
`released-backend-8b` follows the released code, which differs from the paper.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

from msgspec import Struct

from colbench.task import FRONTEND
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.pairs import PAPER_PAIRS
from sweet_rl_trainer.data.tokens import DialogueEncoder
from sweet_rl_trainer.methods.critic import diagnosis, pictured
from sweet_rl_trainer.methods.critic.diagnosis import DiagnoseSettings
from sweet_rl_trainer.methods.critic.show import view
from sweet_rl_trainer.methods.ranking import rank, sample, vision
from sweet_rl_trainer.methods.ranking.critic_settings import (
    CriticSettings,
    VisionSettings,
    template_of,
)
from sweet_rl_trainer.methods.ranking.rank_settings import ActorSettings, RankSettings
from sweet_rl_trainer.methods.ranking.sample import SampleSettings
from sweet_rl_trainer.methods.ranking.score import CONSEQUENCES, PLAYED, TERMS
from sweet_rl_trainer.pipeline.base import checkpoint, loading
from sweet_rl_trainer.pipeline.examples import TrainingData, paired
from sweet_rl_trainer.pipeline.inputs import Data
from sweet_rl_trainer.pipeline.iteration import Inputs, Iteration, plain
from sweet_rl_trainer.pipeline.method import Method, only_log_ratios, paper_epochs
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Source, Stage
from sweet_rl_trainer.pipeline.view import examples

PAPER_ACTOR_EPOCHS = 1
PAPER_CRITIC = "Qwen/Qwen2-VL-7B-Instruct"
"""The paper's model for the critic in frontend design."""


ranked_view = partial(examples, measure="score")


class Sweet(Method):
    """The paper's method, SWEET-RL."""

    name = "sweet"
    tables: ClassVar[Mapping[str, type[Struct]]] = {
        "critic": CriticSettings,
        "diagnose": DiagnoseSettings,
        "sample": SampleSettings,
        "rank": RankSettings,
        "actor": ActorSettings,
    }
    goals: ClassVar[Mapping[str, str]] = {
        "critic": "train the critic (phase 1)",
        "diagnose": "measure the critic on held-out tasks",
        "sample": "sample candidate replies for the turns of the dialogues",
        "rank": "score the candidates, and pair them",
        "actor": "train the actor on the pairs (phase 2), and export it",
    }

    paper_tables: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        FRONTEND: {
            "critic": {"train": {"score": "value"}, "vision": {"model": PAPER_CRITIC}},
            "rank": {"scores": "value"},
        }
    }

    def paper(self, table: str, domain: str, train: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the paper's epochs for the critic and the actor; {} for other tables.

        For the critic, also return the paper's pairs and, with a regression head, the likelihood weight 0.
        """
        if table == "critic":
            settings: dict[str, Any] = {"epochs": paper_epochs(domain)}
            if train.get("score") == "value":
                settings |= {"score": "value", "likelihood_weight": 0.0}
            return {"train": settings, "pairs": PAPER_PAIRS.get(domain, {})}
        return {"train": {"epochs": PAPER_ACTOR_EPOCHS}} if table == "actor" else {}

    def problems(self, recipe: Recipe) -> Iterator[str]:
        """Yield a message for each conflict in the recipe, such as scores that the critic is not trained for."""
        yield from sample.problems(recipe.table(SampleSettings))
        yield from only_log_ratios("actor", recipe.table(ActorSettings).train)
        yield from _unfit(recipe)

    def stages(self, iteration: Iteration, goal: str) -> Sequence[Stage]:
        """Return the final stages of a goal.

        For the goal `actor`, diagnoses of the critic come first if a critic scores the candidates.
        """
        parts = SweetStages(iteration)
        match goal:
            case "critic":
                return [parts.critic]
            case "diagnose":
                return [parts.diagnosis()]
            case "sample":
                return [parts.sampled]
            case "rank":
                return [parts.ranked]
            case _:
                return [*parts.checks(), iteration.exported(parts.actor)]


class SweetStages:
    """The stages of one SWEET-RL iteration."""

    def __init__(self, iteration: Iteration) -> None:
        self._iteration = iteration
        recipe = iteration.recipe
        self._critic = recipe.table(CriticSettings)
        self._sample = recipe.table(SampleSettings)
        self._rank = recipe.table(RankSettings)
        self._actor = recipe.table(ActorSettings)

    @cached_property
    def critic_data(self) -> Stage:
        """The stage that makes pairs of dialogues for the critic; `privileged` determines how the critic sees c."""
        table = self._critic
        settings = {
            "pairs": table.pairs,
            "token_weights": table.token_weights,
            "max_length": table.max_length,
            "privileged": table.privileged,
        }
        make = partial(critic_pairs, recipe=self._iteration.recipe)
        if table.vision is None:
            return self._iteration.examples("critic", make, self._iteration.truncated, **settings)
        maker = partial(make, **settings)
        return self._stage(
            "critic-data",
            partial(pictured.make, maker=maker),
            plain({**settings, "vision": _key(table.vision)}),
            {**self._iteration.truncated, **self._sight},
            estimate=partial(pictured.estimate, maker=maker),
            view=examples,
        )

    @cached_property
    def critic(self) -> Stage:
        """The stage of phase 1, which trains the critic."""
        train = self._critic.train
        reference = train.score == "log-ratio"
        stage = self._iteration.training(
            "critic", train, self.critic_data, reference=reference, model=self._critic_model
        )
        if self._critic_model is None:
            return stage
        estimate = partial(pictured.estimate_training, recipe=self._iteration.recipe)
        return dataclasses.replace(stage, estimate=estimate)

    @cached_property
    def _critic_model(self) -> Source | None:
        """The model from which a critic that sees pages starts; None if the critic starts from the policy's model."""
        if self._critic.vision is None:
            return None
        name, offline = self._critic.vision.model, self._iteration.offline
        return checkpoint(name, offline=offline, flag="--set critic.vision.model=MODEL")

    @property
    def _sight(self) -> Inputs:
        """The initial model of a vision critic, as an extra input of the critic's stages; empty for other critics."""
        return {vision.BASE: self._critic_model} if self._critic_model else {}

    def diagnosis(self, more: Inputs | None = None) -> Stage:
        """Return the stage that measures the critic. `more` has additional inputs, such as the ranked candidates."""
        table = self._critic
        settings = {
            "diagnose": plain(self._iteration.recipe.table(DiagnoseSettings)),
            "privileged": table.privileged,
            "token_weights": table.token_weights,
            "max_length": table.max_length,
        }
        if table.vision:
            settings["vision"] = _key(table.vision)
        needed = {"data": self.critic_data, "critic": self.critic, **self._sight, **(more or {})}
        act = partial(diagnosis.diagnose, row_tokens=self._rank.row_tokens)
        return self._stage("diagnose", act, settings, needed, view=view)

    def checks(self) -> list[Stage]:
        """Return the stages that diagnose the critic: one before ranking, and one after it.

        Return [] if no critic scores the candidates.
        """
        if not self.judged:
            return []
        return [self.diagnosis(), self.diagnosis({diagnosis.RANKED: self.ranked})]

    @property
    def judged(self) -> bool:
        """True if a critic scores the candidates."""
        return any(term.of == "critic" for term in TERMS[self._rank.scores])

    @cached_property
    def sampled(self) -> Stage:
        """The stage that samples the candidates."""
        settings: dict[str, Any] = plain(self._sample)
        for name in (
            "server",
            "server_args",
            "concurrency",
        ):  # not part of the key: where and how fast replies are sampled
            del settings[name]
        if not self._sample.all_answers:  # keep stage keys from before this setting existed
            del settings["all_answers"]
        here = self._sample.server == sample.IN_PROCESS
        precision = self._actor.train.precision
        settings["in-process"] = precision if here else None
        act = partial(sample.sample, precision=precision)
        return self._stage("sample", act, settings, {}, estimate=sample.estimate)

    @cached_property
    def ranked(self) -> Stage:
        """The stage that scores the candidates and pairs them."""
        settings: dict[str, Any] = plain(self._rank)
        del settings["row_tokens"]
        if not self._rank.calibrate:  # keep stage keys from before this setting existed
            del settings["calibrate"]
        if self._rank.scores != "returns":
            del settings["continuations"]
        if self._rank.scores not in CONSEQUENCES:
            del settings["cost"], settings["scale"]
        if self._rank.scores != "facts":
            del settings["told_later"]
        if any(term.header for term in TERMS[self._rank.scores]):
            settings["header"] = True  # new key: older rankings did not score the header
        precision = self._critic.train.precision
        settings["precision"] = precision
        settings["loading"] = plain(loading(precision, self._iteration.recipe.lora))
        settings["privileged"] = self._critic.privileged
        settings["max_length"] = [self._critic.max_length, self._actor.max_length]
        settings["token_weights"] = self._actor.token_weights
        if self._actor.loss != "dpo":
            settings["loss"] = self._actor.loss
        if self._actor.imitate != "chosen":
            settings["imitate"] = self._actor.imitate
        judge: Inputs = {rank.CRITIC: self.critic, **self._sight} if self.judged else {}
        if self._critic.vision and self.judged:
            settings["vision"] = _key(self._critic.vision)
        needed = {"candidates": self.sampled, **judge}
        return self._stage(
            "rank", rank.rank, settings, needed, estimate=rank.estimate, view=ranked_view
        )

    @cached_property
    def actor(self) -> Stage:
        """The stage of phase 2, which trains the actor."""
        reference = self._actor.loss == "dpo"
        return self._iteration.training(
            "actor", self._actor.train, self.ranked, reference=reference
        )

    def _stage(self, name: str, act: Any, settings: Any, needed: Inputs, **options: Any) -> Stage:
        if estimate := options.pop("estimate", None):
            options["estimate"] = partial(estimate, recipe=self._iteration.recipe)
        inputs = {**self._iteration.inputs, **needed}
        return self._iteration.stage(name, act, settings, inputs, **options)


def _key(settings: VisionSettings) -> dict[str, Any]:
    """Return the settings of a critic that sees pages. The model is left out, because it is an input of the stages."""
    found: dict[str, Any] = plain(settings)
    del found["model"]
    return found


def critic_pairs(
    data: Data, chat: Chat | DialogueEncoder, recipe: Recipe, **settings: Any
) -> TrainingData:
    """Return pairs of dialogues for the critic, with the privileged information c.

    Raises DataError if no pair is left to train on, and UserError if a server is to sample replies but the system
    prompt is unknown.
    """
    sample.check_prompts(data, recipe)
    privileged = template_of(recipe.table(CriticSettings))
    return paired(data, chat, **{**settings, "privileged": privileged})


def _unfit(recipe: Recipe) -> Iterator[str]:
    """Yield a message for each setting that is incompatible with the ranking scores or the critic."""
    scores, critic = recipe.table(RankSettings).scores, recipe.table(CriticSettings)
    if critic.vision:
        yield from _unfit_for_sight(recipe, critic)
    if scores in PLAYED and recipe.data.given and not recipe.data.runs:
        yield f"rank.scores {scores!r}: only dialogues of runs can be continued; set data.runs"
    actor = recipe.table(ActorSettings)
    if actor.imitate == "successes" and actor.loss == "nll":
        yield "actor.imitate 'successes': actor.loss 'nll' imitates every chosen reply; leave actor.imitate at 'chosen'"
    if actor.imitate == "successes" and scores not in CONSEQUENCES:
        yield (
            f"actor.imitate 'successes': rank.scores {scores!r} does not determine which answers succeed; set "
            f"rank.scores to {' or '.join(CONSEQUENCES)}, or leave actor.imitate at 'chosen'"
        )
    if critic.privileged == "none" and critic.token_weights == "sum":
        yield "critic.token_weights 'sum' requires a critic that sees the privileged information; set critic.privileged"
    for term in TERMS[scores]:
        if term.of != "critic":
            continue
        if term.privileged == (critic.privileged == "none"):
            sees = "does not see" if critic.privileged == "none" else "sees"
            yield (
                f"rank.scores {scores!r} is incompatible with a critic that {sees} the privileged information "
                f"(critic.privileged {critic.privileged!r})"
            )
        if (term.token_weights == "sum") != (critic.token_weights == "sum"):
            yield f"rank.scores {scores!r} is incompatible with critic.token_weights {critic.token_weights!r}"
        if term.score != critic.train.score:
            yield f"rank.scores {scores!r} is incompatible with critic.train.score {critic.train.score!r}"


def _unfit_for_sight(recipe: Recipe, critic: CriticSettings) -> Iterator[str]:
    """Yield a message for each setting that does not fit a critic that sees pages."""
    assert critic.vision  # noqa: S101
    yield from vision.problems(critic.vision, recipe.domain)
    if critic.train.score != "value":
        yield 'critic.vision: a critic that sees pages needs a regression head; set critic.train.score = "value"'
    if critic.privileged != "preamble":
        yield (
            "critic.vision: this critic always sees a picture of the hidden page, the privileged information; "
            'leave critic.privileged at "preamble"'
        )
    if critic.train.share_beginnings:
        yield "critic.train.share_beginnings: not supported for dialogues with pictures; set it to false"
