"""Ranking: candidate replies for each turn, their scores, and the pairs that the actor learns from."""
