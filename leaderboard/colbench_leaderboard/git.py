"""Git with what a repository could do to its reader switched off: no hooks, no helpers that others name, no shell."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from colbench.errors import UserError

QUIET = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "submodule.recurse=false",
    "protocol.ext.allow=never",
)
"""Settings over those of any repository."""
URL = re.compile(r"(?:https|ssh|file)://[^\s\x00-\x1f]+|[\w.-]+@[\w.-]+:[^\s\x00-\x1f]+", re.ASCII)


class Git:
    """Runs git in a repository; arguments are lists and never pass a shell."""

    def __init__(self, repository: Path) -> None:
        self.repository = repository

    def __call__(
        self,
        *words: str,
        sent: bytes | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """What a git command prints. Raises UserError with what it says where it fails."""
        done = self.tried(words, sent=sent, environment=environment)
        if done.returncode:
            said = shown_url(done.stderr.decode("utf-8", "replace").replace("\r", "").strip())
            raise UserError(f"git {words[0]} failed in {self.repository}: {said}")
        return done.stdout.decode("utf-8", "surrogateescape")

    def tried(
        self,
        words: Sequence[str],
        *,
        sent: bytes | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """The same, whether or not it fails."""
        settings = [word for each in QUIET for word in ("-c", each)]
        command = ["git", *settings, "-C", str(self.repository), *words]
        try:
            return subprocess.run(  # noqa: S603 - a list of arguments, no shell
                command,
                input=sent if sent is not None else b"",
                capture_output=True,
                check=False,
                env=safe_environment() | dict(environment or {}),
            )
        except FileNotFoundError as cause:
            raise UserError("git is not installed") from cause


def safe_environment() -> dict[str, str]:
    """The environment without what redirects git, and with plain files, ssh and https as its only transports."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_ALLOW_PROTOCOL": "https:ssh:file",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "LC_ALL": "C",
    }


def is_url(text: str) -> bool:
    """Whether a text is a git address of a kind that is taken."""
    return bool(URL.fullmatch(text)) and not text.startswith("-")


def shown_url(text: str) -> str:
    """The text without the names and passwords in its addresses."""
    return re.sub(r"://[^/\s@]+@", "://", text)
