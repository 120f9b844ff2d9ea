"""Seeding of random numbers. Importing this module keeps `random` from drawing a new seed in every forked child.

Drawing a seed would cost a tenth of a millisecond per candidate. It is not needed, because the generators are seeded
before each call of a source that contains the word `random`. Import this module before anything that imports `random`.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType


def _load() -> ModuleType:
    register = os.register_at_fork
    os.register_at_fork = lambda **_hooks: None
    try:
        return importlib.import_module("random")
    finally:
        os.register_at_fork = register


def seed_generators(seed: int) -> None:
    """Seed `random`, and numpy's global generator if numpy is loaded."""
    random.seed(seed)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(seed)


random = _load()
seed_generators(0)
