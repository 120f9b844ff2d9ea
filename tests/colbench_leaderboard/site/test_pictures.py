from xml.etree import ElementTree

import pytest

from colbench.numbers import percent

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", ["badge.svg", "card.svg"])
def test_every_entry_has_pictures_with_its_score_and_rank(name, site, board):
    for row in board.everyone:
        text = (site / "entries" / row.bundle[:12] / name).read_text("utf-8")
        root = ElementTree.fromstring(text)
        words = " ".join(each.text or "" for each in root.iter(f"{SVG}text"))
        assert percent(row.value.mean) in words
        assert (f"verification level {row.level}" in words) == (name == "card.svg")
        assert ("rank " in words.lower()) == (row.rank is not None)


def test_a_card_has_the_size_of_link_previews(site, board):
    path = site / "entries" / board.everyone[0].bundle[:12] / "card.svg"
    root = ElementTree.fromstring(path.read_text("utf-8"))
    assert (root.get("width"), root.get("height")) == ("1200", "630")
