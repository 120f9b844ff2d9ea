"""The first proposal: a sensible page for what the request says, from general knowledge of web pages alone."""

from __future__ import annotations

import re

from colbench_agents.designer.colors import NAMES
from colbench_agents.designer.page import Box, Leaf, Page

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
HUES = "red|orange|yellow|green|teal|blue|indigo|purple|pink|brown"


def first_page(request: str) -> Page:
    """A page with navigation, opening, the sections that the request names, and a footer."""
    words = {name for name, pattern in WORDS.items() if re.search(pattern, request, re.I)}
    name = subject(request)
    hue = re.search(rf"\b({HUES})s?\b", request, re.I)
    accent = NAMES[hue[1].lower()] if hue else NAMES["blue"]
    bands = [_navigation(name), *_middle(name, words, accent), _footer(name)]
    return Page(bands=bands, background=NAMES["very light grey"])


def subject(request: str) -> str:
    """What the page is about, in words fit for a headline."""
    found = SUBJECT.search(request) or NAME.search(request) or TRADE.search(request)
    words = found[1].strip() if found else "Our Company"
    words = KIND_OF_PAGE.sub("", words)
    return " ".join(word[:1].upper() + word[1:] for word in words.split())


def heading(text: str, size: str) -> Leaf:
    """A bold heading."""
    return Leaf(kind="heading", text=text, size=size, bold=True)


def _navigation(name: str) -> Box:
    links = [Leaf(kind="link", text=text) for text in ("Home", "About", "Services", "Contact")]
    row: list[Leaf | Box] = [heading(name, "xl"), Box(children=[*links], direction="row")]
    return Box(children=row, direction="row", spread=True, background="#ffffff", padding=(16, 16))


def _footer(name: str) -> Box:
    rights = Leaf(kind="text", text=f"© 2022 {name}. All rights reserved.")
    return Box(children=[rights], background="#ffffff", padding=(16, 16), align="center")


def _middle(name: str, words: set[str], accent: str) -> list[Box]:
    bands: list[Box] = []
    if "login" in words:
        return [_form("Sign in", ("Email", "Password"), "Sign in", accent)]
    if "picture" in words and "gallery" not in words:
        bands.append(Box(children=[Leaf(kind="picture", text=name, width=1280, height=384)]))
    bands.append(_opening(name, "button" in words, accent))
    if "search" in words:
        field = Leaf(kind="input", text="Search...", width=400)
        bands.append(Box(children=[field], padding=(16, 16), align="center"))
    if "gallery" in words:
        pictures = [Leaf(kind="picture", width=400, height=300) for _ in range(3)]
        bands.append(_columns([[picture] for picture in pictures]))
    if "prices" in words:
        bands.append(_columns([_card(title, "$10") for title in ("Basic", "Standard", "Premium")]))
    elif "columns" in words:
        bands.append(_columns([_card(title, SENTENCE) for title in ("About Us", "Our Services")]))
    if "form" in words:
        bands.append(_form("Contact Us", ("Name", "Email", "Message"), "Send", accent))
    return bands


def _opening(name: str, button: bool, accent: str) -> Box:
    inside: list[Leaf | Box] = [heading(f"Welcome to {name}", "4xl")]
    inside.append(Leaf(kind="text", text=LEAD, size="lg", above=16))
    if button:
        inside.append(
            Leaf(kind="button", text="Learn More", bold=True, background=accent, above=16)
        )
    return Box(children=inside, padding=(48, 16), align="center")


def _card(title: str, text: str) -> list[Leaf]:
    return [heading(title, "2xl"), Leaf(kind="text", text=text, above=8)]


def _columns(columns: list[list[Leaf]]) -> Box:
    inside: list[Leaf | Box] = [Box(children=[*column]) for column in columns]
    row = Box(children=inside, direction="columns")
    return Box(children=[row], padding=(32, 16))


def _form(title: str, fields: tuple[str, ...], action: str, accent: str) -> Box:
    inputs = [Leaf(kind="input", text=field, width=400, above=8) for field in fields]
    button = Leaf(kind="button", text=action, bold=True, background=accent, above=16)
    return Box(children=[heading(title, "2xl"), *inputs, button], padding=(32, 16), align="center")
