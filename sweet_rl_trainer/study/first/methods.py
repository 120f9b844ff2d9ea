"""What is compared: each method as changes of the study's recipe, with what the paper says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

Group = Literal["main", "ablation", "remedy"]


class Method(Struct, frozen=True, kw_only=True):
    """A row of the tables."""

    name: str
    label: str
    """In the report."""
    what: str
    """In a sentence, for who knows the paper's methods by name."""
    group: Group
    goal: Literal["", "rft", "mtdpo", "actor"]
    """The training that makes the policy; "": none, the base itself."""
    changes: Mapping[str, Any] = {}
    """Settings of the recipe, by key."""
    truncated: bool = False
    """True if truncated dialogues, of the base kept from answering, are among the rejected ones."""
    paper: float | None = None
    """Success rate in the paper's Table 2 or 3 (backend), in percent."""
    paper_passed: float | None = None
    """Tests passed, in the same tables."""
    revisions: tuple[str, ...] = ()
    """What has changed since its first results, a sentence each; results of before a revision are stale (`stale`)."""


UNPRIVILEGED = {"critic.privileged": "none", "rank.scores": "critic-unprivileged"}
ALL_TOKENS = {"critic.token_weights": "trajectory-mean"}
AVERAGED = {"critic.token_weights": "turn-mean-averaged"}
CALIBRATED = {"rank.calibrate": True}
ANCHORED = {"actor.train.likelihood_weight": 1.0}
MATCHED = {"critic.pairs.match_turns": True}
LIMIT = {"critic.pairs.limit_negatives": True}

RETURNS = "returns"
"""The method whose scores are what others' are held against (`credit`)."""

TURNS = Method(
    name="turns",
    label="Number of turns, no model",
    what="a dialogue's score is its number of turns",
    group="ablation",
    goal="",
)
QUESTIONS = Method(
    name="questions",
    label="Questions first, no model",
    what="each reply that is no answer scores above each that is one",
    group="ablation",
    goal="",
)
"""Scores that critics are held against; no rows of the tables."""

METHODS: tuple[Method, ...] = (
    Method(
        name="zero-shot",
        label="Zero-shot",
        what="the base, not trained any further",
        group="main",
        goal="",
        paper=22.4,
        paper_passed=34.2,
    ),
    Method(
        name="rft",
        label="Rejection fine-tuning",
        what="imitates the base's successful dialogues",
        group="main",
        goal="rft",
        paper=28.2,
        paper_passed=40.9,
    ),
    Method(
        name="mtdpo",
        label="Multi-turn DPO",
        what="DPO on pairs of whole dialogues about a task, a successful one and one that is not",
        group="main",
        goal="mtdpo",
        paper=34.4,
        paper_passed=48.0,
    ),
    Method(
        name="sweet",
        label="SWEET-RL",
        what=(
            "a critic that sees the privileged information learns from the same pairs, and scores "
            "candidates for single replies; DPO on pairs of these"
        ),
        group="main",
        goal="actor",
        paper=40.4,
        paper_passed=56.8,
    ),
    Method(
        name="no-privileged",
        label="… without privileged information",
        what="the critic sees no privileged information",
        group="ablation",
        goal="actor",
        paper=31.2,
        paper_passed=44.0,
        changes=UNPRIVILEGED,
    ),
    Method(
        name="no-normalisation",
        label="… without length normalisation",
        what="a reply's score is the sum over its tokens, not their mean",
        group="ablation",
        goal="actor",
        paper=3.6,
        paper_passed=4.2,
        changes={"critic.token_weights": "sum", "rank.scores": "critic-sum"},
    ),
    Method(
        name="regression-head",
        label="… with a regression head",
        what="the critic is a number read off the last token, in place of log-ratios",
        group="ablation",
        goal="actor",
        paper=36.2,
        paper_passed=45.3,
        changes={
            "critic.train.score": "value",
            "critic.train.likelihood_weight": 0.0,
            "rank.scores": "value",
        },
    ),
    Method(
        name="pmi",
        label="PMI scorer, no critic",
        what=(
            "a candidate's score is how much likelier the base finds it given the privileged "
            "information (pointwise mutual information); no critic is trained"
        ),
        group="ablation",
        goal="actor",
        changes={"rank.scores": "pmi"},
    ),
    Method(
        name=RETURNS,
        label="Monte-Carlo returns, no critic",
        what=(
            "a candidate's score is the mean outcome of four dialogues that the base plays on"
            " after it; no critic is trained"
        ),
        group="ablation",
        goal="actor",
        changes={"rank.scores": "returns", "rank.continuations": 4},
    ),
    Method(
        name="released",
        label="… as in the released code",
        what=(
            "PMI and a bonus for short replies are added to the critic's scores, with one mean over "
            "all tokens, the privileged information at another place, no likelihood in the critic's "
            "loss, and one over all tokens in the actor's"
        ),
        group="ablation",
        goal="actor",
        changes={
            **ALL_TOKENS,
            "critic.privileged": "released-order",
            "critic.train.likelihood_weight": 0.0,
            "rank.scores": "released",
            "actor.train.likelihood_over": "everything",
        },
        revisions=(
            "Both terms of its scores were over text and end token, where the released code's first one is over header "
            "and text; and its critic's loss had a likelihood, where the released one has none.",
        ),
    ),
    Method(
        name="trajectory-mean",
        label="… one mean over all tokens",
        what=(
            "a dialogue's score is one mean over all of the agent's tokens, in place of the "
            "sum of its turns' means"
        ),
        group="ablation",
        goal="actor",
        changes=ALL_TOKENS,
    ),
    Method(
        name="mean-over-turns",
        label="… mean over turns",
        what="a dialogue's score is the mean of its turns' means, in place of their sum",
        group="remedy",
        goal="actor",
        changes=AVERAGED,
    ),
    Method(
        name="matched-turns",
        label="… pairs with equally many turns",
        what="the critic learns from pairs of dialogues with equally many turns alone",
        group="remedy",
        goal="actor",
        changes=MATCHED,
    ),
    Method(
        name="limit-negatives",
        label="… negatives at the limit",
        what=(
            "the critic also learns from dialogues in which the base was kept from answering,"
            " as worse ones"
        ),
        group="remedy",
        goal="actor",
        changes=LIMIT,
        truncated=True,
    ),
    Method(
        name="all-remedies",
        label="… all three",
        what="the three before this one",
        group="remedy",
        goal="actor",
        changes=AVERAGED | MATCHED | LIMIT,
        truncated=True,
    ),
    Method(
        name="calibrated",
        label="… answers calibrated",
        what=(
            "a constant is added to the scores of answers, so that they are above those of other "
            "replies where a recorded dialogue succeeded, and below where it failed, as often as "
            "can be"
        ),
        group="remedy",
        goal="actor",
        changes=CALIBRATED,
    ),
    Method(
        name="anchored",
        label="… anchored",
        what=(
            "the likelihood of the preferred replies weighs 1 in the actor's loss, in place of "
            "0.01, so that it keeps to them"
        ),
        group="remedy",
        goal="actor",
        changes=ANCHORED,
    ),
    Method(
        name="trajectory-mean-anchored",
        label="… one mean, anchored",
        what="one mean over all tokens, calibrated and anchored",
        group="remedy",
        goal="actor",
        changes=ALL_TOKENS | CALIBRATED | ANCHORED,
    ),
)

NAMED = {method.name: method for method in METHODS}
