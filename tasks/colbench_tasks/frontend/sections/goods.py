"""Sections with the offers of a business: in boxes, in rows, with prices."""

from __future__ import annotations

from colbench_tasks.frontend.design import Design
from colbench_tasks.frontend.markup import div, element, picture, words
from colbench_tasks.frontend.sections.section import grid, muted, name, section, some, titled
from colbench_tasks.frontend.subjects import Item, Subject

OFFERS = "What we offer / Our offers / What you find here / Come for this"
SIZES = ("Small", "Medium", "Large")


@section("boxes with a name and a sentence each", "columns", "card")
def offers(subject: Subject, design: Design) -> str:
    """Build a grid of boxes, each with an offer's name and text."""
    cells = [
        div(design.card, name(design, item.name), muted(design, item.text))
        for item in some(subject, design)
    ]
    return titled(design, subject.pick(OFFERS), grid(design, cells))


@section("boxes with a large coloured letter, a name and a sentence each", "columns", "card")
def lettered(subject: Subject, design: Design) -> str:
    """Build a box for each offer, with the first letter of its name as a badge."""
    badge = f"{design.accent} w-12 h-12 rounded-full flex items-center justify-center text-xl mb-4"
    cells = [
        div(
            design.card,
            words("div", badge, item.name[0]),
            name(design, item.name),
            muted(design, item.text),
        )
        for item in some(subject, design)
    ]
    return titled(design, subject.pick(OFFERS), grid(design, cells))


@section("boxes with a picture above a name and a sentence", "columns", "card")
def pictured(subject: Subject, design: Design) -> str:
    """Build a grid of boxes, each with an offer's picture, name and text."""

    def cell(number: int, item: Item) -> str:
        image = picture(
            design.pictures + number, 400, 260, f"w-full mb-4 {design.round}", item.name
        )
        return div(design.card, image, name(design, item.name), muted(design, item.text))

    cells = [cell(number, item) for number, item in enumerate(some(subject, design), 1)]
    return titled(design, subject.pick(OFFERS), grid(design, cells))


@section("pictures beside words, in turn on the left and on the right", "corners")
def zigzag(subject: Subject, design: Design) -> str:
    """Build rows of picture and text, with the picture on alternating sides."""
    rows = []
    for number, item in enumerate(subject.items[: 2 + subject.variant % 2], 1):
        image = picture(design.pictures + number, 560, 320, f"w-1/2 {design.round}", item.name)
        said = [
            words("h3", f"text-2xl {design.heading} mb-2", item.name),
            words("p", f"text-lg {design.muted()}", item.text),
            words("p", f"mt-2 text-lg {design.strong()}", item.price),
        ]
        sides = (image, div("w-1/2", *said)) if number % 2 else (div("w-1/2", *said), image)
        rows.append(div("flex items-center space-x-8 mb-8", *sides))
    return titled(design, subject.pick(OFFERS), *rows)


@section("products with picture, price and a button each", "columns", "card", "buttons")
def products(subject: Subject, design: Design) -> str:
    """Build products with prices and buttons."""
    add = subject.pick("Add to cart / Buy / Put in the basket")

    def cell(number: int, item: Item) -> str:
        image = picture(
            design.pictures + number, 400, 300, f"w-full mb-4 {design.round}", item.name
        )
        price = words("p", f"{design.strong('card')} mb-4", item.price)
        button = words("button", design.button("card"), add)
        return div(design.card, image, name(design, item.name, "text-lg"), price, button)

    cells = [cell(number, item) for number, item in enumerate(some(subject, design), 1)]
    return titled(design, "", grid(design, cells))


@section(
    "one product: its picture on the left; name, price, sizes and a button on the right", "buttons"
)
def product(subject: Subject, design: Design) -> str:
    """Build a single product."""
    item = subject.items[0]
    image = picture(design.pictures, 560, 480, f"w-1/2 {design.round}", item.name)
    sizes = [words("span", f"border {design.line} px-4 py-1", size) for size in SIZES]
    said = div(
        "w-1/2",
        words("h1", f"{design.size} {design.heading} {design.align} mb-2", item.name),
        words("p", f"text-2xl {design.strong()} mb-4", item.price),
        words("p", f"text-lg {design.muted()} mb-6", f"{item.text} {subject.lead}"),
        div("flex space-x-3 mb-6", *sizes),
        words("button", design.button(), subject.pick("Add to cart / Buy now")),
    )
    return titled(design, "", div("flex items-start space-x-10", image, said))


@section("plans side by side, one of them in the main colour", "columns", "card", "buttons")
def plans(subject: Subject, design: Design) -> str:
    """Build price boxes; the second to last is highlighted."""
    choose = subject.pick("Choose / Take this / Select")

    def cell(number: int, item: Item) -> str:
        chosen = number == design.columns - 2
        look = f"{design.accent} {design.round} p-6" if chosen else design.card
        button = design.button("accent" if chosen else "card")
        return div(
            f"{look} text-center",
            name(design, item.name, "text-xl"),
            words("p", "text-4xl font-bold my-4", item.price),
            words("p", "mb-6", item.text),
            words("button", button, choose),
        )

    cells = [cell(number, item) for number, item in enumerate(subject.items[: design.columns])]
    title = subject.pick("Prices / Choose a plan / What it costs")
    return titled(design, title, grid(design, cells))


@section("an order list with small pictures and a sum at its end", "card", "buttons")
def basket(subject: Subject, design: Design) -> str:
    """Build a shopping cart with its items and their total."""
    items = subject.items[: 3 + subject.variant % 3]
    lines = []
    for number, item in enumerate(items, 1):
        image = picture(design.pictures + number, 120, 90, f"w-24 mr-6 {design.round}", item.name)
        said = div("flex-1", name(design, item.name, "text-lg"), muted(design, item.text))
        lines.append(
            div(
                "flex items-center border-b border-gray-400 py-3",
                image,
                said,
                words("span", "text-lg font-bold", item.price),
            )
        )
    total = sum(float(item.price[1:].replace(",", "")) for item in items)
    head = div(
        "flex justify-between text-xl font-bold py-4",
        words("span", "", "Total"),
        words("span", design.strong("card"), f"${total:,.2f}"),
    )
    pay = words("button", f"{design.button('card')} w-full", subject.pick("Check out / Pay now"))
    heading = words("h1", f"{design.size} {design.heading} mb-6 {design.align}", subject.title)
    return titled(design, "", heading, element("div", design.card, *lines, head, pay))
