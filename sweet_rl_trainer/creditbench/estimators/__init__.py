"""Estimators of turn credit: each gives every candidate message of a state a score; only their order within it counts.

`rules` and `returns` need no model, `groups` none either; `policy` needs a language model, and `critic` one that was
trained by preferences between dialogues.
"""
