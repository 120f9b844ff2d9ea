"""Sections about people and their opinions."""

from __future__ import annotations

from colbench_tasks.frontend.design import Design
from colbench_tasks.frontend.markup import div, element, picture, words
from colbench_tasks.frontend.sections.section import grid, muted, name, section, titled
from colbench_tasks.frontend.subjects import Subject

PRAISE = (
    "Friendly, quick and exactly what I needed.",
    "I have told all my neighbours.",
    "Better than last year, and last year was good.",
    "They remembered my name after a year.",
)
TITLES = "What people say / Voices / Kind words"


@section("quotations of customers in boxes", "columns", "card")
def voices(subject: Subject, design: Design) -> str:
    """Build customers' quotations in boxes side by side."""
    said = (*subject.praise, *PRAISE)
    cells = [
        div(
            design.card,
            words("p", "italic mb-4", f"“{quotation}”"),
            words("p", f"font-bold {design.strong('card')}", person),
        )
        for quotation, person in zip(said[: design.columns], subject.people, strict=False)
    ]
    return titled(design, subject.pick(TITLES), grid(design, cells))


@section("one large quotation")
def quotation(subject: Subject, design: Design) -> str:
    """Build a single large quotation."""
    said = words(
        "p", f"text-3xl italic mb-4 {design.strong()}", f"“{PRAISE[2 + subject.variant % 2]}”"
    )
    who = words("p", design.muted(), f"{subject.people[0]}, customer since 2019")
    return titled(design, "", div(design.align, said, who))


@section("reviews with stars, one below the other", "card")
def reviews(subject: Subject, design: Design) -> str:
    """Build reviews with stars, text, name and date."""
    boxes = []
    for number, said in enumerate((*subject.praise, *PRAISE)[: 4 + subject.variant % 3]):
        stars = 3 + subject.numbers[number] % 3
        head = div(
            "flex justify-between mb-2",
            words("span", design.strong("card"), "★" * stars + "☆" * (5 - stars)),
            words("span", design.muted("card"), subject.dates[number]),
        )
        who = words("p", "font-bold", subject.people[number])
        boxes.append(div(f"{design.card} mb-4", head, words("p", "mb-2", said), who))
    return titled(design, subject.pick(TITLES), *boxes)


@section("the mean of all stars in large letters")
def rating(subject: Subject, design: Design) -> str:
    """Build an average rating with the number of ratings."""
    mean = f"4.{subject.numbers[0] % 10}"
    note = f"out of 5, from {subject.numbers[1] * 7} reviews"
    return titled(
        design,
        "",
        div(
            design.align,
            words("p", f"text-6xl font-bold {design.strong()}", mean),
            words("p", design.muted(), note),
        ),
    )


@section("people with a round picture, name and task", "columns", "card")
def team(subject: Subject, design: Design) -> str:
    """Build boxes with the people who work at the business."""
    cells = []
    rows = 1 if design.columns == 4 else 1 + subject.variant % 2
    for number, person in enumerate(subject.people[: design.columns * rows]):
        face = picture(
            design.pictures + 10 + number, 160, 160, "w-32 h-32 rounded-full mx-auto mb-4", person
        )
        role = muted(design, subject.roles[number % len(subject.roles)])
        cells.append(div(f"{design.card} text-center", face, name(design, person, "text-lg"), role))
    return titled(design, subject.pick("The team / Who we are / People"), grid(design, cells))


@section("people one below the other, with a picture on the left of some words each", "corners")
def people(subject: Subject, design: Design) -> str:
    """Build rows of the people who work at the business: a picture next to the name, the role and some words.

    `team` shows the people in boxes, without the words.
    """
    rows = []
    for number, person in enumerate(subject.people[: 3 + subject.variant % 2]):
        face = picture(design.pictures + 10 + number, 200, 200, f"w-40 {design.round}", person)
        role = subject.roles[number % len(subject.roles)]
        said = div(
            "flex-1",
            words("h3", f"text-xl {design.heading}", person),
            words("p", f"{design.strong()} mb-2", role),
            words("p", design.muted(), f"Likes best: {subject.items[number].name}. {subject.lead}"),
        )
        rows.append(div("flex items-center space-x-8 mb-8", face, said))
    return titled(design, subject.pick("The team / Who we are / People"), *rows)


@section("a row of names of partners")
def partners(subject: Subject, design: Design) -> str:
    """Build a row of partners' names, in place of logos."""
    names = [
        words("span", f"text-xl {design.heading} {design.muted()}", person.split()[1] + " & Co")
        for person in subject.people[: 4 + subject.variant % 2]
    ]
    heading = words("h2", design.title, subject.pick("Partners / They trust us"))
    row = div("flex justify-between", *names)
    return element("section", design.space, div(design.inner, heading, row))
