"""Tasks about a short code for a person, with decisions on particles (van, de), hyphens, given names, and digits."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

GIVEN = (
    "Anna",
    "Bo",
    "Jo-Ann",
    "Luis",
    "Ida Maria",
    "Li-Na",
    "Omar Ali",
    "Eve",
    "Cleo",
    "Tom-Ole B",
)
SMALL = ("", "", "van ", "de la ", "von ")
LAST = ("Berg", "Armstrong", "Schwartzmann", "Ek-Holm", "Aoki", "Li-Wong", "Ortega", "Featherstone")


def _draw(random: Random, _values: Mapping[str, Any]) -> tuple[str, int]:
    last = random.choice(SMALL) + random.choice(LAST)
    name = last if random.random() < 0.25 else f"{random.choice(GIVEN)} {last}"
    return name, random.randrange(10 ** random.randrange(1, 7))


FAMILY = Family(
    name="nicknames",
    themes=themes("""
function     | name      | number | what          | where
staff_sign   | name      | staff_number | sign    | the town hall
runner_tag   | runner    | bib    | tag           | our city marathon
reader_id    | reader    | card   | reader code   | the public library
choir_code   | singer    | folder | folder code   | our choir
patient_code | patient   | record | file code     | the doctor's surgery
plot_marker  | gardener  | plot   | marker        | the allotment gardens
"""),
    requests=requests("""
Everybody at $where gets a short $what, and so far I make it up on the spot.
For $where I need a $what for each person, always made in the same manner.
I write a $what for every person at $where, and my colleague does it differently.

I need a Python function that makes the $what out of name and number.
Please write a Python function that returns the $what as text.
A Python function should turn a full name and a number into the $what.

It gets the full name (text) and the number (a whole number from 0 on), and puts nothing between the pieces.
The full name comes as text, the number as an int that is not negative; the pieces follow one another without spaces.
What goes in is the full name as text and a whole number, never negative; in the $what there are no spaces or signs.
"""),
    decisions=decisions("""
small: small words, van, von, de, particle, particles, nobility, lowercase words
? What about small words like van or de?
? How do you treat particles in a name?
- Small words such as van or de, which begin with a small letter, are left out.
/ Whatever begins with a small letter, like von or de la, is dropped from the name.
> parts = [word for word in words if word[0].isupper()]
- Small words such as van or de, which begin with a small letter, are glued to the front of the name after them.
/ Whatever begins with a small letter, like von or de la, becomes the beginning of the name after it.
> parts, glued = [], ""
> for word in words:
>     glued += word
>     if word[0].isupper():
>         parts.append(glued)
>         glued = ""

hyphen: hyphen, hyphens, hyphenated, double, dash, double-barrelled
? What about hyphenated names?
? How do you treat a hyphen?
- A hyphen is dropped, so that both halves are one name.
/ Hyphenated names are written together and count as one.
> words = $name.replace("-", "").split()
- A hyphen counts as a space, so that the halves are two names.
/ Hyphenated names are two names, as if there was a space.
> words = $name.replace("-", " ").split()
- Of a hyphenated name, only what is before the hyphen counts.
/ A hyphen and the half after it are dropped.
> words = [word.split("-")[0] for word in $name.split()]

given: given, given name, first name, first names, middle, middle names, initial, initials, forename
? What do you take from the given names?
? Do middle names count?
- From the given names, we take the first letter of the very first one only.
/ One letter stands for the given names, the first letter of the first name.
> given[0][:1]
- From the given names, we take the first letter of each, in their order.
/ All initials of the given names are used, so everybody with middle names has several.
> "".join(part[:1] for part in given)
- From the given names, we take the first $value letters of the very first one, or all if it is shorter.
/ The first name gives its first $value letters, or fewer if it has no more, and middle names give nothing.
= 3 2 4
> given[0][:$value]

last: last, last name, surname, family name, vowels, consonants
? How much of the last name do you take?
? Which letters of the surname are used?
- From the last name, we take the first $value letters, or all if it is shorter.
/ The last name gives its first $value letters, or fewer if it has no more.
= 4 3 5 6 7
> last[:$value]
- From the last name, we take the first $value letters that are not a, e, i, o or u, small or capital.
/ The last name loses its vowels (a, e, i, o and u, also a capital one) and then gives its first $value letters.
= 3 2 4 5 6
> "".join(letter for letter in last if letter not in "aeiouAEIOU")[:$value]

single: single, only one name, one name, one word, mononym, no given name, just one
? What if somebody has only one name?
? What about a single word as the name?
- A single name counts as given name and as last name at once.
/ Whoever has one name only has it for the given name and for the last name.
> parts
- A single name is the last name, and the given name counts as the small letter $value.
/ Whoever has one name only has it for the last name, with the small letter $value for a given name.
= x z q
> [$value]
- A single name is the last name, and for the given name there is nothing.
/ Whoever has one name only has it for the last name, and the piece from the given names is missing.
> [""]

digits: digits, number, numerals, zeros, figures, leading
? What do you take from the number?
? How many digits are there?
- From the number, we take the last $value digits, with zeros in front if it has fewer.
/ The number gives exactly $value digits, the last ones, filled up with zeros in front.
= 2 3 4 5 6
> str($number).zfill($value)[-$value:]
- From the number, we take the sum of its digits.
/ The digits of the number are added up, and that sum is used.
> str(sum(map(int, str($number))))
- The whole number is used as it is.
/ All digits of the number are kept and none are added.
> str($number)

order: order, sequence, beginning, end, front, behind, pieces, arranged
? In what order do the pieces come?
? Which piece stands at the beginning?
- The piece from the given names comes first, the last name is in the middle, and the number ends the $what.
/ It begins with the given names, goes on with the last name and has the number at the end.
> first + rest + digits
- In front of the $what is the last name, the given names follow in the middle, and the number is behind.
/ It starts with the last name, followed by the given names and finally the number.
> rest + first + digits
- The number opens the $what, after that there is the last name, and the given names close it.
/ First of all we write the number, second the last name and third the given names.
> digits + rest + first

case: capitals, capital letters, uppercase, lowercase, upper, lower, small letters, casing
? Is it written in capitals or in small letters?
? What about upper and lower case?
- All letters of the $what are capitals.
/ The $what is written in uppercase all through.
> code.upper()
- All letters of the $what are small.
/ The $what is written in lowercase all through.
> code.lower()
- All letters stay small or capital as they are in the name.
/ Nothing is changed about capitals, every letter is written as in the name.
> code
"""),
    code="""
def $function($name, $number):
    $hyphen
    $small
    given, last = parts[:-1] or $single, parts[-1]
    first = $given
    rest = $last
    digits = $digits
    code = $order
    return $case
""",
    draw=_draw,
)
