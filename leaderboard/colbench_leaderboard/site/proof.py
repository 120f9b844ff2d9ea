"""How anybody comes to the receipt that an entry's page shows: a command, and the bundles that it names."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator

from colbench.numbers import NOTHING, count
from colbench.report.markup import Safe, element, join
from colbench_leaderboard.board.model import Entry
from colbench_leaderboard.bundle.tracks import is_standard, own_sources
from colbench_leaderboard.site import tables
from colbench_leaderboard.site.text import TIERS, hashed, link, plain, said, short
from colbench_leaderboard.store.layout import BUNDLE, ENTRIES
from colbench_leaderboard.verify.transcripts import duplicated

STORE, TASKS, WEIGHTS = "STORE", "YOUR_TASKS", "YOUR_WEIGHTS"
"""What a reader has to put in."""


def section(entry: Entry, standing: Collection[str]) -> Safe:
    """The command, what it needs, and the receipt. `standing`: digests of entries whose bundles the site offers."""
    words = shlex.join(command(entry, standing))
    return join(
        (
            element("h2", "Verify it yourself", id="verify"),
            element("p", *_needs(entry, standing), class_="prose"),
            element("div", element("pre", words), class_="command"),
            tables.facts("Receipt", _receipt(entry)),
        )
    )


def command(entry: Entry, standing: Collection[str]) -> list[str]:
    """The words of the command that gives this very receipt, in a folder with the bundles that it names."""
    config, source = entry.lock.config, entry.lock.tasks.source
    words = ["colbench", "verify", archive(entry.bundle)]
    if source not in own_sources():
        words += ["--tasks", source if is_standard(source) else TASKS]
    if packages := config.get("sandbox_packages"):
        words += ["--sandbox-packages", ",".join(map(plain, packages))]
    if _other_clip(entry.receipt.scorer):
        words += ["--clip-weights", WEIGHTS, "--allow-other-clip"]
    for other in duplicated(entry.receipt):
        here = archive(other) if other in standing else f"{STORE}/{ENTRIES}/{other}/{BUNDLE}"
        words += ["--against", here]
    return [*words, "--out", "receipt"]


def archive(bundle: str) -> str:
    """The name of a bundle's file on the site."""
    return f"{short(bundle)}.tar.gz"


def _other_clip(scorer: str) -> bool:
    from colbench.domains.frontend.weights import MODEL, SHA256

    _, found, clip = scorer.partition(" clip ")
    return bool(found) and clip != f"{MODEL}@{SHA256[:8]}"


def _needs(entry: Entry, standing: Collection[str]) -> Iterator[str]:
    """In words what the command needs, and what it gives."""
    yield "Take the "
    yield link(Safe("bundle"), archive(entry.bundle))
    others = duplicated(entry.receipt)
    offered = [other for other in others if other in standing]
    if offered:
        yield ", those of the entries with which it shares transcripts ("
        for place, other in enumerate(offered):
            yield ", " if place else ""
            yield link(Safe(short(other)), f"../{short(other)}/{archive(other)}")
        yield ")"
    yield f", and ColBench {plain(entry.receipt.colbench)}. "
    if len(offered) < len(others):
        yield "STORE is a clone of the leaderboard’s repository, where bundles of entries that were removed still are. "
    if _other_clip(entry.receipt.scorer):
        yield f"YOUR_WEIGHTS are those of CLIP that the scorer {plain(entry.receipt.scorer)} names. "
    rounding = "" if entry.summary.domain == "backend" else ", rounded to 4 decimals first"
    yield "On your machine, with your own copy of the tasks, this makes the same receipt, byte for byte"
    yield f"{rounding}:"


def _receipt(entry: Entry) -> tuple[tuple[str, str], ...]:
    receipt = entry.receipt
    return (
        ("Bundle", hashed(entry.bundle)),
        ("Receipt", hashed(entry.current.receipt)),
        ("Scores", hashed(receipt.scores)),
        ("Summary", hashed(receipt.summary)),
        ("Tasks", hashed(receipt.tasks)),
        ("Scorer", said(receipt.scorer)),
        ("Tier", f"{receipt.tier}: {TIERS[receipt.tier]}" if receipt.tier else NOTHING),
        ("Replayed", _replayed(receipt.replayed)),
    )


def _replayed(replies: int) -> str:
    if not replies:
        return "no reply of the human"
    return f"{count(replies, 'reply', 'replies')} of the human, the same again"
