"""The sections between opening and footer, each a function of subject and design alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from colbench_tasks.frontend.design import Design
from colbench_tasks.frontend.markup import element, field, picture, words
from colbench_tasks.frontend.subjects import Item, Subject

Section = Callable[[Subject, Design], str]


def section(design: Design, title: str, *inside: str) -> str:
    """A titled section in the design's width and spacing."""
    head = words("h2", f"text-2xl font-bold mb-6 {design.text_classes}", title) if title else ""
    inner = element("div", design.inner_classes, head, *inside)
    return element("section", design.spacing, inner)


def _cells(design: Design, items: Sequence[Item], cell: Callable[[int, Item], str]) -> str:
    cells = [cell(number, item) for number, item in enumerate(items)]
    return element("div", design.grid_classes, *cells)


def _shown(subject: Subject, design: Design) -> tuple[Item, ...]:
    return subject.items[: {2: 4, 3: 6, 4: 4}[design.columns]]


def cards(subject: Subject, design: Design) -> str:
    """A grid of name and sentence."""

    def card(_: int, item: Item) -> str:
        name = words("h3", "text-xl font-bold mb-2", item.name)
        return element("div", design.card_classes, name, words("p", "text-gray-700", item.text))

    return section(design, "What we offer", _cells(design, _shown(subject, design), card))


def products(subject: Subject, design: Design) -> str:
    """A grid of pictures with name, price and button."""

    def product(number: int, item: Item) -> str:
        return element(
            "div",
            design.card_classes,
            picture(design.pictures + number, 400, 300, "w-full mb-4", item.name),
            words("h3", "text-lg font-bold", item.name),
            words("p", f"text-{design.accent}-700 mb-4", f"${item.number}"),
            words("button", design.button_classes, "Add to cart"),
        )

    return section(design, "", _cells(design, subject.items[: design.columns], product))


def gallery(subject: Subject, design: Design) -> str:
    """A grid of pictures with captions."""
    height = {2: 320, 3: 260, 4: 200}[design.columns]

    def photo(number: int, item: Item) -> str:
        image = picture(
            design.pictures + number, 480, height, f"w-full {design.corners}", item.name
        )
        caption = words("p", f"mt-2 text-gray-700 {design.text_classes}", item.name)
        return element("div", "", image, caption)

    return section(design, "Gallery", _cells(design, _shown(subject, design), photo))


def pricing(subject: Subject, design: Design) -> str:
    """Plans side by side; the last but one stands out."""
    plans = subject.items[: design.columns]

    def plan(number: int, item: Item) -> str:
        outstanding = number == len(plans) - 2
        color = f"bg-{design.accent}-700 text-white {design.corners} p-6"
        return element(
            "div",
            f"{color if outstanding else design.card_classes} text-center",
            words("h3", "text-xl font-bold", item.name),
            words("p", "text-4xl font-bold my-4", f"${item.number}"),
            words("p", "mb-6", item.text),
            words("button", f"border-2 font-bold py-2 px-4 {design.corners}", "Choose"),
        )

    return section(design, "Prices", _cells(design, plans, plan))


def menu(subject: Subject, design: Design) -> str:
    """A price list in lines."""
    lines = []
    for item in subject.items:
        name = element(
            "div",
            "",
            words("h3", "text-lg font-bold", item.name),
            words("p", "text-gray-600", item.text),
        )
        price = words("span", f"text-lg text-{design.accent}-700", f"${item.number}")
        lines.append(element("div", "flex justify-between border-b py-3", name, price))
    return section(design, "Our list", element("div", "", *lines))


def table(subject: Subject, design: Design) -> str:
    """A table with a coloured head."""
    head = element(
        "tr",
        f"bg-{design.accent}-600 text-white text-left",
        *[words("th", "p-3", title) for title in ("Name", "Number", "Notes")],
    )
    rows = [
        element(
            "tr",
            "bg-white border-b",
            words("td", "p-3 font-bold", item.name),
            words("td", "p-3", item.number),
            words("td", "p-3 text-gray-600", item.text),
        )
        for item in subject.items
    ]
    return section(design, "Overview", element("table", "w-full border", head, *rows))


def form(subject: Subject, design: Design) -> str:
    """A contact form beside the address."""
    box = f"w-full border border-gray-400 p-2 mb-4 {design.corners}"
    fields = element(
        "form",
        f"{design.card_classes} w-1/2",
        *[field(box, "text", name) for name in ("Your name", "Email address", "Your message")],
        words("button", design.button_classes, "Send"),
    )
    beside = element(
        "div",
        "w-1/2 pl-12",
        words("h3", "text-xl font-bold mb-2", "Find us"),
        words("p", "mb-4", "12 Market Lane, second door on the left"),
        words("p", f"text-{design.accent}-700", "Call 555 0142 from nine to five"),
    )
    title = f"Write to {subject.name}"
    return section(design, title, element("div", "flex", fields, beside))


def login(subject: Subject, design: Design) -> str:
    """A sign-in card in the middle."""
    box = f"w-full border border-gray-400 p-2 mb-4 {design.corners}"
    card = element(
        "div",
        f"{design.card_classes} w-96 mx-auto",
        words("h1", f"{design.heading} font-bold mb-6 {design.text_classes}", "Sign in"),
        field(box, "email", "Email address"),
        field(box, "password", "Password"),
        words("button", f"{design.button_classes} w-full mb-4", "Continue"),
        words("a", f"text-{design.accent}-700", f"New to {subject.name}?", href="#"),
    )
    return element("main", "py-16", card)


def article(subject: Subject, design: Design) -> str:
    """A long text with a picture and a pulled quotation."""
    sentences = [item.text for item in subject.items]
    inside = [
        words("h1", f"{design.heading} font-bold mb-2 {design.text_classes}", subject.headline),
        words("p", f"text-gray-500 mb-6 {design.text_classes}", f"A story by {subject.name}"),
        picture(design.pictures, 900, 400, f"w-full mb-6 {design.corners}", subject.trade),
        words("p", "text-lg mb-4", " ".join([subject.lead, *sentences[:3]])),
        words(
            "blockquote",
            f"border-l-4 border-{design.accent}-500 pl-4 text-xl mb-4",
            sentences[3],
        ),
        words("p", "text-lg", " ".join([*sentences[4:], subject.lead])),
    ]
    return section(design, "", *inside)


def figures(subject: Subject, design: Design) -> str:
    """Numbers in boxes, as on top of a dashboard."""

    def figure(_: int, item: Item) -> str:
        number = words("p", f"text-3xl font-bold text-{design.accent}-700", item.number)
        return element(
            "div", design.card_classes, words("p", "text-sm text-gray-600", item.name), number
        )

    return section(design, "", _cells(design, subject.items[: design.columns], figure))


def invitation(subject: Subject, design: Design) -> str:
    """A band that asks for an address."""
    box = f"p-2 w-80 text-gray-900 border {design.corners}"
    button = f"bg-gray-900 text-white font-bold py-2 px-6 {design.corners}"
    return element(
        "section",
        f"bg-{design.accent}-500 text-white text-center {design.spacing}",
        words("h2", "text-2xl font-bold mb-4", f"Hear from {subject.name} once a month"),
        field(box, "email", "Your email"),
        words("button", button, "Subscribe"),
    )
