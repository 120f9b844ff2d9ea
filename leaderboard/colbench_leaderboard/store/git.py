"""Running git safely in a stranger's repository: no hooks, no helpers from the repository's configuration, no shell.

For a URL that begins with `file://`, git starts a second process on this machine, in the repository at that URL. The
second process does not inherit the settings of the first, so `half_at` passes them to it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from colbench.errors import UserError

QUIET = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "submodule.recurse=false",
    "core.alternateRefsCommand=true",
    "protocol.ext.allow=never",
    "receive.autogc=false",
    "receive.denyCurrentBranch=refuse",
)
"""Settings that override a repository's own. With these settings, git starts no cleanup, and no program that a
repository can name: no hook, file watcher, command that lists another repository's branches, or filter of a checkout.
"""
IDENTITY = ("GIT_AUTHOR_", "GIT_COMMITTER_")
FIRST_COMMIT = (
    'git init --initial-branch main && git add --all && git commit --message "New leaderboard"'
)
"""The command line that makes a folder a git repository and commits its files."""
URL = re.compile(r"(?:https|ssh|file)://[^\s\x00-\x1f]+|[\w.-]+@[\w.-]+:[^\s\x00-\x1f]+", re.ASCII)


class Git:
    """A runner of git commands in a repository, without a shell."""

    def __init__(self, repository: Path) -> None:
        self.repository = repository

    def __call__(
        self,
        *words: str,
        stdin: bytes | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """Run a git command and return its output.

        Raises UserError with git's error message if the command fails, or UserError if git is not installed.
        """
        done = self.attempt(words, stdin=stdin, environment=environment)
        if done.returncode:
            message = shown_url(done.stderr.decode("utf-8", "replace").replace("\r", "").strip())
            message = message or f"exit code {done.returncode}"
            raise UserError(f"git {words[0]} failed in {self.repository}: {message}")
        return done.stdout.decode("utf-8", "surrogateescape")

    def attempt(
        self,
        words: Sequence[str],
        *,
        stdin: bytes | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a git command and return the finished process, even if the command failed.

        Raises UserError if git is not installed.
        """
        command = [*_git(), "-C", str(self.repository), *words]
        try:
            return subprocess.run(  # noqa: S603 - a list of arguments, no shell
                command,
                input=stdin if stdin is not None else b"",
                capture_output=True,
                check=False,
                env=safe_environment() | dict(environment or {}),
            )
        except FileNotFoundError as cause:
            raise UserError("git is not installed") from cause


def half_at(address: str, half: Literal["upload-pack", "receive-pack"]) -> list[str]:
    """Return the option that applies `QUIET` to the second git process of a `file://` URL; [] for other URLs.

    `half` is the command of the second process: `upload-pack` for cloning and listing, `receive-pack` for pushing.
    """
    return [f"--{half}={shlex.join([*_git(), half])}"] if address.startswith("file://") else []


def _git() -> list[str]:
    return ["git", *(word for each in QUIET for word in ("-c", each))]


def safe_environment() -> dict[str, str]:
    """Return the environment without variables that redirect git; transports are limited to files, ssh and https.

    Variables that state the author and the committer are kept.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(IDENTITY)
    }
    return kept | {
        "GIT_ALLOW_PROTOCOL": "https:ssh:file",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "LC_ALL": "C",
    }


def is_url(text: str) -> bool:
    """Return True if a text is a git URL of an accepted kind."""
    return bool(URL.fullmatch(text)) and not text.startswith("-")


def shown_url(text: str) -> str:
    """Return a text without the user names and passwords in its URLs."""
    return re.sub(r"://[^/\s@]+@", "://", text)
