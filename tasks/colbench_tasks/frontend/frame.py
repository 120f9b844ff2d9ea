"""What frames a page: navigation, opening and footer."""

from __future__ import annotations

from colbench_tasks.frontend.design import Design
from colbench_tasks.frontend.markup import element, picture, words
from colbench_tasks.frontend.subjects import Subject


def navigation(subject: Subject, design: Design) -> str:
    """The bar with the name and the links, in one of three arrangements."""
    name = words("span", "text-xl font-bold", subject.name)
    links = [words("a", "mx-3", link, href="#") for link in ("Home", *subject.links)]
    arrangement = {
        "split": "flex items-center justify-between",
        "centred": "flex items-center justify-center",
        "stacked": "text-center",
    }[design.navigation]
    gap = "mt-2" if design.navigation == "stacked" else ""
    bar = f"{design.bar_classes} {arrangement} px-8 py-4"
    return element("header", bar, name, element("nav", gap, *links))


def opening(subject: Subject, design: Design) -> str:
    """The first thing below the navigation: headline, lead and button, in one of four manners."""
    return {"words": _words, "band": _band, "split": _split, "picture": _picture}[design.opening](
        subject, design
    )


def _pitch(subject: Subject, design: Design, *, on_color: bool) -> list[str]:
    button = f"bg-white text-{design.accent}-700 font-bold py-2 px-6 {design.corners}"
    lead = "text-lg mb-6" if on_color else "text-lg text-gray-600 mb-6"
    return [
        words("h1", f"{design.heading} font-bold mb-4", subject.headline),
        words("p", lead, subject.lead),
        words("button", button if on_color else design.button_classes, subject.action),
    ]


def _words(subject: Subject, design: Design) -> str:
    inner = element(
        "div",
        f"{design.inner_classes} {design.text_classes}",
        *_pitch(subject, design, on_color=False),
    )
    return element("section", design.spacing, inner)


def _band(subject: Subject, design: Design) -> str:
    inner = element(
        "div",
        f"{design.inner_classes} {design.text_classes}",
        *_pitch(subject, design, on_color=True),
    )
    return element("section", f"bg-{design.accent}-600 text-white {design.spacing}", inner)


def _split(subject: Subject, design: Design) -> str:
    pitch = element("div", "w-1/2 pr-8", *_pitch(subject, design, on_color=False))
    photo = picture(design.pictures, 600, 400, f"w-1/2 {design.corners}", subject.trade)
    inner = element("div", f"{design.inner_classes} flex items-center", pitch, photo)
    return element("section", design.spacing, inner)


def _picture(subject: Subject, design: Design) -> str:
    photo = picture(design.pictures, 1280, 360, "w-full h-80 object-cover", subject.trade)
    return element("section", "", photo) + "\n" + _words(subject, design)


def footer(subject: Subject, design: Design) -> str:
    """The end of the page."""
    rights = words("p", "text-sm", f"© 2024 {subject.name}. All rights reserved.")
    if design.footer == "plain":
        return element("footer", "text-center text-gray-600 py-6 mt-8", rights)
    dark = f"bg-{design.accent}-900 text-white px-8 py-8 mt-8"
    if design.footer == "dark":
        return element("footer", f"{dark} text-center", rights)
    columns = [
        _column(subject.name, ("About us", "Our story", "Jobs")),
        _column("Visit", subject.links[:3]),
        _column("Contact", ("Write to us", "Newsletter", "Press")),
    ]
    grid = element("div", "grid grid-cols-3 gap-8 mb-6", *columns)
    return element("footer", dark, grid, rights)


def _column(title: str, links: tuple[str, ...]) -> str:
    entries = [words("a", "block text-gray-300", link, href="#") for link in links]
    return element("div", "", words("h3", "font-bold mb-2", title), *entries)
