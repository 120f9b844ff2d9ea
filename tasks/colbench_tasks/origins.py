"""Functions that describe a task set's origin for its datasheet. They form the entry-point group `colbench.origins`."""

from __future__ import annotations

from msgspec.structs import replace

from colbench.interfaces import Origin
from colbench_tasks import official as official_tasks
from colbench_tasks import websight as websight_tasks
from colbench_tasks.bundled import SETS
from colbench_tasks.family import Family
from colbench_tasks.frontend.kind import Kind
from colbench_tasks.splits import split_of

WHAT = {
    Family.domain: "Backend programming. Each task has a vague request, which the agent sees, and a hidden reference "
    "function. Ten hidden calls test whether the agent's function returns the same values as the reference. The task "
    "also lists the facts (such as a price or a maximum) that the simulated human uses to answer questions.",
    Kind.domain: "Frontend design. Each task has a rough idea of a web page, which the agent sees, and the hidden "
    "page. The task also lists the facts about the page's design (such as its accent color) that the simulated human "
    "uses to answer questions.",
}
SIDES = {
    "train": "the training split, which shares no design and no request with a set of any other seed",
    "test": "the test split, which shares no design and no request with the training set",
}
OURS = "Apache-2.0, as the repository"


def bundled(name: str) -> Origin:
    """Return the origin of `bundled:NAME`."""
    domain, _, seed = name.partition("/")
    origin = _generated(
        domain,
        seed or "test",
        f"Nothing to fetch: `--tasks bundled:{name}` makes it on first use, checks its SHA-256 and keeps it. As a "
        f"file: `colbench tasks export bundled:{name} --out {domain}-{seed or 'test'}.jsonl`",
    )
    whole = SETS.get(f"{domain}/{seed or 'test'}")
    if whole is None:
        return origin
    return replace(origin, tasks=whole.number, floors=whole.floors)


def generated(argument: str) -> Origin:
    """Return the origin of `generated:ARGUMENT`."""
    domain, _, seed = argument.partition("?")[0].partition("/")
    return _generated(domain, seed, f"Nothing to fetch: `--tasks generated:{argument}` makes it")


def official(name: str) -> Origin:
    """Return the origin of `official:NAME`; the frontend tasks come from WebSight."""
    if name.startswith("frontend/"):
        return websight(name.removeprefix("frontend/"))
    return Origin(
        what="The tasks of the ColBench paper (Zhou et al., SWEET-RL, arXiv 2503.15478).",
        made="Written by Llama 3.1 for the paper's authors, and public since 2025: models may have been trained on "
        "them.",
        license=official_tasks.LICENSE,
        how="Downloaded from the Hugging Face Hub at first use; or name a folder with a copy of the files of "
        f"{official_tasks.REPOSITORY} in `{official_tasks.LOCAL_DIR}`",
        tasks=official_tasks.SETS[name].size if name in official_tasks.SETS else None,
    )


def websight(name: str) -> Origin:
    """Return the origin of `websight:NAME`."""
    return Origin(
        what="Web pages. A model wrote each page from a short text that describes an idea; this text is the "
        "request. The paper took its frontend tasks from the same dataset.",
        made="Written by models for WebSight v0.2 (Laurençon, Tronchon, Sanh, arXiv 2403.09029), and public since "
        "2024. The URLs of random pictures, which are no longer served, are replaced by a fixed one.",
        license=websight_tasks.LICENSE,
        how="`websight:train` and `websight:test` are downloaded from the Hugging Face Hub at first use; or use "
        "`--tasks websight:PATH` for local files of WebSight rows",
        tasks=websight_tasks.SPLITS.get(name, (0, None))[1],
    )


def _generated(domain: str, seed: str, how: str) -> Origin:
    return Origin(
        what=WHAT.get(domain, ""),
        made=f"Generated from the seed `{seed}` by this project's families, without a model. The seed draws from "
        f"{SIDES[split_of(seed)]}.",
        license=OURS,
        how=how,
    )
