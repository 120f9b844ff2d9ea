"""Paths within the site. They consist of digests and fixed words; submitted names are never part of a path."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from colbench_leaderboard.store.layout import ADDRESS

DIGITS = 12
LEAF = 25
"""Maximum number of dialogues on a page."""


def digest_slug(digest: str) -> str:
    """Return the first digits of a bundle's digest, which identify its entry on the site."""
    return digest[:ADDRESS]


def entry_folder(bundle: str) -> str:
    """Return the folder of an entry's pages."""
    return f"entries/{digest_slug(bundle)}"


def entry_page(bundle: str) -> str:
    """Return the URL of an entry's page, relative to the site's root."""
    return f"{entry_folder(bundle)}/index.html"


def archive_name(bundle: str) -> str:
    """Return the file name of a bundle in its entry's folder."""
    return f"{digest_slug(bundle)}.tar.gz"


def board_folder(key: str) -> str:
    """Return the folder of a board's pages."""
    return f"boards/{key}"


@lru_cache(maxsize=1 << 16)
def task_slug(task_id: str) -> str:
    """Return the first digits of the hash of a task's ID, because the ID itself is free text and unsafe in a path."""
    return sha256(task_id.encode()).hexdigest()[:DIGITS]


def dialogue_anchor(task_id: str, trial: int) -> str:
    """Return the HTML id of a dialogue on its page."""
    return f"d-{task_slug(task_id)}-{trial + 1}"


def leaf_name(number: int) -> str:
    """Return the file name of a page of an entry's dialogues; pages are numbered from 1."""
    return f"dialogues-{number:03d}.html"


def dialogue_link(place: int, task_id: str, trial: int) -> str:
    """Return the link from an entry's folder to one of its dialogues; `place` is the dialogue's index, from 0."""
    return f"{leaf_name(place // LEAF + 1)}#{dialogue_anchor(task_id, trial)}"
