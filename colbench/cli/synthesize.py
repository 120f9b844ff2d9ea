"""`colbench tasks synthesize`: have a model write new tasks from seed texts, and keep those that stand every check.

Beside the file of tasks, OUT.rejected.jsonl keeps what was rejected and why. The same command goes on where a killed
one stopped. Returns 1 when texts are still owed because something did not answer.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from colbench.config import AtLeastOne, Price, RunConfig
from colbench.config_errors import explain
from colbench.errors import EndpointError, UserError
from colbench.flags import add_config_flags, names, pairs, read_config

if TYPE_CHECKING:
    from colbench.interfaces import Recipe, TaskIndex
    from colbench.sandbox import CodeSandbox
    from colbench.synthesis.author import Author
    from colbench.synthesis.guess import Guesser
    from colbench.synthesis.records import Ledger, Outcome
    from colbench.synthesis.seeds import Seed

T = TypeVar("T")
OPENAI = "openai:"
ANSWERS_AT_ONCE = {"openai": {"single_turn": True}, "vllm": {"single_turn": True}}
"""Arguments with which an agent that would else ask gives its answer at once."""
FLAGS = (
    ("--model", "SPEC", "the model that writes: openai:MODEL[@BASE_URL]"),
    ("--source", "FILE", "the seed texts: one JSON object with a `text` a line, or plain lines"),
    ("--out", "FILE", "the tasks, in the official schema; a name that ends in .jsonl"),
    ("--limit", "N", "only the first N texts"),
    ("--concurrency", "N", "texts worked on at once (default: 16)"),
    ("--guess", "SPEC", "reject what this agent solves at once: openai:MODEL[@URL], guesser …"),
    ("--guess-tries", "N", "guesses at each task (default: 1)"),
    ("--price", "IN,OUT", "US dollars for a million prompt and completion tokens of the model"),
    ("--guess-price", "IN,OUT", "the same for the agent that guesses"),
)
REPEATED = (
    ("--against", "SOURCE", "no new task may be nearly one of these: bundled:…, a file …"),
    ("--model-arg", "NAME=VALUE", "an argument of the model: temperature, max_tokens, seed …"),
    ("--guess-arg", "NAME=VALUE", "an argument of the agent that guesses"),
)
REQUIRED = {"--model", "--source", "--out"}


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser(
        "synthesize", help="have a model write new tasks", description=__doc__
    )
    for name, metavar, text in FLAGS:
        parser.add_argument(name, metavar=metavar, help=text, required=name in REQUIRED)
    for name, metavar, text in REPEATED:
        parser.add_argument(
            name, metavar=metavar, help=f"{text}; may be repeated", action="append", default=[]
        )
    add_config_flags(parser, only=("sandbox_workers", "allow_unsafe_sandbox"))
    parser.add_argument("--json", action="store_true", help="print the yield as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write what is still owed, and show the yield. Returns the exit code."""
    from colbench.cli.synthesis_yield import Yield, show

    synthesis = Synthesis(args)
    owed: list[str] = []
    try:
        owed = asyncio.run(synthesis.run())
    except EndpointError as error:
        print(f"colbench: stopped: {error}; the same command goes on from here", file=sys.stderr)
    found = Yield(synthesis.seeds, synthesis.ledger.lines, synthesis.prices)
    show(found, synthesis.ledger, owed, as_json=args.json)
    return 1 if found.owed else 0


class Synthesis:
    """One `colbench tasks synthesize`: what its flags mean, resolved before anything is asked or written."""

    def __init__(self, args: argparse.Namespace) -> None:
        from colbench.synthesis.author import AuthorOptions
        from colbench.synthesis.records import Ledger
        from colbench.synthesis.seeds import read_seeds

        self.concurrency = checked("--concurrency", args.concurrency or 16, AtLeastOne)
        limit = checked("--limit", args.limit, AtLeastOne | None)
        self.prices: tuple[Price | None, Price | None] = (
            checked("--price", _numbers(args.price), Price | None),
            checked("--guess-price", _numbers(args.guess_price), Price | None),
        )
        self.config = read_config(args, base=RunConfig())
        self.recipe = _recipe()
        self.guesser = _guesser(args)
        options = checked("--model-arg", pairs(args.model_arg, "--model-arg"), AuthorOptions)
        self.author = _author(args.model, self.recipe, options, self.concurrency)
        self.ledger: Ledger = Ledger(Path(args.out).expanduser(), str(self.guesser or ""))
        self.seeds: list[Seed] = read_seeds(
            Path(args.source).expanduser(),
            model=self.author.model,
            prompt=self.recipe.fingerprint,
            limit=limit,
        )
        self.known = _known(self.recipe, args.against)

    async def run(self) -> list[str]:
        """Process the pending seed texts; return why some of them still are pending."""
        from colbench.domains.backend.domain import BackendResources
        from colbench.participants import start

        if all(seed.key in self.ledger.done for seed in self.seeds):
            return []
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.author)
            if self.guesser:
                await start(stack, "guess", self.guesser.agent)
            resources = await stack.enter_async_context(BackendResources(self.config))
            with self.ledger.writing():
                return await self._run_pending(resources.sandbox)

    async def _run_pending(self, box: CodeSandbox) -> list[str]:
        from colbench.cli.synthesis_yield import Yield, progress
        from colbench.synthesis.pipeline import Pipeline

        for task in self.ledger.tasks():
            self.known.add(task)
        done = self.ledger.done
        pipeline = Pipeline(
            author=self.author,
            box=box,
            guesser=self.guesser,
            known=self.known,
            concurrency=self.concurrency,
        )
        found = Yield(self.seeds, self.ledger.lines, self.prices)
        with progress(found) as seen:

            def keep(outcome: Outcome) -> None:
                self.ledger.append(outcome)
                seen(outcome)

            return await pipeline.run([seed for seed in self.seeds if seed.key not in done], keep)


def checked(flag: str, value: Any, kind: Any) -> Any:
    """A flag's value as what it must be. Raises UserError that names the flag."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as cause:
        problem = explain(cause, kind, value)
        where = f", {problem.key}" if problem.key else ""
        raise UserError(f"{flag}{where}: {problem.reason}{problem.given}") from cause


def _numbers(text: str | None) -> list[str] | None:
    return None if text is None else names(text)


def _recipe() -> Recipe:
    from importlib.metadata import entry_points

    points = {point.name: point for point in entry_points(group="colbench.recipes")}
    if "backend" not in points:
        raise UserError("the recipe for backend tasks is not installed; install colbench again")
    recipe: Recipe = points["backend"].load()()
    return recipe


def _author(spec: str, recipe: Recipe, options: Any, concurrency: int) -> Author:
    from colbench.synthesis.author import Author

    if not spec.startswith(OPENAI):
        raise UserError(f"--model {spec}: write openai:MODEL[@BASE_URL]")
    return Author(spec.removeprefix(OPENAI), recipe, options, concurrency)


def _guesser(args: argparse.Namespace) -> Guesser | None:
    from colbench.plugins import resolve
    from colbench.synthesis.guess import Guesser

    tries = checked("--guess-tries", args.guess_tries or 1, AtLeastOne)
    given: Mapping[str, Any] = pairs(args.guess_arg, "--guess-arg")
    if args.guess is None:
        if given or args.guess_tries or args.guess_price:
            raise UserError("--guess-tries, --guess-arg and --guess-price go with --guess SPEC")
        return None
    options = {**ANSWERS_AT_ONCE.get(args.guess.partition(":")[0], {}), **given}
    agent = _named("--agent", "--guess", lambda: resolve("agent", args.guess, options))
    return Guesser(args.guess, agent, tries)


def _known(recipe: Recipe, sources: list[str]) -> TaskIndex:
    from colbench.plugins import resolve_tasks

    known = recipe.index()
    for source in sources:
        for task in _named("--tasks", "--against", partial(resolve_tasks, source)):
            known.add(task)
    return known


def _named(theirs: str, ours: str, resolve: Callable[[], T]) -> T:
    """What a function finds; in what it says of a mistake the flag is ours."""
    try:
        return resolve()
    except UserError as error:
        raise type(error)(str(error).replace(theirs, ours)) from error
