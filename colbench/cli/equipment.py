"""What a run needs of this machine: the code sandbox, the browser, the CLIP weights, as its domains ask for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.task import Domain, Task

if TYPE_CHECKING:
    from colbench.interfaces import Scorer
    from colbench.sandbox import CodeSandbox
    from colbench.sandbox.browser import Renderer
    from colbench.scorers.frontend import ClipEncoder


class Equipment:
    """Made from a configuration for some tasks; entering it starts it, leaving it stops it.

    Making it raises UserError when there is no browser, the first use of `clip` when the weights are not what they
    should be.
    """

    def __init__(self, config: RunConfig, tasks: Sequence[Task]) -> None:
        self._config = config
        self._tasks = [task for task in tasks if task.domain == "frontend"]
        self.workers = config.sandbox_workers or os.cpu_count() or 1
        needs_code = any(task.domain == "backend" for task in tasks)
        self.sandbox = make_sandbox(config) if needs_code else None
        self.renderer = make_renderer(config) if self._tasks else None
        self._running = AsyncExitStack()

    @cached_property
    def clip(self) -> ClipEncoder | None:
        """What takes the cosine; None where there are no pages, or no weights. Fetches them at first use."""
        return make_clip(self._config) if self._tasks else None

    @property
    def browser(self) -> str:
        """The environment of the renderer; empty where nothing is rendered."""
        return self.renderer.environment if self.renderer else ""

    @property
    def walls(self) -> str:
        """What code and pages are shut in by, once entered."""
        code = [self.sandbox.environment] if self.sandbox else []
        pages = [f"browser: {self.renderer.cage}"] if self.renderer else []
        return "; ".join([*code, *pages])

    async def __aenter__(self) -> Equipment:
        async with AsyncExitStack() as stack:
            for tool in (self.sandbox, self.renderer, self.clip):
                if tool:
                    await stack.enter_async_context(tool)
            self._running = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._running.aclose()

    def scorers(self) -> dict[Domain, Scorer]:
        """The scorer of each domain; to be called once entered."""
        found: dict[Domain, Scorer] = {}
        if self.sandbox:
            from colbench.scorers.unit_tests import UnitTestScorer

            found["backend"] = UnitTestScorer(self.sandbox)
        if self.renderer:
            from colbench.scorers.frontend import FrontendScorer

            found["frontend"] = FrontendScorer(self.renderer, self.clip, self._tasks)
        return found


def make_sandbox(config: RunConfig) -> CodeSandbox:
    """The code sandbox that a configuration asks for."""
    from colbench.sandbox import CodeSandbox

    return CodeSandbox(
        config.sandbox_workers or os.cpu_count() or 1,
        allow_unsafe=config.allow_unsafe_sandbox,
        packages=config.sandbox_packages,
    )


def make_renderer(config: RunConfig, store: Path | None = None) -> Renderer:
    """The renderer that a configuration asks for, with renders kept in `store`, else in the user's cache."""
    from colbench.sandbox.browser import Renderer

    return Renderer(
        config.browser, workers=config.browser_workers or os.cpu_count() or 1, cache=store
    )


def make_clip(config: RunConfig) -> ClipEncoder | None:
    """The encoder behind the cosine; None, with a warning, when there are no weights.

    Raises UserError that begins with the flag to blame.
    """
    from colbench.scorers.frontend import DeviceError, OtherWeightsError, find_clip

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
