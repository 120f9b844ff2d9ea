"""The version of ColBench."""

__version__ = "0.2.0"

PACKAGES = frozenset(
    {
        "colbench",
        "colbench_agents",
        "colbench_leaderboard",
        "colbench_tasks",
        "colbench_verifiers",
        "sweet_rl_trainer",
    }
)
"""The packages that ColBench consists of."""
