"""Sections with forms."""

from __future__ import annotations

from msgspec.structs import replace

from colbench_tasks.frontend.design import Design
from colbench_tasks.frontend.markup import backed, div, element, field, link, picture, words
from colbench_tasks.frontend.sections.section import muted, section, titled
from colbench_tasks.frontend.subjects import Subject


def _form(design: Design, classes: str, fields: tuple[str, ...], *inside: str) -> str:
    inputs = [
        field(design.field, "password" if name == "Password" else "text", name) for name in fields
    ]
    return element("form", classes, *inputs, *inside)


def _send(subject: Subject, design: Design, wordings: str, classes: str = "") -> str:
    return words("button", f"{design.button('card')} {classes}", subject.pick(wordings))


@section("a form on the left with the address on its right", "card", "buttons")
def contact(subject: Subject, design: Design) -> str:
    """Build a contact form next to address and phone number."""
    send = _send(subject, design, "Send / Send message / Write to us")
    fields = ("Your name", "Email address", "Telephone", "Your message")[subject.variant % 2 :]
    form = _form(design, f"{design.card} w-1/2", fields, send)
    beside = div(
        "w-1/2",
        words("h3", f"text-xl {design.heading} mb-2", subject.pick("Find us / Come by")),
        words("p", "mb-2", subject.street),
        words("p", f"mb-2 {design.strong()}", f"Call {subject.phone} from nine to five"),
        words("p", design.muted(), subject.lead),
    )
    inner = div("flex items-start space-x-12", form, beside)
    return titled(design, f"Write to {subject.name}", inner)


@section("a form on the left with a picture on its right", "card", "buttons")
def contact_picture(subject: Subject, design: Design) -> str:
    """Build a contact form next to a picture of the place."""
    send = _send(subject, design, "Send / Send message / Write to us")
    form = _form(
        design, f"{design.card} w-1/2", ("Your name", "Email address", "Your message"), send
    )
    image = picture(design.pictures + 6, 560, 400, f"w-1/2 {design.round}", "Map")
    where = words("p", f"mt-4 text-lg {design.align}", f"{subject.street} · {subject.phone}")
    return titled(design, "", div("flex items-center space-x-10", form, image), where)


@section("a form in the middle with its fields one below the other", "card", "buttons")
def contact_alone(subject: Subject, design: Design) -> str:
    """Build a contact form in the middle."""
    send = _send(subject, design, "Send / Send message", "w-full")
    fields = ("Your name", "Email address", "Subject", "Your message")
    form = _form(design, f"{design.card} w-2/3 mx-auto", fields, send)
    return titled(design, f"Write to {subject.name}", form)


@section("a booking form with its fields in two columns", "card", "buttons")
def booking(subject: Subject, design: Design) -> str:
    """Build a booking form."""
    names = ("Your name", "Email address", "Day", "Time", "How many", "Telephone")
    inputs = [field(design.field, "text", name) for name in names]
    send = _send(subject, design, "Book / Reserve / Ask for this day", "w-full")
    form = element("form", design.card, div("grid gap-x-6 grid-cols-2", *inputs), send)
    return titled(design, subject.pick("Book now / Your booking / Choose a day"), form)


@section("a booking form with a summary of the choice at its right", "card", "buttons")
def booking_summary(subject: Subject, design: Design) -> str:
    """Build a booking form next to a summary of the price."""
    item = subject.items[0]
    send = _send(subject, design, "Book / Reserve", "w-full")
    fields = ("Your name", "Email address", "Day", "Time")
    form = _form(design, f"{design.card} w-2/3", fields, send)
    summary = div(
        f"{design.accent} {design.round} w-1/3 p-6",
        words("h3", f"text-xl {design.heading} mb-2", item.name),
        words("p", "mb-4", item.text),
        words("p", "text-3xl font-bold", item.price),
    )
    return titled(design, "", div("flex items-start space-x-8", form, summary))


@section("a search bar with three fields and a button", "card", "buttons")
def search(subject: Subject, design: Design) -> str:
    """Build a search bar with three fields."""
    inputs = [
        field(f"{design.field} flex-1", "text", name)
        for name in ("What are you looking for?", "From", "Up to")
    ]
    button = _send(subject, design, "Search / Find", "mb-4")
    return titled(design, "", div(f"{design.card} flex space-x-4 items-start", *inputs, button))


def _sign(subject: Subject, design: Design, classes: str) -> str:
    """Build a sign-in form, with a headline and the fields for email address and password."""
    heading = words("h1", f"{design.size} {design.heading} mb-6 {design.align}", subject.title)
    go_on = _send(subject, design, "Continue / Sign in / Log in", "w-full mb-4")
    new = link(design.strong("card"), f"New to {subject.name}?")
    form = _form(design, "", ("Email address", "Password"), go_on)
    return div(classes, heading, form, new)


@section("a sign-in box in the middle", "card", "buttons", roomy=False)
def login(subject: Subject, design: Design) -> str:
    """Build a login form."""
    box = _sign(subject, design, f"{design.card} w-96 mx-auto")
    return element("section", "py-16", box)


@section("a sign-in form on the left half and a picture on the right half", "buttons", roomy=False)
def login_picture(subject: Subject, design: Design) -> str:
    """Build a login form next to a picture."""
    free = _free(design)
    box = div("w-1/2 p-16", _sign(subject, free, "max-w-sm mx-auto"))
    image = picture(design.pictures, 640, 600, "w-1/2 object-cover", subject.trade)
    return div("flex items-center flex-1", box, image)


@section(
    "a sign-in form on the right half and words on the main colour on the left half",
    "buttons",
    roomy=False,
)
def login_words(subject: Subject, design: Design) -> str:
    """Build a login form next to a greeting."""
    greeting = div(
        f"{design.accent} w-1/2 flex flex-col justify-center p-16",
        words("p", f"text-4xl {design.heading} mb-4", subject.name),
        words("p", "text-lg", subject.lead),
    )
    box = div("w-1/2 p-16", _sign(subject, _free(design), "max-w-sm mx-auto"))
    return div("flex flex-1", greeting, box)


@section("a white sign-in box in front of a picture", "buttons", roomy=False)
def login_backed(subject: Subject, design: Design) -> str:
    """Build a login form in a box in front of a photo."""
    white = replace(design, card_look="shadow")
    box = _sign(subject, white, f"{white.card} w-96 mx-auto")
    return backed(design.pictures, "flex-1 flex items-center py-16", box)


def _free(design: Design) -> Design:
    """Return the design with unstyled boxes, for a form that stands directly on the page."""
    return replace(design, card_look="free")


@section("a registration form with several fields", "card", "buttons")
def register(subject: Subject, design: Design) -> str:
    """Build a registration form."""
    heading = words("h1", f"{design.size} {design.heading} mb-6 {design.align}", subject.title)
    fields = ("First name", "Last name", "Email address", "Password")
    send = _send(subject, design, "Create account / Register / Join", "w-full")
    form = _form(design, "", fields, send)
    return titled(design, "", div(f"{design.card} w-2/3 mx-auto", heading, form))


@section("a registration form beside a list of reasons to join", "card", "buttons")
def register_reasons(subject: Subject, design: Design) -> str:
    """Build a registration form next to reasons for registering."""
    heading = words("h1", f"{design.size} {design.heading} {design.align} mb-6", subject.title)
    reasons = [
        element("li", "mb-4", words("b", design.strong(), item.name), words("p", "", item.text))
        for item in subject.items[:4]
    ]
    send = _send(subject, design, "Create account / Register / Join", "w-full")
    form = _form(design, f"{design.card} w-1/2", ("Your name", "Email address", "Password"), send)
    left = div("w-1/2", heading, element("ul", "", *reasons))
    return titled(design, "", div("flex items-start space-x-12", left, form))


@section("a band in the main colour that asks for an email address", "buttons")
def newsletter(subject: Subject, design: Design) -> str:
    """Build a newsletter form."""
    box = f"{design.field} max-w-xs mr-4"
    title = f"Hear from {subject.name} {subject.pick('once a month / now and then')}"
    ask = div(
        "flex justify-center items-start",
        field(box, "email", "Your email"),
        words("button", design.button("accent"), subject.pick("Subscribe / Sign up")),
    )
    heading = words("h2", f"text-2xl {design.heading} mb-4", title)
    return element("section", f"{design.accent} text-center {design.space}", heading, ask)


@section("a box with an invitation and a button", "card", "buttons")
def invitation(subject: Subject, design: Design) -> str:
    """Build a box that invites the visitor, with the main button."""
    heading = words(
        "h2", f"text-2xl {design.heading} mb-2", subject.pick("Ready? / Come and see / Let us talk")
    )
    said = muted(design, f"{subject.items[-1].text} Call {subject.phone}.", "mb-4")
    button = words("button", design.button("card"), subject.action)
    return titled(design, "", div(f"{design.card} text-center", heading, said, button))
