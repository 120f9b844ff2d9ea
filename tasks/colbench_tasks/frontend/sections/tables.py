"""Sections with tables."""

from __future__ import annotations

from collections.abc import Iterable

from colbench_tasks.frontend.design import Design
from colbench_tasks.frontend.markup import div, element, picture, words
from colbench_tasks.frontend.sections.section import section, titled
from colbench_tasks.frontend.subjects import Subject

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
TIMES = ("9:00", "10:30", "13:00", "15:00", "17:30")


def _table(design: Design, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Build a table with a header row in the main color."""
    top = element("tr", f"{design.accent} text-left", *[words("th", "p-3", cell) for cell in head])
    lines = [
        element(
            "tr",
            f"border-b {design.line}",
            *[
                words("td", f"p-3 {'' if place else 'font-bold'}", cell)
                for place, cell in enumerate(row)
            ],
        )
        for row in rows
    ]
    return element("table", f"w-full border {design.line}", top, *lines)


@section("a table with a coloured head row")
def table(subject: Subject, design: Design) -> str:
    """Build a table of items."""
    rows = [(item.name, item.price, item.text) for item in subject.items]
    head = subject.pick("Name,Price,Notes / What,How much,More / Title,Number,Details").split(",")
    return titled(
        design, subject.pick("Overview / Everything / In detail"), _table(design, head, rows)
    )


@section("a week as a table: days across, hours down")
def week(subject: Subject, design: Design) -> str:
    """Build a timetable; some hours are free."""
    days = DAYS[: 4 + subject.variant % 2]
    rows = []
    for line, time in enumerate(TIMES[: 3 + subject.variant % 3]):
        cells = [time]
        for column in range(len(days)):
            pick = subject.numbers[(5 * line + column * 3) % 12] + line + column
            cells.append("" if pick % 4 == 0 else subject.items[pick % 6].name)
        rows.append(cells)
    return titled(design, subject.pick("This week / The week"), _table(design, ("", *days), rows))


@section("a table of names, times and rooms")
def sessions(subject: Subject, design: Design) -> str:
    """Build a table of sessions with date, time, room and person."""
    rows = [
        (item.name, date, TIMES[number % 5], f"Room {number % 9 + 1}", person)
        for item, date, number, person in zip(
            subject.items, subject.dates, subject.numbers, subject.people, strict=False
        )
    ]
    head = ("What", "Date", "Time", "Where", "With")
    return titled(
        design, subject.pick("Dates / Coming up / The next weeks"), _table(design, head, rows)
    )


@section("a table that compares three offers point by point")
def compare(subject: Subject, design: Design) -> str:
    """Build a table that compares three offers."""
    points = ("Advice", "Changes at no cost", "Weekends", "A person to call", "Delivery")
    rows = [
        (point, *("Yes" if (number >> place) % 2 else "–" for place in range(3)))
        for point, number in zip(points, subject.numbers, strict=False)
    ]
    head = ("", *(item.name for item in subject.items[:3]))
    return titled(design, subject.pick("Compare / What is included"), _table(design, head, rows))


@section("opening hours beside a picture", "corners")
def hours(subject: Subject, design: Design) -> str:
    """Build the opening hours and the address, next to a picture."""
    lines = []
    for day, number in zip((*DAYS, "Saturday"), subject.numbers, strict=False):
        times = "closed" if number % 6 == 0 else f"{8 + number % 3}:00 – {17 + number % 4}:00"
        lines.append(
            div(
                f"flex justify-between border-b {design.line} py-2",
                words("span", "", day),
                words("span", design.muted(), times),
            )
        )
    address = words("p", f"mt-4 {design.strong()}", f"{subject.street} · {subject.phone}")
    image = picture(design.pictures + 8, 520, 340, f"w-1/2 {design.round}", "Map")
    left = div("w-1/2", words("h2", design.title, "Opening hours"), *lines, address)
    return titled(design, "", div("flex items-center space-x-10", left, image))
