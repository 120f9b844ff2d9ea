"""The first proposal: a plausible page for the request, built from general knowledge of web pages."""

from __future__ import annotations

import re

from colbench_agents.designer.colors import NAMES
from colbench_agents.designer.page import WIDTH, Page, Thing

SUBJECT = re.compile(r"^([^:.,]{3,60}):")
NAME = re.compile(r"\b(?:of|for|to|called|named)\s+((?:[A-Z][\w'&]*\s?)+(?:& [A-Z]\w+)?)")
TRADE = re.compile(
    r"\b(?:for|of) (?:our|a|an|the|my) ([a-z][a-z -]{2,30}?)(?=[,.]| that| called| with|$)"
)
KIND_OF_PAGE = re.compile(
    r"\s+(?:web ?site|site|page|home ?page|platform|store|blog|portfolio|dashboard)$", re.I
)
LEAD = (
    "We are committed to providing the best service to our customers. "
    "Our team of experts is dedicated to helping you reach your goals."
)
SENTENCE = "We offer a wide range of services to meet your needs."
WORDS = {
    "picture": r"image|photo|picture|banner|slideshow|carousel|video|visual",
    "gallery": r"gallery|grid|portfolio|pictures|photographs|masonry|showcas",
    "columns": r"column|cards?|section|features|services|offers|boxes|split|products|showcas",
    "prices": r"pricing|prices|\bplans\b|costs\b",
    "form": r"form\b|contact form|write to|reach us|reservation|booking|subscri|newsletter",
    "login": r"log[ -]?in|sign[ -]?in",
    "search": r"search",
    "button": r"button|call[- ]to[- ]action|cta\b",
    "table": r"table|list\b|dashboard|menu page|overview",
    "article": r"article|story|blog post|long text",
}
MARGIN = 16
HUES = "red|orange|yellow|green|teal|blue|indigo|purple|pink|brown"


def first_page(request: str) -> Page:
    """Build a page with a navigation bar, an opening section, the sections that the request names, and a footer."""
    words = {name for name, pattern in WORDS.items() if re.search(pattern, request, re.I)}
    name = subject(request)
    hue = re.search(rf"\b({HUES})s?\b", request, re.I)
    accent = NAMES[hue[1].lower()] if hue else NAMES["blue"]
    things = _bar(name)
    for thing in things:
        thing.fit()
    sheet = _Sheet(things, 60)
    _middle(sheet, name, words, accent)
    _footer(sheet, name)
    page = Page(things=[], background=NAMES["very light grey"])
    for thing in things:
        page.add(thing)
    page.settle()
    return page


def subject(request: str) -> str:
    """Return the topic of the page in words suitable for a headline."""
    found = SUBJECT.search(request) or NAME.search(request) or TRADE.search(request)
    words = found[1].strip() if found else "Our Company"
    words = KIND_OF_PAGE.sub("", words)
    return " ".join(word[:1].upper() + word[1:] for word in words.split())


def _bar(name: str) -> list[Thing]:
    area = Thing(kind="box", width=WIDTH, height=60, background="#ffffff")
    title = Thing(kind="heading", x=MARGIN, y=16, width=500, text=name, size=20, bold=True)
    things, right = [area, title], float(WIDTH)
    for text in ("Contact", "Services", "About", "Home"):
        link = Thing(kind="link", y=18, text=text)
        link.fit()
        right -= link.width + MARGIN
        link.x = right
        things.append(link)
    return things


class _Sheet:
    """A page under construction: each thing is placed below the preceding one."""

    def __init__(self, things: list[Thing], y: float) -> None:
        self.things = things
        self.y = y

    def put(self, thing: Thing, gap: float = MARGIN) -> None:
        """Place a thing after a gap; texts take the full width, other things are centered."""
        if thing.kind in ("heading", "text"):
            thing.x, thing.width, thing.align = MARGIN, WIDTH - 2 * MARGIN, "center"
        thing.fit()
        if thing.kind in ("button", "input", "picture"):
            thing.x = (WIDTH - thing.width) / 2
        thing.y = self.y + gap
        self.y = thing.bottom
        self.things.append(thing)

    def columns(self, columns: list[list[Thing]]) -> None:
        """Place columns side by side, with the texts in them left-aligned."""
        top, lowest = self.y + 2 * MARGIN, self.y
        width = (WIDTH - MARGIN) / len(columns) - MARGIN
        for number, column in enumerate(columns):
            y = top
            for thing in column:
                thing.x, thing.y = MARGIN + number * (width + MARGIN), y
                thing.width = width
                thing.fit()
                y = thing.bottom + 8
                self.things.append(thing)
            lowest = max(lowest, y)
        self.y = lowest

    def form(self, title: str, fields: tuple[str, ...], action: str, accent: str) -> None:
        """Put a heading, input fields and a button."""
        self.put(_heading(title, 24), 2 * MARGIN)
        for field in fields:
            self.put(Thing(kind="input", text=field, width=400), 8)
        self.put(Thing(kind="button", text=action, bold=True, background=accent))


def _heading(text: str, size: int) -> Thing:
    return Thing(kind="heading", text=text, size=size, bold=True)


def _middle(sheet: _Sheet, name: str, words: set[str], accent: str) -> None:
    if "login" in words:
        sheet.form("Sign in", ("Email", "Password"), "Sign in", accent)
        return
    if "picture" in words and "gallery" not in words:
        sheet.put(Thing(kind="picture", width=WIDTH, height=384), 0)
    sheet.put(_heading(f"Welcome to {name}", 36), 3 * MARGIN)
    sheet.put(Thing(kind="text", text=LEAD, size=18))
    if "button" in words:
        sheet.put(Thing(kind="button", text="Learn More", bold=True, background=accent))
    if "search" in words:
        sheet.put(Thing(kind="input", text="Search...", width=400), 2 * MARGIN)
    if "gallery" in words:
        sheet.columns([[Thing(kind="picture", height=300)] for _ in range(3)])
    if "prices" in words:
        sheet.columns([_card(title, "$10") for title in ("Basic", "Standard", "Premium")])
    elif "columns" in words:
        sheet.columns([_card(title, SENTENCE) for title in ("About Us", "Our Services")])
    if "form" in words:
        sheet.form("Contact Us", ("Name", "Email", "Message"), "Send", accent)


def _card(title: str, text: str) -> list[Thing]:
    return [_heading(title, 24), Thing(kind="text", text=text)]


def _footer(sheet: _Sheet, name: str) -> None:
    sheet.y += 2 * MARGIN
    area = Thing(kind="box", y=sheet.y, width=WIDTH, height=56, background="#ffffff")
    sheet.things.insert(0, area)
    sheet.put(Thing(kind="text", text=f"© 2022 {name}. All rights reserved."))
