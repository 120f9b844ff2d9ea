"""Boards: the entries of a store, ranked and compared."""
