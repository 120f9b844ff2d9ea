"""The browser and the CLIP weights that a configuration requires."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from colbench.config import RunConfig, workers
from colbench.domain import Resources
from colbench.errors import UserError
from colbench.task import Task

if TYPE_CHECKING:
    from colbench.domains.frontend.clip import ClipEncoder
    from colbench.sandbox.browser import Renderer


class FrontendResources(Resources):
    """A renderer and, if CLIP's weights are available, the encoder for the cosine similarity of pages.

    The constructor raises UserError if the browser is missing. Entering the context raises UserError if the browser
    does not work, or if renders cannot be stored. The first use of `clip` raises UserError if the weights or the device
    cannot be used. Entering the context also uses `clip`.
    """

    def __init__(self, config: RunConfig, tasks: Sequence[Task]) -> None:
        self._config = config
        self.tasks = tasks
        self.workers = workers(config.sandbox_workers)
        self.renderer: Renderer = make_renderer(config)
        self._running = AsyncExitStack()

    @cached_property
    def clip(self) -> ClipEncoder | None:
        """The encoder; None if the weights or open_clip are missing. The first use loads or downloads the weights."""
        return make_clip(self._config)

    def lacking(self) -> tuple[str, ...]:
        """Return the names of the cosine metrics if CLIP's encoder is missing (see `clip`), else an empty tuple."""
        return () if self.clip else ("cosine", "cosine_page")

    def pins(self) -> dict[str, dict[str, str]]:
        """Return the browser's environment, on which pictures depend."""
        return {"browser": {"environment": self.environment}}

    @property
    def environment(self) -> str:
        """The browser, its version, its fonts and its assets."""
        return self.renderer.environment

    @property
    def isolation(self) -> str:
        """Description of the browser's isolation; available once the browser has started."""
        return f"browser: {self.renderer.cage}"

    async def __aenter__(self) -> FrontendResources:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.renderer)
            if self.renderer.slowness:
                logging.getLogger("colbench").warning("%s", self.renderer.slowness)
            if self.clip:
                await stack.enter_async_context(self.clip)
            self._running = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._running.aclose()


def make_renderer(config: RunConfig, store: Path | None = None) -> Renderer:
    """Build the renderer that a configuration requires. Renders are stored in `store`, by default the user's cache."""
    from colbench.sandbox.browser import Renderer

    return Renderer(config.browser, workers=workers(config.browser_workers), cache=store)


def make_clip(config: RunConfig) -> ClipEncoder | None:
    """Build CLIP's encoder; if CLIP's weights or open_clip are missing, warn and return None.

    Raises UserError if the weights or the device cannot be used; the message begins with the flag to change.
    """
    from colbench.domains.frontend.clip import DeviceError, find_clip
    from colbench.domains.frontend.weights import OtherWeightsError

    try:
        return find_clip(
            config.clip_weights, device=config.clip_device, allow_unpinned=config.allow_other_clip
        )
    except DeviceError as error:
        raise UserError(f"--clip-device: {error}") from error
    except OtherWeightsError as error:
        raise UserError(f"--clip-weights: {error} with --allow-other-clip") from error
    except UserError as error:
        raise UserError(f"--clip-weights: {error}") from error
