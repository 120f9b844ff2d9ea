"""Sections with numbers: in boxes, in bands, as charts."""

from __future__ import annotations

from colbench_tasks.frontend.design import Design
from colbench_tasks.frontend.markup import div, element, words
from colbench_tasks.frontend.sections.section import grid, muted, section, titled
from colbench_tasks.frontend.subjects import Subject

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct")
MEASURES = (
    ("Visitors", "{}4"),
    ("Orders", "{}"),
    ("Income", "${},300"),
    ("Returning", "{} %"),
    ("Open bills", "{}"),
)


@section("key figures in boxes", "columns", "card")
def figures(subject: Subject, design: Design) -> str:
    """Build the figures at the top of a dashboard."""
    start = subject.variant % 2
    cells = [
        div(
            design.card,
            muted(design, label, "text-sm"),
            words("p", f"text-3xl font-bold {design.strong('card')}", form.format(number)),
        )
        for (label, form), number in zip(MEASURES[start:], subject.numbers, strict=False)
    ]
    return titled(design, "", grid(design, cells[: design.columns]))


@section("large numbers on a band in the main colour")
def statistics(subject: Subject, design: Design) -> str:
    """Build a band with the business's key figures."""
    cells = [
        div(
            "flex-1 text-center px-4",
            words("p", "text-4xl font-bold", number),
            words("p", "", label),
        )
        for number, label in subject.figures[: 3 + subject.variant % 2]
    ]
    inner = div(f"{design.inner} flex", *cells)
    return element("section", f"{design.accent} {design.space}", inner)


@section("large numbers in a row on the page")
def numbers(subject: Subject, design: Design) -> str:
    """Build a row of the business's key figures, without a colored band."""
    cells = [
        div(
            f"flex-1 {design.align}",
            words("p", f"text-5xl font-bold {design.strong()}", number),
            words("p", design.muted(), label),
        )
        for number, label in subject.figures[: 3 + subject.variant % 2]
    ]
    return titled(design, "", div(f"flex {design.gap}", *cells))


@section("a chart of upright bars", "card")
def bars(subject: Subject, design: Design) -> str:
    """Build a bar chart with a bar for each month."""
    count = 6 + subject.variant % 5
    columns = [
        div(
            "flex-1 flex flex-col justify-end text-center text-sm h-64",
            element_bar(design, number),
            words("span", "mt-2", month),
        )
        for month, number in zip(MONTHS[:count], subject.numbers, strict=False)
    ]
    chart = div("flex items-end space-x-4", *columns)
    heading = words("h2", design.title, subject.pick("By month / This year / Visitors"))
    return titled(design, "", div(design.card, heading, chart))


def element_bar(design: Design, number: int) -> str:
    """Build a bar of the bar chart; `number` is its height in percent."""
    return words("div", f"{design.accent} text-xs pt-1", str(number), style=f"height: {number}%")


@section("lying bars that show shares", "card")
def shares(subject: Subject, design: Design) -> str:
    """Build a list of items, each with a progress bar."""
    rows = []
    for item, number in zip(subject.items[:5], subject.numbers[6:], strict=False):
        head = div(
            "flex justify-between", words("span", "", item.name), words("span", "", f"{number} %")
        )
        bar = words("div", f"{design.accent} h-3 {design.round}", "", style=f"width: {number}%")
        rows.append(div("mb-4", head, div(f"bg-gray-300 {design.round}", bar)))
    heading = words("h2", design.title, subject.pick("Shares / How far we are / By item"))
    return titled(design, "", div(design.card, heading, *rows))


@section("a list of what happened last, with names", "card")
def activity(subject: Subject, design: Design) -> str:
    """Build a list of recent activity."""
    did = ("asked for", "paid for", "cancelled", "rated", "booked")
    rows = [
        div(
            "flex justify-between border-b border-gray-400 py-3",
            words("span", "font-bold", person),
            words("span", "", f"{did[number % 5]} {item.name}"),
            words("span", design.muted("card"), date),
        )
        for person, item, number, date in zip(
            subject.people, subject.items, subject.numbers, subject.dates, strict=False
        )
    ]
    heading = words("h2", design.title, subject.pick("Last days / What is new"))
    return titled(design, "", div(design.card, heading, *rows[: 4 + subject.variant % 3]))
