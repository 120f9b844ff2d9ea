"""GRPO (arXiv 2402.03300) as a baseline. TRL's trainer uses dialogues of the harness as rollouts."""
