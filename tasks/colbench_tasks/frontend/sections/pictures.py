"""Sections that consist mainly of pictures."""

from __future__ import annotations

from colbench_tasks.frontend.design import Design
from colbench_tasks.frontend.markup import backed, div, picture, words
from colbench_tasks.frontend.sections.section import grid, section, titled
from colbench_tasks.frontend.subjects import Subject

TITLES = "Gallery / Pictures / A look around / Our work"


@section("a grid of pictures with a name under each", "columns", "corners")
def gallery(subject: Subject, design: Design) -> str:
    """Build a grid of pictures of the same size, with captions."""
    height = {2: 300, 3: 320, 4: 360}[design.columns]

    def cell(number: int, caption: str) -> str:
        image = picture(design.pictures + number, 480, height, f"w-full {design.round}", caption)
        return div("", image, words("p", f"mt-2 {design.muted()} {design.align}", caption))

    shown = subject.items[: 4 if design.columns == 4 else 6]
    cells = [cell(number, item.name) for number, item in enumerate(shown, 1)]
    return titled(design, subject.pick(TITLES), grid(design, cells))


@section("a large picture beside several small ones", "corners")
def mosaic(subject: Subject, design: Design) -> str:
    """Build a section with one large picture on the left and four small ones on the right."""
    first, *others = subject.items[:5]
    large = picture(design.pictures + 1, 640, 520, f"w-1/2 object-cover {design.round}", first.name)
    small = [
        picture(design.pictures + number, 300, 240, f"w-full {design.round}", item.name)
        for number, item in enumerate(others, 2)
    ]
    inner = div("flex space-x-4", large, div("w-1/2 grid grid-cols-2 gap-4", *small))
    return titled(design, subject.pick(TITLES), inner)


@section("a row of small square pictures from edge to edge", roomy=False)
def strip(subject: Subject, design: Design) -> str:
    """Build a row of six pictures without gaps."""
    row = [
        picture(design.pictures + number, 240, 200, "w-1/6", item.name)
        for number, item in enumerate(subject.items, 1)
    ]
    return div("flex", *row)


@section("a broad picture with a sentence on it")
def panorama(subject: Subject, design: Design) -> str:
    """Build a sentence in front of a photo."""
    said = words("p", f"text-3xl {design.heading} text-center", subject.items[-1].text)
    shade = div(f"bg-black bg-opacity-50 text-white {design.space} px-12", said)
    return backed(design.pictures + 7, "", shade)
