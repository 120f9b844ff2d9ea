"""Recipes on the runs and the model of the parent `conftest`."""

from __future__ import annotations

import pytest


@pytest.fixture
def small(small_recipe):
    """Return `small("rank.scores=pmi", …)`: the small recipe with these changes."""
    from sweet_rl_trainer.pipeline.read import read

    return lambda *changes: read(str(small_recipe), changes)
