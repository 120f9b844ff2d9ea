"""A test of the renderer: every hostile page of the corpus is rendered like any other page, followed by a good page.

Two lanes render pages concurrently with one renderer, so that good pages are also rendered during attacks. Each lane
has its own canary: targets that no page must reach.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack
from io import BytesIO
from secrets import token_hex

import msgspec
from msgspec import Struct

from colbench.pages.render import PageRenderer, Render
from colbench.sandbox.attacks.campaign import Finding, Report
from colbench.sandbox.attacks.orphans import adopting_orphans, descendants, memory_of
from colbench.sandbox.browser.attacks.canary import Canary, shows_canary
from colbench.sandbox.browser.attacks.corpus import (
    HEIGHT,
    PageAttack,
    page_attacks,
    page_controls,
)

_LANES = 2
_CHECKS = 60
_WATCH_SECONDS = 0.2
_LARGEST_RENDER = 16 << 20
"""Maximum size of a render in bytes, excluding the picture."""


class Budget(Struct, frozen=True, kw_only=True):
    """Limits above which an attack counts as a success."""

    seconds: float = 60.0
    """Maximum time for one page. The renderer may try the page in several browsers, each with its own limit."""
    memory_bytes: int = 3 << 30
    """Maximum total memory of all descendants of this process."""


class PageFinding(Finding, frozen=True, kw_only=True):
    """The result of one hostile page or control."""

    outcome: str
    """The outcome of the render, or "" if the renderer failed. In the finding about processes: the peak memory."""
    seconds: float

    @property
    def ending(self) -> str:
        """A description of the outcome and of the time it took."""
        return f"{self.outcome}, {self.seconds} s"


async def attack_renderer(
    opening: AbstractAsyncContextManager[PageRenderer],
    *,
    chosen: Sequence[PageAttack] = (),
    budget: Budget | None = None,
    on_found: Callable[[Finding], None] = lambda _found: None,
) -> Report:
    """Attack the renderer that `opening` opens.

    `chosen`: the hostile pages and controls to render, by default the whole corpus.
    `budget`: the limits above which an attack counts as a success. `on_found` is called with each finding.
    """
    findings: list[Finding] = []
    waiting = iter(chosen or (*page_controls(), *page_attacks()))
    with adopting_orphans(), ExitStack() as stack:
        before = descendants(os.getpid())
        async with opening as renderer:
            watch = _MemoryWatch()
            watching = asyncio.create_task(watch.run())
            good = await renderer.render(_good())
            lanes = [
                _Lane(renderer, good, stack.enter_context(Canary()), budget or Budget())
                for _ in range(_LANES)
            ]

            async def work_off(lane: _Lane) -> None:
                for attack in waiting:
                    findings.append(await lane.attempt(attack))
                    on_found(findings[-1])

            await asyncio.gather(*map(work_off, lanes))
            watching.cancel()
            environment = renderer.environment
        findings.append(await _afterwards(before, watch.peak, budget or Budget()))
        on_found(findings[-1])
    return Report(environment=environment, findings=tuple(sorted(findings, key=_order)))


def _order(found: Finding) -> tuple[bool, str]:
    return found.control, found.kind


def _good() -> str:
    """Return an honest page that always looks the same.

    Its source differs in every call, so that it is rendered again and not taken from the cache of renders.
    """
    with Canary() as canary:
        return page_controls()[0].page(canary, token_hex(8))


class _Lane:
    """A renderer under attack, a canary that pages must not reach, and the expected render of a good page."""

    def __init__(
        self, renderer: PageRenderer, good: Render, canary: Canary, budget: Budget
    ) -> None:
        self._renderer = renderer
        self._good = good
        self._canary = canary
        self._budget = budget

    async def attempt(self, attack: PageAttack) -> PageFinding:
        started = time.monotonic()
        outcome = ""
        faults: list[str] = []
        try:
            render = await self._render(attack)
            outcome = render.outcome
            faults += self._faults(attack, render)
            if attack.aim == "vary" and (await self._render(attack)).picture != render.picture:
                faults.append("looked different on the second render")
        except (
            Exception
        ) as error:  # any effect of an attack on the harness is a success of the attack
            faults.append(f"the renderer failed: {type(error).__name__}: {error}")
        took = time.monotonic() - started
        if took > self._budget.seconds:
            faults.append(f"took {took:.1f} s")
        faults += await self._harm_to_the_next()
        faults += self._canary.traces()
        return PageFinding(
            kind=attack.kind,
            name=attack.name,
            control=attack.aim == "honest",
            faults=tuple(faults),
            outcome=outcome,
            seconds=round(took, 1),
        )

    async def _render(self, attack: PageAttack) -> Render:
        """Render a page; encode and decode the render as the store does, which raises an error if a type is wrong."""
        page = attack.page(self._canary, token_hex(8))
        render = await self._renderer.render(page)
        return msgspec.msgpack.decode(msgspec.msgpack.encode(render), type=Render)

    def _faults(self, attack: PageAttack, render: Render) -> Iterator[str]:
        if attack.aim == "honest" and render.outcome != "rendered":
            yield f"{render.outcome} instead of rendered"
        if len(msgspec.json.encode(msgspec.structs.replace(render, picture=b""))) > _LARGEST_RENDER:
            yield "it has more blocks than can be stored"
        if render.outcome == "rendered":
            if shows_canary(render.picture):
                yield "shows a file"
            if attack.kind == "measuring" and not HEIGHT <= render.height <= HEIGHT + 100:
                yield f"was rendered {render.height} pixels high"

    async def _harm_to_the_next(self) -> list[str]:
        try:
            return [*_differences(self._good, await self._renderer.render(_good()))]
        except Exception as error:
            return [f"the next page failed: {error}"]


def _differences(good: Render, after: Render) -> Iterator[str]:
    """Yield the first difference between a good page's renders before and after an attack; nothing if they agree."""
    if after.outcome != good.outcome:
        yield f"the next page: {after.outcome}"
    elif after.picture != good.picture:
        yield f"the next page looks different ({_where(good.picture, after.picture)})"
    elif after.blocks != good.blocks:
        changed = {*good.blocks} ^ {*after.blocks}
        yield f"the next page is read differently ({len(changed)} blocks)"


def _where(one: bytes, other: bytes) -> str:
    from PIL import Image, ImageChops

    with Image.open(BytesIO(one)) as first, Image.open(BytesIO(other)) as second:
        if first.size != second.size:
            return f"{second.width} x {second.height} pixels"
        box = ImageChops.difference(first.convert("RGB"), second.convert("RGB")).getbbox()
        return f"within {box}" if box else "the same pixels"


class _MemoryWatch:
    """A monitor of the maximum total memory of all descendants of this process."""

    def __init__(self) -> None:
        self.peak = 0

    async def run(self) -> None:
        while True:
            self.peak = max(self.peak, memory_of(descendants(os.getpid())))
            await asyncio.sleep(_WATCH_SECONDS)


async def _afterwards(before: frozenset[int], peak: int, budget: Budget) -> PageFinding:
    """Report processes that are still running after the renderer was closed, and the browsers' peak memory."""
    for _ in range(_CHECKS):
        if not descendants(os.getpid()) - before:
            break
        await asyncio.sleep(0.05)
    faults = []
    if left := len(descendants(os.getpid()) - before):
        faults.append(f"processes left over: {left}")
    if peak > budget.memory_bytes:
        faults.append(
            f"the browsers' memory grew to {peak >> 20} MiB instead of at most {budget.memory_bytes >> 20} MiB"
        )
    return PageFinding(
        kind="afterwards",
        name="processes and memory",
        control=False,
        faults=tuple(faults),
        outcome=f"at most {peak >> 20} MiB",
        seconds=0.0,
    )
