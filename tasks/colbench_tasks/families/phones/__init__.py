"""Tasks about telephone numbers in a standard form, with decisions on country codes, zeros, letters, and extensions."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[str]:
    start = random.choice(("+", "00", "0", "0", "")) + random.choice(("31", "46", "7", "8", "61"))
    length = max(3, values["short"] - len(start) + random.randrange(-4, 5))
    body = "".join(random.choice("0123456789") for _ in range(length))
    word = random.choice(("", "", "", "TAXI", "Pizza", "HOME", "zoo", "Wave", "FUN"))
    sign = random.choice((" ", "-", "/", ".", " / "))
    cut = random.randrange(1, length)
    text = f"{start}{sign}{body[:cut]}{random.choice((' ', '-', ''))}{word}{body[cut:]}"
    if random.random() < 0.3:
        text += random.choice((" #", "#", " # ")) + str(random.randrange(1, 400))
    return (text,)


FAMILY = Family(
    name="phones",
    themes=themes("""
function      | text     | who               | place
tidy_number   | text     | the members       | our bowling club
patient_phone | written  | the patients      | a dentist's practice
owner_number  | on_tag   | the owners        | the lost pets office
tenant_phone  | entry    | the tenants       | a block of flats
singer_number | line     | the singers       | the cathedral choir
buyer_contact | note     | the customers     | a furniture delivery
"""),
    requests=requests("""
In the files of $place everybody wrote the telephone numbers of $who in a different way.
I keep the telephone list of $who for $place, and it is a mess.
For $place I copy the numbers of $who from slips of paper, each written in a way of its own.

I need a Python function that brings one telephone number into our notation, as text.
Please write a Python function that gives back a number as text, the way we want it.
A Python function should clean up one telephone number, text in and text out.

The text may hold digits, blanks, letters and signs, a plus at its very beginning, and a # before an extension.
What comes in is text of digits, letters, blanks and signs; a plus stands at most at the start, an extension after a #.
There are digits, blanks, signs and sometimes letters in it, perhaps a plus at the start, and an extension follows a #.

With a plus it is an international number, and most others are national ones, in which there is no country code.
A plus at the start makes it international; mostly there is none, and it is a national number without a country code.
Numbers with a plus are international, the others as a rule national, that is without any country code.
"""),
    decisions=decisions("""
extension: extension, direct line, after the #, internal, hash, desk
? What about an extension?
? Is the extension kept?
? What happens to what stands after the #?
- An extension is dropped, together with the #.
/ The # and all that follows it is cut off.
> ""
- The digits of an extension are put at the very end, after a small x, without any blank there.
/ An extension goes to the end of it all, as a small x and then its digits.
> ("x" + extra.strip() if extra else "")

letters: letter, letters, alphabet, keypad, vanity, words, spelled
? What about letters?
? How do you treat words that are spelled with letters?
? Do letters stand for digits?
- A letter becomes the digit on whose key it is on a telephone, from ABC on 2 to WXYZ on 9.
/ Letters, big or small, are replaced by digits as on a telephone keypad: ABC is 2 and so on, PQRS 7, WXYZ 9.
> keys = dict(zip("abcdefghijklmnopqrstuvwxyz", "22233344455566677778889999"))
> number = "".join(keys.get(sign, sign) for sign in number.lower())
- Letters are thrown away.
/ A letter is left out, as if it was not there.

double: two zeros, double zero, 00, zero zero, zeros for a plus
? What do two zeros at the start mean?
? Is 00 the same as a plus?
? How do you treat a double zero?
- Two zeros at the start mean the same as a plus, so the number is international.
/ With 00 at the start we act as if there was a plus in its place.
> if digits.startswith("00"):
>     digits = digits[2:]
>     abroad = True
- Two zeros at the start are a slip of the pen and mean just one zero, so the number is national.
/ With 00 at the start we act as if there was only one zero, the one of a national number.
> if digits.startswith("00"):
>     digits = "0" + digits[2:]

single: leading zero, single zero, one zero, first zero, area code, trunk
? What about the leading zero of a national number?
? Is a single zero at the start kept?
? Does the area code keep its zero?
- The one zero at the start of a national number is dropped.
/ A national number loses its leading zero.
> if not abroad and digits.startswith("0"):
>     digits = digits[1:]
- The one zero at the start of a national number stays.
/ A national number keeps its leading zero, whatever is put before it.

country: country, country code, plus sign, home country, dialling code, abroad
? Which country code do national numbers get?
? Is a country code added?
? What is our country code?
- A national number gets the country code, +$value, in front.
/ Before the digits of a national number we put +$value for our country.
= 49 32 33 39 43 44 47
> if not abroad:
>     digits = str($value) + digits
>     abroad = True
- A national number gets no country code and no plus.
/ We add no country code, so just international numbers have a plus.

short: short, too short, minimum, at least, how many digits, how long, incomplete, length
? When is a number too short?
? How many digits must there be at least?
? Is there a minimum length?
- A number is not valid if what we give back would have fewer than $value digits, the extension left aside.
/ There must be $value digits or more in what we give back, those of an extension not counted, or it is not valid.
= 8 6 7 9 10

invalid: invalid, not valid, wrong, unusable, error, useless, reject
? What comes out for an invalid number?
? What should be returned for a wrong number?
? How do you mark what is unusable?
- For a number that is not valid, return empty text.
/ What is not valid becomes a text without any characters.
> ""
- For a number that is not valid, return the text just as it came in.
/ What is not valid is given back unchanged, as it was written.
> $text
- For a number that is not valid, return the word check and nothing else, in small letters.
/ What is not valid becomes the text check in lowercase.
> "check"

groups: group, groups, grouped, blanks, blocks, hyphens, separated, readable, how written
? Are the digits grouped?
? How are the digits separated?
? Are there blanks in the result?
- All digits stand together without blanks or signs, after the plus if there is one.
/ No blanks and no signs between the digits, whatever was there before.
> grouped = digits
- The digits are put in groups of $value from the left, with one blank between groups, the last one maybe shorter.
/ There is a blank after each $value digits, starting on the left, but none at the end or after the plus.
= 3 2 4 5
> grouped = " ".join(digits[i : i + $value] for i in range(0, len(digits), $value))
- The digits are put in groups of $value from the right, with a hyphen between groups, the first one maybe shorter.
/ There is a hyphen before each $value digits, starting on the right, but none at the start or after the plus.
= 3 2 4 5
> first = len(digits) % $value or $value
> rest = [digits[i : i + $value] for i in range(first, len(digits), $value)]
> grouped = "-".join([digits[:first], *rest])
"""),
    code="""
def $function($text):
    number, _, extra = $text.partition("#")
    abroad = number.startswith("+")
    $letters
    digits = "".join(sign for sign in number if sign.isdigit())
    $double
    $single
    $country
    if len(digits) < $short:
        return $invalid
    $groups
    return "+" * abroad + grouped + $extension
""",
    draw=_draw,
)
