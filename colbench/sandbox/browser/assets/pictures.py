"""URLs of placeholder services: the size, photo and label that each URL requests.

A photo depends on its name in the URL (`/id/48`, `?random=2`) and not on its size, so that the same photo in two
sizes is the same picture.
"""

from __future__ import annotations

import re
from contextlib import suppress
from urllib.parse import SplitResult, parse_qsl, unquote

from colbench.sandbox.browser.assets.drawing import box, photo

LONGEST_SIDE = 2000
_PHOTOS = {
    "picsum.photos": (600, 400),
    "fastly.picsum.photos": (600, 400),
    "source.unsplash.com": (1080, 720),
    "placekitten.com": (400, 300),
    "placebear.com": (400, 300),
    "placedog.net": (400, 300),
    "place.dog": (400, 300),
    "placebeard.it": (400, 300),
    "placeimg.com": (640, 480),
    "loremflickr.com": (320, 240),
    "lorempixel.com": (400, 300),
    "fillmurray.com": (400, 300),
    "www.fillmurray.com": (400, 300),
    "i.pravatar.cc": (150, 150),
}
"""Hosts of photos whose URLs give the size in the path, with the default size."""
_STOCK = {
    "images.unsplash.com": (1080, 720),
    "plus.unsplash.com": (1080, 720),
    "images.pexels.com": (1080, 720),
    "cdn.pixabay.com": (1280, 853),
    "randomuser.me": (128, 128),
}
"""Hosts of photos whose URLs may give the size in the query, with the default size."""
_BOXES = {
    "via.placeholder.com": ("#cccccc", "#969696"),
    "placeholder.com": ("#cccccc", "#969696"),
    "placehold.co": ("#dddddd", "#999999"),
    "placehold.it": ("#cccccc", "#969696"),
    "dummyimage.com": ("#cccccc", "#000000"),
    "www.dummyimage.com": ("#cccccc", "#000000"),
    "fakeimg.pl": ("#cccccc", "#909090"),
    "placeholder.pics": ("#dedede", "#555555"),
}
"""Hosts of labeled boxes, with the background and text colors used if the URL gives none."""
_NAMED = re.compile(r"/(?:id|seed)/[^/]*")
_PHOTO_SIZE = re.compile(r"/([0-9]{1,5})(?:[x/]([0-9]{1,5}))?(?![0-9a-z])", re.I)
_BOX_SIZE = re.compile(r"/([0-9]{1,5})(?:x([0-9]{1,5}))?(?![0-9a-z])", re.I)
_SIZE_NAMES = {"w": 0, "width": 0, "h": 1, "height": 1}


def picture(address: SplitResult) -> bytes | None:
    """Return the PNG for this URL, in the requested size (at most 2,000 per side); None for an unknown service."""
    host, path = address.hostname or "", unquote(address.path)
    query = dict(parse_qsl(address.query or path.partition("&")[2], keep_blank_values=True))
    if host in _PHOTOS:
        named = _NAMED.match(path)
        found = _PHOTO_SIZE.search(path, named.end() if named else 0)
        size = _found_size(found) or _query_size(query) or _PHOTOS[host]
        subject = named[0] if named else _PHOTO_SIZE.sub("", path, count=1) + _subject(query)
        return photo(host + subject, *_capped(*size), "grayscale" in query)
    if host in _STOCK:
        size = _query_size(query) or _STOCK[host]
        return photo(host + path, *_capped(*size), gray=False)
    if host in _BOXES:
        found = _BOX_SIZE.search(path)
        width, height = _found_size(found) or (300, 300)
        colors = re.findall(r"/(\w+)", path[found.end() :] if found else "")
        text = query.get("text", f"{width} × {height}").replace("\\n", "\n")[:100]
        return box(text, *_capped(width, height), *_colors(colors, _BOXES[host]))
    return None


def _found_size(found: re.Match[str] | None) -> tuple[int, int] | None:
    """Parse a size: `/300/200` or `/300x200`; `/300` is a square."""
    return (int(found[1]), int(found[2] or found[1])) if found else None


def _query_size(query: dict[str, str]) -> tuple[int, int] | None:
    """Parse a size such as `w=300&h=200`. Derive a missing side from the ratio 3:2; return None if both are missing."""
    size = [0, 0]
    for name, value in query.items():
        if name in _SIZE_NAMES and re.fullmatch("[0-9]{1,5}", value):
            size[_SIZE_NAMES[name]] = int(value)
    width, height = size
    return (width or height * 3 // 2, height or width * 2 // 3) if width or height else None


def _subject(query: dict[str, str]) -> str:
    """Return a query without its parameters for size and effects; `random=2` is kept, for example."""
    others = _SIZE_NAMES.keys() | {"grayscale", "blur"}
    return "&".join(f"{name}={value}" for name, value in query.items() if name not in others)


def _capped(width: int, height: int) -> tuple[int, int]:
    """Return this size or, if it is too large, the largest allowed size with the same proportions."""
    scale = min(1.0, LONGEST_SIDE / max(width, height, 1))
    return max(1, round(width * scale)), max(1, round(height * scale))


def _colors(named: list[str], default: tuple[str, str]) -> tuple[str, str]:
    """Return the background and text colors, each from `named` (such as `fff` or `orange`) or else from `default`."""
    from PIL import ImageColor

    colors = list(default)
    for index, name in enumerate(named[:2]):
        for color in (f"#{name}", name):
            with suppress(ValueError):
                red, green, blue = ImageColor.getrgb(color)[:3]
                colors[index] = f"#{red:02x}{green:02x}{blue:02x}"
                break
    return colors[0], colors[1]
