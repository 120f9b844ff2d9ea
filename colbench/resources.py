"""The resources of a run: the resources of each of its domains, started and stopped together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from colbench.config import RunConfig
from colbench.domain import Resources
from colbench.errors import UserError
from colbench.interfaces import ResourceUser, Scorer, Viewer
from colbench.pages.render import PageRenderer
from colbench.registry import get_domain, package_of, require_mode
from colbench.scorers import find_scorers, with_extras
from colbench.task import Task


class RunResources:
    """The code sandbox, the browser and all other resources that the domains of a run's tasks need.

    The constructor raises UserError if this machine lacks a resource or an extra scorer, or if a domain lacks the
    configured scoring mode. Opening the context starts all resources, closing it stops them.
    """

    def __init__(
        self, config: RunConfig, tasks: Sequence[Task], domains: Sequence[str] = ()
    ) -> None:
        """Prepare the resources of the tasks' domains and of `domains`, which may include domains without tasks."""
        by_domain: dict[str, list[Task]] = {name: [] for name in domains}
        for task in tasks:
            by_domain.setdefault(task.domain, []).append(task)
        for name in by_domain:
            require_mode(name, config.scoring)
        self.by_domain: Mapping[str, Resources] = {
            name: get_domain(name).resources(config, chosen)
            for name, chosen in sorted(by_domain.items())
        }
        self._extras = find_scorers(config.scorers)
        self._running = AsyncExitStack()

    @property
    def workers(self) -> int:
        """Number of answers scored at the same time."""
        return max(resources.workers for resources in self.by_domain.values())

    @property
    def pins(self) -> dict[str, dict[str, str]]:
        """Everything that scores depend on, for the run's record."""
        found: dict[str, dict[str, str]] = {}
        for resources in self.by_domain.values():
            found |= resources.pins()
        packages = {name: package_of(name) for name in self.by_domain}
        foreign = {name: package for name, package in packages.items() if package}
        return {**found, "domains": foreign} if foreign else found

    @property
    def environments(self) -> dict[str, str]:
        """Versions and settings of the domains' tools, by domain; domains without tools are left out."""
        found = {name: resources.environment for name, resources in self.by_domain.items()}
        return {name: environment for name, environment in found.items() if environment}

    @property
    def isolation(self) -> str:
        """A description of how answers are isolated from this machine; known once the resources have been started."""
        return "; ".join(each.isolation for each in self.by_domain.values() if each.isolation)

    async def __aenter__(self) -> RunResources:
        async with AsyncExitStack() as stack:
            for resources in self.by_domain.values():
                await stack.enter_async_context(resources)
            self._running = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._running.aclose()

    def scorers(self) -> dict[str, Scorer]:
        """Return the scorer of each domain. Call this method only after the resources have been started."""
        return {
            name: with_extras(get_domain(name).scorer(resources), self._extras)
            for name, resources in self.by_domain.items()
        }

    def equip(self, plugin: object) -> None:
        """Give an agent or a human the resources that it asks for."""
        if isinstance(plugin, ResourceUser):
            plugin.use_resources(self.by_domain)
        renderer = self.renderer
        if renderer and isinstance(plugin, Viewer):
            plugin.use_renderer(renderer)

    @property
    def renderer(self) -> PageRenderer | None:
        """The renderer of the first domain that has one."""
        found = (resources.renderer for resources in self.by_domain.values())
        return next((renderer for renderer in found if renderer), None)


@asynccontextmanager
async def open_renderer(
    domain: str, config: RunConfig | None = None
) -> AsyncIterator[PageRenderer]:
    """Yield the renderer of a domain's pages, started without the domain's other resources and stopped at the end.

    Raises UserError if the domain is not installed or has no pages, or if this machine has no browser.
    """
    renderer = get_domain(domain).resources(config or RunConfig(domain=domain), []).renderer
    if renderer is None:
        raise UserError(f"the domain {domain} has no pages to render")
    async with AsyncExitStack() as stack:
        if isinstance(renderer, AbstractAsyncContextManager):
            await stack.enter_async_context(renderer)
        yield renderer
