"""The number of page pictures that are decoded, cropped or scaled, and embedded with CLIP per second on the CPU.

    COLBENCH_OFFICIAL_DATA=FOLDER python tests/benchmarks/bench_clip.py [--rounds 3] [--while-rendering]

The folder contains `frontend.jsonl` with official tasks, whose reference pages are rendered first. The architecture is
that of the paper; the weights are random. The compared programs (*sides*) take turns on the same pictures. With
`--while-rendering`, a renderer works on two pages at a time during the whole measurement, as in a run, and the rendered
pages are counted.
"""

from __future__ import annotations

import asyncio
import io
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from bench import benchmark, main
from data import frontend_pages, no_frontend_rows
from PIL import Image
from records import Goal, Quantity, Ratio, Round
from usage import now

from colbench.domains.frontend.weights import MODEL
from colbench.errors import UserError
from colbench.sandbox.browser import Renderer, find_browser

if TYPE_CHECKING:
    from colbench.domains.frontend.pictures import View

BATCH = 8

Side = Callable[[Sequence[bytes]], Awaitable[None]]


class Bare:
    """A side like a plain script: open_clip's own transform and model, PyTorch's threads, and no overlapping steps."""

    def __init__(self, batch: int) -> None:
        import open_clip

        self._model = open_clip.CLIP(**open_clip.get_model_config(MODEL)).eval()
        self._transform = open_clip.image_transform(224, is_train=False)
        self._batch = batch

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Side]:
        """Yield a function that embeds pictures."""
        yield lambda pictures: asyncio.to_thread(self._embed, pictures)

    def _embed(self, pictures: Sequence[bytes]) -> None:
        import torch

        for start in range(0, len(pictures), self._batch):
            batch = [
                self._transform(Image.open(io.BytesIO(picture)))
                for picture in pictures[start : start + self._batch]
            ]
            with torch.inference_mode():
                self._model.encode_image(torch.stack(batch), normalize=True)


class Encoder:
    """A side with the encoder as the scorer uses it: all requests are made at once."""

    def __init__(self, weights: Path, *views: View) -> None:
        self._weights = weights
        self._views = views

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Side]:
        """Yield a function that embeds pictures with a new encoder, because a used encoder has cached the pictures."""
        from colbench.domains.frontend.clip import ClipEncoder

        async with ClipEncoder(self._weights, allow_unpinned=True, device="cpu") as clip:

            async def embed(pictures: Sequence[bytes]) -> None:
                await asyncio.gather(*(clip.embed(picture, *self._views) for picture in pictures))

            yield embed


class Rendering:
    """Background tasks that render pages continuously, two at a time."""

    def __init__(self, renderer: Renderer, pages: Sequence[str]) -> None:
        self._renderer = renderer
        self._pages = pages
        self.rendered = 0

    @asynccontextmanager
    async def in_background(self, wanted: bool) -> AsyncIterator[None]:
        """Render while the block runs, if `wanted`."""
        lanes = [asyncio.create_task(self._lane(number)) for number in range(2 * wanted)]
        yield
        for lane in lanes:
            lane.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)

    async def _lane(self, number: int) -> None:
        while True:
            page = self._pages[self.rendered % len(self._pages)]
            unknown = f"<!-- {number} {time.perf_counter_ns()} -->"
            await self._renderer.render(page + unknown)
            self.rendered += 1


async def measure(name: str, side: Side, pictures: Sequence[bytes], rendering: Rendering) -> Round:
    """Measure one round of one side."""
    before, rendered = now(), rendering.rendered
    await side(pictures)
    spent, rendered = now() - before, rendering.rendered - rendered
    found = {
        f"{name}: pictures per second": Quantity(len(pictures) / spent.wall, ""),
        f"{name}: wall per picture": Quantity(1000 * spent.wall / len(pictures), "ms"),
        f"{name}: CPU per picture": Quantity(1000 * spent.own / len(pictures), "ms"),
    }
    if rendered:
        rate = Quantity(rendered / spent.wall, "")
        found[f"{name}: pages rendered per second"] = rate
    return found


def save_random_weights(file: Path) -> None:
    """Write random weights for the image encoder of the paper's architecture."""
    import open_clip
    import torch

    torch.manual_seed(0)
    model = open_clip.CLIP(**open_clip.get_model_config(MODEL))
    torch.save(
        {name: tensor for name, tensor in model.state_dict().items() if "visual" in name}, file
    )


def options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--while-rendering", action="store_true", help="render pages at the same time"
    )
    parser.add_argument("--pictures", type=int, default=60)


def missing(_: Namespace) -> str:
    """Return what this machine lacks, or an empty string."""
    if find_spec("open_clip") is None:
        return "the packages of the extra `frontend` are not installed"
    try:
        find_browser()
    except UserError as error:
        return str(error)
    return no_frontend_rows()


BARE, BATCHES, CROP = "bare loop", f"bare loop, batches of {BATCH}", "encoder, the paper's crop"


@benchmark(
    "clip",
    ratios=[
        Ratio(
            f"times as fast as the {side}",
            f"{side}: wall per picture",
            f"{CROP}: wall per picture",
            better="higher",
        )
        for side in (BARE, BATCHES)
    ]
    + [
        Ratio(
            f"CPU time relative to the {BATCHES}",
            f"{CROP}: CPU per picture",
            f"{BATCHES}: CPU per picture",
        )
    ],
    goals=[Goal(f"{CROP}: pictures per second", wanted=18, better="higher")],
    options=options,
    needs=missing,
)
async def clip(given: Namespace) -> AsyncIterator[Round]:
    """Render the pages once, then measure the sides in turn."""
    pages = frontend_pages(given.pictures, bundled=False)
    with tempfile.TemporaryDirectory() as scratch:
        weights = Path(scratch) / "weights.pt"
        save_random_weights(weights)
        sides: dict[str, Bare | Encoder] = {
            BARE: Bare(1),
            BATCHES: Bare(BATCH),
            CROP: Encoder(weights, "crop"),
            "encoder, crop and all of the page": Encoder(weights, "crop", "page"),
        }
        async with Renderer(workers=2, cache=Path(scratch) / "renders") as renderer:
            renders = await asyncio.gather(*map(renderer.render, pages))
            pictures = [render.picture for render in renders if render.picture]
            rendering = Rendering(renderer, pages)
            for _ in range(given.rounds):
                found: Round = {}
                for name, side in sides.items():
                    async with (
                        side.ready() as ready,
                        rendering.in_background(given.while_rendering),
                    ):
                        found |= await measure(name, ready, pictures, rendering)
                yield found


if __name__ == "__main__":
    main(clip)
