"""Tasks about the faults of a passcode, with decisions on length, digits, capitals, and the owner's name."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

OWNERS = ("Ana", "Ben", "Cleo", "Ivy", "Olga", "Tom")
LETTERS = (ascii_letters, ascii_letters, ascii_lowercase, ascii_uppercase)


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[str, str]:
    owner = random.choice(OWNERS)
    size = values["length"] + random.choice((-1, 0, 0, 0, 1))
    digits = random.sample("0123456789", max(0, (values["digits"] or 1) + random.randrange(-1, 2)))
    sign = random.choice(("", "", "-", "!", " "))
    characters = [*digits, *sign, *random.sample(random.choice(LETTERS), size)][:size]
    random.shuffle(characters)
    code = "".join(characters)
    if random.random() < 0.25:
        again, times = random.choice(code), random.randrange(1, 5)
        code = random.choice(
            (code[:-times] + again * times, again.join(code[:times]) + code[times + 1 :])
        )
    if random.random() < 0.2:
        code = random.choice((owner, owner.lower(), owner.upper(), owner[0])) + code[4:]
    return code.strip() or "a", owner


FAMILY = Family(
    name="passcodes",
    themes=themes("""
function         | code     | owner  | what        | place
password_faults  | password | pupil  | password    | our school
gate_code_check  | code     | tenant | gate code   | the housing block
plate_faults     | plate    | driver | wish plate  | the vehicle office
wing_mark_check  | mark     | pilot  | wing mark   | the gliding club
safe_code_faults | key      | guest  | safe code   | our hotel
player_tag_check | tag      | player | player tag  | the games arcade
"""),
    requests=requests("""
At $place everybody picks a $what, and I have to say what is wrong with it.
I check by eye each $what that people at $place make up.
People at $place may choose a $what, but many do not follow our rules.

I need a Python function that tells me the faults of a $what.
Please write a Python function that checks one $what and gives the verdict.
A Python function should check a $what for us.

It gets the $what and the first name of the $owner, both as text.
Two pieces of text go in: the $what itself and the first name of the $owner.
The input is the $what as text, which is never empty, and the first name of the $owner as text.
"""),
    decisions=decisions("""
length: length, long, short, size, how many characters, minimum length
? How long must a $what be?
? How many characters does it need?
- A $what with fewer than $value characters has the fault length.
/ It needs at least $value characters, and otherwise the fault is called length.
= 8 6 7 9 10 12
> if len($code) < $value:
>     faults.append("length")
- A $what with more or fewer than exactly $value characters has the fault length.
/ It needs exactly $value characters, neither more nor fewer, and otherwise the fault is called length.
= 8 6 7 9 10
> if len($code) != $value:
>     faults.append("length")

digits: digit, digits, numerals, number in it, figures
? Are digits required?
? How many digits must there be?
- A $what with fewer than $value digits has the fault digits.
/ It needs a minimum of $value digits anywhere in it, and otherwise the fault is called digits.
= 2 3 4 5
> if sum(c.isdigit() for c in $code) < $value:
>     faults.append("digits")
- A $what with any digit at all has the fault digits.
/ Digits are forbidden, and the fault for a digit is called digits.
> if any(c.isdigit() for c in $code):
>     faults.append("digits")
- A $what with a digit as its first character has the fault digits.
/ It may contain digits but not start with one, and that fault is called digits.
> if $code[0].isdigit():
>     faults.append("digits")

capitals: capital, capitals, uppercase, lowercase, small letters, upper and lower case, mixed case
? Must there be capital letters?
? What about capitals and small letters?
- A $what without a capital or without a small letter has the fault case.
/ It needs both a capital and a small letter, and otherwise the fault is called case.
> if not (any(c.isupper() for c in $code) and any(c.islower() for c in $code)):
>     faults.append("case")
- A $what with any capital letter has the fault case.
/ Capitals are forbidden, and the fault for a capital is called case.
> if any(c.isupper() for c in $code):
>     faults.append("case")
- Capitals and small letters are used as you like, and are never a fault.
/ There is no rule about capitals, so there is no such fault.

repeat: repeat, repeated, repetition, same character, same letter, twice, in a row, duplicate
? May a character be repeated?
? What about the same character several times?
- A $what with the same character $value times in a row or more (a and A differ) has the fault repeat.
/ If $value or more of the same character follow one another (a and A differ), the fault is called repeat.
= 3 2 4
> if any(c * $value in $code for c in $code):
>     faults.append("repeat")
- A $what with the same character $value times or more in whatever places (a and A differ) has the fault repeat.
/ If a character occurs $value times or more in all (a and A differ), the fault is called repeat.
= 3 2 4 5
> if any($code.count(c) >= $value for c in $code):
>     faults.append("repeat")

name: name, own name, personal, contain the name, name of the $owner, identity
? May the name of the $owner be in it?
? What is the name of the $owner for?
- A $what with the name of the $owner anywhere in it, in capitals or not, has the fault name.
/ If it contains the name of the $owner, however that is capitalised, the fault is called name.
> if $owner.lower() in $code.lower():
>     faults.append("name")
- A $what with the same first letter as the name of the $owner, capital or not, has the fault name.
/ If it starts with the letter with which the name of the $owner starts, capital or not, the fault is called name.
> if $owner[0].lower() == $code[0].lower():
>     faults.append("name")
- The name of the $owner does not matter.
/ There is no rule about the name of the $owner, so there is no such fault.

signs: sign, signs, symbol, symbols, punctuation, special characters, space, spaces, exclamation mark
? Are signs such as an exclamation mark allowed?
? What about special characters?
- A $what with anything but letters and digits has the fault sign.
/ It may hold only letters and digits, and otherwise the fault is called sign.
> if not all(c.isalnum() for c in $code):
>     faults.append("sign")
- A $what with nothing but letters and digits has the fault sign.
/ It needs some character that is neither letter nor digit, and otherwise the fault is called sign.
> if all(c.isalnum() for c in $code):
>     faults.append("sign")
- A $what with a space in it has the fault sign, but any other sign is fine.
/ Only spaces are forbidden, other signs are welcome, and the fault for a space is called sign.
> if " " in $code:
>     faults.append("sign")

report: report, list of faults, several faults, more than one fault, form of the verdict, joined, reported
? In what form are the faults reported?
? What does the verdict look like if there are several faults?
- The faults are returned as a list in alphabetical order.
/ What comes back is a list of all faults from A to Z.
> sorted(faults)
- The faults are returned as one text, in alphabetical order and joined by a plus sign.
/ What comes back is a text with all faults from A to Z and a plus between them, without spaces.
> "+".join(sorted(faults))
- The number of faults is returned, not their names.
/ What comes back is how many faults there are, as a whole number.
> len(faults)

fine: fine, flawless, accepted, correct, passes, no faults, without any fault, perfect, nothing wrong
? What is returned if there are no faults?
? What is the verdict on a flawless $what?
- If nothing is wrong, only the word $value in small letters is returned.
/ A flawless $what gives just the lowercase word $value as text.
= ok fine good accepted
- If nothing is wrong, the $what itself is returned unchanged.
/ A flawless $what comes back just as it went in.
> $code
- If nothing is wrong, True is returned.
/ A flawless $what gives the value True.
> True
"""),
    code="""
def $function($code, $owner):
    faults = []
    $length
    $digits
    $capitals
    $repeat
    $name
    $signs
    if not faults:
        return $fine
    return $report
""",
    draw=_draw,
)
