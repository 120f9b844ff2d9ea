"""Parsing the human's sentences into wishes. Sentences that match no pattern are skipped."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

from colbench.pages.render import Align, BlockKind
from colbench_agents.designer.colors import named
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

KINDS: dict[str, BlockKind] = {
    "heading": "heading",
    "title": "heading",
    "paragraph": "text",
    "text": "text",
    "link": "link",
    "button": "button",
    "input field": "input",
    "field": "input",
    "picture": "picture",
    "image": "picture",
    "area": "box",
}
STEPS = {"much larger": 3, "larger": 1, "smaller": -1, "much smaller": -3}
ALIGNS: dict[str, Align] = {
    "centred": "center",
    "centered": "center",
    "left-aligned": "left",
    "right-aligned": "right",
}
SENTENCE = re.compile(r'(?:"[^"]*"|[^".])+(?:\.|$)')
SPOT = {
    "top": "top",
    "bottom": "bottom",
    "middle": "middle",
    "centre": "middle",
    "center": "middle",
    "left": "left",
    "right": "right",
}
KIND = rf"(?P<kind>{'|'.join(KINDS)})"
TEXT = r'"(?P<text>[^"]*)"'
SIZE = r"about (?P<width>\d+) (?:by|x) (?P<height>\d+) pixels"
TEXT_SIZE = re.compile(r"\b((?:very )?\w+) text\b")
TWO_COLORS = re.compile(r"\b([a-z ]+) on ([a-z ]+)$")
QUOTED = re.compile(r'"([^"]*)"')
RELATIVE = re.compile(r'\b(below|above|to the right of|to the left of) (?:the [a-z ]+ )?"([^"]*)"')
ABSOLUTE = re.compile(r"\b(?:at|in|on) the ((?:top|bottom|middle|cent(?:re|er)|left|right)[a-z ]*)")


def read(said: str) -> list[Wish]:
    """Parse the wishes in the human's message, in order."""
    wishes = (_wish(sentence.strip().removesuffix(".")) for sentence in SENTENCE.findall(said))
    return [wish for wish in wishes if wish is not None]


def place(words: str) -> Place:
    """Parse the position stated in `words`; return an empty place if `words` states no position."""
    beside = RELATIVE.search(words)
    if beside:
        relation = beside[1].removeprefix("to the ").removesuffix(" of")
        return Place(relation, beside[2])  # type: ignore[arg-type]
    at = ABSOLUTE.search(QUOTED.sub("", words))
    if not at:
        return Place()
    named_spots = (SPOT[word] for word in at[1].split() if word in SPOT)
    return Place(spot=" ".join(dict.fromkeys(named_spots)))


def _wish(sentence: str) -> Wish | None:
    for pattern, make in PATTERNS:
        found = pattern.fullmatch(sentence)
        wish = make(found, sentence) if found else None
        if wish is not None:
            return wish
    return None


Found = re.Match[str]


def _kind(found: Found) -> BlockKind:
    return KINDS[found["kind"].lower()]


def _missing(found: Found, _: str) -> Missing:
    columns, rest = found["what"].lower() == "columns", QUOTED.sub("", found["rest"])
    size, colors = TEXT_SIZE.search(rest), TWO_COLORS.search(rest)
    background = found["shade"] or (colors[2] if colors else "")
    what = found["what"].lower().removeprefix("row of ")
    return Missing(
        kind="heading" if columns else KINDS[what.removesuffix("s")],
        texts=tuple(QUOTED.findall(found["texts"])),
        place=place(found["rest"]),
        size=size[1] if size else "",
        color=named(colors[1]) if colors else None,
        background=named(background),
        on_picture=background.strip() == "the picture",
        width=int(found["width"]) if found["width"] else None,
        height=int(found["height"]) if found["height"] else None,
    )


def _surplus(found: Found, _: str) -> Surplus:
    texts = QUOTED.findall(found["what"])
    return Surplus(kind=_kind(found), text=texts[0] if texts else "", place=place(found["where"]))


def _reworded(found: Found, _: str) -> Reworded:
    return Reworded(kind=_kind(found), mine=found["mine"], theirs=found["theirs"])


def _lengthened(found: Found, _: str) -> Lengthened:
    words = int(found["words"]) * (1 if found["more"] == "longer" else -1)
    return Lengthened(kind=_kind(found), text=found["text"], words=words)


def _color(words: str) -> str | None:
    return words.rsplit(maxsplit=1)[-1] if words.startswith("a little ") else named(words)


def _recolored(found: Found, _: str) -> Recolored | None:
    color = _color(found["color"])
    if not color:
        return None
    part: Literal["background", "text"] = "background" if found["behind"] else "text"
    return Recolored(part=part, color=color, kind=_kind(found), text=found["text"])


def _area_recolored(found: Found, _: str) -> Recolored | None:
    color = _color(found["color"])
    if not color:
        return None
    return Recolored(part="background", color=color, kind=_kind(found), place=place(found["where"]))


def _page_recolored(found: Found, _: str) -> Recolored | None:
    color = _color(found["color"])
    return Recolored(part="page", color=color) if color else None


def _band_recolored(found: Found, _: str) -> Recolored | None:
    color = _color(found["color"])
    texts = QUOTED.findall(found["behind"] or "")
    if not color:
        return None
    where = place(f"at the {found['spot']}")
    return Recolored(part="band", color=color, text=texts[0] if texts else "", place=where)


def _resized(found: Found, _: str) -> Resized:
    return Resized(kind=_kind(found), text=found["text"], steps=STEPS[found["steps"]])


def _weighed(found: Found, _: str) -> Resized:
    return Resized(kind=_kind(found), text=found["text"], bold=found["how"] == "be")


def _measured(found: Found, _: str) -> Measured:
    where = found["what"]
    beside = RELATIVE.search(where)
    own = QUOTED.match(where.strip())
    return Measured(
        kind=_kind(found),
        width=int(found["width"]),
        height=int(found["height"]),
        place=place(where) if beside or not own else Place(),
        text=own[1] if own else "",
    )


def _shifted(found: Found, _: str) -> Moved:
    by = int(found["by"] or 40)
    right, down = {"down": (0, by), "up": (0, -by), "right": (by, 0), "left": (-by, 0)}[
        found["way"]
    ]
    return Moved(kind=_kind(found), **_which(found), right=right, down=down)


def _aligned(found: Found, _: str) -> Moved:
    return Moved(kind=_kind(found), **_which(found), align=ALIGNS[found["align"]])


def _moved(found: Found, _: str) -> Moved | None:
    where = place(found["where"])
    return Moved(kind=_kind(found), **_which(found), place=where) if where != Place() else None


def _which(found: Found) -> dict[str, Any]:
    """Return the field that identifies the thing to move: its text or, without a text, its current position."""
    return {"text": found["text"]} if found["text"] is not None else {"now": place(found["now"])}


def _height(found: Found, _: str) -> Height:
    return Height(int(found["wanted"]), int(found["now"] or 0))


Maker = Callable[[Found, str], Wish | None]
SOMETHING = (
    rf"(?:an?|\d+) (?:(?!row )(?P<shade>[\w ]+) )?(?P<what>{'|'.join(KINDS)}|row of \w+|columns)\b"
    rf"(?: that says| beginning with)?(?: {SIZE})?(?P<texts>(?: \"[^\"]*\"(?:,? and|,)?)*)"
)
IT = rf"The {KIND} {TEXT}"
THIS = rf"The {KIND} (?:{TEXT}|(?P<now>[^\"]*?(?:\"[^\"]*\")?))"
PATTERNS: tuple[tuple[re.Pattern[str], Maker], ...] = tuple(
    (re.compile(pattern, re.I), make)
    for pattern, make in (
        (rf"There should be {SOMETHING}(?P<rest>.*)", _missing),
        (rf"I did not ask for the {KIND}(?P<what>(?: {TEXT})?)(?P<where>.*)", _surplus),
        (rf'The {KIND} "(?P<mine>[^"]*)" should say "(?P<theirs>[^"]*)"', _reworded),
        (
            rf"{IT} should be (?P<more>longer|shorter), by about (?P<words>\d+) words?",
            _lengthened,
        ),
        (r"The background of the page should be (?P<color>[\w ]+)", _page_recolored),
        (
            rf"The (?P<behind>background of the ){KIND} {TEXT} should be (?P<color>[\w ]+)",
            _recolored,
        ),
        (
            rf"The background of the {KIND} (?P<where>.*) should be (?P<color>[\w ]+)",
            _area_recolored,
        ),
        (
            r"The background of the (?P<spot>[\w ]+?) part(?P<behind>.*?) should be (?P<color>[\w ]+)",
            _band_recolored,
        ),
        (rf"{IT} should be (?P<steps>much larger|larger|smaller|much smaller)", _resized),
        (rf"The text of the {KIND} {TEXT} should (?P<how>be|not be|be not) bold", _weighed),
        (rf"The {KIND}(?P<what>.*?) should be {SIZE}", _measured),
        (rf"{THIS} should be (?P<align>{'|'.join(ALIGNS)})", _aligned),
        (
            rf"{THIS} should be further (?:to the )?(?P<way>up|down|left|right)"
            r"(?:,? by about (?P<by>\d+) pixels)?",
            _shifted,
        ),
        (rf"{THIS} should be (?P<where>.*)", _moved),
        (rf"(?P<behind>){IT} should be (?P<color>[\w ]+)", _recolored),
        (
            r"The page should be about (?P<wanted>\d+) pixels tall(?:; it is (?P<now>\d+))?",
            _height,
        ),
    )
)
