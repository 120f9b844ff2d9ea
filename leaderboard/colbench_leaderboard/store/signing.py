"""OpenSSH signatures (`ssh-keygen -Y`), which need no network and no account. Keepers sign, and anyone can check.

The keys of a store's keepers are in `STORE/signers`, an allowed-signers file: a line for each key, with the keeper's
name first. See ALLOWED SIGNERS in ssh-keygen(1).
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from colbench.command import printable
from colbench.errors import DataError, UserError
from colbench_leaderboard.store.plain import read_plain

BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
SIGNATURE = re.compile(rf"{BEGIN}\n(?:[A-Za-z0-9+/=]{{1,76}}\n)+{END}\n", re.ASCII)
MOST_SIGNATURE = 16 * 1024
MOST_SIGNERS = 1 << 20
SIGNER = re.compile(r"[^\s#]\S* .*\b(?:ssh-|ecdsa-sha2-|sk-)\S+ AAAA[A-Za-z0-9+/]+=*(?: .*)?")
Namespace = Literal["colbench-head", "colbench-receipt"]
"""The kind of content that a signature covers; a signature of one kind is not valid for another."""


class Keepers:
    """The keepers of a store: the people whose signatures it accepts."""

    def __init__(self, path: Path) -> None:
        """Read an allowed-signers file. Raises UserError if it cannot be read, lists no key, or has an invalid line."""
        self.path = path
        self.content = read_plain(path, MOST_SIGNERS)
        lines = self.content.decode("utf-8", "replace").splitlines()
        keys = [(number, line) for number, line in enumerate(lines, start=1) if _is_key(line)]
        for number, line in keys:
            if not SIGNER.fullmatch(line.strip()):
                raise UserError(
                    f"{path}, line {number}: not a name and a public key; write NAME, a "
                    "space, and the content of a .pub file from ssh-keygen"
                )
        if not keys:
            raise UserError(f"{path}: contains no key")

    def signer(self, content: bytes, signature: str, namespace: Namespace, time: str) -> str:
        """Return the name of the keeper who signed the content.

        `time`: ISO 8601, in UTC; the key must have been valid then. Raises DataError if the signature is not valid for
        this content, or was not made by a keeper. Raises UserError if ssh-keygen is not installed.
        """
        if len(signature) > MOST_SIGNATURE or not SIGNATURE.fullmatch(signature):
            raise DataError("its signature was not made by ssh-keygen")
        with tempfile.TemporaryDirectory(prefix="colbench-signature-") as folder:
            file = Path(folder) / "signature"
            file.write_text(signature, "ascii")
            check = ["-s", str(file), "-f", str(self.path), f"-Overify-time={_digits(time)}"]
            found = _ssh_keygen(["-Y", "find-principals", *check], content)
            if found.returncode:
                raise DataError(
                    f"its signature was made with a key that is missing from {self.path}, or that was not "
                    f"valid at {time}"
                )
            name = found.stdout.decode("utf-8", "replace").split("\n")[0]
            checked = _ssh_keygen(["-Y", "verify", "-I", name, "-n", namespace, *check], content)
        if checked.returncode:
            raise DataError(
                f"its signature is for different content, or {self.path} does not allow the signing key for {namespace}"
            )
        return printable(name)


def sign(content: bytes, key: Path, namespace: Namespace) -> str:
    """Sign content with a key, and return the signature.

    `key`: the file of the private key, or of the public key if an SSH agent holds the private one. Raises UserError if
    ssh-keygen cannot sign with the key or is not installed.
    """
    if not key.is_file():
        raise UserError(f"--key {key}: no such file; create a key with `ssh-keygen -t ed25519`")
    made = _ssh_keygen(["-Y", "sign", "-q", "-f", str(key), "-n", namespace], content)
    signature = made.stdout.decode("ascii", "replace")
    if made.returncode or not SIGNATURE.fullmatch(signature):
        reason = " ".join(printable(made.stderr.decode("utf-8", "replace")).split())
        raise UserError(f"--key {key}: cannot sign: {reason or 'not a key of ssh-keygen'}")
    return signature


def _is_key(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _digits(time: str) -> str:
    """Return a UTC time in the format that ssh-keygen expects."""
    return re.sub(r"\D", "", time)


def _ssh_keygen(words: Sequence[str], stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603 - a list of arguments, no shell
            ["ssh-keygen", *words],  # noqa: S607 - the keeper's own OpenSSH
            input=stdin,
            capture_output=True,
            check=False,
            env=os.environ | {"LC_ALL": "C", "TZ": "UTC"},
        )
    except FileNotFoundError as cause:
        raise UserError(
            "ssh-keygen, which makes and checks signatures, is not installed; it is part of "
            "OpenSSH (Debian, Ubuntu: "
            "apt install openssh-client)"
        ) from cause
