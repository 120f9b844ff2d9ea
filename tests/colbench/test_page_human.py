"""The rule-based human for pages: what it says in each case."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from colbench.domain import Resources
from colbench.domains.frontend.human.colors import NAMES, distance, name, oklab
from colbench.domains.frontend.human.human import (
    CONTENT,
    MOST_CHARS,
    MOST_DIFFERENCES,
    PageHuman,
    compare,
)
from colbench.domains.frontend.human.match import match, similarity
from colbench.domains.frontend.human.page import take_in
from colbench.domains.frontend.human.questions import answer
from colbench.errors import SimulatorError
from colbench.messages import Message
from colbench.pages.render import Block, Render, RenderOutcome
from colbench.sandbox.browser import Renderer
from colbench.sandbox.browser.sight.colors import read_color
from colbench.simulators.keyless import KeylessHuman
from colbench.task import Hidden, Task

TARGET = """<!doctype html><html><body style="margin:0;background:#fee2e2;font-family:sans-serif">
<nav style="background:#1e40af;color:#fff;padding:16px;display:flex;justify-content:space-between"><b>Lakeside</b>
<div><a>Home</a> <a>Boats</a> <a>Contact</a></div></nav>
<h1 style="font-size:40px;text-align:center">Welcome to the lake</h1>
<p style="margin:20px">We rent boats and bicycles, and we show you the quiet places around the water.</p>
<img src="https://picsum.photos/600/300" style="margin-left:20px"><br>
<button style="margin:20px;background:#ef4444;color:#fff;border:0;padding:10px 20px">Book now</button>
<input placeholder="Your address" style="width:300px">
<div style="display:flex"><div style="flex:1"><h2>Boats</h2></div><div style="flex:1"><h2>Cabins</h2></div></div>
<footer style="background:#1f2937;color:#fff;padding:20px;text-align:center">All rights reserved</footer>
</body></html>"""
TASK = Task(
    id="lake", domain="frontend", request="A page for a lake", hidden=Hidden(reference=TARGET)
)
BLANK = "<html><body></body></html>"


def _heard(said: str, *before: Message) -> list[Message]:
    return [
        Message(role="user", content=TASK.request),
        *before,
        Message(role="assistant", content=said),
    ]


class Fails:
    """A renderer that gives every page except the target the same outcome."""

    environment = "none"

    def __init__(self, outcome: RenderOutcome, target: RenderOutcome = "rendered") -> None:
        self._outcome = outcome
        self._target = target

    async def render(self, page: str | None, mode: str = "default") -> Render:
        outcome = self._target if page == TARGET else self._outcome
        return Render(key="", outcome=outcome, mode="default", width=1280, height=720)


@pytest.fixture
def human(renderer: Renderer) -> KeylessHuman:
    resources = Resources()
    resources.renderer = renderer
    human = KeylessHuman()
    human.use_resources({"frontend": resources})
    return human


async def test_the_human_accepts_the_target_page_and_shows_its_picture(
    human: KeylessHuman, renderer: Renderer
) -> None:
    reply = await human.respond(TASK, _heard(f"Here it is:\n```html\n{TARGET}\n```"))
    assert reply.content == CONTENT
    assert reply.images == ((await renderer.render(TARGET)).picture,)


async def test_the_reply_to_a_blank_page_names_the_most_prominent_elements(
    human: KeylessHuman,
) -> None:
    reply = await human.respond(TASK, _heard(BLANK))
    said = reply.content
    assert 'There should be a heading that says "Welcome to the lake"' in said
    assert "There should be a picture about 600 by 300 pixels" in said
    assert "There should be a row of links" in said
    assert len(said) <= MOST_CHARS
    assert said.count("should be") <= MOST_DIFFERENCES


async def test_later_replies_name_differences_that_earlier_ones_left_out(
    human: KeylessHuman,
) -> None:
    dialogue = _heard(BLANK)
    said: set[str] = set()
    for _ in range(4):
        reply = await human.respond(TASK, dialogue)
        said |= set(reply.content.split(". "))
        dialogue += [
            Message(role="user", content=reply.content),
            Message(role="assistant", content=BLANK),
        ]
    for words in (
        "Lakeside",
        '"Home"',
        "Welcome",
        "We rent",
        "Book now",
        "Your address",
        "Cabins",
        "All rights",
    ):
        assert any(words in one for one in said), words


async def test_the_same_dialogue_gets_the_same_reply(human: KeylessHuman) -> None:
    one, other = await asyncio.gather(*(human.respond(TASK, _heard(BLANK)) for _ in range(2)))
    assert one == other


async def test_messages_without_a_page_get_new_requirements_each_time(human: KeylessHuman) -> None:
    first = await human.respond(TASK, _heard("Hello!"))
    assert first.content.startswith("I cannot say much without a page to look at. There should be")
    assert first.content.count("There should be") == 3
    before = (
        Message(role="assistant", content="Hello!"),
        Message(role="user", content=first.content),
    )
    second = await human.respond(TASK, _heard("Hello again!", *before))
    assert not set(first.content.split(". ")[1:]) & set(second.content.split(". ")[1:])


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which colours do you want?", "The background of the page should be very light red."),
        ("What does the main heading say?", '"Welcome to the lake"'),
        (
            "Is there a navigation bar?",
            'row of links "Home", "Boats", "Contact" at the top right, white on dark blue',
        ),
        ("Any images?", "a picture about 600 by 300 pixels"),
        ("How many columns?", '2 columns beginning with "Boats", "Cabins"'),
        ("What is in the footer?", '"All rights reserved"'),
        ("Do you need a button?", 'a button that says "Book now"'),
        ("Should there be a form?", 'an input field "Your address"'),
        ("What is the text?", '"We rent boats and bicycles'),
        ("How tall is it?", "pixels tall"),
    ],
)
async def test_questions_are_answered_from_the_target(
    human: KeylessHuman, question: str, answer: str
) -> None:
    reply = await human.respond(TASK, _heard(question))
    assert answer in reply.content
    assert reply.content.count("should be") <= MOST_DIFFERENCES


async def test_blocks_side_by_side_are_not_called_one_column(human: KeylessHuman) -> None:
    column = '<div style="width:300px"><img src="https://picsum.photos/300/200"><p>A card</p></div>'
    page = f'<html><body><h1>Shop</h1><div style="display:flex">{column * 3}</div></body></html>'
    shop = Task(id="s", domain="frontend", request="s", hidden=Hidden(reference=page))
    reply = await human.respond(shop, _heard("How many columns?"))
    assert "one column" not in reply.content


async def test_questions_about_elements_the_target_lacks_are_answered_with_no(
    human: KeylessHuman,
) -> None:
    plain = Task(
        id="p",
        domain="frontend",
        request="p",
        hidden=Hidden(reference="<html><body><p>Text</p></body></html>"),
    )
    dialogue = [
        Message(role="user", content="p"),
        Message(role="assistant", content="Do you want a picture? How many columns?"),
    ]
    reply = await human.respond(plain, dialogue)
    assert reply.content == "Everything should be in one column. There should be no picture."


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("timeout", "it took too long"),
        ("too big", "it is too big"),
        ("crash", "breaks down"),
        ("varies", "looks different each time"),
    ],
)
async def test_a_page_that_cannot_be_rendered_gets_the_reason_and_no_picture(
    outcome: RenderOutcome, words: str
) -> None:
    human = PageHuman()
    human.use_renderer(Fails(outcome))
    reply = await human.respond(TASK, _heard(BLANK))
    assert reply.content.startswith("Your page does not show: ")
    assert words in reply.content
    assert reply.images == ()


async def test_a_target_that_cannot_be_rendered_raises_a_simulator_error() -> None:
    human = PageHuman()
    human.use_renderer(Fails("rendered", target="timeout"))
    with pytest.raises(SimulatorError, match="the target page of lake cannot be rendered"):
        await human.respond(TASK, _heard(BLANK))


def _render(*blocks: Block, background: str = "#ffffff") -> Render:
    return Render(
        key="",
        outcome="rendered",
        mode="default",
        width=1280,
        height=720,
        background=background,
        blocks=blocks,
    )


TITLE = Block(
    kind="heading", x=16, y=40, width=400, height=40, text="A title", font_size=32, bold=True
)
LEAD = Block(kind="text", x=16, y=120, width=600, height=20, text="Some words about it")
LAKE = Block(kind="picture", x=16, y=200, width=600, height=300)


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (replace(TITLE, text="No title"), 'The heading "No title" should say "A title".'),
        (replace(TITLE, color="#ef4444"), 'The heading "A title" should be black.'),
        (replace(TITLE, font_size=16.0, bold=True), 'The heading "A title" should be much larger.'),
        (replace(TITLE, font_size=36.0), 'The heading "A title" should be smaller.'),
        (replace(TITLE, bold=False), 'The text of the heading "A title" should be bold.'),
        (replace(TITLE, x=440), 'The heading "A title" should be left-aligned.'),
        (replace(TITLE, x=116), 'The heading "A title" should be left-aligned.'),
        (
            replace(TITLE, background="#1e40af"),
            'The background of the top part (behind "A title") should be white.',
        ),
    ],
)
def test_each_kind_of_difference_has_its_own_sentence(made: Block, sentence: str) -> None:
    assert compare(_render(TITLE, LEAD, LAKE), _render(made, LEAD, LAKE)).split(". ")[0].rstrip(
        "."
    ) == sentence.rstrip(".")


def test_quotes_of_long_texts_end_at_a_whole_word() -> None:
    long = replace(
        LEAD, text='He said "yes" and then went on for very much longer than anyone would quote'
    )
    said = compare(_render(TITLE, long), _render(TITLE))
    assert "\"He said 'yes' and then went on for very much longer than…\"" in said


def test_two_shades_with_one_color_name_differ_in_lightness() -> None:
    light, dark = (_render(TITLE, background=color) for color in ("#3b82f6", "#2563eb"))
    assert compare(light, dark) == "The background of the page should be a little lighter."
    assert compare(dark, light) == "The background of the page should be a little darker."


def test_long_texts_with_the_same_start_are_compared_by_their_ends() -> None:
    text = "This is a paragraph that begins as the other one does and ends as the other does not"
    longer = f"{text} with four words more"
    short, long = (
        _render(TITLE, replace(LEAD, text=text)),
        _render(TITLE, replace(LEAD, text=longer)),
    )
    paragraph = f'The paragraph "{text[:57]}…"'
    assert compare(long, short) == f'{paragraph} should say "…does not with four words more".'
    assert compare(short, long) == f"{paragraph} should be shorter, by about 4 words."


def test_the_page_height_is_named_if_everything_else_matches() -> None:
    tall = replace(_render(TITLE), height=1500)
    assert compare(tall, _render(TITLE)) == "The page should be about 1500 pixels tall; it is 720."


def test_every_listed_color_gets_its_own_name() -> None:
    assert {known: name(color) for known, color in NAMES.items()} == {
        known: known for known in NAMES
    }
    assert name("#2563eb") == "blue"
    assert name("#fefefe") == "white"
    assert name("#808080") == "grey"
    assert name("#dc2626") == "red"
    assert name("#047857") == "dark green"


def test_oklab_values_convert_back_to_the_same_color() -> None:
    """Convert back with the renderer's matrices of CSS Color 4, and expect the original color."""
    for color in ("#ff0000", "#3b82f6", "#1f2937", "#fef3c7"):
        lightness, a, b = oklab(color)
        assert read_color(f"oklab({lightness} {a} {b})").hex == color
    assert oklab("#ffffff") == pytest.approx((1, 0, 0), abs=1e-3)
    assert distance("#000000", "#ffffff") == pytest.approx(100, abs=0.01)


def test_text_similarity_is_the_dice_coefficient_of_letter_pairs() -> None:
    assert similarity("Home", "Home") == 1.0
    assert similarity("Home", "Kontakt") == 0.0
    assert similarity("night", "nacht") == pytest.approx(2 * 3 / 12)
    assert similarity("", "x") < 0.5


async def test_a_question_about_text_is_answered_for_a_page_without_text(
    renderer: Renderer,
) -> None:
    target = await renderer.render("<h1>Welcome</h1>")
    assert answer("What does the text say?", target, []) == "There should be no text."


def rendered(*blocks):
    return Render(
        key="", outcome="rendered", mode="default", width=1280, height=2000, blocks=blocks
    )


def test_a_picture_with_text_on_it_is_paired_only_once():
    first = Block(kind="heading", x=100, y=20, width=400, height=40, text="Alpha beta")
    last = Block(kind="heading", x=100, y=700, width=400, height=40, text="Gamma delta")
    picture = Block(kind="picture", x=0, y=300, width=1280, height=200)
    words = Block(kind="text", x=500, y=420, width=300, height=24, text="Some words on it")
    larger, second = replace(picture, height=300), replace(picture, y=900, width=600)
    found = match(
        take_in(rendered(first, picture, last)),
        take_in(rendered(first, larger, words, last, second)),
    )
    assert [
        (pair.theirs.y, pair.mine.y)
        for pair in (*found.backdrops, *found.pairs)
        if pair.theirs.kind == "picture"
    ] == [(300, 300)]
    assert {block.y for block in found.surplus} == {420, 900}
