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
    group: Group
    goal: Literal["", "rft", "mtdpo", "actor"]
    """The training that makes the policy; "": none, the base itself."""
    changes: Mapping[str, Any] = {}
    """Settings of the recipe, by key."""
    endless: bool = False
    """Whether dialogues of the base that is kept from answering are among the rejected ones."""
    paper: float | None = None
    """Success rate in the paper's Table 2 or 3 (backend), in percent."""


NO_HIDDEN = {"critic.hidden": "none", "rank.scores": "critic-without-hidden"}
ALL_TOKENS = {"critic.weights": "trajectory-mean"}
AVERAGED = {"critic.weights": "turn-mean-averaged"}
CALIBRATED = {"rank.calibrate": True}
ANCHORED = {"actor.train.likelihood_weight": 1.0}
MATCHED = {"critic.pairs.match_turns": True}
LIMIT = {"critic.pairs.limit_negatives": True}

RETURNS = "returns"
"""The method whose scores are what others' are held against (`credit`)."""

TURNS = Method(name="turns", label="Number of turns, no model", group="ablation", goal="")
QUESTIONS = Method(name="questions", label="Questions first, no model", group="ablation", goal="")
"""Scores that critics are held against; no rows of the tables."""

METHODS: tuple[Method, ...] = (
    Method(name="zero-shot", label="Zero-shot", group="main", goal="", paper=22.4),
    Method(name="rft", label="Rejection fine-tuning", group="main", goal="rft", paper=28.2),
    Method(name="mtdpo", label="Multi-turn DPO", group="main", goal="mtdpo", paper=34.4),
    Method(name="sweet", label="SWEET-RL", group="main", goal="actor", paper=40.4),
    Method(
        name="no-hidden",
        label="… without hidden information",
        group="ablation",
        goal="actor",
        paper=31.2,
        changes=NO_HIDDEN,
    ),
    Method(
        name="no-normalisation",
        label="… without length normalisation",
        group="ablation",
        goal="actor",
        paper=3.6,
        changes={"critic.weights": "sum", "rank.scores": "critic-sum"},
    ),
    Method(
        name="regression-head",
        label="… with a regression head",
        group="ablation",
        goal="actor",
        paper=36.2,
        changes={
            "critic.train.score": "value",
            "critic.train.likelihood_weight": 0.0,
            "rank.scores": "value",
        },
    ),
    Method(
        name="pmi",
        label="PMI scorer, no critic",
        group="ablation",
        goal="actor",
        changes={"rank.scores": "pmi"},
    ),
    Method(
        name=RETURNS,
        label="Monte-Carlo returns, no critic",
        group="ablation",
        goal="actor",
        changes={"rank.scores": "returns", "rank.continuations": 4},
    ),
    Method(
        name="released",
        label="… as in the released code",
        group="ablation",
        goal="actor",
        changes={
            **ALL_TOKENS,
            "critic.hidden": "released-order",
            "rank.scores": "released",
            "actor.train.likelihood_over": "everything",
        },
    ),
    Method(
        name="trajectory-mean",
        label="… one mean over all tokens",
        group="ablation",
        goal="actor",
        changes=ALL_TOKENS,
    ),
    Method(
        name="mean-over-turns",
        label="… mean over turns",
        group="remedy",
        goal="actor",
        changes=AVERAGED,
    ),
    Method(
        name="matched-turns",
        label="… pairs of as many turns",
        group="remedy",
        goal="actor",
        changes=MATCHED,
    ),
    Method(
        name="limit-negatives",
        label="… negatives at the limit",
        group="remedy",
        goal="actor",
        changes=LIMIT,
        endless=True,
    ),
    Method(
        name="all-remedies",
        label="… all three",
        group="remedy",
        goal="actor",
        changes=AVERAGED | MATCHED | LIMIT,
        endless=True,
    ),
    Method(
        name="calibrated",
        label="… answers calibrated",
        group="remedy",
        goal="actor",
        changes=CALIBRATED,
    ),
    Method(
        name="anchored",
        label="… anchored",
        group="remedy",
        goal="actor",
        changes=ANCHORED,
    ),
    Method(
        name="trajectory-mean-anchored",
        label="… one mean, anchored",
        group="remedy",
        goal="actor",
        changes=ALL_TOKENS | CALIBRATED | ANCHORED,
    ),
)

NAMED = {method.name: method for method in METHODS}
