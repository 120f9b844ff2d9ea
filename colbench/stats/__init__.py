"""The statistics of reports, comparisons, the leaderboard and the trainer's study.

The task is the unit of every resampling and of every test. All functions are deterministic.
"""

from colbench.stats.estimate import Estimate, rounded
from colbench.stats.intervals import (
    ALPHA,
    BLOCK,
    RESAMPLES,
    ROUNDING,
    SEED,
    Interval,
    equal_interval,
    mean,
    mean_interval,
    pass_hat,
    pass_k,
    win_rate,
)
from colbench.stats.multiple import holm
from colbench.stats.paired import mcnemar, sign_flip_test, sign_test

__all__ = [
    "ALPHA",
    "BLOCK",
    "RESAMPLES",
    "ROUNDING",
    "SEED",
    "Estimate",
    "Interval",
    "equal_interval",
    "holm",
    "mcnemar",
    "mean",
    "mean_interval",
    "pass_hat",
    "pass_k",
    "rounded",
    "sign_flip_test",
    "sign_test",
    "win_rate",
]
