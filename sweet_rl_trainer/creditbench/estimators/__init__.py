"""Estimators of turn credit: each scores every candidate message of a state; only the order within the state counts.

`rules`, `returns` and `groups` need no model; `policy` needs a language model, and `critic` a model trained on
preferences between dialogues.
"""
