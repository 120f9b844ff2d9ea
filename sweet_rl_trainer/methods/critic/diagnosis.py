"""The stage that measures the critic on the held-out tasks, before an actor is trained on its scores.

FOLDER/diagnosis.json   `critic.diagnose.Diagnosis`, and its alarms
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from colbench.errors import DataError
from colbench.task import Task
from sweet_rl_trainer.data import files
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.examples import PairExample, side_examples
from sweet_rl_trainer.data.tokens import DialogueEncoder
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.critic.best_of import DialogueCurve, of_dialogues
from sweet_rl_trainer.methods.critic.diagnose import DIAGNOSIS, Diagnosis, Part, alarms, encode
from sweet_rl_trainer.methods.critic.diagnose import diagnose as put_together
from sweet_rl_trainer.methods.critic.montecarlo import Agreement, agreement, compare, sample_turns
from sweet_rl_trainer.methods.critic.states import Preference, known_states, preference
from sweet_rl_trainer.methods.ranking.critic_settings import CriticSettings, template_of
from sweet_rl_trainer.methods.ranking.files import read_scored
from sweet_rl_trainer.methods.ranking.score import (
    Preset,
    score_candidates,
    score_pairs,
    score_sides,
)
from sweet_rl_trainer.methods.ranking.turns import Candidates, Scored
from sweet_rl_trainer.methods.ranking.vision import BASE, Sight
from sweet_rl_trainer.pipeline import inputs
from sweet_rl_trainer.pipeline.base import PICTURES, REFERENCES, chat_of, model_in, trained
from sweet_rl_trainer.pipeline.dialogues import continuations
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Job
from sweet_rl_trainer.settings import Count
from sweet_rl_trainer.train.scorer import Scorer

RANKED = "ranked"
"""Name of the input with ranked candidates; this input is missing before the ranking."""


class DiagnoseSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of the measurements of a critic before an actor is trained on its scores.

    These settings are not from the paper.
    """

    questions: Count = 4
    """Maximum number of further questions that are compared with the right answer when every decision is known."""
    continuations: Annotated[int, Meta(ge=0)] = 0
    """Number of continuations from which a candidate's Monte-Carlo return is computed; 0 skips this measure."""
    turns: Count = 50
    """Maximum number of turns at which candidates are continued."""
    candidates: Annotated[int, Meta(ge=2)] = 4
    """Maximum number of candidates that are continued at a turn."""
    agent: str = ""
    """The agent that continues the dialogues; "" means the agent of the first run."""
    seed: int = 0


def diagnose(job: Job, recipe: Recipe, row_tokens: int) -> dict[str, Any]:
    """Measure the critic, write `diagnosis.json`, and return a summary with alarms.

    `row_tokens` is the maximum number of tokens processed at once.
    """
    from sweet_rl_trainer.methods.ranking.scorers import Scorers

    held_out = inputs.load(recipe.data, job.inputs).held_out
    seeing = BASE in job.inputs
    base = job.inputs[BASE] if seeing else model_in(job.inputs["model"])
    pictures = job.shared / PICTURES if seeing else None
    with Scorers(recipe, base, job.shared / REFERENCES, pictures) as scorers:
        critic = Asked(
            recipe=recipe,
            row_tokens=row_tokens,
            chat=_sight(job, recipe, held_out) if seeing else chat_of(base, recipe.model),
            critic=scorers.critic(trained(job.inputs["critic"])),
            reference=None if seeing else scorers.reference(),
        )
        found = _measured(critic, job, held_out)
    (job.folder / DIAGNOSIS).write_bytes(encode(found))
    return summary(found)


def _sight(job: Job, recipe: Recipe, held_out: Sequence[Trajectory]) -> DialogueEncoder:
    """Render the pages of held-out dialogues, and return the encoder of dialogues for a critic that sees pages."""
    settings = recipe.table(CriticSettings).vision
    assert settings  # noqa: S101
    sight = Sight(settings, recipe.domain, job.inputs[BASE], job.shared / PICTURES)
    sight.take(held_out)
    return sight.chat


def _measured(critic: Asked, job: Job, held_out: Sequence[Trajectory]) -> Diagnosis:
    recipe = critic.recipe
    tasks = inputs.tasks(recipe.data, job.inputs)
    missing: dict[Part, str] = {}
    ranked = _ranked(held_out, job, missing)
    pairs = [
        each
        for each in files.read(job.inputs["data"] / files.HELD_OUT)
        if isinstance(each, PairExample)
    ]
    if not pairs:
        missing["accuracy"] = "no held-out pair"
    # before loading a model, because a server that continues dialogues may need all the memory
    continuations = _continuations(ranked, tasks, recipe, job, missing)
    return put_together(
        pairs,
        critic.pairs(pairs),
        ranked,
        best_of=critic.curve(held_out, missing),
        states=critic.states(held_out, tasks, missing),
        continuations=continuations,
        missing=missing,
    )


def _ranked(held_out: Sequence[Trajectory], job: Job, missing: dict[Part, str]) -> list[Scored]:
    if RANKED not in job.inputs:
        missing["candidates"] = "not available yet"
        return []
    return read_scored(job.inputs[RANKED], {each.id: each for each in held_out})


def _continuations(
    ranked: Sequence[Scored],
    tasks: Mapping[str, Task],
    recipe: Recipe,
    job: Job,
    missing: dict[Part, str],
) -> Agreement | None:
    """Return the agreement of scores with Monte-Carlo returns.

    If the agreement is not measured, return None and write the reason to `missing`.
    """
    asked = recipe.table(DiagnoseSettings)
    if not (asked.continuations and ranked and inputs.run_folders(job.inputs)):
        missing["continuations"] = (
            "diagnose.continuations is 0" if not asked.continuations else "no candidates from runs"
        )
        return None
    sample = sample_turns(
        ranked, tasks, turns=asked.turns, candidates=asked.candidates, seed=asked.seed
    )
    played = continuations(job, recipe, asked.agent)
    found = agreement(compare(sample, tasks, played, asked.continuations))
    if found is None:
        missing["continuations"] = "no two candidates of a turn have different returns"
    return found


def summary(found: Diagnosis) -> dict[str, Any]:
    """Return a summary of the diagnosis: the pair accuracy, the number of pairs and the alarms."""
    return {"accuracy": found.accuracy.mean, "pairs": found.pairs, "alarms": alarms(found)}


class Asked(Struct, frozen=True, kw_only=True):
    """A critic that can be asked for scores."""

    recipe: Recipe
    row_tokens: int
    chat: Chat | DialogueEncoder
    critic: Scorer
    reference: Scorer | None

    @property
    def table(self) -> CriticSettings:
        """The table of settings with which the critic was trained."""
        return self.recipe.table(CriticSettings)

    @property
    def budget(self) -> int:
        """The maximum number of tokens processed at once."""
        return self.row_tokens

    def pairs(self, pairs: Sequence[PairExample]) -> list[tuple[float, float]]:
        """Return the score S of both sides of each pair."""
        return score_pairs(pairs, critic=self.critic, reference=self.reference, budget=self.budget)

    def curve(
        self, trajectories: Sequence[Trajectory], missing: dict[Part, str]
    ) -> DialogueCurve | None:
        """Return the best-of-N curve over complete dialogues.

        If it cannot be computed, return None and write the reason to `missing`.
        """
        try:
            sides, _ = side_examples(
                trajectories,
                self.chat,
                self.table.token_weights,
                privileged=template_of(self.table),
                max_length=self.table.max_length,
            )
        except DataError as cause:
            missing["best_of"] = str(cause)
            return None
        found = score_sides(sides, critic=self.critic, reference=self.reference, budget=self.budget)
        by_id = {side.trajectory: score for side, score in zip(sides, found, strict=True)}
        curve = of_dialogues(trajectories, by_id)
        if curve is None:
            missing["best_of"] = "no held-out task has two scored dialogues"
        return curve

    def states(
        self,
        trajectories: Sequence[Trajectory],
        tasks: Mapping[str, Task],
        missing: dict[Part, str],
    ) -> Preference | None:
        """Return how often the critic prefers questions to the right answer, in states where every decision is known.

        If no state qualifies or can be scored, return None and write the reason to `missing`.
        """
        lost = Counter[str]()
        asked = self.recipe.table(DiagnoseSettings)
        states = known_states(
            trajectories,
            tasks,
            questions=asked.questions,
            seed=asked.seed,
            dropped=lost,
        )
        if not states:
            reasons = ", ".join(f"{reason}: {count}" for reason, count in lost.items())
            missing["states"] = f"no state qualifies ({reasons or 'nothing is held out'})"
            return None
        found = preference(self.candidates(states))
        if found is None:
            missing["states"] = (
                f"in all {len(states)} states, the answer or every question is too long (critic.max_length)"
            )
        return found

    def candidates(self, candidates: Sequence[Candidates]) -> list[Scored]:
        """Return the scores of replies, computed with the preset that fits the critic (`preset_of`)."""
        return score_candidates(
            candidates,
            self.chat,
            preset_of(self.table),
            reference=self.reference,
            critic=self.critic,
            privileged=template_of(self.table) or "preamble",
            budget=self.budget,
            max_length=self.table.max_length,
        )


def preset_of(table: CriticSettings) -> Preset:
    """Return the preset that computes the score of a turn as the critic's training did."""
    if table.train.score == "value":
        return "value" if template_of(table) else "value-unprivileged"
    if table.token_weights == "sum":
        return "critic-sum"
    return "critic" if template_of(table) else "critic-unprivileged"
