from __future__ import annotations

from itertools import permutations

import msgspec
import numpy as np
import pytest

from colbench.domains.frontend.layout import compare_layout, dice
from colbench.pages.render import Block, Render

PAGE = (
    Block(kind="box", x=0, y=0, width=1280, height=80, background="#1e40af"),
    Block(
        kind="heading",
        x=40,
        y=20,
        width=300,
        height=40,
        text="Acme Coffee",
        color="#ffffff",
        background="#1e40af",
    ),
    Block(kind="link", x=900, y=30, width=80, height=20, text="Learn more"),
    Block(kind="picture", x=40, y=200, width=600, height=400),
    Block(kind="text", x=700, y=200, width=500, height=60, text="We roast beans by hand."),
    Block(kind="link", x=700, y=600, width=80, height=20, text="Learn more"),
    Block(kind="input", x=700, y=700, width=300, height=40),
)


def page(*blocks, width=1280, height=1000):
    return Render(
        key="", outcome="rendered", mode="default", width=width, height=height, blocks=blocks
    )


def changed(number, **fields):
    blocks = list(PAGE)
    blocks[number] = msgspec.structs.replace(blocks[number], **fields)
    return page(*blocks)


def measures(mine, theirs):
    found = compare_layout(mine, theirs)
    return [found.block, found.text, found.position, found.color]


def test_equal_pages_agree_fully():
    assert measures(page(*PAGE), page(*PAGE)) == pytest.approx([1, 1, 1, 1], abs=1e-12)
    assert compare_layout(page(*PAGE), page(*PAGE)).layout == pytest.approx(1, abs=1e-12)


def test_a_blank_page_scores_zero_in_every_measure():
    assert measures(page(), page(*PAGE)) == [0, 0, 0, 0]
    assert measures(page(*PAGE), page()) == [0, 0, 0, 0]


def test_a_blank_page_scores_zero_even_if_the_target_has_no_text():
    assert measures(page(), page(PAGE[3])) == [0, 0, 0, 0]


def test_two_blank_pages_are_equal():
    assert measures(page(), page()) == [1, 1, 1, 1]


def test_the_measures_are_symmetric():
    mine, theirs = changed(4, text="Beans roasted by hand.", x=650), changed(0, height=120)
    assert measures(mine, theirs) == pytest.approx(measures(theirs, mine))


def test_the_measures_equal_a_manual_calculation():
    mine = page(
        Block(kind="text", x=0, y=0, width=100, height=100, text="abcd", color="#ffffff"),
        Block(kind="picture", x=500, y=500, width=200, height=200),
        width=1000,
        height=1000,
    )
    theirs = page(
        Block(kind="link", x=100, y=0, width=100, height=400, text="abce", color="#000000"),
        width=1000,
        height=2000,
    )
    # Sizes: text 100, picture 200; link 200. One pair: 300 of 500. Bigrams " abcd ": 5 and 5, 3 of them common.
    expected = [
        300 / 500 * 2 * 100 / 300,
        300 / 300 * 6 / 10,
        300 / 500 * (1 - 100 / 1000),
        300 / 300 * (1 + 0) / 2,
    ]
    assert measures(mine, theirs) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("number", "fields", "measure"),
    [
        (0, {"height": 120, "y": -20}, "block"),
        (4, {"text": "We roast our beans by hand."}, "text"),
        (3, {"y": 400}, "position"),
        (0, {"background": "#dc2626"}, "color"),
        (1, {"color": "#facc15"}, "color"),
    ],
)
def test_each_measure_detects_only_its_own_kind_of_change(number, fields, measure):
    found = compare_layout(changed(number, **fields), page(*PAGE))
    values = {name: getattr(found, name) for name in ("block", "text", "position", "color")}
    assert values.pop(measure) < 0.999
    assert list(values.values()) == pytest.approx([1, 1, 1], abs=1e-6)


def test_a_more_distant_color_agrees_less():
    blue, teal, white = (
        compare_layout(changed(0, background=color), page(*PAGE)).color
        for color in ("#1d4ed8", "#0d9488", "#ffffff")
    )
    assert 1 > blue > teal > white


def test_a_page_with_one_right_block_scores_low():
    assert compare_layout(page(PAGE[2]), page(*PAGE)).layout < 0.15


def test_surplus_blocks_count_against_a_page():
    extra = [Block(kind="text", x=0, y=900, width=400, height=400, text="Buy now! " * 9)]
    assert compare_layout(page(*PAGE, *extra), page(*PAGE)).layout < 0.9


def test_different_texts_at_the_same_place_are_not_paired():
    mine = page(Block(kind="text", x=0, y=0, width=500, height=50, text="Quarterly figures"))
    theirs = page(Block(kind="text", x=0, y=0, width=500, height=50, text="Book a hotel room"))
    assert measures(mine, theirs) == [0, 0, 0, 0]


def test_equal_texts_are_paired_with_the_nearest():
    assert compare_layout(page(*reversed(PAGE)), page(*PAGE)).position == pytest.approx(1)


def test_case_and_kind_of_a_text_block_do_not_matter():
    found = compare_layout(changed(2, kind="button", text="LEARN MORE"), page(*PAGE))
    assert found.layout == pytest.approx(1)


def test_the_alternative_text_of_a_picture_is_ignored():
    assert compare_layout(changed(3, text="A cup"), page(*PAGE)).layout == pytest.approx(1)


def test_pictures_are_paired_only_with_pictures():
    mine = page(Block(kind="picture", x=0, y=0, width=500, height=300))
    theirs = page(Block(kind="box", x=0, y=0, width=500, height=300))
    assert measures(mine, theirs) == [0, 0, 0, 0]


def test_the_pairing_is_optimal():
    texts = ["red fox", "red foxes run", "foxes run far", "a red fox runs"]
    others = ["red foxes", "fox runs far", "the red fox", "foxes run farther"]
    blocks = [
        [Block(kind="text", x=0, y=0, width=10, height=10, text=text) for text in each]
        for each in (texts, others)
    ]
    likeness = np.array(dice(texts, others))
    likeness[likeness < 0.5] = 0
    best = max(sum(likeness[i, j] for i, j in enumerate(order)) for order in permutations(range(4)))
    found = compare_layout(page(*blocks[0]), page(*blocks[1]))
    assert found.text == pytest.approx(best / 4)


def test_text_similarity_is_the_dice_coefficient_of_bigrams():
    # "night" and "nacht" with a space on either side: 6 bigrams each, of which " n", "ht" and "t " are common.
    assert dice(["night"], ["nacht", "night", "NIGHT", "x"])[0] == pytest.approx([0.5, 1, 1, 0])
    # "aaa": " a", "aa" twice, "a "; "aa": " a", "aa", "a ".
    assert dice(["aaa"], ["aa"])[0, 0] == pytest.approx(2 * 3 / (4 + 3))


@pytest.mark.usefixtures("soon")
def test_only_the_first_thousand_blocks_of_a_page_are_compared():
    blocks = [
        Block(kind="text", x=0, y=y, width=1, height=1, text=f"{y} {'é' * 5000}")
        for y in range(5000)
    ]
    first, other = page(*blocks[:1000]), page(*PAGE, *blocks[:10])
    found = compare_layout(page(*blocks, *PAGE), other)
    assert found == compare_layout(first, other)
    assert found != compare_layout(page(*blocks[:999]), other)
    assert compare_layout(other, page(*blocks, *PAGE)) == compare_layout(other, first)
