"""GRPO (arXiv 2402.03300) as a baseline: TRL's trainer, with the dialogues of the harness as its rollouts."""
