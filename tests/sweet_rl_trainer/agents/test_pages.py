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


class MemoryAlbum:
    """An album that keeps its pictures unchanged in memory."""

    def __init__(self):
        self.files, self._pages = [], {}

    def find(self, page):
        return self._pages.get(page)

    def add(self, page, png):
        self.files.append(png)
        self._pages[page] = Picture(name=str(len(self.files)), tokens=1)
        return self._pages[page]


@pytest.fixture
def album(browser, cache, monkeypatch):
    monkeypatch.setenv("COLBENCH_CACHE", str(cache))
    return MemoryAlbum()


def test_a_picture_shows_the_page_at_the_humans_window_size(album):
    Camera("frontend", album).take([PAGE])
    with Image.open(io.BytesIO(album.files[0])) as image:
        assert image.size == (1280, 720)
        assert image.convert("RGB").getpixel((640, 360)) == (0, 0, 128)


def test_a_page_is_rendered_once_and_an_oversized_page_has_no_picture(album):
    camera = Camera("frontend", album)
    camera.take([PAGE, TOO_BIG, PAGE])
    assert camera(PAGE) == Picture(name="1", tokens=1)
    assert camera(TOO_BIG) is None
    assert (len(album.files), camera.unseen) == (1, 1)


def test_a_page_that_is_in_the_album_is_not_rendered_again(album):
    found = Camera("frontend", album)(PAGE)
    assert Camera("frontend", album)(PAGE) == found
    assert len(album.files) == 1


def test_a_domain_without_pages_is_a_user_error(album):
    with pytest.raises(UserError, match="the domain backend has no pages to render"):
        Camera("backend", album).take([PAGE])
