"""The resources of a domain whose answers are programs: the code sandbox."""

from __future__ import annotations

from colbench.config import RunConfig, workers
from colbench.domain import Resources
from colbench.sandbox import CodeSandbox


class CodeResources(Resources):
    """The code sandbox that a configuration asks for."""

    def __init__(self, config: RunConfig) -> None:
        self.workers = workers(config.sandbox_workers)
        self.sandbox = CodeSandbox(
            self.workers,
            config.allow_unsafe_sandbox,
            config.sandbox_tier,
            packages=config.sandbox_packages,
        )

    @property
    def isolation(self) -> str:
        """Tier, Python version and limits of the sandbox; known once the sandbox has been started."""
        return self.sandbox.environment

    async def __aenter__(self) -> CodeResources:
        await self.sandbox.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.sandbox.__aexit__(None, None, None)
