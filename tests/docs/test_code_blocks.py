"""Every code block of the documentation works: it is run, read as the file that it shows, or at least parsed.

Each page is followed in its own folder, from top to bottom, so that a command finds the files of earlier commands.
Commands that cannot be run here are in `CHECKED` and `ELSEWHERE`, with the reason; the project's programs must accept
their arguments, too. A block of output has the language `text`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shlex
import shutil
import threading
import tomllib
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from code_blocks import ROOT, SHELL, Block, Workplace, blocks, programs
from marking import mostly

import colbench.cli
import sweet_rl_trainer.cli
from colbench.cli.moved import MOVED
from colbench.cli.sweep.file import read_sweep
from colbench.config_values import config_of
from colbench.messages import Message
from colbench.models.scripted_server import ScriptedServer
from colbench.viewer.notes import Note
from colbench_leaderboard.bundle.submission import read_submission
from sweet_rl_trainer.cli.run import recipe_of
from sweet_rl_trainer.data.own import read_own
from sweet_rl_trainer.pipeline.read import read

PAGES = ["README.md", "agents/README.md", "tasks/README.md"]
PAGES += sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
PAGES = [page for page in PAGES if blocks(page)]


class Rule(NamedTuple):
    """A reason why a command is not run."""

    pattern: str
    """Pattern of the command line."""
    reason: str
    settings: bool = True
    """True if the settings of `colbench eval` and `sweet-rl run` are checked in addition to the arguments."""


CHECKED = (
    Rule(r"--domain frontend", "needs a browser", settings=False),
    Rule(r"--agent https?:|agents check http", "needs an agent that is a server", settings=False),
    Rule(r"\bcmd:|\bmy-agent\b|--agent asker\b", "needs Node.js or a package", settings=False),
    Rule(r"\bvllm\b", "needs a GPU", settings=False),
    Rule(r"\blocal:", "needs a trained model", settings=False),
    Rule(r"https?://(?!localhost:8000/)", "needs a server at another address"),
    Rule(r"^(make|git) |^pip install -e ", "changes the clone"),
    Rule(r"^pip install '|^hf |\b(official|websight):", "needs the network"),
    Rule(r"^(ray|sbatch|kubectl|array=)|\bmerge shards/", "needs several machines"),
    Rule(r"^(OMP_NUM_THREADS=1 )?sweet-rl (run|study|creditbench)", "takes minutes to days"),
    Rule(r"^(PYTHON=\S+ |python )?leaderboard/examples/", "takes minutes"),
    Rule(r"\bsweep (?!.*--dry-run)", "takes minutes"),
    Rule(r"^ssh-keygen|\.ssh/|\bjq\b", "needs a program that may be absent"),
    Rule(r"--(open|serve)\b|^colbench play( --|\s*(#|$))", "ends when a person stops it"),
    Rule(r"\bsubmit push\b", "needs the clone of a leaderboard"),
    Rule(r"(^|[\s:=])[A-Z]{2}[A-Z-]*\b(?!=)|…", "has a placeholder"),
)
"""The commands that are not run. The first rule that matches applies."""
ELSEWHERE = {
    ("docs/agents.md", "js"): "tests/colbench_agents/test_protocol_examples.py",
    ("docs/agents.md", "python"): "tests/colbench_agents/frameworks/test_agents_doc.py",
    ("docs/cluster.md", "script"): "tests/colbench/test_cluster_docs.py",
    ("docs/cluster.md", "yaml"): "tests/colbench/test_cluster_docs.py",
    ("docs/new-domain.md", "bash"): "tests/e2e/test_new_domain.py",
    ("docs/new-family.md", "bash"): "tests/colbench_tasks/test_new_family.py",
    ("docs/new-method.md", "bash"): "tests/sweet_rl_trainer/test_new_method.py",
    ("docs/other-harnesses.md", "bash"): "tests/e2e/test_harnesses.py",
    ("docs/other-harnesses.md", "python"): "tests/e2e/test_harnesses.py",
}
"""Test modules, by page and kind, that run the blocks that need other packages, servers, or much time."""
OTHERS = """
cd echo export git hf inspect jq kubectl mkdir pip playwright printf pytest python ray sbatch ssh-keygen vf-eval vllm
"""
"""Programs whose arguments are not parsed here."""
SERVER = "http://localhost:8000/v1"
"""The model server of the pages. A scripted server replaces it and OpenAI's server."""
SYNTAX = set("|&;<>$~*")
"""Characters for which a command needs a shell."""
STATE = re.compile(r"(export|cd) |\w+=\S+$")
"""A command that affects the later commands of its block."""
OPTIONAL = re.compile(r"(?<= )\[([^]|]*)[^]]*\]")
"""A part of a synopsis, such as `[--out FILE]`, of which the first alternative is checked."""
OWN_AGENT = """
class {name}:
    async def reply(self, dialogue):
        return "I WANT TO ANSWER:\\nx = 1"
"""
"""The `my_agent.py` of a reader, for pages that show none."""
SUBMISSION = """
name = "An agent"
organization = "Example"
authors = ["A. Person"]
contact = "a@example.org"
track = "open"
description = "An agent of the documentation."

[disclosures]
trained_on_colbench = false
human_in_the_loop = false
tools = "none"

[[models]]
name = "my-model"
"""
"""A reader's answers to the questions of `colbench submit pack --template`."""


def kind(block: Block) -> str:
    """Return the language of a block, or `script` if it shows a shell file."""
    return "script" if block.file and block.language in SHELL else block.language


def rule(command: str) -> Rule | None:
    """Return the reason why a command is not run, or None. Text in single quotes is ignored."""
    bare = re.sub(r"'[^']*'", "''", command)
    return next((each for each in CHECKED if re.search(each.pattern, bare)), None)


class Reader:
    """A person who follows a page, block by block."""

    def __init__(self, page: str, place: Workplace, finished: Path, server: str) -> None:
        self.page = page
        self.place = place
        self.finished = finished
        self.server = server
        self.names: dict[str, Any] = {}

    def follow(self, block: Block) -> None:
        """Run a block, read it, or check it."""
        if block.file:
            block.write(self.place.folder)
        elsewhere = (block.page, kind(block)) in ELSEWHERE
        if kind(block) in SHELL:
            self._run_commands(block, run=not elsewhere)
        elif block.language == "python":
            self._run_program(block, run=not elsewhere and not block.file)
        elif block.language in {"toml", "json"}:
            self._read(block)
        else:
            assert elsewhere or block.language == "text", (
                f"{block}: no test knows what to do with a block of {kind(block) or 'no language'}; output is `text`"
            )

    def _run_program(self, block: Block, *, run: bool) -> None:
        code = compile(block.text, str(block), "exec")
        if run:
            self._provide(block.text)
            exec(code, self.names)

    def _run_commands(self, block: Block, *, run: bool) -> None:
        state = ""
        for command in block.commands:
            for program in programs(OPTIONAL.sub(r"\1", command)):
                check(block, *program)
            if run:
                self._provide(command)
                state += self._run_command(block, state, command)

    def _run_command(self, block: Block, state: str, command: str) -> str:
        """Run a command, or check its settings; return it if it affects the later commands of its block."""
        why = rule(command)
        if why is None:
            self._run(block, state, command.replace(SERVER, self.server))
        elif why.settings:
            check_settings(block, command)
        if template := re.search(r"--template (\S+)", command):
            (self.place.folder / template[1]).write_text(SUBMISSION)
        return f"{command}\n" if why is None and STATE.match(command) else ""

    def _run(self, block: Block, state: str, command: str) -> None:
        """Run a command that must succeed: in this process, which is faster, unless it needs a shell."""
        program, *words = shlex.split(command, comments=True)
        if program == "colbench" and not state and not SYNTAX & set("".join(words)):
            assert colbench.cli.main(words) == 0, f"{block}: this failed: {command}"
            return
        try:
            self.place.run("bash", "-euo", "pipefail", "-c", f"{state}{command}")
        except AssertionError as error:
            pytest.fail(f"{block}: this failed: {command}\n{error}", pytrace=False)

    def _provide(self, text: str) -> None:
        """Create what a command or program reads and a reader already has: a finished run, or files of the page."""
        for name in re.findall(r"(?<!--out )\bruns/[\w-]+|\b(?:STORE|BUNDLE)\b", text):
            if not (path := self.place.folder / name).exists():
                shutil.copytree(self.finished / (name if name.isupper() else "run"), path)
        for name, wanted in re.findall(r"\b([\w-]+\.py):(\w+)", text):
            pattern = rf"^((async )?def|class) {wanted}\b|^{wanted} ="
            self._write(name, "python", pattern, otherwise=OWN_AGENT.format(name=wanted))
        for name in re.findall(r"\b[\w-]+\.toml\b", text):
            self._write(name, "toml")

    def _write(self, name: str, language: str, pattern: str = "", otherwise: str = "") -> None:
        """Write a file unless it exists: the page's first block of the language that matches the pattern."""
        texts = [each.text for each in blocks(self.page) if each.language == language]
        found = next((text for text in texts if re.search(pattern, text, re.M)), otherwise)
        if found and not (path := self.place.folder / name).exists():
            path.write_text(found, "utf-8")

    def _read(self, block: Block) -> None:
        """Read a block like the program that reads such files."""
        path = self.place.folder / f"{Path(self.page).stem}-line-{block.line}.{block.language}"
        path.write_text(block.text, "utf-8")
        {"toml": read_toml, "json": read_json}[block.language](path)
        path.unlink()


def check(block: Block, program: str, *words: str) -> None:
    """Fail unless the program is known and, if it belongs to the project, accepts the arguments."""
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
        assert set(words) <= set(targets), f"{block}: the Makefile has no {' '.join(words)}"
    elif program in {"colbench", "sweet-rl"}:
        parse(block, program, words)
    else:
        known = program in OTHERS.split() or (ROOT / program).is_file()
        assert known, f"{block}: {program} is neither in `OTHERS` nor a file of the repository"


def parse(block: Block, program: str, words: Sequence[str]) -> argparse.Namespace:
    """Return the arguments as a program of the project parses them."""
    line = f"{program} {shlex.join(words)}"
    assert " ".join(words[:2]) not in MOVED, f"{block}: the command has another name now: {line}"
    trainer = program == "sweet-rl"
    parser = sweet_rl_trainer.cli.parser() if trainer else colbench.cli.parser(words[0])
    try:
        return parser.parse_args(words)
    except SystemExit:
        return pytest.fail(f"{block}: these arguments are wrong: {line}")


def check_settings(block: Block, command: str) -> None:
    """Check the settings of a run or a recipe, without starting it.

    The tasks of a run are replaced by bundled ones, because generating or downloading them can take long.
    """
    for program, *words in programs(command):
        if program == "colbench" and words[0] == "eval":
            words += ["--tasks", "bundled:backend", "--dry-run"]
            assert colbench.cli.main(words) == 0, f"{block}: the settings are wrong: {command}"
        elif program == "sweet-rl" and words[0] == "run":
            assert recipe_of(parse(block, program, words))


def read_toml(path: Path) -> None:
    """Read a settings file according to its content. A recipe may be incomplete: without its model."""
    content = tomllib.loads(path.read_text("utf-8"))
    if "project" in content:
        for group, points in content["project"]["entry-points"].items():
            assert all(EntryPoint(name, value, group).attr for name, value in points.items())
    elif "run" in content:
        assert read_sweep(path, {})
    elif "disclosures" in content:
        assert read_submission(path)
    elif content.keys() & {"data", "collect", "model"}:
        assert read(str(path), [] if "model" in content else ["model.name=MODEL"])
    else:
        config_of(content)


def read_json(path: Path) -> None:
    """Read a line of a file: a note, or a dialogue to train on."""
    content = json.loads(path.read_text("utf-8"))
    if "schema" in content:
        assert msgspec.convert(content, Note, strict=True).schema == Note.__struct_defaults__[0]
    else:
        assert list(read_own(path))


def answer(messages: Sequence[Message]) -> str:
    """Reply like a model that asks no questions."""
    return "I WANT TO ANSWER:\ndef f(*args):\n    return None"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Yield the address of a running model server, which accepts any model name."""
    running = ScriptedServer(answer)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(running.__aenter__(), loop).result()
        yield running.base_url.replace("/v1", "/no-models/v1")
        asyncio.run_coroutine_threadsafe(running.__aexit__(None, None, None), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture(scope="module")
def finished(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the results that a reader may already have: a run, an entry, and a leaderboard with it."""
    place = Workplace(tmp_path_factory.mktemp("finished") / "reader", cache)
    (place.folder / "submission.toml").write_text(SUBMISSION)
    place.run("colbench", "eval", "--agent", "guesser", "--limit", "3", "--out", "run")
    place.run("colbench", "submit", "pack", "run", "--meta", "submission.toml", "--out", "BUNDLE")
    place.run("colbench", "leaderboard", "init", "STORE")
    place.run("colbench", "leaderboard", "accept", "STORE", "BUNDLE")
    return place.folder


@pytest.mark.parametrize("page", mostly(pytest.mark.slow, PAGES, "README.md"))
def test_the_code_of_a_page_works(
    page: str,
    tmp_path: Path,
    cache: Path,
    finished: Path,
    server: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    variables = {"COLBENCH_LIMIT": "3", "OPENAI_BASE_URL": server, "OPENAI_API_KEY": "none"}
    place = Workplace(tmp_path / "reader", cache, **variables)
    for name in (*variables, "COLBENCH_CACHE", "HOME", "HF_HUB_OFFLINE"):
        monkeypatch.setenv(name, place.environment[name])
    monkeypatch.chdir(place.folder)
    (place.folder / "docs").mkdir()
    (place.folder / "docs" / "study").symlink_to(ROOT / "docs" / "study")
    reader = Reader(page, place, finished, server)
    for block in blocks(page):
        reader.follow(block)


def test_every_rule_excludes_a_command_of_some_page() -> None:
    commands = [command for page in PAGES for block in blocks(page) for command in block.commands]
    assert set(map(rule, commands)) == {None, *CHECKED}


@pytest.mark.parametrize(("page", "wanted"), ELSEWHERE)
def test_blocks_run_by_another_module_exist_and_it_names_their_page(page: str, wanted: str) -> None:
    assert wanted in map(kind, blocks(page))
    assert page in (ROOT / ELSEWHERE[page, wanted]).read_text("utf-8")
