"""From a run to its bundle: the same run and the same submission give the same bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from msgspec.structs import replace

from colbench.errors import UserError
from colbench.rollout import Rollout
from colbench_leaderboard import tarball
from colbench_leaderboard.archive import Refused, read_bundle
from colbench_leaderboard.bundle import BLOBS, LOCK, MANIFEST, PER_FILE, SUBMISSION, canonical
from colbench_leaderboard.files import trajectory_file
from colbench_leaderboard.manifest import manifest
from colbench_leaderboard.parcel import Parcel
from colbench_leaderboard.private import find_secret, scrub
from colbench_leaderboard.trajectory import packed

ARCHIVE = ".tar.gz"


def pack(parcel: Parcel, out: Path) -> str:
    """Write the bundle, a folder or where `out` ends so a `.tar.gz`, and return its digest.

    It is read as a receiver does before it is put in its place. Raises UserError where another thing is there already,
    where a text holds what seems to be a secret, or where a receiver would refuse it.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(prefix=".colbench-pack-", dir=out.parent)
    except OSError as cause:
        raise UserError(f"--out {out}: cannot be written: {cause.strerror}") from cause
    with scratch:
        draft = _Draft(Path(scratch.name) / "bundle")
        draft.fill(parcel)
        made = draft.archived() if out.name.endswith(ARCHIVE) else draft.folder
        digest = _digest(made)
        if out.exists() or out.is_symlink():
            _require_same(out, digest)
        else:
            made.rename(out)
    return digest


class _Draft:
    """A bundle that is being written."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.names: set[str] = set()

    def fill(self, parcel: Parcel) -> None:
        self._put(SUBMISSION, canonical(parcel.submission))
        self._put(LOCK, canonical(parcel.lock))
        rollouts = parcel.rollouts
        for number, start in enumerate(range(0, len(rollouts), PER_FILE)):
            lines = map(self._line, rollouts[start : start + PER_FILE])
            self._put(trajectory_file(number), b"".join(lines))
        self._put(MANIFEST, manifest(self.folder, self.names))

    def archived(self) -> Path:
        archive = self.folder.with_name("archive")
        tarball.write(archive, ((name, self.folder / name) for name in sorted(self.names)))
        return archive

    def _line(self, rollout: Rollout) -> bytes:
        def blob(name: str, content: bytes) -> None:
            self._put(f"{BLOBS}/{name}", content)

        where = f"trial {rollout.trial} of {rollout.task_id}"
        if rollout.failure:
            reason = scrub(rollout.failure.reason)
            rollout = replace(rollout, failure=replace(rollout.failure, reason=reason))
        return _without_secret(canonical(packed(rollout, blob)), where) + b"\n"

    def _put(self, name: str, content: bytes) -> None:
        if name in self.names:
            return
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(_without_secret(content, name))
        self.names.add(name)


def _without_secret(content: bytes, where: str) -> bytes:
    """The same. Raises UserError where it seems to hold a secret."""
    if what := find_secret(content):
        raise UserError(
            f"{where} holds what looks like {what}; nothing was written. A bundle is public: see that the run has no "
            "secret in it, and replace one that has been in a transcript"
        )
    return content


def _digest(made: Path) -> str:
    """The digest of a bundle that a receiver can read."""
    try:
        with read_bundle(made) as bundle:
            for _ in bundle.cells():
                pass
            return bundle.digest
    except Refused as cause:
        raise UserError(
            f"a receiver would refuse the bundle, and nothing was written: {cause}"
        ) from cause


def _require_same(out: Path, digest: str) -> None:
    try:
        with read_bundle(out) as there:
            same = there.digest == digest
    except Refused:
        same = False
    if not same:
        raise UserError(
            f"--out {out}: something else is there already; remove it, or name another place"
        )
