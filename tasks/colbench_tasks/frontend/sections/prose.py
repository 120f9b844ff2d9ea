"""Sections with longer texts."""

from __future__ import annotations

from colbench_tasks.frontend.design import Design
from colbench_tasks.frontend.markup import div, element, link, picture, words
from colbench_tasks.frontend.sections.section import muted, name, section, titled
from colbench_tasks.frontend.subjects import Subject


def _text(subject: Subject, design: Design) -> list[str]:
    """Build two paragraphs with a quotation between them."""
    sentences = [item.text for item in subject.items]
    quotation = words(
        "blockquote",
        f"border-l-4 border-{design.hue}-{design.tone} pl-4 text-xl italic mb-4",
        subject.praise[0],
    )
    return [
        words("p", "text-lg mb-4", " ".join([subject.lead, *sentences[:3]])),
        quotation,
        words("p", "text-lg mb-4", " ".join([*sentences[3:], subject.praise[1]])),
    ]


def _head(subject: Subject, design: Design) -> list[str]:
    by = f"By {subject.people[0]}, {subject.dates[0]}"
    return [
        words("h1", f"{design.size} {design.heading} mb-2 {design.align}", subject.title),
        words("p", f"{design.strong()} mb-6 {design.align}", by),
    ]


@section("an article with its picture under the title and a quotation in the text", "corners")
def article(subject: Subject, design: Design) -> str:
    """Build an article: title, picture, text."""
    image = picture(design.pictures, 960, 420, f"w-full mb-6 {design.round}", subject.trade)
    return titled(design, "", *_head(subject, design), image, *_text(subject, design))


@section("an article beneath a broad picture from edge to edge", "corners")
def article_wide(subject: Subject, design: Design) -> str:
    """Build an article: picture, title, text."""
    image = picture(design.pictures, 1280, 400, "w-full h-96 object-cover", subject.trade)
    return image + "\n" + titled(design, "", *_head(subject, design), *_text(subject, design))


@section("an article with a box of other stories at its right", "card", "corners")
def article_aside(subject: Subject, design: Design) -> str:
    """Build an article with text on the left and links on the right."""
    others = [link(f"block py-1 {design.strong('card')}", item.name) for item in subject.items[:5]]
    aside = element("aside", f"{design.card} w-1/3", name(design, "More stories"), *others)
    image = picture(design.pictures, 640, 320, f"w-full mb-6 {design.round}", subject.trade)
    text = div("w-2/3", *_head(subject, design), image, *_text(subject, design))
    return titled(design, "", div("flex items-start space-x-10", text, aside))


@section("a story about the business beside a picture", "corners")
def story(subject: Subject, design: Design) -> str:
    """Build a short text about the business."""
    said = div(
        "w-1/2",
        words("h2", design.title, subject.pick("Our story / How it began / About us")),
        words("p", f"text-lg {design.muted()} mb-4", f"{subject.lead} {subject.items[0].text}"),
        words("p", f"text-lg {design.muted()}", f"{subject.items[1].text} {subject.items[2].text}"),
    )
    image = picture(design.pictures + 5, 560, 380, f"w-1/2 {design.round}", subject.trade)
    sides = (said, image) if subject.variant % 2 else (image, said)
    return titled(design, "", div("flex items-center space-x-10", *sides))


@section("years with what happened in them, one below the other")
def years(subject: Subject, design: Design) -> str:
    """Build a history, one line for each year."""
    first = 1950 + subject.numbers[0] // 2
    rows = [
        div(
            f"flex border-l-4 border-{design.hue}-{design.tone} pl-6 pb-6",
            words("span", f"w-24 text-xl font-bold {design.strong()}", str(first + 7 * number)),
            div(
                "flex-1",
                words("h3", f"text-lg {design.heading}", item.name),
                words("p", design.muted(), item.text),
            ),
        )
        for number, item in enumerate(subject.items[: 4 + subject.variant % 2])
    ]
    return titled(design, subject.pick("Through the years / Our history"), *rows)


@section("when and where it is, in a box", "card", "buttons")
def invitation_card(subject: Subject, design: Design) -> str:
    """Build a box with the date and place of an event."""
    return titled(
        design,
        "",
        div(
            f"{design.card} text-center",
            words("p", f"text-4xl font-bold {design.strong('card')}", subject.dates[0]),
            muted(design, f"{subject.street}, doors open at six", "text-lg mt-2 mb-4"),
            words("button", design.button("card"), subject.pick("Get a ticket / Come along")),
        ),
    )
