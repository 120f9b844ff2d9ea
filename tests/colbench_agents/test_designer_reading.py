"""The designer reads every form of sentence as the wish that it states."""

from __future__ import annotations

import pytest

from colbench_agents.designer.colors import NAMES, named, on
from colbench_agents.designer.reading import place, read
from colbench_agents.designer.wishes import (
    Height,
    Lengthened,
    Measured,
    Missing,
    Moved,
    Place,
    Recolored,
    Resized,
    Reworded,
    Surplus,
    Wish,
)

WISHES: dict[str, Wish] = {
    'There should be a heading that says "Welcome to Harbour" below "Home", very large text, '
    "white on blue.": Missing(
        kind="heading",
        texts=("Welcome to Harbour",),
        place=Place("below", "Home"),
        size="very large",
        color="#ffffff",
        background="#3b82f6",
    ),
    'There should be a paragraph that says "Bread. And rolls!" at the top left.': Missing(
        kind="text", texts=("Bread. And rolls!",), place=Place(spot="top left")
    ),
    "There should be a picture about 400 by 300 pixels at the right.": Missing(
        kind="picture", texts=(), place=Place(spot="right"), width=400, height=300
    ),
    'There should be a dark blue area about 1280 by 90 pixels above "Home".': Missing(
        kind="box",
        texts=(),
        place=Place("above", "Home"),
        background="#1e40af",
        width=1280,
        height=90,
    ),
    'There should be an input field "Your email" to the right of "Write to us".': Missing(
        kind="input", texts=("Your email",), place=Place("right", "Write to us")
    ),
    'There should be a row of links "Home", "About", "Blog" at the top, white on grey.': Missing(
        kind="link",
        texts=("Home", "About", "Blog"),
        place=Place(spot="top"),
        color="#ffffff",
        background="#6b7280",
    ),
    'There should be 3 columns beginning with "A", "B", "C" below "D".': Missing(
        kind="heading", texts=("A", "B", "C"), place=Place("below", "D")
    ),
    'I did not ask for the paragraph "We are…".': Surplus(kind="text", text="We are…"),
    "I did not ask for the picture at the bottom right.": Surplus(
        kind="picture", place=Place(spot="bottom right")
    ),
    'The heading "Mine" should say "Theirs".': Reworded(
        kind="heading", mine="Mine", theirs="Theirs"
    ),
    'The link "Home" should be dark red.': Recolored(
        part="text", color="#991b1b", kind="link", text="Home"
    ),
    'The background of the button "Go" should be green.': Recolored(
        part="background", color="#10b981", kind="button", text="Go"
    ),
    "The background of the page should be white.": Recolored(part="page", color="#ffffff"),
    'The background of the top part (behind "Home") should be light blue.': Recolored(
        part="band", color="#bfdbfe", text="Home", place=Place(spot="top")
    ),
    'The background of the area below "A" should be teal.': Recolored(
        part="background", color="#14b8a6", kind="box", place=Place("below", "A")
    ),
    "The background of the page should be a little darker.": Recolored(part="page", color="darker"),
    'The paragraph "A b…" should be shorter, by about 3 words.': Lengthened(
        kind="text", text="A b…", words=-3
    ),
    'The paragraph "A b…" should say "…of the rest".': Reworded(
        kind="text", mine="A b…", theirs="…of the rest"
    ),
    'The button "Go" should be about 90 by 40 pixels.': Measured(
        kind="button", width=90, height=40, text="Go"
    ),
    'There should be a row of texts "A", "B" at the bottom.': Missing(
        kind="text", texts=("A", "B"), place=Place(spot="bottom")
    ),
    'The picture below "A" should be to the right of "B".': Moved(
        kind="picture", now=Place("below", "A"), place=Place("right", "B")
    ),
    "The picture at the top should be centred.": Moved(
        kind="picture", now=Place(spot="top"), align="center"
    ),
    'There should be a link that says "A" at the top, white on the picture.': Missing(
        kind="link",
        texts=("A",),
        place=Place(spot="top"),
        color="#ffffff",
        on_picture=True,
    ),
    "There should be an input field on the left in the middle.": Missing(
        kind="input", texts=(), place=Place(spot="left middle")
    ),
    'I did not ask for the area to the right of "A".': Surplus(
        kind="box", place=Place("right", "A")
    ),
    'The heading "A" should be much larger.': Resized(kind="heading", text="A", steps=3),
    'The link "A" should be smaller.': Resized(kind="link", text="A", steps=-1),
    'The text of the heading "A" should be bold.': Resized(kind="heading", text="A", bold=True),
    'The text of the heading "A" should not be bold.': Resized(
        kind="heading", text="A", bold=False
    ),
    'The picture below "A" should be about 200 by 100 pixels.': Measured(
        kind="picture", width=200, height=100, place=Place("below", "A")
    ),
    "The picture at the top should be about 200 by 100 pixels.": Measured(
        kind="picture", width=200, height=100, place=Place(spot="top")
    ),
    'The heading "A" should be below "B".': Moved(
        kind="heading", text="A", place=Place("below", "B")
    ),
    'The heading "A" should be at the bottom left.': Moved(
        kind="heading", text="A", place=Place(spot="bottom left")
    ),
    'The button "A" should be centred.': Moved(kind="button", text="A", align="center"),
    'The button "A" should be right-aligned.': Moved(kind="button", text="A", align="right"),
    'The link "A" should be further to the left, by about 30 pixels.': Moved(
        kind="link", text="A", right=-30
    ),
    'The link "A" should be further down, by about 30 pixels.': Moved(
        kind="link", text="A", down=30
    ),
    "The page should be about 900 pixels tall; it is 720.": Height(900, 720),
    "The page should be about 900 pixels tall.": Height(900),
}


@pytest.mark.parametrize("sentence", WISHES)
def test_a_sentence_is_read_as_its_wish(sentence: str) -> None:
    assert read(sentence) == [WISHES[sentence]]


def test_several_sentences_are_read_in_order() -> None:
    assert read(" ".join(WISHES)) == list(WISHES.values())


def test_a_missing_thing_is_read_from_a_message_about_no_page() -> None:
    said = (
        'I cannot say much without a page to look at. There should be a link that says "Home" at '
        "the top."
    )
    assert read(said) == [Missing(kind="link", texts=("Home",), place=Place(spot="top"))]


@pytest.mark.parametrize(
    "said",
    ["", "It looks nice.", 'The "', '"', "The background of the page should be plaid.", "..."],
)
def test_a_sentence_of_no_known_form_is_ignored(said: str) -> None:
    assert read(said) == []


def test_places_are_read() -> None:
    assert place('in the middle of the page, below "X"') == Place("below", "X")
    assert place("at the centre right of the page") == Place(spot="middle right")
    assert place('that says "at the top"') == Place()


def test_color_names_are_read_and_have_a_readable_text_color() -> None:
    assert named("Dark Grey") == named("dark gray") == "#1f2937"
    assert named("beautiful") is None
    assert len(set(NAMES.values())) == len(NAMES)
    assert on("#ffffff") == on("#fde68a") == "#000000"
    assert on("#1e40af") == on("#ef4444") == "#ffffff"
