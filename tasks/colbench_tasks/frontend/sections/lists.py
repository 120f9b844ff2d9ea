"""Sections about prices, steps, questions, offers, posts, jobs or dates, mostly as lists or grids."""

from __future__ import annotations

from colbench_tasks.frontend.design import Design
from colbench_tasks.frontend.markup import div, element, link, picture, words
from colbench_tasks.frontend.sections.section import grid, muted, name, section, some, titled
from colbench_tasks.frontend.subjects import Item, Subject

STEPS = (
    ("Tell us", "Write or call, a few words will do."),
    ("We answer", "Within a day, with a price and a date."),
    ("We meet", "At our place or at yours."),
    ("It is done", "And we ask later how it went."),
)
QUESTIONS = (
    ("Do I have to book ahead?", "On weekends yes, on other days just come."),
    ("How can I pay?", "In cash, by card or by bank transfer."),
    ("May I bring children?", "Of course, there is a corner with toys."),
    ("Can I cancel?", "Until the day before, at no cost."),
    ("Where can I park?", "Behind the house, for two hours."),
    ("Is there a voucher?", "Yes, for any amount and without an end date."),
    ("Are dogs allowed?", "On a leash and in a good mood."),
    ("Do you speak other languages?", "Four of us do, just ask."),
)
POSTS = (
    "Behind the scenes: {} / {}, explained / What nobody tells you about {} / A short history of {}"
)


def priced(item: Item, design: Design) -> str:
    """Build a line with name and sentence on the left and the price on the right."""
    said = div(
        "",
        words("h3", f"text-lg {design.heading}", item.name),
        words("p", design.muted(), item.text),
    )
    price = words("span", f"text-lg font-bold {design.strong()}", item.price)
    return div(f"flex justify-between border-b {design.line} py-3", said, price)


@section("a price list, each line with a name, a sentence and its price")
def menu(subject: Subject, design: Design) -> str:
    """Build a price list in one column."""
    lines = [priced(item, design) for item in subject.items]
    return titled(design, subject.pick("Our list / All prices / To choose from"), *lines)


@section("a price list in two columns")
def menu_halves(subject: Subject, design: Design) -> str:
    """Build a price list in two columns, each with a title."""
    halves = [
        div("w-1/2", words("h2", design.title, title), *[priced(item, design) for item in items])
        for title, items in (
            (subject.pick("Every day / The usual"), subject.items[:3]),
            (subject.pick("Now and then / Something special"), subject.items[3:]),
        )
    ]
    return titled(design, "", div("flex space-x-12", *halves))


@section("numbered steps", "columns")
def steps(subject: Subject, design: Design) -> str:
    """Build numbered steps."""
    cells = [
        div(
            design.align,
            words("p", f"text-4xl font-bold {design.strong()}", str(number)),
            words("h3", f"text-lg {design.heading} my-2", title),
            words("p", design.muted(), text),
        )
        for number, (title, text) in enumerate(STEPS[: design.columns], 1)
    ]
    return titled(design, subject.pick("How it works / In a few steps"), grid(design, cells))


@section("questions with their answers, one below the other", "card")
def questions(subject: Subject, design: Design) -> str:
    """Build boxes, each with a question and its answer."""
    boxes = [
        div(f"{design.card} mb-4", name(design, asked), muted(design, answer))
        for asked, answer in _asked(subject, 4 + subject.variant % 2)
    ]
    return titled(design, subject.pick("Questions / What people ask / Good to know"), *boxes)


@section("questions with their answers, in two columns")
def questions_halves(subject: Subject, design: Design) -> str:
    """Build questions and answers in two columns, without boxes."""
    cells = [
        div(
            f"border-l-4 border-{design.hue}-{design.tone} pl-4",
            words("h3", f"text-lg {design.heading}", asked),
            words("p", design.muted(), answer),
        )
        for asked, answer in _asked(subject, 6)
    ]
    inner = div(f"grid {design.gap} grid-cols-2", *cells)
    return titled(design, subject.pick("Questions / What people ask / Good to know"), inner)


def _asked(subject: Subject, number: int) -> list[tuple[str, str]]:
    start = subject.numbers[0]
    return [QUESTIONS[(start + place) % len(QUESTIONS)] for place in range(number)]


@section(
    "things with a picture on the left and details on the right, one below the other",
    "card",
    "buttons",
)
def listings(subject: Subject, design: Design) -> str:
    """Build broad boxes with a picture on the left."""
    rows = []
    for number, item in enumerate(subject.items[: 3 + subject.variant % 2], 1):
        image = picture(design.pictures + number, 320, 220, f"w-1/3 {design.round}", item.name)
        said = div(
            "flex-1 pl-8",
            name(design, item.name, "text-xl mb-2"),
            muted(design, item.text, "mb-2"),
            words("p", f"text-xl font-bold {design.strong('card')} mb-3", item.price),
            words("button", design.button("card"), subject.pick("Details / Have a look")),
        )
        rows.append(div(f"{design.card} flex items-center mb-6", image, said))
    return titled(design, "", *rows)


@section("a list of posts, each with date, title and first sentence")
def posts(subject: Subject, design: Design) -> str:
    """Build a list of posts without pictures."""
    lines = [
        div(
            f"border-b {design.line} py-5",
            words("p", f"text-sm {design.strong()}", date),
            words("h3", f"text-2xl {design.heading} my-1", _post(subject, number)),
            words("p", f"{design.muted()} mb-2", f"{item.text} {subject.lead}"),
            link(f"font-bold {design.strong()}", "Read more"),
        )
        for number, (item, date) in enumerate(zip(subject.items[:5], subject.dates, strict=False))
    ]
    return titled(design, "", *lines)


@section("posts as boxes with picture, date and title", "columns", "card")
def post_cards(subject: Subject, design: Design) -> str:
    """Build a grid of posts with pictures."""

    def cell(number: int, item: Item) -> str:
        image = picture(
            design.pictures + number, 400, 240, f"w-full mb-4 {design.round}", item.name
        )
        date = words("p", f"text-sm {design.strong('card')}", subject.dates[number - 1])
        title = name(design, _post(subject, number - 1), "text-xl my-2")
        return div(design.card, image, date, title, muted(design, item.text))

    cells = [cell(number, item) for number, item in enumerate(some(subject, design), 1)]
    return titled(design, "", grid(design, cells))


@section("one large post with a picture", "buttons")
def lead_post(subject: Subject, design: Design) -> str:
    """Build the newest post, larger than the others."""
    image = picture(design.pictures + 9, 640, 360, f"w-1/2 {design.round}", subject.trade)
    said = div(
        "w-1/2",
        words("p", f"text-sm {design.strong()}", f"New, {subject.dates[0]}"),
        words("h2", f"text-3xl {design.heading} my-2", _post(subject, 5)),
        words("p", f"{design.muted()} mb-4", f"{subject.items[5].text} {subject.lead}"),
        words("button", design.button(), "Read on"),
    )
    return titled(design, "", div("flex items-center space-x-8", image, said))


def _post(subject: Subject, number: int) -> str:
    forms = POSTS.split(" / ")
    form = forms[(subject.numbers[number]) % len(forms)]
    return form.format(subject.items[number].name)


@section("open positions, each with a button at the right", "card", "buttons")
def jobs(subject: Subject, design: Design) -> str:
    """Build a list of open jobs."""
    hours = ("Full time", "Part time", "Weekends", "From home")
    rows = []
    for number in range(3 + subject.variant % 2):
        role = (*subject.roles, "Office manager")[number]
        note = f"{hours[subject.numbers[number] % 4]} · from {subject.dates[number]}"
        said = div("", name(design, role, "text-xl"), muted(design, note))
        apply = words("button", design.button("card"), "Apply")
        rows.append(div(f"{design.card} flex items-center justify-between mb-4", said, apply))
    return titled(design, subject.pick("Open positions / Join us"), *rows)


@section("a programme with the time at the left of each line", "corners")
def programme(subject: Subject, design: Design) -> str:
    """Build the program of a day, with times."""
    rows = []
    for number, item in enumerate(subject.items[: 4 + subject.variant % 3]):
        time = f"{9 + number + number // 3}:{'00' if subject.numbers[number] % 2 else '30'}"
        said = div(
            "flex-1",
            words("h3", f"text-lg {design.heading}", item.name),
            words("p", design.muted(), f"{item.text} With {subject.people[number]}."),
        )
        badge = words("span", f"{design.accent} {design.round} w-20 text-center py-2 mr-6", time)
        rows.append(div(f"flex items-center border-b {design.line} py-4", badge, said))
    return titled(design, subject.pick("Programme / The day"), *rows)


@section("a column with the latest news at the left and appointments at the right")
def noticeboard(subject: Subject, design: Design) -> str:
    """Build a list of news, with a list of dates on the right."""
    news = [
        div("mb-4", words("h3", f"text-lg {design.heading}", item.name), words("p", "", item.text))
        for item in subject.items[:3]
    ]
    dates = [
        element(
            "li",
            f"border-b {design.line} py-2",
            words("b", design.strong(), date),
            words("span", "ml-2", item.name),
        )
        for date, item in zip(subject.dates[:4], subject.items[2:], strict=False)
    ]
    left = div("w-2/3", words("h2", design.title, "News"), *news)
    right = div("w-1/3", words("h2", design.title, "Dates"), element("ul", "", *dates))
    return titled(design, "", div("flex space-x-12", left, right))
