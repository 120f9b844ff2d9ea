"""The designer: a page each turn, every wish applied, and nothing that the human says breaks it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colbench.dialogue import read_move
from colbench.interfaces import Agent, Episode, StatefulAgent
from colbench.messages import Message
from colbench.pages.extract import extract_page
from colbench_agents.blank import Blank
from colbench_agents.designer import Designer, design
from colbench_agents.designer.find import by_text
from colbench_agents.designer.insert import ground
from colbench_agents.designer.markup import html
from colbench_agents.designer.page import Box, Leaf, Page, leaves, path
from colbench_agents.guesser import Guesser

REQUEST = "Travel Agency: A modern design with a large image, a call-to-action button and a footer."
CONTENT = "That is what I have in mind."


async def play(
    agent: StatefulAgent, said: Sequence[str], *, max_turns: int = 10, request: str = REQUEST
) -> list[str]:
    """The agent's replies to a request and to what is said after each, at most `max_turns`."""
    episode = Episode(id="1", seed=1, max_turns=max_turns, domain="frontend")
    dialogue = [Message(role="user", content=request)]
    replies: list[str] = []
    async with agent.open(episode) as own:
        for words in [*said, ""][:max_turns]:
            replies.append(await answer(own, dialogue))
            dialogue += [
                Message(role="assistant", content=replies[-1]),
                Message(role="user", content=words),
            ]
    return replies


async def answer(agent: Agent, dialogue: Sequence[Message]) -> str:
    reply = await agent.reply(tuple(dialogue))
    return reply if isinstance(reply, str) else reply.content


def changed(*said: str) -> Page:
    return design(REQUEST, said)


def leaf(page: Page, text: str) -> Leaf:
    found = by_text(page, text)
    assert found, [leaf.text for leaf in leaves(page)]
    return found


def texts(page: Page) -> list[str]:
    return [leaf.text for leaf in leaves(page) if leaf.text]


def holder(page: Page, text: str) -> Box:
    around = path(page, leaf(page, text))
    assert around
    return around[-1]


async def test_each_turn_shows_a_page_and_the_last_commits_it() -> None:
    replies = await play(Designer(), ["Hm."] * 9)
    moves = [read_move(reply) for reply in replies]
    assert len(moves) == 10
    assert all(move.answer is None and extract_page(move.said) for move in moves[:-1])
    assert extract_page(moves[-1].answer or "") == extract_page(moves[0].said)


async def test_a_content_human_gets_the_page_that_they_saw() -> None:
    shown, committed = await play(Designer(), [CONTENT])
    assert extract_page(read_move(committed).answer or "") == extract_page(shown)


async def test_a_dialogue_can_be_resumed_at_any_turn() -> None:
    said = [
        'The heading "Travel Agency" should be blue.',
        "The page should be about 900 pixels tall.",
    ]
    dialogue = [Message(role="user", content=REQUEST)]
    whole = await play(Designer(), said)
    for reply, words in zip(whole, said, strict=False):
        dialogue += [Message(role="assistant", content=reply), Message(role="user", content=words)]
    episode = Episode(id="2", seed=2, max_turns=10, domain="frontend")
    async with Designer().open(episode) as fresh:
        assert await answer(fresh, dialogue) == whole[2]


async def test_the_guesser_commits_the_first_page_and_for_functions_still_guesses() -> None:
    (guess,) = await play(Guesser(), [])
    first, *_ = await play(Designer(), ["Hm."])
    assert extract_page(read_move(guess).answer or "") == extract_page(first)
    episode = Episode(id="1", seed=1, max_turns=10)
    async with Guesser().open(episode) as backend:
        code = await answer(backend, [Message(role="user", content="Add. def add(a, b)")])
    assert "def add(" in (read_move(code).answer or "")


async def test_the_blank_agent_answers_without_a_page() -> None:
    move = read_move(await answer(Blank(), [Message(role="user", content=REQUEST)]))
    assert move.answer == ""
    assert extract_page(move.answer) is None


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        ("Art Gallery Website: A grid of paintings.", {"Welcome to Art Gallery": "heading"}),
        ("A contact form for Blue Door, a hotel.", {"Send": "button", "Email": "input"}),
        ("A page to sign in to the site of a bank.", {"Password": "input"}),
        ("Pricing for our school.", {"Premium": "heading"}),
        ("A page with a search bar.", {"Search...": "input"}),
        ("", {"Welcome to Our Company": "heading"}),
    ],
)
def test_the_first_page_has_what_the_request_names(request_: str, wanted: dict[str, str]) -> None:
    page = design(request_, [])
    for text, kind in wanted.items():
        assert leaf(page, text).kind == kind


def test_what_is_missing_goes_below_above_and_beside() -> None:
    page = changed(
        'There should be a heading that says "New" below "Welcome to Travel Agency", very large text. '
        'There should be a paragraph that says "Before" above "New". '
        'There should be a link that says "Blog" to the right of "Home". '
        'There should be a link that says "First" to the left of "Home".'
    )
    order = texts(page)
    start = order.index("Welcome to Travel Agency")
    assert order[start : start + 3] == ["Welcome to Travel Agency", "Before", "New"]
    assert leaf(page, "New").size == "4xl"
    start = order.index("First")
    assert order[start : start + 3] == ["First", "Home", "Blog"]
    assert holder(page, "Blog") is holder(page, "Home")


def test_what_stands_on_another_colour_gets_a_band_of_its_own() -> None:
    page = changed(
        'There should be a heading that says "Deals" below "Home", white on dark blue. '
        'There should be a paragraph that says "Cheap" below "Deals", white on dark blue.'
    )
    assert page.bands[1].background == "#1e40af"
    assert holder(page, "Deals") is holder(page, "Cheap") is page.bands[1]
    assert leaf(page, "Deals").color == "#ffffff"


def test_columns_and_rows_are_made_of_what_is_named() -> None:
    page = changed(
        'There should be 3 columns beginning with "A", "B", "C" below "Home". '
        'There should be a paragraph that says "About a" below "A". '
        'There should be a row of links "X", "Y" at the bottom.'
    )
    around = path(page, leaf(page, "A"))
    assert around
    assert around[-2].direction == "columns"
    assert len(around[-2].children) == 3
    assert holder(page, "About a") is holder(page, "A")
    assert holder(page, "X") is holder(page, "Y")
    assert path(page, holder(page, "X"))[:1] == [page.bands[-1]]


def test_a_heading_beside_a_heading_makes_columns_and_takes_its_text_along() -> None:
    page = design(
        "Plain: words.",
        ['There should be a heading that says "Right" to the right of "Welcome to Plain".'],
    )
    left, right = path(page, holder(page, "Right"))[-1].children
    assert isinstance(left, Box)
    assert isinstance(right, Box)
    assert len(left.children) == 2
    assert right is holder(page, "Right")


def test_what_was_not_asked_for_goes() -> None:
    page = changed(
        'I did not ask for the link "Home". I did not ask for the picture at the top. '
        'I did not ask for the paragraph "© 2022 Travel Agency. All rights…".'
    )
    assert "Home" not in texts(page)
    assert not [leaf for leaf in leaves(page) if leaf.kind == "picture"]
    assert not any("©" in text for text in texts(page))


def test_what_a_template_heading_brings_goes_with_it() -> None:
    before = design("School: two columns.", [])
    after = design("School: two columns.", ['I did not ask for the heading "About Us".'])
    assert len(list(leaves(before))) - len(list(leaves(after))) == 2


def test_texts_colours_sizes_and_weights_change() -> None:
    page = changed(
        'The heading "Welcome to Travel Agency" should say "Far away". '
        'The heading "Far away" should be dark red. The heading "Far away" should be smaller. '
        'The text of the heading "Far away" should not be bold. '
        'The background of the button "Learn More" should be green. '
        "The background of the page should be light yellow. "
        'The background of the bottom part (behind "© 2022 Travel Agency. All rights reserved.") '
        "should be black."
    )
    heading = leaf(page, "Far away")
    assert (heading.color, heading.size, heading.bold) == ("#991b1b", "3xl", False)
    assert leaf(page, "Learn More").background == "#10b981"
    assert page.background == "#fde68a"
    assert page.bands[-1].background == "#000000"
    assert page.bands[-1].color == "#ffffff"


def test_a_colour_said_of_one_link_holds_for_its_row() -> None:
    page = changed('The link "About" should be green.')
    assert {leaf(page, text).color for text in ("Home", "About", "Services")} == {"#10b981"}


def test_a_cut_text_goes_on() -> None:
    page = changed(
        'The heading "Welcome to Travel Agency" should say "Welcome to the place where…".'
    )
    (text,) = (text for text in texts(page) if text.startswith("Welcome to the place where"))
    assert "…" not in text
    assert len(text) > 60


def test_things_move_and_are_measured() -> None:
    page = changed(
        'The button "Learn More" should be left-aligned. '
        'The heading "Welcome to Travel Agency" should be further down, by about 30 pixels. '
        'The heading "Welcome to Travel Agency" should be further to the left, by about 20 pixels. '
        "The picture at the top should be about 300 by 200 pixels. "
        'The link "Services" should be at the bottom.'
    )
    assert leaf(page, "Learn More").align == "left"
    heading = leaf(page, "Welcome to Travel Agency")
    assert (heading.above, heading.right) == (30, -20)
    (picture,) = (leaf for leaf in leaves(page) if leaf.kind == "picture")
    assert (picture.width, picture.height) == (300, 200)
    assert path(page, leaf(page, "Services"))[0] is page.bands[-1]


def test_areas_colour_the_band_that_is_there_or_make_one() -> None:
    page = changed('There should be a blue area about 1280 by 300 pixels below "Home".')
    assert ground(page, leaf(page, "Home")) == "#ffffff"
    assert page.bands[1].background == "#3b82f6"
    assert page.bands[1].height == 300


def test_the_page_grows_and_shrinks() -> None:
    padding = sum(2 * band.padding[0] for band in changed().bands)
    taller = changed("The page should be about 1500 pixels tall; it is 1000.")
    flatter = changed("The page should be about 900 pixels tall; it is 950.")
    assert taller.bands[-1].above == 500
    assert sum(2 * band.padding[0] for band in flatter.bands) == pytest.approx(padding - 50, abs=8)


def test_a_page_is_safe_html_whatever_it_says() -> None:
    page = changed('The link "Home" should say "<script>alert(1)</script> & more".')
    assert "<script" not in html(page)
    assert "&lt;script&gt;" in html(page)


QUOTES = st.sampled_from(
    [
        "Home",
        "About",
        "Travel Agency",
        "Welcome to Travel Agency",
        "Learn More",
        "New",
        "A",
        "B",
        "?",
    ]
)
KINDS = st.sampled_from(["heading", "paragraph", "link", "button", "picture", "input field"])
PLACES = st.one_of(
    st.sampled_from(["at the top left", "at the bottom", "at the right", "in the middle", ""]),
    st.builds(
        '{} "{}"'.format,
        st.sampled_from(["below", "above", "to the right of", "to the left of"]),
        QUOTES,
    ),
)
SENTENCES = st.one_of(
    st.builds(
        'There should be a {} that says "{}" {}, white on blue.'.format, KINDS, QUOTES, PLACES
    ),
    st.builds(
        'There should be 2 columns beginning with "{}", "{}" {}.'.format, QUOTES, QUOTES, PLACES
    ),
    st.builds('There should be a row of links "{}", "{}" {}.'.format, QUOTES, QUOTES, PLACES),
    st.builds("There should be a picture about 1280 by 200 pixels {}.".format, PLACES),
    st.builds(
        "There should be a red area about {} by 200 pixels {}.".format,
        st.sampled_from([300, 1280]),
        PLACES,
    ),
    st.builds('I did not ask for the {} "{}".'.format, KINDS, QUOTES),
    st.builds("I did not ask for the picture {}.".format, PLACES),
    st.builds('The {} "{}" should be {}.'.format, KINDS, QUOTES, PLACES),
    st.builds('The {} "{}" should say "{}".'.format, KINDS, QUOTES, QUOTES),
    st.builds(
        "The background of the {} part should be teal.".format,
        st.sampled_from(["top", "middle", "bottom"]),
    ),
    st.builds('The background of the {} "{}" should be teal.'.format, KINDS, QUOTES),
    st.builds("The picture {} should be about 90 by 60 pixels.".format, PLACES),
    st.builds(
        'The heading "{}" should be further {}, by about 40 pixels.'.format,
        QUOTES,
        st.sampled_from(["up", "down"]),
    ),
    st.builds("The page should be about {} pixels tall.".format, st.integers(1, 5000)),
    st.text(max_size=40),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(SENTENCES, max_size=12))
def test_nothing_that_is_said_breaks_the_page(said: list[str]) -> None:
    page = changed(" ".join(said))
    document = html(page)
    assert extract_page(document) == document
    assert len({id(leaf) for leaf in leaves(page)}) == len(list(leaves(page)))
    count = len([leaf for leaf in leaves(page) if leaf.kind in ("heading", "text")])
    assert len(re.findall(r"<(?:h2|p) ", document)) == count
    assert all(path(page, leaf) for leaf in leaves(page))
