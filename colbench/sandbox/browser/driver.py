"""Playwright's driver, the process that starts browsers. If its start is canceled, the driver is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from playwright.async_api import Playwright

T = TypeVar("T")


async def start_driver() -> Playwright:
    """Start a driver.

    If the start is canceled, the driver is stopped before the cancellation is raised. Playwright starts the driver in a
    task that a cancellation does not reach, so the driver would otherwise continue to run unnoticed.
    """
    from playwright.async_api import async_playwright

    starting = asyncio.create_task(async_playwright().start())
    try:
        return await complete(starting)
    except asyncio.CancelledError:
        if not starting.cancelled() and starting.exception() is None:
            await complete(starting.result().stop())
        raise


async def complete(work: Coroutine[Any, Any, T] | asyncio.Task[T]) -> T:
    """Run work to completion and return its result. A cancellation in the meantime is raised only afterwards."""
    task = work if isinstance(work, asyncio.Task) else asyncio.create_task(work)
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancellation = error
    if cancellation:
        raise cancellation
    return task.result()
