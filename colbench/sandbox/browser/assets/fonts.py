"""Fonts available to a browser: only the vendored ones, so that pictures do not depend on the machine.

These are Liberation Sans, Serif and Mono (with the widths of Arial, Times New Roman and Courier New), Twemoji in color,
and DejaVu's arrows, stars and other symbols. Letters that are missing in all of these fonts (Chinese, Japanese, Korean,
Arabic, Devanagari) occupy space but remain blank.
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

from colbench.sandbox.browser.assets.vendored import FONTS

_SANS = (
    "sans-serif", "system-ui", "ui-sans-serif", "-apple-system", "BlinkMacSystemFont", "Arial", "Helvetica",
    "Helvetica Neue", "Segoe UI", "Roboto", "Verdana", "Tahoma", "Trebuchet MS", "Noto Sans", "Open Sans", "Ubuntu",
    "Cantarell", "Lucida Grande", "Geneva", "ui-rounded", "cursive", "fantasy",
)  # fmt: skip
_SERIF = (
    "serif", "ui-serif", "Times", "Times New Roman", "Georgia", "Cambria", "Garamond", "Palatino",
    "Palatino Linotype", "Book Antiqua", "Baskerville", "Noto Serif",
)  # fmt: skip
_MONO = (
    "monospace", "ui-monospace", "Courier", "Courier New", "Consolas", "Menlo", "Monaco", "SFMono-Regular",
    "Lucida Console", "Andale Mono", "Noto Sans Mono",
)  # fmt: skip
_EMOJI = (
    "emoji",
    "Apple Color Emoji",
    "Segoe UI Emoji",
    "Segoe UI Symbol",
    "Noto Color Emoji",
    "EmojiOne Color",
)
_FAMILIES = {
    "Liberation Sans": _SANS,
    "Liberation Serif": _SERIF,
    "Liberation Mono": _MONO,
    "Twemoji Mozilla": _EMOJI,
}
_SHARPNESS = (
    '<match><edit name="antialias"><bool>true</bool></edit><edit name="hinting"><bool>false</bool></edit>'
    '<edit name="autohint"><bool>false</bool></edit><edit name="hintstyle"><const>hintnone</const></edit>'
    '<edit name="rgba"><const>none</const></edit></match>\n'
)
"""Settings with which letters have the same outlines in every build of the browser."""
_DEFAULT = '<match><edit name="family" mode="append_last"><string>Liberation Sans</string></edit></match>\n'
"""Rule for the empty family name, which Chromium requests if a page uses `system-ui`."""


def fonts_environment(home: Path) -> dict[str, str]:
    """Write `fonts.conf` into the folder `home`, and return the environment variables with which a browser uses it."""
    file = home.absolute() / "fonts.conf"
    file.write_text(_configuration(file.with_name("font-cache")), encoding="utf-8")
    return {"FONTCONFIG_FILE": str(file), "FC_LANG": "en"}


def _configuration(cache: Path) -> str:
    aliases = "".join(_alias(name, family) for family, names in _FAMILIES.items() for name in names)
    return (
        '<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">\n<fontconfig>\n'
        f"<dir>{escape(str(FONTS))}</dir>\n<cachedir>{escape(str(cache))}</cachedir>\n{_SHARPNESS}{aliases}{_DEFAULT}</fontconfig>\n"
    )


def _alias(name: str, family: str) -> str:
    return (
        f'<match><test name="family" qual="any"><string>{escape(name)}</string></test>'
        f'<edit name="family" mode="assign" binding="same"><string>{family}</string></edit></match>\n'
    )
