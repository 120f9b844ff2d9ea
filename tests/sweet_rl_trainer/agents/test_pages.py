"""Pictures of pages, as the harness shows them to the human."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("playwright", reason="playwright is not installed (colbench[frontend])")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

from colbench.errors import UserError
from sweet_rl_trainer.agents.pages import Camera
from sweet_rl_trainer.data.pictures import Picture

PAGE = "<html><body style='background:rgb(0,0,128)'></body></html>"
TOO_BIG = f"<html><body>{'<p>x</p>' * 2_000_000}</body></html>"


@pytest.fixture
def kept(browser, cache, monkeypatch):
    """The pictures that were kept, as they came."""
    monkeypatch.setenv("COLBENCH_CACHE", str(cache))
    return []


def camera(kept, domain="frontend"):
    def keep(png):
        kept.append(png)
        return Picture(name=str(len(kept)), tokens=1)

    return Camera(domain, keep)


def test_a_picture_shows_the_page_in_the_window_of_the_human(kept):
    camera(kept).take([PAGE])
    with Image.open(io.BytesIO(kept[0])) as image:
        assert image.size == (1280, 720)
        assert image.convert("RGB").getpixel((640, 360)) == (0, 0, 128)


def test_a_page_is_rendered_once_and_one_that_cannot_be_shown_has_no_picture(kept):
    take = camera(kept)
    take.take([PAGE, TOO_BIG, PAGE])
    assert take(PAGE) == Picture(name="1", tokens=1)
    assert take(TOO_BIG) is None
    assert (len(kept), take.unseen) == (1, 1)


def test_a_domain_without_pages_has_nothing_to_render(kept):
    with pytest.raises(UserError, match="the domain backend has no pages to render"):
        camera(kept, "backend").take([PAGE])
