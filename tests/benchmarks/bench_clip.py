"""How many pages' pictures CLIP sees in a second: decoded, framed and embedded, on the CPU.

    COLBENCH_OFFICIAL_DATA=FOLDER python tests/benchmarks/bench_clip.py [--rounds 3] [--beside]

The folder holds `frontend.jsonl` with real rows, whose references are rendered first. The architecture is the
paper's, the weights are random. The sides take turns on the same pictures; the median of the rounds counts. With
`--beside` a renderer keeps two pages under way all the time, as in a run, and the pages it rendered are counted.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import open_clip
import torch
from PIL import Image

from colbench.domains.frontend.clip import ClipEncoder
from colbench.domains.frontend.pictures import View
from colbench.domains.frontend.weights import MODEL
from colbench.sandbox.browser import Renderer
from colbench.task import Task, read_tasks

PICTURES = 60
BATCH = 8

Side = Callable[[Sequence[bytes]], Awaitable[None]]


class Cost(NamedTuple):
    """Of one side in one round."""

    wall: float
    cpu: float
    rendered: int
    """Pages rendered meanwhile."""


class Bare:
    """What a script does: open_clip's own transform and model, PyTorch's threads, nothing overlapped."""

    def __init__(self, batch: int) -> None:
        self._model = open_clip.CLIP(**open_clip.get_model_config(MODEL)).eval()
        self._transform = open_clip.image_transform(224, is_train=False)
        self._batch = batch

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Side]:
        """Nothing to do."""
        yield lambda pictures: asyncio.to_thread(self._embed, pictures)

    def _embed(self, pictures: Sequence[bytes]) -> None:
        for start in range(0, len(pictures), self._batch):
            batch = [
                self._transform(Image.open(io.BytesIO(picture)))
                for picture in pictures[start : start + self._batch]
            ]
            with torch.inference_mode():
                self._model.encode_image(torch.stack(batch), normalize=True)


class Encoder:
    """The encoder as the scorer uses it, everybody asking at once."""

    def __init__(self, weights: Path, *views: View) -> None:
        self._weights = weights
        self._views = views

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Side]:
        """A new one, for it remembers."""
        async with ClipEncoder(self._weights, allow_unpinned=True, device="cpu") as clip:

            async def embed(pictures: Sequence[bytes]) -> None:
                await asyncio.gather(*(clip.embed(picture, *self._views) for picture in pictures))

            yield embed


class Rendering:
    """Pages rendered in the background without end, two at a time."""

    def __init__(self, renderer: Renderer, tasks: Sequence[Task]) -> None:
        self._renderer = renderer
        self._tasks = tasks
        self.rendered = 0

    @asynccontextmanager
    async def going_on(self, wanted: bool) -> AsyncIterator[None]:
        """While the block runs, if wanted."""
        lanes = [asyncio.create_task(self._lane(number)) for number in range(2 * wanted)]
        yield
        for lane in lanes:
            lane.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)

    async def _lane(self, number: int) -> None:
        while True:
            page = self._tasks[self.rendered % len(self._tasks)].hidden.reference
            unknown = f"<!-- {number} {time.perf_counter_ns()} -->"
            await self._renderer.render(page + unknown)
            self.rendered += 1


async def measure(side: Side, pictures: Sequence[bytes], rendering: Rendering) -> Cost:
    """One round of one side."""
    before = time.perf_counter(), time.process_time(), rendering.rendered
    await side(pictures)
    after = time.perf_counter(), time.process_time(), rendering.rendered
    return Cost(*(b - a for a, b in zip(before, after, strict=True)))


def show(costs: dict[str, list[Cost]]) -> None:
    """One line a side."""
    for name, rounds in costs.items():
        wall = statistics.median(cost.wall for cost in rounds)
        cpu = statistics.median(cost.cpu for cost in rounds) / PICTURES
        pages = statistics.median(cost.rendered / cost.wall for cost in rounds)
        rendered = f"   {pages:.2f} pages rendered/s beside" if pages else ""
        print(f"  {name:<34}{PICTURES / wall:6.1f} pictures/s {1000 * cpu:7.0f} ms CPU{rendered}")


def save_random_weights(file: Path) -> None:
    """The image tower of the paper's architecture."""
    torch.manual_seed(0)
    model = open_clip.CLIP(**open_clip.get_model_config(MODEL))
    torch.save(
        {name: tensor for name, tensor in model.state_dict().items() if "visual" in name}, file
    )


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beside", action="store_true", help="render pages all the while")
    args = parser.parse_args()
    folder = os.environ.get("COLBENCH_OFFICIAL_DATA")
    if folder is None:
        parser.error("COLBENCH_OFFICIAL_DATA names no folder with frontend.jsonl")
    tasks = read_tasks(Path(folder) / "frontend.jsonl", limit=PICTURES)
    with tempfile.TemporaryDirectory() as scratch:
        weights = Path(scratch) / "weights.pt"
        save_random_weights(weights)
        sides: dict[str, Bare | Encoder] = {
            "bare loop, one at a time": Bare(1),
            f"bare loop, batches of {BATCH}": Bare(BATCH),
            "encoder, the paper's crop": Encoder(weights, "crop"),
            "encoder, crop and whole page": Encoder(weights, "crop", "page"),
        }
        async with Renderer(workers=2, cache=Path(scratch) / "renders") as renderer:
            renders = await asyncio.gather(
                *(renderer.render(task.hidden.reference) for task in tasks)
            )
            pictures = [render.picture for render in renders]
            rendering = Rendering(renderer, tasks)
            costs: dict[str, list[Cost]] = {name: [] for name in sides}
            for _ in range(args.rounds):
                for name, side in sides.items():
                    async with side.ready() as ready, rendering.going_on(args.beside):
                        costs[name].append(await measure(ready, pictures, rendering))
    print(f"{PICTURES} pictures, {sum(map(len, pictures)) / PICTURES / 1000:.0f} kB each")
    show(costs)


if __name__ == "__main__":
    asyncio.run(main())
