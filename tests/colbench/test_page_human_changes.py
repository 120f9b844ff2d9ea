"""Template pages with one thing changed at a time: the human names it first, in words a person would use."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise

import pytest
from msgspec import Struct
from msgspec.structs import asdict, replace

from colbench.domains.frontend.human.differences import differences
from colbench.domains.frontend.human.followed import all_followed
from colbench.domains.frontend.human.human import CONTENT, compare
from colbench.pages.render import Render
from colbench.rollout import Followed
from colbench.sandbox.browser import Renderer


class Look(Struct, frozen=True, kw_only=True):
    """The variable parts of a template page."""

    page: str = "#f3f4f6"
    nav: str = "#1e40af"
    nav_text: str = "#ffffff"
    links: tuple[str, ...] = ("Home", "Products", "Contact")
    nav_side: str = "space-between"
    brand: str = "Lakeside"
    brand_size: int = 24
    title: str = "Welcome to the lake"
    title_size: int = 40
    title_color: str = "#111827"
    title_align: str = "center"
    title_bold: int = 700
    lead: str = "We rent boats and bicycles, and we show you the quiet places around the water."
    lead_size: int = 18
    lead_color: str = "#374151"
    button: str = "Book now"
    button_color: str = "#ef4444"
    button_width: int = 140
    picture: tuple[int, int] = (600, 300)
    picture_side: str = "center"
    cards: tuple[str, ...] = ("Boats", "Bicycles", "Cabins")
    card_color: str = "#ffffff"
    card_text: str = "Small and large ones for a day or a week."
    field: str = "Your address"
    field_width: int = 300
    order: tuple[str, ...] = ("title", "lead", "button", "picture", "cards", "field")
    gap: int = 24
    footer: str = "© 2024 Lakeside. All rights reserved."
    footer_color: str = "#1f2937"
    footer_text: str = "#ffffff"


LOOKS = (
    Look(),
    Look(
        page="#ffffff",
        nav="#10b981",
        brand="Green Table",
        links=("Menu", "About us", "Find us", "Jobs"),
        title="Food from the garden",
        title_align="left",
        lead="Our cook picks in the morning what you eat at noon. There is no card, only what is ripe.",
        button="Reserve a table",
        button_color="#10b981",
        picture=(1000, 400),
        cards=("Lunch", "Dinner"),
        footer="Open from Tuesday to Sunday",
        footer_color="#d1d5db",
        footer_text="#111827",
    ),
    Look(
        page="#dbeafe",
        nav="#ffffff",
        nav_text="#4b5563",
        brand="Numbers & Co",
        title="Accounts that add up",
        title_size=30,
        lead_color="#6b7280",
        order=("picture", "title", "lead", "cards", "button", "field"),
        picture=(1280, 320),
        cards=("Taxes", "Audits", "Wages", "Advice"),
        card_color="#fef3c7",
    ),
    Look(
        nav="#000000",
        nav_text="#f59e0b",
        nav_side="center",
        brand="Studio Nine",
        title="Pictures that stay",
        title_bold=400,
        picture=(320, 320),
        picture_side="flex-start",
        order=("title", "picture", "lead", "field", "button", "cards"),
        footer="Studio Nine, Harbour Street 9",
    ),
)


class Change(Struct, frozen=True, kw_only=True):
    """The agent's page differs from the target in one thing."""

    name: str
    target: Look
    made: Look
    words: tuple[str, ...]
    """Words that must all be in the sentence about the change."""


def html(look: Look) -> str:
    """Return the HTML of the page."""
    parts = {
        "title": f'<h1 style="font-size:{look.title_size}px;color:{look.title_color};font-weight:{look.title_bold};'
        f'text-align:{look.title_align}">{look.title}</h1>',
        "lead": f'<p style="font-size:{look.lead_size}px;color:{look.lead_color};text-align:{look.title_align}">'
        f"{look.lead}</p>",
        "button": f'<div><button style="background:{look.button_color};width:{look.button_width}px;color:#fff;'
        f'border:0;padding:10px;font-size:16px">{look.button}</button></div>',
        "picture": f'<div style="display:flex;justify-content:{look.picture_side}">'
        f'<img src="https://picsum.photos/{look.picture[0]}/{look.picture[1]}" style="display:block"></div>',
        "cards": '<div style="display:flex;gap:20px">'
        + "".join(
            f'<div style="flex:1;background:{look.card_color};padding:16px"><h2 style="font-size:22px">{card}</h2>'
            f"<p>{look.card_text}</p></div>"
            for card in look.cards
        )
        + "</div>",
        "field": f'<input placeholder="{look.field}" style="width:{look.field_width}px;padding:8px;font-size:16px">',
    }
    links = "".join(f'<a href="#" style="margin:0 10px">{link}</a>' for link in look.links)
    body = "".join(
        f'<section style="padding:{look.gap}px 20px">{parts[part]}</section>' for part in look.order
    )
    return f"""<!doctype html><html><head><style>
      * {{ margin: 0; box-sizing: border-box }} a {{ color: inherit; text-decoration: none }}
      body {{ background: {look.page}; font-family: sans-serif }}
    </style></head><body>
    <nav style="background:{look.nav};color:{look.nav_text};padding:16px;display:flex;
      justify-content:{look.nav_side}"><b style="font-size:{look.brand_size}px">{look.brand}</b>
      <div>{links}</div></nav>
    {body}
    <footer style="background:{look.footer_color};color:{look.footer_text};padding:24px;text-align:center">
      {look.footer}</footer></body></html>"""


def changes() -> Iterator[Change]:
    """Yield forty changes to each template."""
    for at, target in enumerate(LOOKS):
        for name, made, words in (*_top_changes(target), *_body_changes(target)):
            yield Change(
                name=f"{at} {name}", target=target, made=replace(target, **made), words=words
            )


def _top_changes(look: Look) -> Iterator[tuple[str, dict[str, object], tuple[str, ...]]]:
    title = f'"{look.title}"'
    yield "page colour", {"page": "#fbcfe8"}, ("background of the page",)
    yield "dark page", {"page": "#4b5563"}, ("background of the page",)
    yield "navigation colour", {"nav": "#8b5cf6"}, ("background of the top part",)
    yield "links' colour", {"nav_text": "#fca5a5"}, (f'"{look.brand}"', "should be")
    yield "no links", {"links": ()}, ("row of links", f'"{look.links[0]}"')
    yield (
        "a link missing",
        {"links": look.links[:-1]},
        ("There should be a link", f'"{look.links[-1]}"'),
    )
    yield "a link too many", {"links": (*look.links, "Press")}, ("not ask", '"Press"')
    yield (
        "a link's words",
        {"links": ("Start", *look.links[1:])},
        ('"Start" should say', f'"{look.links[0]}"'),
    )
    yield "links elsewhere", {"nav_side": "flex-end"}, ("The ", "should be")
    yield "brand", {"brand": "Northern Star"}, ('"Northern Star" should say', f'"{look.brand}"')
    yield "large brand", {"brand_size": 36}, (f'"{look.brand}"', "smaller")
    yield "title", {"title": "Something else here"}, ('"Something else here" should say', title)
    yield "no title", {"order": _without(look, "title")}, ("There should be a heading", title)
    yield "small title", {"title_size": 18}, (title, "larger")
    yield "large title", {"title_size": 64}, (title, "smaller")
    yield "red title", {"title_color": "#ef4444"}, (title, "should be")
    yield (
        "title's side",
        {"title_align": "right"},
        ("aligned" if look.title_align == "left" else "centred",),
    )
    yield "title's weight", {"title_bold": 1100 - look.title_bold}, (title, "bold")


def _body_changes(look: Look) -> Iterator[tuple[str, dict[str, object], tuple[str, ...]]]:
    lead = f'"{look.lead[:20]}'
    yield (
        "other lead",
        {"lead": "This says quite another thing, and nobody knows why."},
        ("should say", lead),
    )
    yield "no lead", {"order": _without(look, "lead")}, ("There should be a paragraph", lead)
    yield "large lead", {"lead_size": 28}, (lead, "smaller")
    yield "blue lead", {"lead_color": "#3b82f6"}, (lead, "should be")
    yield (
        "no button",
        {"order": _without(look, "button")},
        ("There should be a button", f'"{look.button}"'),
    )
    yield (
        "button's colour",
        {"button_color": "#6366f1"},
        ("background of the button", f'"{look.button}"'),
    )
    yield (
        "button's words",
        {"button": "Click here"},
        ('"Click here" should say', f'"{look.button}"'),
    )
    yield "wide button", {"button_width": 400}, (f'"{look.button}"', "pixels")
    yield "no picture", {"order": _without(look, "picture")}, ("There should be a picture",)
    yield "small picture", {"picture": (160, 160)}, ("The picture", "pixels")
    yield "low picture", {"picture": (look.picture[0], 150)}, ("The picture", "pixels")
    yield (
        "picture last",
        {"order": (*_without(look, "picture"), "picture")},
        ("The picture", "should be"),
    )
    yield "no cards", {"order": _without(look, "cards")}, ("columns", f'"{look.cards[0]}"')
    yield "a card missing", {"cards": look.cards[:-1]}, (f'"{look.cards[-1]}"',)
    yield "a card too many", {"cards": (*look.cards, "Others")}, ("not ask", '"Others"')
    yield "cards' colour", {"card_color": "#a7f3d0"}, ("background", f'"{look.cards[0]}"')
    yield "no field", {"order": _without(look, "field")}, ("There should be an input field",)
    yield "wide field", {"field_width": 900}, ("input field", "pixels")
    yield "field's words", {"field": "Search all"}, ('"Search all" should say', f'"{look.field}"')
    yield "wide gaps", {"gap": 60}, ("further up",)
    yield (
        "footer's colour",
        {"footer_color": "#f59e0b"},
        ("background of the bottom part", look.footer[:9]),
    )
    yield (
        "footer's words",
        {"footer": "All wrong here"},
        ('"All wrong here" should say', look.footer[:9]),
    )


def _without(look: Look, part: str) -> tuple[str, ...]:
    return tuple(one for one in look.order if one != part)


def repairs(target: Look, wrong: Look) -> Iterator[Look]:
    """Yield the wrong page, and then the page after each of its wrong fields is corrected in turn."""
    yield wrong
    for field, value in asdict(target).items():
        if getattr(wrong, field) != value:
            wrong = replace(wrong, **{field: value})
            yield wrong


async def _renders(renderer: Renderer, looks: list[Look]) -> list[Render]:
    return await asyncio.gather(*(renderer.render(html(look)) for look in looks))


@pytest.mark.weekly
async def test_almost_all_of_160_single_changes_are_named_first(renderer: Renderer) -> None:
    """Require 94%; currently all 160 come first on these pages, from which the rules were derived."""
    cases = list(changes())
    targets = await _renders(renderer, [case.target for case in cases])
    made = await _renders(renderer, [case.made for case in cases])
    places = [
        [all(word in one.sentence for word in case.words) for one in differences(target, page)]
        for case, target, page in zip(cases, targets, made, strict=True)
    ]
    assert len(cases) == 160
    for first, share in ((1, 0.94), (3, 0.99)):
        missed = [
            case.name for case, found in zip(cases, places, strict=True) if not any(found[:first])
        ]
        assert len(missed) <= (1 - share) * len(cases), missed


@pytest.mark.slow
async def test_a_page_equal_to_the_target_has_no_differences(renderer: Renderer) -> None:
    for render in await _renders(renderer, list(LOOKS)):
        assert differences(render, render) == []
        assert compare(render, render) == CONTENT


@pytest.mark.weekly
async def test_severity_falls_as_a_page_is_repaired(renderer: Renderer) -> None:
    """Repair another template one field at a time until it is the target; a few steps reveal hidden differences."""
    rises = steps = 0
    for target, wrong in zip(LOOKS, (*LOOKS[1:], LOOKS[0]), strict=True):
        looks = [target, *repairs(target, wrong)]
        aim, *pages = await _renders(renderer, looks)
        worst = [
            max((one.severity for one in differences(aim, page)), default=0.0) for page in pages
        ]
        rises += sum(later > earlier + 1e-9 for earlier, later in pairwise(worst))
        steps += len(worst) - 1
        assert worst[-1] == 0.0
    assert steps >= 40
    assert rises <= 0.05 * steps


async def test_repaired_differences_are_not_named_again(renderer: Renderer) -> None:
    target = LOOKS[0]
    wrong = replace(target, title="Something else", nav="#8b5cf6", button_color="#10b981")
    looks = [target, *repairs(target, wrong)]
    aim, *pages = await _renders(renderer, looks)
    said = [{one.sentence for one in differences(aim, page)} for page in pages]
    assert len(said[0]) == 3
    for earlier, later in pairwise(said):
        assert later < earlier


@pytest.mark.slow
async def test_differences_that_the_human_named_count_as_fixed_after_their_repair(
    renderer: Renderer,
) -> None:
    """Repair one field per turn, and expect a difference to be fixed once its sentence is no longer true."""
    wrong = replace(LOOKS[0], title="Something else", nav="#8b5cf6", button_color="#10b981")
    aim, *pages = await _renders(renderer, [LOOKS[0], *repairs(LOOKS[0], wrong)])
    said = [compare(aim, page) for page in pages]
    true = [{one.sentence for one in differences(aim, page)} for page in pages]
    expected = [
        Followed(fixed=len(before - after), kept=len(before & after))
        for before, after in pairwise(true)
    ]
    assert all_followed(aim, pages, [*said[:-1], None]) == [*expected, None]
    assert sum(each.fixed for each in expected) == 3


@pytest.mark.weekly
async def test_the_same_page_keeps_all_differences_and_the_target_fixes_them(
    renderer: Renderer,
) -> None:
    for target, wrong in zip(LOOKS, (*LOOKS[1:], LOOKS[0]), strict=True):
        aim, page = await _renders(renderer, [target, wrong])
        said = compare(aim, page)
        number = sum(one.sentence in said for one in differences(aim, page))
        found = all_followed(aim, [page, None, page, aim], [said, said, said, None])
        assert found == [Followed(kept=number), None, Followed(fixed=number), None]


async def test_larger_errors_missing_elements_and_unrenderable_pages_count_as_worse(
    renderer: Renderer,
) -> None:
    looks = [
        LOOKS[0],
        replace(LOOKS[0], title_size=32),
        replace(LOOKS[0], title_size=20),
        replace(LOOKS[0], order=LOOKS[0].order[1:]),
    ]
    aim, small, smaller, without = await _renders(renderer, looks)
    said = compare(aim, small)
    assert "smaller" not in said
    assert said.count("heading") == 1
    for page in (smaller, without, await renderer.render("<html>" + " " * 9_000_000 + "</html>")):
        (found, _) = all_followed(aim, [small, page], [said, None])
        assert found is not None
        assert found.worse >= 1


async def test_replies_in_other_words_and_last_pages_have_no_outcomes(
    renderer: Renderer,
) -> None:
    aim, page = await _renders(renderer, list(LOOKS[:2]))
    said = "Make it look more like mine."
    assert all_followed(aim, [page, aim], [said, None]) == [None, None]
    assert all_followed(aim, [page, None], [compare(aim, page), None]) == [None, None]
