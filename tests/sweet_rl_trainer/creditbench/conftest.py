"""Small tasks, and their states."""

from __future__ import annotations

import pytest

from colbench.selection import load_tasks
from sweet_rl_trainer.creditbench.data import Selection, generate

SAMPLE = Selection(tasks=3, dialogues=1)
"""The frozen set that the tests generate."""


@pytest.fixture(scope="session")
def tasks():
    """Return tasks that hide three decisions, with few designs."""
    source = "generated:backend/credit?number=3&families=inventory,checkmarks,slots&difficulty=3"
    return load_tasks(source)


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """Return the folder of the sample."""
    folder = tmp_path_factory.mktemp("sample")
    generate(folder, SAMPLE, 1)
    return folder


@pytest.fixture(scope="session")
def benches(sample):
    return generate(sample, SAMPLE, 1)
