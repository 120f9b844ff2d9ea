"""Ranking: candidate replies for each turn, what the critic says of them, and the pairs that the actor learns from."""
