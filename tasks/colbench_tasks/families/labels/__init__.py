"""Tasks about turning a title into a label (slug), with decisions on case, digits, symbols, and length."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

PIECES = (
    "Spring Fair", "No.7", "rock'n'roll", "Top-10", "hits", "A&B", "blue/green", "year 2024",
    "OLD town", "my_file", "e-mail", "Room 12b", "mid-week", "final (v2)", "tea", "x99", "Summer",
)  # fmt: skip


def _draw(random: Random, _values: Mapping[str, Any]) -> tuple[str]:
    if random.random() < 0.1:
        return (random.choice(("", "?!", "  ", "--", "&&", "(/)")),)
    return (" ".join(random.sample(PIECES, random.randrange(1, 5))),)


FAMILY = Family(
    name="labels",
    themes=themes("""
function     | text    | what     | place
make_label   | title   | label    | our photo archive
page_address | heading | address  | the club's web pages
shelf_tag    | text    | tag      | a second-hand book shop
file_name    | caption | name     | the minutes of our meetings
product_key  | product | key      | the price list of our store
"""),
    requests=requests("""
For $place I make a short $what out of every title, and everybody does it differently.
We need a tidy $what for each item in $place.
The titles in $place are a mess, so each gets a clean $what.

Please write a Python function that makes the $what from the text.
I would like a Python function that turns the text into the $what.
A Python function should do that from now on.

It gets one piece of plain English text and returns text.
Text goes in and text comes out, and there are no accents or the like.
"""),
    decisions=decisions("""
digits: digits, numbers, numerals, figures
? What happens to digits?
? Are numbers kept?
- Digits stay as they are.
/ Numbers are kept.
- Digits are removed, so that what stood around them moves together.
/ Numbers are deleted without leaving a space.
> $text = "".join(c for c in $text if not c.isdigit())
- Every single digit becomes a 0.
/ Each digit is replaced by a zero.
> $text = "".join("0" if c.isdigit() else c for c in $text)

symbols: punctuation, punctuation symbols, special characters, apostrophes, slashes, other signs
? What about punctuation?
? How do you treat special characters such as slashes?
- Any character that is no letter, digit or space just disappears.
/ Punctuation is deleted, and what stood around it moves together.
> $text = "".join(c for c in $text if c.isalnum() or c == " ")
- Any character that is no letter or digit counts as a space.
/ Punctuation separates words like a space does.
> $text = "".join(c if c.isalnum() else " " for c in $text)

case: uppercase, lowercase, lower case, capital letters, capitals or lowercase, small letters,
  letter case, capitalisation
? Should it be in lowercase or in capitals?
? What about capital letters?
- Everything is in small letters.
/ All letters become lowercase.
> words = $text.lower().split()
- Everything is in capital letters.
/ All letters become uppercase.
> words = $text.upper().split()
- Every word starts with a capital letter, and the rest of it is small.
/ The first letter of each word is a capital, all others become lowercase.
> words = [word.capitalize() for word in $text.split()]

joint: join, joined, separator, between words, glue, connect, spaces, delimiter,
  hyphens or underscores
? What stands between the words?
? How are the words joined?
- Words are joined by a hyphen.
/ Between two words there is a hyphen.
> "-"
- Words are joined by an underscore.
/ Between two words there is an underscore.
> "_"
- Words are joined by a dot.
/ Between two words there is a dot.
> "."
- Words are joined by nothing, one right after the other.
/ Between two words there is nothing at all.
> ""

length: length, long, short, maximum length, cut, truncate, how many characters, how many words
? How long may it be?
? Is there a maximum length?
- The whole $what is cut off after $value characters, wherever that is.
/ It has at most $value characters, and the rest is cut off hard.
= 12 6 8 10 14 16
> label = $joint.join(words)[:$value]
- Only the first $value words of the cleaned text are used, however long they are.
/ It has at most $value words, and the rest is left out.
= 3 2 4
> label = $joint.join(words[:$value])

empty: empty, nothing left, nothing remains, no text, blank, fallback, default
? What if nothing is left?
? What should come out for empty text?
- If nothing is left of a text, the result is the word $value, in full and in small letters.
/ When it would be empty, take the whole word $value in lowercase, just like that.
= untitled unnamed none blank misc unknown
"""),
    code="""
def $function($text):
    $digits
    $symbols
    $case
    $length
    return label or $empty
""",
    draw=_draw,
)
