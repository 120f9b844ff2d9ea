"""Tasks about a cipher, with decisions on replaced letters, vowels, spaces, digits, reversal, and groups."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

WORDS = (
    "meet",
    "at",
    "oak",
    "bring",
    "zebra",
    "yellow",
    "boat",
    "quay",
    "gold",
    "under",
    "i",
    "fox",
)


def _draw(random: Random, _values: Mapping[str, Any]) -> tuple[str]:
    words = random.choices(WORDS, k=random.randrange(1, 6))
    if random.random() < 0.6:
        words.insert(random.randrange(len(words) + 1), str(random.randrange(1000)))
    return (" ".join(words),)


FAMILY = Family(
    name="ciphers",
    themes=themes("""
function       | text     | what     | place
scout_secret   | note     | note     | the treasure hunt of our scouts
riddle_text    | clue     | clue     | our escape room
garden_verses  | verse    | verse    | a play about two old lovers
spy_telegram   | telegram | telegram | my spy novel
cache_hint     | hint     | hint     | the hidden boxes in the woods
class_whisper  | whisper  | whisper  | the code club at school
"""),
    requests=requests("""
For $place every $what is put into secret writing, which I do letter by letter.
At the moment I write each secret $what for $place by hand.
I need secret writing for $place, and it takes me ages for one $what.

Please write a Python function that turns a plain $what into the secret one.
I need a Python function that returns the $what in our secret writing.
A Python function should make the secret text from the plain one.

The plain $what is text of small letters, digits and single spaces between the words.
It gets text that has only lowercase letters, digits and one space between two words, and returns text.
In the plain text there are words of small letters, numbers in digits, and one space between each two of them.
"""),
    decisions=decisions("""
backwards: backwards, reversed, reverse, mirrored, back to front, turned round, reading direction
? Is anything written backwards?
? Is the text reversed?
- To begin with, the whole plain text is written backwards.
/ Before all else, the plain text is turned round, so that the last character is the first.
> plain = $text[::-1]
- To begin with, each word or number is written backwards, but they keep their places.
/ Before all else, every single word and every number is turned round where it stands.
> plain = " ".join(word[::-1] for word in $text.split())
- Nothing is written backwards.
/ The plain text is taken from left to right as it is.
> plain = $text

replace: letter, letters, alphabet, shift, replaced, replacement, moved, cipher, key
? By what is a letter replaced?
? How far do you move in the alphabet?
- A letter is replaced by the one $value further on in the alphabet, and a follows z.
/ We go $value forward in the alphabet for a letter, from z on to a.
= 3 1 2 4 5 7
> chr((ord(c) - 97 + $value) % 26 + 97)
- A letter is replaced by the one $value further back in the alphabet, and z comes before a.
/ We go $value back in the alphabet for a letter, from a on to z.
= 3 1 2 4 5 7
> chr((ord(c) - 97 - $value) % 26 + 97)
- A letter is replaced by its opposite in the alphabet: a by z, b by y, and so on.
/ We exchange the first letter of the alphabet with the last, the second with the last but one, and so on.
> chr(219 - ord(c))

vowels: vowel, vowels, a e i o u
? Are vowels treated in another way?
? What about vowels?
- The vowels a, e, i, o and u of the plain text are kept as they are.
/ Whatever is a, e, i, o or u in the plain text stays the same.
> code += c
- The vowels a, e, i, o and u of the plain text are left out.
/ Whatever is a, e, i, o or u in the plain text disappears.
> pass
- The vowels are treated like all other letters.
/ Whether it is a vowel makes no difference.
> code += $replace

spaces: space, spaces, between the words, blank, word boundary, gap between words
? What happens to the spaces?
? Are there still spaces between the words?
- The spaces are left out.
/ There are no spaces any more, and nothing stands for them.
> pass
- A space becomes a dot.
/ For each space there is a dot.
> code += "."
- The spaces stay where they are.
/ A space is still a space.
> code += " "

digits: digit, digits, number, numbers, figures, numerals
? What happens to digits?
? How are numbers written?
- Each digit goes up by $value, and after 9 it goes on with 0.
/ We add $value to each single digit and keep only the last digit of that.
= 1 2 3 4 5
> code += str((int(c) + $value) % 10)
- The digits are left out.
/ There are no digits any more, and nothing stands for them.
> pass
- The digits stay as they are.
/ A digit is not changed.
> code += c

groups: group, groups, blocks, chunks, pieces, hyphens, cut, equal parts
? Is the result cut into groups?
? How long are the blocks?
- The secret text is cut into groups of $value characters of any kind, with a hyphen between two groups.
/ After every $value characters, whatever they are, there is a hyphen, but never at the very end.
= 5 2 3 4 6
> code = "-".join(code[i : i + $value] for i in range(0, len(code), $value))
- The secret text is not cut into groups.
/ The result is not cut up.

frame: frame, in front, ahead, at the end, added, prefix, suffix, count, label, checksum
? Is anything added in front or at the end?
? Does the result carry a count or the like?
- In front of the finished secret text we put the number of words, numbers included, and a colon.
/ Before the finished text there is first how many words there are, where a number counts too, and then a colon.
> f"{len($text.split())}:{code}"
- After the finished secret text we put a slash and the length of the plain text, spaces included.
/ Behind the finished text there is a slash and how many characters the plain text has, with its spaces.
> f"{code}/{len($text)}"
- Nothing is added in front of the secret text or after it.
/ There is neither something in front nor something at the end.
> code
"""),
    code="""
def $function($text):
    $backwards
    code = ""
    for c in plain:
        if c in "aeiou":
            $vowels
        elif c == " ":
            $spaces
        elif c.isdigit():
            $digits
        else:
            code += $replace
    $groups
    return $frame
""",
    draw=_draw,
)
