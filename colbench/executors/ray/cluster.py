"""The Ray cluster of a run: joining and leaving it, its nodes, and their actors."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from typing import Any

from msgspec import Struct

from colbench.errors import UserError
from colbench.executors.ray.actor import NodeActor

REACHED_WITHIN = 5.0
"""Seconds to wait for a connection to the address of a cluster."""
JOINED_WITHIN = 30.0
"""Seconds to wait until a cluster is joined."""
CLIENT = "ray://"
"""Prefix of the address of a cluster to which this machine does not belong."""


class Node(Struct, frozen=True, kw_only=True):
    """A node that has a CPU for actors."""

    id: str
    name: str
    """The node's address and the beginning of its id, for display."""
    cores: int


class Cluster:
    """A Ray cluster to which this process belongs.

    `flag`: the command-line flag that named the cluster, for error messages. `joined`: False if this process already
    belonged to the cluster before the run.
    """

    def __init__(self, ray: Any, flag: str, *, joined: bool) -> None:
        self._ray = ray
        self._joined = joined
        self.flag = flag

    @classmethod
    async def join(cls, executor: str) -> Cluster:
        """Join the Ray cluster at the address in `ray:ADDRESS`.

        For plain `ray`, join the cluster at the address in the environment variable RAY_ADDRESS. If this variable is
        not set, join the cluster to which this machine belongs. Raises UserError if Ray is not installed, or the
        cluster cannot be joined.
        """
        flag = f"--executor {executor}"
        try:
            async with asyncio.timeout(JOINED_WITHIN):
                cluster = await asyncio.to_thread(_join, flag, executor.partition(":")[2])
        except TimeoutError as cause:  # Ray would retry for minutes
            raise UserError(
                f"{flag}: no Ray cluster answers within {JOINED_WITHIN:g} s; check that it is running (`ray status`)"
            ) from cause
        _restore_sigterm()
        return cluster

    async def leave(self) -> None:
        """Leave the cluster, unless this process had joined it before the run."""
        if self._joined:
            await asyncio.to_thread(self._ray.shutdown)

    async def nodes(self) -> list[Node]:
        """Return the nodes that are alive and have a CPU for actors."""
        found = await asyncio.to_thread(self._ray.nodes)
        return [_node(each) for each in found if each["Alive"] and each["Resources"].get("CPU")]

    def start_actor(self, node: Node, *, gpus: float) -> Any:
        """Start an actor that occupies one CPU and `gpus` GPUs of a node. Ray delays the start until a CPU is free."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        there = NodeAffinitySchedulingStrategy(node_id=node.id, soft=False)
        actor = self._ray.remote(NodeActor)
        return actor.options(num_cpus=1, num_gpus=gpus, scheduling_strategy=there).remote()

    async def kill(self, actor: Any) -> None:
        """End an actor at once."""
        await asyncio.to_thread(self._ray.kill, actor)


def _join(flag: str, address: str) -> Cluster:
    try:
        import ray
    except ImportError as cause:
        raise UserError(
            f"{flag}: Ray is not installed; install it: pip install 'colbench[ray]'"
        ) from cause
    if ray.is_initialized():
        return Cluster(ray, flag, joined=False)
    _require_reachable(flag, address)
    try:
        ray.init(address or "auto", log_to_driver=False, logging_level=logging.ERROR)
    except Exception as cause:  # errors of many classes, including RuntimeError and ConnectionError
        reason = " ".join(str(cause).split()).rstrip(".") or type(cause).__name__
        raise UserError(
            f"{flag}: the cluster cannot be joined: {reason}; unless the address begins with {CLIENT}, "
            "this machine must be a node of the cluster (`ray start`)"
        ) from cause
    return Cluster(ray, flag, joined=True)


def _restore_sigterm() -> None:
    """Restore Python's handler of SIGTERM, because Ray's native handler would abort this process."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


def _require_reachable(flag: str, address: str) -> None:
    """Raise UserError if nothing listens at an address HOST:PORT; an address in another form is not checked."""
    host, _, port = address.removeprefix(CLIENT).rpartition(":")
    if not (host and port.isdecimal()):
        return
    try:
        socket.create_connection((host, int(port)), REACHED_WITHIN).close()
    except OSError as cause:
        raise UserError(
            f"{flag}: nothing answers at {host}:{port}: {cause}; is a Ray cluster running (`ray start --head`)?"
        ) from cause


def _node(found: dict[str, Any]) -> Node:
    return Node(
        id=found["NodeID"],
        name=f"node {found['NodeManagerAddress']} ({found['NodeID'][:6]})",
        cores=max(1, int(found["Resources"]["CPU"])),
    )
