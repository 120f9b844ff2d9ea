"""The frame of a page: navigation, opening and footer."""

from __future__ import annotations

from colbench_tasks.frontend.design import Design, Place
from colbench_tasks.frontend.markup import backed, div, element, link, picture, words
from colbench_tasks.frontend.subjects import Subject

BAR: dict[str, Place] = {
    "white": "white",
    "accent": "accent",
    "deep": "black",
    "black": "black",
    "plain": "page",
}
"""The background on which a button in the bar stands, by the look of the bar."""


def framed(subject: Subject, design: Design, main: str) -> str:
    """Build the content of the body: the main part between navigation and footer, or next to the navigation.

    The outermost `div`, not the body, is stretched to the height of the window: without a doctype, a stretched body
    would never become taller than the window.
    """
    if design.navigation != "side":
        parts = _bar(subject, design), main, footer(subject, design)
        return div("min-h-screen flex flex-col", *parts)
    column = div("flex-1 flex flex-col", main, footer(subject, design))
    return div("min-h-screen flex", _side(subject, design), column)


def _bar(subject: Subject, design: Design) -> str:
    name = words("span", f"text-xl {design.heading}", subject.name)
    links = [link("mx-3", title) for title in ("Home", *subject.links)]
    arrangement = {
        "split": "flex items-center justify-between",
        "centred": "flex items-center justify-center",
        "stacked": "text-center",
        "action": "flex items-center",
    }[design.navigation]
    place = {"split": "", "centred": "ml-6", "stacked": "mt-2", "action": "ml-6 flex-1"}
    nav = element("nav", place[design.navigation], *links)
    look = design.button(BAR[design.bar])
    button = words("button", look, subject.action) if design.navigation == "action" else ""
    return element("header", f"{design.header} {arrangement} px-8 py-4", name, nav, button)


def _side(subject: Subject, design: Design) -> str:
    name = words("p", f"text-2xl {design.heading} mb-8", subject.name)
    links = [link("block py-2", title) for title in ("Home", *subject.links)]
    return element(
        "aside", f"{design.header} w-56 flex-shrink-0 p-6", name, element("nav", "", *links)
    )


def opening(subject: Subject, design: Design) -> str:
    """Build the first part after the navigation, in one of eight styles."""
    return {
        "words": _words,
        "band": _band,
        "split": _split,
        "mirrored": _split,
        "picture": _picture,
        "overlay": _overlay,
        "panel": _panel,
        "plain": _plain,
    }[design.opening](subject, design)


def _headline(subject: Subject, design: Design) -> str:
    return words("h1", f"{design.size} {design.heading} mb-4", subject.title)


def _pitch(subject: Subject, design: Design, button: str, muted: str = "") -> list[str]:
    lead = words("p", f"text-lg {muted} mb-6", subject.lead)
    return [_headline(subject, design), lead, words("button", button, subject.action)]


def _words(subject: Subject, design: Design) -> str:
    pitch = _pitch(subject, design, design.button(), design.muted())
    return element("section", design.space, div(f"{design.inner} {design.align}", *pitch))


def _band(subject: Subject, design: Design) -> str:
    inner = div(f"{design.inner} {design.align}", *_pitch(subject, design, design.button("accent")))
    return element("section", f"{design.accent} py-16", inner)


def _split(subject: Subject, design: Design) -> str:
    pitch = div(f"w-1/2 {design.align}", *_pitch(subject, design, design.button(), design.muted()))
    image = picture(design.pictures, 600, 400, f"w-1/2 {design.round}", subject.trade)
    sides = (pitch, image) if design.opening == "split" else (image, pitch)
    inner = div(f"{design.inner} flex items-center space-x-10", *sides)
    return element("section", design.space, inner)


def _picture(subject: Subject, design: Design) -> str:
    image = picture(design.pictures, 1280, 360, "w-full h-80 object-cover", subject.trade)
    return element("section", "", image) + "\n" + _words(subject, design)


def _overlay(subject: Subject, design: Design) -> str:
    button = "bg-white text-gray-900" if design.button_look == "filled" else "border-2"
    look = design.button() if design.button_look == "black" else f"{button} font-bold py-2 px-6"
    inner = div(f"{design.inner} {design.align}", *_pitch(subject, design, look))
    shade = div("bg-black bg-opacity-60 text-white py-24", inner)
    return backed(design.pictures, "", shade)


def _panel(subject: Subject, design: Design) -> str:
    pitch = _pitch(subject, design, design.button("accent"))
    panel = div(f"{design.accent} {design.round} {design.align} p-12", *pitch)
    return element("section", "pt-10", div(design.inner, panel))


def _plain(subject: Subject, design: Design) -> str:
    lead = words("p", f"text-lg {design.muted()}", subject.lead)
    inner = div(f"{design.inner} {design.align}", _headline(subject, design), lead)
    return element("section", "pt-12 pb-6", inner)


def footer(subject: Subject, design: Design) -> str:
    """Build the end of the page."""
    rights = words("p", "text-sm", f"© 2024 {subject.name}. All rights reserved.")
    if design.footer == "line":
        return element("footer", f"{design.muted()} text-center py-6", rights)
    if design.footer == "black":
        return element("footer", "bg-black text-white text-center px-8 py-8", rights)
    if design.footer == "accent":
        name = words("span", design.heading, subject.name)
        links = div("", *[link("ml-6", title) for title in subject.links])
        return element(
            "footer", f"{design.accent} flex items-center justify-between px-8 py-6", name, links
        )
    ground = "bg-black text-white" if design.footer == "columns" else "bg-gray-200 text-gray-900"
    columns = (
        _column(subject.name, ("About us", "Our story", "Jobs")),
        _column("Visit", subject.links[:3]),
        _column("Contact", ("Write to us", "Newsletter", subject.phone)),
    )
    return element("footer", f"{ground} px-8 py-8", div("flex mb-6", *columns), rights)


def _column(title: str, links: tuple[str, ...]) -> str:
    entries = [link("block", entry) for entry in links]
    return div("w-1/3", words("h3", "font-bold mb-2", title), *entries)
