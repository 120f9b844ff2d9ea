"""`colbench tasks synthesize`: have a model write new tasks from seed texts, and keep the tasks that pass every check.

Rejected replies are written, with the reasons, to a file next to the task file: `--out new.jsonl` also creates
`new.rejected.jsonl`. Running the same command again continues an interrupted run. Returns 1 if texts are still pending
because a model or a sandbox did not respond.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from colbench.command import describe
from colbench.config import AtLeastOne, Price, RunConfig
from colbench.config_errors import explain
from colbench.domain import Resources
from colbench.errors import EndpointError, UserError
from colbench.flags import add_config_flags, names, pairs, read_config
from colbench.registry import get_domain

if TYPE_CHECKING:
    from colbench.interfaces import Recipe, TaskIndex
    from colbench.synthesis.author import Author
    from colbench.synthesis.guess import Guesser
    from colbench.synthesis.records import Ledger, Outcome
    from colbench.synthesis.seeds import Seed

T = TypeVar("T")
GROUP = "colbench.recipes"
OPENAI = "openai:"
ANSWERS_AT_ONCE = {"openai": {"single_turn": True}, "vllm": {"single_turn": True}}
"""Arguments, by type of agent, with which the agent of --guess answers immediately instead of asking questions."""
FLAGS = (
    ("--model", "SPEC", "the model that writes: openai:MODEL[@BASE_URL]"),
    (
        "--source",
        "FILE",
        "the seed texts, one per line: as plain text, or as a JSON object with the field `text`",
    ),
    ("--out", "FILE", "file for the tasks, in the official schema; its name must end in .jsonl"),
    ("--recipe", "NAME", "how tasks are written and checked (default: the only one installed)"),
    ("--limit", "N", "only the first N texts"),
    ("--concurrency", "N", "texts processed at once (default: 16)"),
    (
        "--guess",
        "SPEC",
        "reject tasks that this agent solves without asking: openai:MODEL, guesser, …",
    ),
    ("--guess-tries", "N", "guesses per task (default: 1)"),
    ("--price", "IN,OUT", "US dollars per million prompt and completion tokens of the model"),
    ("--guess-price", "IN,OUT", "US dollars per million tokens of the agent that guesses"),
)
REPEATED = (
    ("--against", "SOURCE", "reject near-duplicates of these tasks: bundled:…, a file, …"),
    ("--model-arg", "NAME=VALUE", "an argument of the model: temperature, max_tokens, seed, …"),
    ("--guess-arg", "NAME=VALUE", "an argument of the agent that guesses"),
)
REQUIRED = {"--model", "--source", "--out"}


def add_to(actions: Any) -> None:
    """Add the command `tasks synthesize` to the parser."""
    parser = actions.add_parser(
        "synthesize", help="write new tasks with a model", description=describe(__doc__)
    )
    for name, metavar, text in FLAGS:
        parser.add_argument(name, metavar=metavar, help=text, required=name in REQUIRED)
    for name, metavar, text in REPEATED:
        parser.add_argument(
            name, metavar=metavar, help=f"{text}; may be repeated", action="append", default=[]
        )
    add_config_flags(parser, only=("sandbox_workers", "sandbox_tier", "allow_unsafe_sandbox"))
    parser.add_argument(
        "--json", action="store_true", help="print the numbers of texts and tokens as JSON"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Process the pending texts, and show how many became tasks. Return 1 if texts are still pending, else 0."""
    from colbench.cli.synthesis_yield import Yield, show

    synthesis = Synthesis(args)
    pending: list[str] = []
    try:
        pending = asyncio.run(synthesis.run())
    except EndpointError as error:
        print(f"colbench: stopped: {error}; repeat the command to continue", file=sys.stderr)
    found = Yield(synthesis.seeds, synthesis.ledger.lines, synthesis.prices)
    show(found, synthesis.ledger, pending, as_json=args.json)
    return 1 if found.pending else 0


class Synthesis:
    """One run of `colbench tasks synthesize`.

    The constructor checks all flags, so a mistake is reported before any request is sent.
    """

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
        self.recipe = _recipe(args.recipe)
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
        """Process the pending seed texts; return the reason for each text that failed and therefore stays pending.

        Raises EndpointError if `GIVE_UP_AFTER` texts in a row fail, and UserError if a server refuses the requests or
        the guesser fails.
        """
        from colbench.participants import start

        if all(seed.key in self.ledger.done for seed in self.seeds):
            return []
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.author)
            if self.guesser:
                await start(stack, "guess", self.guesser.agent)
            resources = get_domain(self.recipe.domain).resources(self.config, [])
            await stack.enter_async_context(resources)
            with self.ledger.writing():
                return await self._run_pending(resources)

    async def _run_pending(self, resources: Resources) -> list[str]:
        from colbench.cli.synthesis_yield import Yield, progress
        from colbench.synthesis.pipeline import Pipeline

        for task in self.ledger.tasks():
            self.known.add(task)
        done = self.ledger.done
        pipeline = Pipeline(
            author=self.author,
            domain=get_domain(self.recipe.domain),
            resources=resources,
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
    """Return a flag's value converted to a type. Raises UserError, which names the flag, if that is impossible."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as cause:
        problem = explain(cause, kind, value)
        where = f", {problem.key}" if problem.key else ""
        raise UserError(f"{flag}{where}: {problem.reason}{problem.given}") from cause


def _numbers(text: str | None) -> list[str] | None:
    return None if text is None else names(text)


def _recipe(name: str | None) -> Recipe:
    """Return the recipe of this name or, without a name, the only installed recipe."""
    points = {point.name: point for point in entry_points(group=GROUP)}
    known = ", ".join(sorted(points)) or "none"
    if name is None and len(points) != 1:
        raise UserError(f"--recipe: choose one; installed: {known}")
    if name is not None and name not in points:
        raise UserError(f"--recipe {name}: unknown; installed: {known}")
    recipe: Recipe = points[name or next(iter(points))].load()()
    return recipe


def _author(spec: str, recipe: Recipe, options: Any, concurrency: int) -> Author:
    from colbench.synthesis.author import Author

    if not spec.startswith(OPENAI):
        raise UserError(f"--model {spec}: use openai:MODEL[@BASE_URL]")
    return Author(spec.removeprefix(OPENAI), recipe, options, concurrency)


def _guesser(args: argparse.Namespace) -> Guesser | None:
    from colbench.plugins import resolve
    from colbench.synthesis.guess import Guesser

    tries = checked("--guess-tries", args.guess_tries or 1, AtLeastOne)
    given: Mapping[str, Any] = pairs(args.guess_arg, "--guess-arg")
    if args.guess is None:
        if given or args.guess_tries or args.guess_price:
            raise UserError("--guess-tries, --guess-arg and --guess-price require --guess SPEC")
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
    """Return the result of `resolve`. If it raises UserError, replace the flag `theirs` with `ours` in the message."""
    try:
        return resolve()
    except UserError as error:
        raise type(error)(str(error).replace(theirs, ours)) from error
