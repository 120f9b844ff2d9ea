"""The code blocks of the documentation, and a folder in which to run them as a reader would."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
SHELL = ("bash", "sh")
FILE_NAME = re.compile(r"`(\S+\.\w+)`|<!-- (\S+) -->\s*")
"""The line before a block that shows a file: the file's name, as code or in a comment."""
OPERATORS = re.compile(r"[|&;]+|--")


@dataclass(frozen=True)
class Block:
    """A fenced code block of a page."""

    page: str
    line: int
    language: str
    text: str
    file: str
    """The name of the file that the block shows; "" for most blocks."""

    def __str__(self) -> str:
        """Return where the block begins, such as `docs/view.md:48`."""
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """Return the command lines of a shell block; a block that shows a script file has none."""
        if self.language not in SHELL or self.file:
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]

    def write(self, folder: Path) -> None:
        """Write the file that the block shows."""
        path = folder / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text, "utf-8")


@cache
def blocks(page: str) -> tuple[Block, ...]:
    """Return the code blocks of a page, in order; `page` is a path in the repository."""
    found, before = [], ""
    for token in MarkdownIt().parse((ROOT / page).read_text("utf-8")):
        if token.type == "fence":
            assert token.map
            name = FILE_NAME.fullmatch(before)
            file = (name[1] or name[2]) if name else ""
            language = token.info.partition(" ")[0]
            found.append(Block(page, token.map[0] + 1, language, token.content, file))
        if token.type in {"inline", "html_block", "fence"}:
            before = token.content
    return tuple(found)


def file(page: str, name: str) -> str:
    """Return the content of a file that a page shows."""
    (found,) = (block.text for block in blocks(page) if block.file == name)
    return found


def programs(command: str) -> list[list[str]]:
    """Return the programs that a command line starts, each with its arguments; redirections are left out."""
    command = re.sub(r"^\w+=\$\((.*)\)$", r"\1", command)
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    words = iter(lexer)
    for word in words:
        if OPERATORS.fullmatch(word):
            found.append([])
        elif set(word) <= set("<>"):
            next(words)
        elif found[-1] or not re.match(r"\w+=", word):
            found[-1].append(word)
    return [program for program in found if program]


class Workplace:
    """A folder with the project's commands, which there reach neither the network nor the user's own files."""

    def __init__(self, folder: Path, cache: Path, **environment: str) -> None:
        self.folder = folder
        self._bin = folder.with_name(f"{folder.name}-bin")
        self.site = folder.with_name(f"{folder.name}-site")
        """The folder into which `pip install` puts a package."""
        self.environment = {
            **os.environ,
            "PATH": f"{self._bin}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.site),
            "HOME": str(folder),
            "COLBENCH_CACHE": str(cache),
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "200",
            **{f"GIT_{who}_NAME": "Reader" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "reader@example.org" for who in ("AUTHOR", "COMMITTER")},
            **environment,
        }
        offline = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index")
        for path in (folder, self._bin, self.site):
            path.mkdir(parents=True, exist_ok=True)
        self._add("python", '"$@"')
        self._add("pip", "-m pip", '"$1"', *offline, f"--target {self.site}", '"$2"')
        self._add("pytest", "-m pytest -p no:cacheprovider", '"$@"')
        self._add("colbench", "-m colbench.cli", '"$@"')
        self._add("sweet-rl", "-m sweet_rl_trainer.cli", '"$@"')

    def _add(self, name: str, *words: str) -> None:
        command = self._bin / name
        command.write_text(f"#!/bin/sh\nexec {sys.executable} {' '.join(words)}\n")
        command.chmod(0o755)

    def run(self, *command: str, code: int = 0, **environment: str) -> str:
        """Run a command that must end with the exit code `code`, and return its output."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def follow(self, page: str) -> str:
        """Write all files of a page, run all of its commands, and return what they print."""
        for block in blocks(page):
            if block.file:
                block.write(self.folder)
        scripts = ["\n".join(block.commands) for block in blocks(page) if block.commands]
        return "".join(self.run("bash", "-euo", "pipefail", "-c", each) for each in scripts)
