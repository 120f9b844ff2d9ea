"""The paper's Table 2: what its authors reported for their systems, not recomputed here.

Zhou et al., "SWEET-RL: Training Multi-Turn LLM Agents on Collaborative Reasoning Tasks", arXiv 2503.15478, Table 2:
1,000 tasks of backend programming, 500 of frontend design. The boards use other humans and another scorer.
"""

from __future__ import annotations

from colbench_leaderboard.board.model import Reported

SOURCE = "arXiv 2503.15478, Table 2"


def _line(setting: str, model: str, *figures: float) -> Reported:
    tests, success, cosine, win = figures
    return Reported(
        setting=setting, model=model, tests=tests, success=success, cosine=cosine, win=win
    )


TABLE = (
    _line("single-turn", "Llama-3.1-8B", 11.8, 6.9, 63.1, 13.6),
    _line("single-turn", "Llama-3.1-70B", 24.2, 14.8, 61.8, 13.2),
    _line("single-turn", "O1-mini", 22.4, 13.1, 70.2, 23.8),
    _line("single-turn", "GPT-4o", 27.6, 16.2, 68.6, 23.8),
    _line("multi-turn", "Llama-3.1-70B", 48.0, 35.0, 73.7, 39.8),
    _line("multi-turn", "GPT-4o", 54.6, 40.4, 78.1, 50.0),
    _line("multi-turn", "O1-mini", 43.2, 30.3, 77.5, 47.2),
    _line("multi-turn", "Llama-3.1-8B, zero-shot", 34.2, 22.4, 72.4, 33.8),
    _line("multi-turn, trained", "Llama-3.1-8B, rejection fine-tuning", 40.9, 28.2, 75.2, 38.6),
    _line("multi-turn, trained", "Llama-3.1-8B, multi-turn DPO", 48.0, 34.4, 76.9, 42.8),
    _line("multi-turn, trained", "Llama-3.1-8B, SWEET-RL", 56.8, 40.4, 77.7, 48.2),
)
