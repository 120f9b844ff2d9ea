"""Packing a draft into a bundle: the same run and the same submission give the same files, byte for byte."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
from msgspec.structs import replace

from colbench.errors import UserError
from colbench.redaction import scrub
from colbench.rollout import Rollout
from colbench_leaderboard.bundle import archive
from colbench_leaderboard.bundle.draft import Draft
from colbench_leaderboard.bundle.encoding import canonical
from colbench_leaderboard.bundle.files import manifest, trajectory_file
from colbench_leaderboard.bundle.plain_text import strings
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.bundle.redaction import find_secret
from colbench_leaderboard.bundle.refused import Refused
from colbench_leaderboard.bundle.schema import BLOBS, LOCK, MANIFEST, PER_FILE, SUBMISSION
from colbench_leaderboard.bundle.trajectories import to_trajectory

OTHER_ARCHIVES = {".7z", ".bz2", ".gz", ".rar", ".tar", ".tgz", ".xz", ".zip", ".zst"}
"""Suffixes of archives that `pack` refuses to write; names that end in `.tar.gz` are allowed."""


def pack(draft: Draft, out: Path) -> str:
    """Write the bundle to `out`: an archive if `out` ends in `.tar.gz`, else a folder. Return the bundle's digest.

    The files are checked as a receiver checks them (see `read_bundle`), but not compared with the tasks. The bundle is
    then moved to `out`; if `out` already is this bundle, it stays unchanged.

    Raises UserError if `out` cannot be written, has a suffix in `OTHER_ARCHIVES`, or exists but is not this bundle.
    Raises UserError if the bundle seems to contain a secret, or if its files break a rule. Raises DataError if `out`
    exists and cannot be opened.
    """
    if out.suffix.lower() in OTHER_ARCHIVES and not out.name.endswith(archive.ARCHIVE):
        raise UserError(
            f"--out {out}: a bundle is a folder or a {archive.ARCHIVE} archive; use a name that ends in "
            f"{archive.ARCHIVE}, or the name of a folder"
        )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(prefix=".colbench-pack-", dir=out.parent)
    except OSError as cause:
        raise UserError(
            f"--out {out}: the folder {out.parent} cannot be created or written: {cause.strerror}"
        ) from cause
    with scratch:
        writer = _Writer(Path(scratch.name) / "bundle")
        writer.fill(draft)
        made = writer.archived() if out.name.endswith(archive.ARCHIVE) else writer.folder
        digest = _digest(made)
        if out.exists() or out.is_symlink():
            _require_same(out, digest)
        else:
            made.rename(out)
    return digest


class _Writer:
    """A writer of the files of a bundle."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.names: set[str] = set()

    def fill(self, draft: Draft) -> None:
        for name, part in ((SUBMISSION, draft.submission), (LOCK, draft.lock)):
            _require_no_secret(part, name)
            self._put(name, canonical(part))
        rollouts = draft.rollouts
        for number, start in enumerate(range(0, len(rollouts), PER_FILE)):
            lines = map(self._line, rollouts[start : start + PER_FILE])
            self._put(trajectory_file(number), b"".join(lines))
        self._put(MANIFEST, manifest(self.folder, self.names))

    def archived(self) -> Path:
        path = self.folder.with_name("archive")
        archive.write(path, ((name, self.folder / name) for name in sorted(self.names)))
        return path

    def _line(self, rollout: Rollout) -> bytes:
        where = f"trial {rollout.trial} of {rollout.task_id}"

        def blob(name: str, content: bytes) -> None:
            _require_no_secret(content.decode(), where)
            self._put(f"{BLOBS}/{name}", content)

        if rollout.failure:
            reason = scrub(rollout.failure.reason)
            rollout = replace(rollout, failure=replace(rollout.failure, reason=reason))
        trajectory = to_trajectory(rollout, blob)
        _require_no_secret(trajectory, where)
        return canonical(trajectory) + b"\n"

    def _put(self, name: str, content: bytes) -> None:
        if name in self.names:
            return
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        self.names.add(name)


def _require_no_secret(value: object, where: str) -> None:
    """Raise UserError if any text in the value seems to contain a secret.

    Texts are searched before they are encoded, because JSON escapes can change a secret or the character before it.
    """
    if what := find_secret("\n".join(strings(msgspec.to_builtins(value)))):
        raise UserError(
            f"{where} contains what looks like {what}; nothing was written. A bundle is public: "
            "correct the submission, or run again without the secret, and revoke any secret that was in a "
            "transcript"
        )


def _digest(made: Path) -> str:
    """Return the digest of a new bundle. Raises UserError if its files break a rule of `read_bundle`."""
    try:
        with read_bundle(made) as bundle:
            bundle.check_cells()
            return bundle.digest
    except Refused as cause:
        raise UserError(
            f"`colbench verify` would refuse the bundle, so nothing was written: {cause}"
        ) from cause


def _require_same(out: Path, digest: str) -> None:
    try:
        with read_bundle(out) as existing:
            same = existing.digest == digest
    except Refused:
        same = False
    if not same:
        raise UserError(
            f"--out {out} already exists and is not this bundle; delete it, or use another path"
        )
