"""Every wish changes the page as stated, and no message of the human breaks the page."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colbench.pages.extract import extract_page
from colbench_agents.designer import design
from colbench_agents.designer.colors import mixed
from colbench_agents.designer.edits import _whole
from colbench_agents.designer.find import by_text
from colbench_agents.designer.markup import html
from colbench_agents.designer.measure import text_height, text_width
from colbench_agents.designer.page import Page, Thing

REQUEST = "Travel Agency: A modern design with a large image, a call-to-action button and a footer."


def changed(*said: str) -> Page:
    return design(REQUEST, said)


def thing(page: Page, text: str) -> Thing:
    found = by_text(page, text)
    assert found, texts(page)
    return found


def texts(page: Page) -> list[str]:
    return [thing.text for thing in page.things if thing.text]


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
def test_the_first_page_has_the_parts_that_the_request_names(
    request_: str, wanted: dict[str, str]
) -> None:
    page = design(request_, [])
    for text, kind in wanted.items():
        assert thing(page, text).kind == kind


def test_missing_things_are_added_below_above_left_and_right() -> None:
    page = changed(
        'There should be a heading that says "New" below "Welcome to Travel Agency", very large text. '
        'There should be a paragraph that says "Before" above "New". '
        'There should be a link that says "Blog" to the right of "Home". '
        'There should be a link that says "First" to the left of "Home".'
    )
    welcome, before, new = (thing(page, t) for t in ("Welcome to Travel Agency", "Before", "New"))
    assert welcome.bottom <= before.y < before.bottom <= new.y
    assert new.bottom <= thing(page, "Learn More").y
    assert new.size == 36
    row = [thing(page, text) for text in ("First", "Home", "Blog", "About")]
    assert len({one.y for one in row}) == 1
    assert all(one.span[1] < other.x for one, other in pairwise(row))


def test_a_thing_on_another_color_is_placed_below_the_area() -> None:
    page = changed(
        'There should be a heading that says "Deals" below "Home", black on very light grey.'
    )
    bar = page.behind(thing(page, "Home"))
    assert bar
    assert thing(page, "Deals").y >= bar.bottom
    assert page.ground(thing(page, "Deals")) == "#f3f4f6"


def test_columns_and_rows_are_laid_out_side_by_side() -> None:
    page = changed(
        'There should be 3 columns beginning with "A", "B", "C" below "Welcome to Travel Agency". '
        'There should be a paragraph that says "About a" below "A". '
        'There should be a row of links "X", "Y" at the bottom.'
    )
    columns = [thing(page, text) for text in "ABC"]
    assert len({one.y for one in columns}) == 1
    assert all(one.x + one.width <= other.x for one, other in pairwise(columns))
    assert thing(page, "About a").y >= columns[0].bottom
    assert (thing(page, "About a").x, thing(page, "About a").width) == (
        columns[0].x,
        columns[0].width,
    )
    assert thing(page, "X").y == thing(page, "Y").y > page.height / 2


def test_a_heading_added_to_the_right_of_a_heading_shares_its_row() -> None:
    page = changed(
        'There should be a heading that says "Right" to the right of "Welcome to Travel Agency".'
    )
    left, right = thing(page, "Welcome to Travel Agency"), thing(page, "Right")
    assert left.y == right.y
    assert left.x + left.width <= right.x < right.x + right.width <= 1280


def test_a_surplus_thing_is_removed_and_the_things_below_move_up() -> None:
    before = changed()
    page = changed("I did not ask for the picture at the top.")
    assert not [one for one in page.things if one.kind == "picture"]
    up = thing(before, "Learn More").y - thing(page, "Learn More").y
    assert up == pytest.approx(384, abs=50)
    page = changed(
        'I did not ask for the link "Home". '
        'I did not ask for the paragraph "© 2022 Travel Agency. All rights…".'
    )
    assert "Home" not in texts(page)
    assert thing(page, "About").y == thing(before, "About").y
    assert not any("©" in text for text in texts(page))


def test_texts_colors_sizes_and_weights_change() -> None:
    page = changed(
        'The heading "Welcome to Travel Agency" should say "Far away". '
        'The heading "Far away" should be dark red. The heading "Far away" should be smaller. '
        'The text of the heading "Far away" should not be bold. '
        'The background of the button "Learn More" should be green. '
        "The background of the page should be light yellow. "
        'The background of the bottom part (behind "© 2022 Travel Agency. All rights reserved.") '
        "should be black."
    )
    heading = thing(page, "Far away")
    assert (heading.color, heading.size, heading.bold) == ("#991b1b", 30, False)
    assert thing(page, "Learn More").background == "#10b981"
    assert page.background == "#fde68a"
    rights = thing(page, "© 2022 Travel Agency. All rights reserved.")
    assert page.ground(rights) == "#000000"
    assert re.search(r"color: #ffffff[^>]*>© 2022", html(page))


def test_a_colored_band_without_an_area_gets_one_area() -> None:
    said = 'The background of the middle part (behind "{}") should be blue.'
    page = changed(said.format("Welcome to Travel Agency"), said.format("Learn More"))
    first, last = thing(page, "Welcome to Travel Agency"), thing(page, "Learn More")
    assert page.ground(first) == page.ground(last) == "#3b82f6"
    assert page.behind(first) is page.behind(last)


def test_a_color_wish_for_one_link_applies_to_its_row() -> None:
    page = changed('The link "About" should be green.')
    assert {thing(page, text).color for text in ("Home", "About", "Services")} == {"#10b981"}


def test_a_truncated_text_is_continued() -> None:
    page = changed(
        'The heading "Welcome to Travel Agency" should say "Welcome to the place where…".'
    )
    (text,) = (text for text in texts(page) if text.startswith("Welcome to the place where"))
    assert "…" not in text
    assert len(text) > 60


def test_things_are_moved_and_resized() -> None:
    before = changed()
    page = changed(
        'The heading "Welcome to Travel Agency" should be further down, by about 30 pixels. '
        'The heading "Welcome to Travel Agency" should be further to the left, by about 20 pixels. '
        'The button "Learn More" should be left-aligned. '
        'The link "Services" should be at the bottom.'
    )
    assert thing(page, "Learn More").x == 16
    old, new = (thing(one, "Welcome to Travel Agency") for one in (before, page))
    assert (new.x - old.x, new.y - old.y) == (-20, 30)
    assert thing(page, "Learn More").y - thing(before, "Learn More").y == 30
    assert thing(page, "Services").y > page.height - 100
    page = changed("The picture at the top should be about 300 by 200 pixels.")
    (picture,) = (one for one in page.things if one.kind == "picture")
    assert (picture.width, picture.height) == (300, 200)
    assert thing(page, "Learn More").y - thing(before, "Learn More").y == 200 - 384


def test_a_row_and_a_title_are_centered() -> None:
    page = changed(
        'The link "Home" should be centred. The heading "Travel Agency" should be centred.'
    )
    row = [thing(page, text) for text in ("Home", "About", "Services", "Contact")]
    assert (row[0].x + row[-1].x + row[-1].width) / 2 == pytest.approx(640, abs=1)
    assert thing(page, "Travel Agency").align == "center"


def test_an_area_is_placed_behind_existing_things() -> None:
    page = changed('There should be a blue area about 1280 by 300 pixels below "Home".')
    (area,) = (one for one in page.areas if one.background == "#3b82f6")
    assert (area.x, area.width, area.height) == (0, 1280, 300)
    assert area.y == pytest.approx(60, abs=10)
    assert page.things.index(area) < page.things.index(thing(page, "Home"))


def test_a_taller_page_moves_its_footer_down() -> None:
    page = changed("The page should be about 1500 pixels tall; it is 720.")
    assert page.height == pytest.approx(1500, abs=60)
    assert thing(page, "© 2022 Travel Agency. All rights reserved.").y > 1300


def test_a_text_on_a_picture_moves_the_picture_behind_the_content() -> None:
    page = changed(
        'There should be a paragraph that says "Go far" below "Welcome to Travel Agency", white on the picture.'
    )
    (picture,) = (one for one in page.things if one.kind == "picture")
    assert page.things.index(picture) < page.things.index(thing(page, "Go far"))
    assert picture.y <= thing(page, "Welcome to Travel Agency").y < picture.bottom
    assert picture.y <= thing(page, "Go far").y < picture.bottom


def test_links_and_title_on_two_colors_are_separated() -> None:
    page = changed(
        'The background of the top part (behind "Travel Agency") should be green. '
        'The background of the top part (behind "Home") should be white.'
    )
    title, home = thing(page, "Travel Agency"), thing(page, "Home")
    assert page.ground(title) == "#10b981"
    assert page.ground(home) == "#ffffff"
    assert home.y >= title.bottom


def test_a_little_darker_is_the_next_shade_of_the_palette() -> None:
    page = changed(
        "The background of the page should be a little darker. "
        'The background of the top part (behind "Home") should be dark blue. '
        'The background of the top part (behind "Home") should be a little darker.'
    )
    assert page.background == "#e5e7eb"
    assert page.ground(thing(page, "Home")) == "#1e3a8a"
    assert mixed("lighter", "#101010") == "#282828"


def test_a_thing_with_a_background_color_goes_to_the_area_of_that_color() -> None:
    page = changed(
        'The background of the bottom part (behind "© 2022 Travel Agency. All rights reserved.") '
        "should be dark green. "
        'There should be a link that says "Press" below "Contact", white on dark green.'
    )
    rights, press = thing(page, "© 2022 Travel Agency. All rights reserved."), thing(page, "Press")
    assert page.behind(press) is page.behind(rights)
    assert press.y >= rights.bottom


def test_a_row_of_links_replaces_the_template_links() -> None:
    page = changed('There should be a row of links "Trips", "Guides" to the right of "Home".')
    row = sorted((one for one in page.things if one.kind == "link"), key=lambda one: one.x)
    assert [one.text for one in row] == ["Home", "Trips", "Guides"]


def test_a_repeated_wish_moves_the_thing_that_it_added() -> None:
    said = 'There should be a paragraph that says "Once" {}.'
    page = changed(said.format('below "Welcome to Travel Agency"'), said.format("at the bottom"))
    assert texts(page).count("Once") == 1
    assert thing(page, "Once").y > thing(page, "Learn More").y


def test_a_text_is_assembled_from_several_messages() -> None:
    beginning = "The quick brown fox jumps over the lazy dog and then it"
    page = changed(
        f'The heading "Welcome to Travel Agency" should say "{beginning}…". ',
        f'The heading "{beginning}…" should be shorter, by about 3 words.',
        f'The heading "{beginning}…" should say "…then it sleeps.".',
    )
    assert f"{beginning} sleeps." in texts(page)


def test_a_truncated_text_is_quoted_up_to_the_known_part() -> None:
    for letters in range(30, 60):
        said = ("word " * 12)[:letters].strip()
        text = _whole(said + "…")
        quoted = text[:60].rsplit(" ", 1)[0]
        assert len(text) > 60
        assert quoted == said or len(said) < 44


def test_text_sizes_match_the_font() -> None:
    assert text_width("Welcome", 1000) == 960 + 556 + 222 + 500 + 556 + 833 + 556
    assert text_height("word " * 100, 16, 400) >= 10 * text_height("word", 16, 400) == 240
    assert text_width("A", 16, bold=True) > text_width("A", 16)


def test_a_page_escapes_html_in_its_texts() -> None:
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


@settings(max_examples=300)
@given(st.lists(SENTENCES, max_size=12))
def test_no_message_breaks_the_page(said: list[str]) -> None:
    page = changed(" ".join(said))
    document = html(page)
    assert extract_page(document) == document
    assert len(set(map(id, page.things))) == len(page.things)
    assert len(re.findall(r"position: absolute", document)) == len(page.things)
    assert all(one.y >= 0 and one.width >= 0 and one.height >= 0 for one in page.things)
    assert page.height >= max((one.bottom for one in page.contents), default=0) - 1
