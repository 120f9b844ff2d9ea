"""The freezing of a loaded page: animations are set to their end or start, and lazy content is laid out."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

_HOLD_STILL = """async function (within) {
  const get = (type, name, of) => Object.getOwnPropertyDescriptor(type.prototype, name).get.call(of);
  const set = (type, name, of, value) => Object.getOwnPropertyDescriptor(type.prototype, name).set.call(of, value);
  const fits = (element, selector) => Element.prototype.matches.call(element, selector);
  const styled = [SVGElement, MathMLElement, HTMLElement];
  await get(Document, 'fonts', document).ready;
  const still = new CSSStyleSheet();
  still.replaceSync(`
    * { caret-color: transparent !important; }
    *::before, *::after { content-visibility: visible !important; }
  `);
  const unhidden = new CSSStyleSheet();
  unhidden.replaceSync(`
    :host(:not(#_#_#_)), ::slotted(:not(#_#_#_)) { content-visibility: visible !important; }
  `);
  const adopt = (root, type, sheet) => {
    set(type, 'adoptedStyleSheets', root, [...get(type, 'adoptedStyleSheets', root), sheet]);
  };
  const waits = (element) => getComputedStyle(element).contentVisibility == 'auto';
  const lent = (root) => [...root.querySelectorAll('slot')].flatMap((slot) => slot.assignedElements());
  const hold = (root, type, parent) => {
    adopt(root, type, still);
    if (type == ShadowRoot && [root.host, ...lent(root)].some(waits)) adopt(root, type, unhidden);
    for (const animation of type.prototype.getAnimations.call(root)) {
      const ends = Number.isFinite(animation.effect.getComputedTiming().endTime);
      try { ends ? animation.finish() : animation.cancel(); } catch { animation.cancel(); }
    }
    for (const element of parent.prototype.querySelectorAll.call(root, '*')) {
      const shadow = get(Element, 'shadowRoot', element);
      if (shadow) hold(shadow, ShadowRoot, DocumentFragment);
      if (waits(element)) {
        const style = get(styled.find((type) => element instanceof type), 'style', element);
        style.setProperty('content-visibility', 'visible', 'important');
      }
      if (fits(element, 'svg')) { element.pauseAnimations(); element.setCurrentTime(0); }
      if (fits(element, 'progress:indeterminate')) element.value = 0;
    }
  };
  within ? hold(within, ShadowRoot, DocumentFragment) : hold(document, Document, Document);
}"""
"""A JavaScript function that freezes a shadow root or, without an argument, the whole document.

Afterwards, finite animations have ended, and infinite animations have not begun. Content that the browser would lay out
only when it comes into view (`content-visibility: auto`) is laid out, because the function sets an `!important` style
attribute. A shadow tree can override this attribute with an `!important` rule for its host or slotted elements. The
function overrides such a rule with a more specific one. Hidden content remains hidden.

The function reads properties through prototypes and not from the document and its elements, because an element that the
page names `fonts` or `matches` would shadow the property of the same name.
"""


async def hold_still(page: Page, session: CDPSession, *, shadows: bool) -> None:
    """Freeze the page and its frames; with `shadows`, also the shadow trees that are closed to JavaScript."""
    from playwright.async_api import Error

    await page.evaluate(f"({_HOLD_STILL})()")
    for frame in page.frames[1:]:
        with suppress(Error):  # the frame was removed in the meantime
            await frame.evaluate(f"({_HOLD_STILL})()")
    if shadows:
        await _hold_closed_shadows(session)


async def _hold_closed_shadows(session: CDPSession) -> None:
    await session.send("DOM.enable")
    document = await session.send("DOM.getFlattenedDocument", {"depth": -1, "pierce": True})
    shadows = chain.from_iterable(node.get("shadowRoots", ()) for node in document["nodes"])
    for shadow in shadows:
        if shadow["shadowRootType"] == "closed":
            await _hold_closed_shadow(session, shadow["backendNodeId"])


async def _hold_closed_shadow(session: CDPSession, node: int) -> None:
    found = await session.send("DOM.resolveNode", {"backendNodeId": node})
    await session.send(
        "Runtime.callFunctionOn",
        {
            "functionDeclaration": f"function () {{ return ({_HOLD_STILL})(this); }}",
            "objectId": found["object"]["objectId"],
            "awaitPromise": True,
        },
    )
