"""The executor that divides the dialogues of a run among the nodes of a Ray cluster.

Each node has one or several workers, which get a cell whenever they have room. Nodes that join later take part; the
cells of a lost node are run again. Only the process of the run writes files.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from contextlib import AsyncExitStack
from typing import Any

from msgspec import Struct

from colbench.cell_queue import CellQueue
from colbench.config import RunConfig
from colbench.errors import EndpointError, UserError, WorkerError
from colbench.event_loop import first_of
from colbench.executors.messages import Ready, Share
from colbench.executors.ray.cluster import Cluster, Node
from colbench.executors.ray.host import NodeHost
from colbench.executors.remote import AGAIN, Plan, RemoteExecutor, logger
from colbench.executors.shares import shares
from colbench.executors.workers import Worker
from colbench.models.address import SERVER_VARIABLES
from colbench.models.servers import Wait, current_servers

POLL = 1.0
"""Seconds between two checks for new and lost nodes."""
TOLD_AFTER = 20.0
"""Seconds without a ready worker after which the wait is reported."""
NO_NODE = "no node of the Ray cluster is ready"


class Place(Struct, frozen=True, kw_only=True):
    """The place of a worker: a node, and the worker's share of the node's limits."""

    node: Node
    number: int
    """The worker's number among the workers of the node."""
    share: Share
    late: bool
    """True if the node joined after the run began. If such a node is incompatible, the run continues without it."""


class RayExecutor(RemoteExecutor):
    """An executor that runs the dialogues on the nodes of a cluster.

    Each node has `processes` workers, but at most one worker per CPU core of the node.
    """

    def __init__(self, plan: Plan, processes: int) -> None:
        super().__init__(plan)
        self._processes = processes
        self._seen = set[str]()
        self._starts: dict[Place, asyncio.Task[Worker | None]] = {}
        self._workers: list[Worker] = []
        self._serving = set[Worker]()
        self._ready: Ready | None = None

    async def __aenter__(self) -> RayExecutor:
        self._cluster = await Cluster.join(self._plan.config.executor)
        async with AsyncExitStack() as stack:
            stack.push_async_exit(self.__aexit__)
            await self._first_ready()
            stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        for start in self._starts.values():
            start.cancel()
        stops = (worker.stop() for worker in self._workers)
        await asyncio.gather(*self._starts.values(), *stops, return_exceptions=True)
        await self._cluster.leave()

    async def _first_ready(self) -> None:
        """Wait until a worker is ready. Raises the errors of `_start`."""
        asked = time.monotonic()
        while self._ready is None:
            await self._look()
            await _some(self._starts.values())
            for start in self._starts.values():
                if start.done():
                    start.result()
            if self._ready is None and time.monotonic() - asked > TOLD_AFTER:
                logger.warning("waiting: %s", NO_NODE)
                asked = float("inf")

    async def _look(self) -> None:
        """Start workers on the nodes that are new."""
        config = self._plan.config
        for node in await self._cluster.nodes():
            if node.id in self._seen:
                continue
            self._seen.add(node.id)
            number = min(self._processes, node.cores)
            parts = shares(config, self._plan.dialogues, number, cores=node.cores)
            for n, share in enumerate(parts):
                late = self._ready is not None
                self._begin(Place(node=node, number=n, share=share, late=late))

    def _begin(self, place: Place) -> None:
        self._starts[place] = asyncio.create_task(self._start(place))

    async def _start(self, place: Place) -> Worker | None:
        """Start a worker at a place and return it once it is ready; None if the worker's node is lost first.

        Raises UserError if the worker cannot be started or if the node cannot take part, and any error that the worker
        reports.
        """
        config = self._plan.config
        gpus = 1 / self._processes if config.clip_device.startswith("cuda") else 0
        host = NodeHost(self._cluster, place.node, _environment(config), gpus=gpus)
        worker = self._worker(host, place.share)
        self._workers.append(worker)
        try:
            self._admit(place.node, await worker.start())
        except BaseException as error:
            await worker.stop()
            if isinstance(error, UserError) and place.node not in await self._cluster.nodes():
                return None
            raise
        return worker

    def _admit(self, node: Node, ready: Ready) -> None:
        """Raise UserError if a node's results would differ from results on this machine or on the first node."""
        first = self._ready or ready
        theirs = ready.pins | {
            "sandbox": {"isolation": ready.isolation},
            "tools": ready.environments,
        }
        ours = {name: self._plan.pins.get(name, {}) for name in ready.pins} | {
            "sandbox": {"isolation": first.isolation},
            "tools": first.environments,
        }
        for part, values in theirs.items():
            for name in sorted(values.keys() | ours[part].keys()):
                here, there = ours[part].get(name), values.get(name)
                if here != there:
                    raise UserError(
                        f"{self._cluster.flag}: {node.name} has {part} {name} = {there}, but "
                        f"the run has {here}; install the same software here and on every node"
                    )
        self._ready = first
        self.isolation, self.environments = first.isolation, first.environments

    async def run(self, queue: CellQueue) -> None:
        """Run and score the cells of a queue until the queue is empty.

        Raises the errors that the queue raises, and errors other than UserError that a worker reports at its start.
        """
        try:
            async with asyncio.TaskGroup() as group:
                await self._divide(queue, group)
        except ExceptionGroup as errors:
            raise first_of(errors) from None

    async def _divide(self, queue: CellQueue, group: asyncio.TaskGroup) -> None:
        served: dict[Place, asyncio.Task[None]] = {}
        alone_since = time.monotonic()
        while not queue.is_over:
            for place in self._starts.keys() - served.keys():
                served[place] = group.create_task(self._serve(place, queue))
            await _some(served.values())
            alone_since = time.monotonic() if self._serving else alone_since
            self._tell_alone(queue, alone_since)
            await self._look()
        for start in self._starts.values():
            start.cancel()  # only starts that still wait for a CPU are unfinished

    def _tell_alone(self, queue: CellQueue, since: float) -> None:
        """Report the wait for a node if no node takes part; stop the run if the wait exceeds `endpoint_patience`."""
        waits, patience = current_servers().waits_elsewhere, self._plan.config.endpoint_patience
        if self._serving:
            waits.pop(self, None)
            return
        waits[self] = (Wait(reason=NO_NODE),)
        if time.monotonic() - since > patience:
            queue.stop(EndpointError(f"{NO_NODE} for {patience:g} s (--endpoint-patience)"))

    async def _serve(self, place: Place, queue: CellQueue) -> None:
        """Let the worker at `place` run the queue's dialogues; if the worker is lost, start another one at `place`."""
        while worker := await self._started(place, queue):
            lost = await self._served(worker, queue)
            if lost is None:
                self._note_learned(worker)
                return
            await worker.stop()
            self._give_back(worker, lost, queue)
            logger.warning("%s; %s", lost, AGAIN)
            if queue.is_over:
                return
            self._begin(place)

    async def _started(self, place: Place, queue: CellQueue) -> Worker | None:
        """Return the worker at `place` once it is ready; None if the worker's node is lost or cannot take part."""
        try:
            return await self._starts[place]
        except UserError as error:
            if place.late:
                logger.warning("%s; the node is not used", error)
            else:
                queue.stop(error)
            return None

    async def _served(self, worker: Worker, queue: CellQueue) -> WorkerError | None:
        others = list(self._serving)
        self._serving.add(worker)
        self._share(others)
        try:
            return await worker.serve(queue, self._places, len(self._serving))
        finally:
            self._serving.discard(worker)
            self._share(self._serving)

    def _share(self, workers: Iterable[Worker]) -> None:
        for worker in workers:
            worker.share(len(self._serving))


async def _some(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Wait until one of the unfinished tasks is done, but at most `POLL` seconds."""
    begun = [task for task in tasks if not task.done()]
    if begun:
        await asyncio.wait(begun, timeout=POLL, return_when=asyncio.FIRST_COMPLETED)
    else:
        await asyncio.sleep(POLL)


def _environment(config: RunConfig) -> dict[str, str]:
    """Return the environment variables, if set, that workers on the nodes need.

    These are the variables for model servers, and the variables that `api_key_env` and `agent_env` name.
    """
    arguments = (config.agent_args.get("api_key_env"), config.human_args.get("api_key_env"))
    names = {*SERVER_VARIABLES, *config.agent_env, *filter(None, arguments)}
    return {str(name): os.environ[str(name)] for name in names if str(name) in os.environ}
