"""A check that a browser draws with the vendored fonts. A browser that uses other fonts reports no error itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colbench.errors import RenderError

if TYPE_CHECKING:
    from playwright.async_api import Browser, CDPSession

_EXPECTED = {
    "sans-serif": ("Fonts", "Liberation Sans"),
    "serif": ("Fonts", "Liberation Serif"),
    "monospace": ("Fonts", "Liberation Mono"),
    "emoji": ("😀", "Twemoji Mozilla"),
}
"""A string for each generic family, and the font with which it must be drawn."""


async def check_fonts(browser: Browser) -> None:
    """Raise RenderError if text is drawn with an unexpected font; the message names both fonts."""
    context = await browser.new_context(java_script_enabled=False)
    try:
        page = await context.new_page()
        texts = (f'<p style="font-family:{f}">{text}</p>' for f, (text, _) in _EXPECTED.items())
        await page.set_content("".join(texts))
        session = await context.new_cdp_session(page)
        drawn = await _drawn(session)
    finally:
        await context.close()
    for (family, (_, expected)), fonts in zip(_EXPECTED.items(), drawn, strict=True):
        if fonts != [expected]:
            raise RenderError(
                f"the browser has no usable fonts: {family} is drawn with "
                f"{' and '.join(fonts) or 'no font'} instead of ColBench's {expected}; the browser must "
                "be able to read ColBench's files; browsers from snap and flatpak packages cannot"
            )


async def _drawn(session: CDPSession) -> list[list[str]]:
    """Return the fonts used in each paragraph."""
    await session.send("DOM.enable")
    await session.send("CSS.enable")
    root = (await session.send("DOM.getDocument"))["root"]["nodeId"]
    found = await session.send("DOM.querySelectorAll", {"nodeId": root, "selector": "p"})
    drawn = []
    for node in found["nodeIds"]:
        answer = await session.send("CSS.getPlatformFontsForNode", {"nodeId": node})
        drawn.append([font["familyName"] for font in answer["fonts"]])
    return drawn
