"""The renderer: the pictures of pages, made by browsers within limits, and kept in a store."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack, suppress
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from weakref import WeakValueDictionary

import msgspec

from colbench.config import ScoringMode
from colbench.errors import RenderError, UserError, boundary
from colbench.pages.render import Render, RenderOutcome
from colbench.pages.store import RenderStore, render_key
from colbench.sandbox.browser import assets
from colbench.sandbox.browser.assets import Prepared
from colbench.sandbox.browser.assets.vendored import content_hash
from colbench.sandbox.browser.driver import complete
from colbench.sandbox.browser.find import describe_browser, find_browser, slowness
from colbench.sandbox.browser.launch import Launcher
from colbench.sandbox.browser.limits import Limits, TooBigError, excess
from colbench.sandbox.browser.pool import Pool
from colbench.sandbox.browser.visit import Sight, VariesError, visit
from colbench.sandbox.browser.window import WINDOWS, Window

CODE = content_hash(Path(__file__).parent, "*.py", without="attacks")
"""Hash of all the code that affects pictures and blocks."""
_ATTEMPTS_ALONE = 2


class Renderer:
    """A renderer of pages, up to `workers` at a time, in a browser without access to anything.

    `browser` is a path or a name on PATH, by default the browser that `find_browser` finds. Renders are stored in the
    folder `cache`, by default the user's cache. Timeouts and crashes may be specific to this machine, so they are not
    stored; only this object remembers them. The constructor raises UserError if no browser is found, and opening the
    context raises UserError if the browser does not work. Use a renderer from one event loop only.
    """

    def __init__(
        self,
        browser: str | None = None,
        *,
        workers: int = 2,
        cache: Path | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.cage = ""
        """A description of the browser's isolation, such as `no network, own sandbox`; "" until the context is open."""
        self.repeated = 0
        """Number of pages so far that were tried again in a browser of their own, after a load differed or failed."""
        self._executable = find_browser(browser)
        self._workers = workers
        self._limits = limits or Limits()
        self._store = RenderStore(cache)
        self._stack = AsyncExitStack()
        self._pool: Pool | None = None
        self._failed: dict[str, Render] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._environment = (
            f"{describe_browser(self._executable)}; assets {assets.VERSION}; code {CODE}; "
            f"Pillow {version('pillow')}{_said(self._limits)}"
        )

    @property
    def slowness(self) -> str:
        """A warning that a full browser is slower than the headless shell; "" for a headless shell."""
        return slowness(self._executable)

    @property
    def environment(self) -> str:
        """The versions of everything that a picture depends on besides the page.

        These are the versions of the browser, the assets with their fonts, this code, and Pillow (for placeholders).
        Limits are added if they are not the default ones.
        """
        return self._environment

    @property
    def _open_pool(self) -> Pool:
        if self._pool is None:
            raise RenderError("the renderer must be used inside `async with`")
        return self._pool

    async def __aenter__(self) -> Renderer:
        self._store.check()
        home = self._stack.enter_context(
            tempfile.TemporaryDirectory(prefix="colbench-browser-", ignore_cleanup_errors=True)
        )
        launcher = Launcher(self._executable, Path(home))
        self._pool = Pool(launcher, self._limits, self._workers)
        self._stack.push_async_callback(self._pool.close)
        try:
            async with self._pool.shared():
                self.cage = launcher.cage.words
                return self
        except BaseException as error:
            await complete(self._stack.aclose())
            if isinstance(error, RenderError):
                raise UserError(f"{error}; choose another browser with --browser") from error
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await complete(self._stack.aclose())

    async def render(self, page: str | None, mode: ScoringMode = "default") -> Render:
        """Render a page, or read its render from the store. The render of None has the outcome "no page".

        `mode` determines the size of the window. Raises RenderError if the browser fails; a failure of the page is not
        an error but an outcome of the render.
        """
        page = None if page is None else page.encode(errors="replace").decode()
        key = render_key(page, mode, self._environment)
        if page is None:
            return Render(key=key, outcome="no page", mode=mode, note="there is no page")
        async with self._locks.setdefault(key, asyncio.Lock()):
            render = self._failed.get(key) or self._store.get(key)
            if render is None:
                with boundary(RenderError):
                    render = await self._make(key, page, mode)
                if render.outcome in {"timeout", "crash"}:
                    self._failed[key] = render
                else:
                    self._store.put(render)
            return render

    async def _make(self, key: str, page: str, mode: ScoringMode) -> Render:
        def without_picture(outcome: RenderOutcome, note: str) -> Render:
            return Render(key=key, outcome=outcome, mode=mode, note=note)

        too_much = excess(page, self._limits)
        if too_much:
            return without_picture("too big", too_much)
        try:
            sight = await self._see(page, mode)
        except TooBigError as error:
            return without_picture("too big", str(error))
        except VariesError:
            return without_picture("varies", "the page looks different each time it is loaded")
        except TimeoutError:
            seconds = self._limits.wall_seconds
            return without_picture("timeout", f"the page was not rendered in {seconds:g} s")
        if sight is None:
            return without_picture("crash", "the page crashed the browser")
        fields = msgspec.structs.asdict(sight)
        return Render(key=key, outcome="rendered", mode=mode, **fields)

    async def _see(self, page: str, mode: ScoringMode) -> Sight | None:
        """Return the page as seen in two loads; None if the page crashes even a dedicated browser.

        Raises TooBigError if the page exceeds a size limit. Raises TimeoutError or VariesError only for an attempt in
        a dedicated browser.
        """
        from playwright.async_api import Error

        pool = self._open_pool
        prepared = await asyncio.to_thread(assets.prepare, page)
        window = WINDOWS[mode]
        with suppress(Error, TimeoutError, VariesError):  # possibly caused by another page
            async with pool.shared() as chromium:
                return await visit(chromium, prepared, window, self._limits)
        self.repeated += 1
        for _ in range(_ATTEMPTS_ALONE):
            with suppress(Error):
                return await self._visit_alone(prepared, window)
        return None

    async def _visit_alone(self, page: Prepared, window: Window) -> Sight:
        """Return a page as seen in two loads in a dedicated browser; if they differ, try again with longer pauses.

        Raises TimeoutError if the page is not rendered in time, VariesError if the loads differ even then, and
        RenderError if the machine is too slow for any page.
        """
        try:
            async with self._open_pool.own() as chromium:
                with suppress(VariesError):
                    return await visit(chromium, page, window, self._limits)
                return await visit(chromium, page, window, self._limits, patient=True)
        except TimeoutError:
            await self._require_speed(window)
            raise

    async def _require_speed(self, window: Window) -> None:
        """Raise RenderError if even an empty page is not rendered, so that a page is not blamed for a slow machine."""
        from playwright.async_api import Error

        try:
            async with self._open_pool.own() as chromium:
                await visit(chromium, assets.prepare(""), window, self._limits)
        except (TimeoutError, VariesError, Error) as cause:
            fault = f"not rendered in {self._limits.wall_seconds:g} s"
            if not isinstance(cause, TimeoutError):
                fault = f"not rendered reliably ({type(cause).__name__})"
            raise RenderError(
                f"even an empty page was {fault}; the machine is overloaded", kind="timeout"
            ) from cause


def _said(limits: Limits) -> str:
    """Return the limits as a suffix of the environment's description; "" for the default limits."""
    return "" if limits == Limits() else f"; limits {msgspec.json.encode(limits).decode()}"
