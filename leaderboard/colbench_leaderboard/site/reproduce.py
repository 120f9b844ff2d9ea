"""The command that reproduces an entry's receipt, and the bundles that the command requires."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from msgspec import Struct

from colbench.command import printable
from colbench.registry import get_domain
from colbench_leaderboard.board.model import Entry
from colbench_leaderboard.bundle.tracks import is_standard, own_sources
from colbench_leaderboard.site.slugs import archive_name
from colbench_leaderboard.store.layout import BUNDLE, ENTRIES
from colbench_leaderboard.verify.transcripts import duplicated, of_deleted

STORE, TASKS = "STORE", "YOUR_TASKS"
"""Placeholders in the command, which a reader replaces."""


class Reproduction(Struct, frozen=True, kw_only=True):
    """Instructions for reproducing a receipt."""

    command: str
    offered: Sequence[str]
    """Digests of the `--against` bundles that the site offers for download."""
    removed: bool
    """True if the command has `--against` bundles that the site does not offer, such as those of removed entries."""
    deleted: bool
    """True if the receipt has findings about deleted bundles, which the command cannot produce."""
    weights: bool
    """True if the command has a flag whose value the reader must supply, such as the path of the scorer's weights."""
    digits: int | None
    """Number of decimals to which values are rounded so that all machines agree; None if they are not rounded."""


def reproduction(entry: Entry, standing: Collection[str]) -> Reproduction:
    """Return how to reproduce an entry's receipt; `standing`: the digests of the entries whose bundles are offered."""
    domain = get_domain(entry.summary.domain)
    others = duplicated(entry.receipt)
    offered = [other for other in others if other in standing]
    return Reproduction(
        command=shlex.join(command(entry, standing)),
        offered=offered,
        removed=len(offered) < len(others),
        deleted=bool(of_deleted(entry.receipt)),
        weights=bool(domain.scorer_flags(entry.receipt.scorer)),
        digits=domain.primary.digits,
    )


def command(entry: Entry, standing: Collection[str]) -> list[str]:
    """Return the words of the `colbench verify` command, which must run in a folder with the bundles that it names."""
    config, source = entry.lock.config, entry.lock.tasks.source
    words = ["colbench", "verify", archive_name(entry.bundle)]
    if source not in own_sources():
        words += ["--tasks", source if is_standard(source) else TASKS]
    if packages := config.get("sandbox_packages"):
        words += ["--sandbox-packages", ",".join(map(printable, packages))]
    words += get_domain(entry.summary.domain).scorer_flags(entry.receipt.scorer)
    for other in duplicated(entry.receipt):
        here = archive_name(other) if other in standing else f"{STORE}/{ENTRIES}/{other}/{BUNDLE}"
        words += ["--against", here]
    return [*words, "--out", "receipt"]
