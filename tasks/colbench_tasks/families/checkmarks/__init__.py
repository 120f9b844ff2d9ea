"""Tasks about check characters, with decisions on weights, direction, modulus, complement, and large remainders."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, _values: Mapping[str, Any]) -> tuple[str]:
    return ("".join(random.choice("0123456789") for _ in range(random.randrange(3, 9))),)


FAMILY = Family(
    name="checkmarks",
    themes=themes("""
function       | number    | what            | place
check_mark     | number    | article numbers | our warehouse
ticket_check   | ticket    | ticket numbers  | the small theatre
library_code   | shelf     | shelf numbers   | the town library
member_check   | member_no | member numbers  | the rowing club
sample_code    | sample    | sample numbers  | a water laboratory
"""),
    requests=requests("""
At $place the $what carry a check character against typing mistakes.
The $what at $place end with a check character that I still work out by hand.
We protect the $what at $place with one more character.

I need a Python function for it.
Can you write a Python function that does that for me?
A Python function should do this from now on.

It gets the number as text of digits only and returns text.
The number comes as text made of digits, and text comes back.
"""),
    decisions=decisions("""
direction: left, right, direction, from which end, start from, counted from, which side
? Do you count from the left or from the right?
? From which end do you start?
- We count the places of the digits from the right.
/ We start with the last digit and go to the left.
> reversed($number)
- We count the places of the digits from the left.
/ We start with the first digit and go to the right.
> $number

weight: weight, weights, multiplied, multiply, factor, times
? What weights do the digits have?
? By what is each digit multiplied?
- Place by place the digits are multiplied by 3 and 1 in turn, beginning with 3, and added up.
/ The first place is multiplied by 3, the second by 1, the next by 3 again, and so on.
> (1 if place % 2 else 3)
- Place by place the digits are multiplied by 1 and $value in turn, beginning with 1, and added up.
/ The first place is multiplied by 1, the second by $value, the next by 1 again, and so on.
= 2 4 5 6
> ($value if place % 2 else 1)
- The digit at the first place is multiplied by $value, each next one by one more, and all are added up.
/ The first place is multiplied by $value, and each next place by one more.
= 1 2 3 4
> (place + $value)

modulus: modulus, modulo, divide, divided, divisor
? What do you divide by?
? What is the modulus?
- The sum of the multiplied digits is divided by $value to find the remainder.
/ We divide the sum by $value and look at the remainder.
= 11 13 16 17 19 23

complement: complement, remainder itself, difference, lacking, subtract, use the remainder, rest,
  directly
? Do you take the remainder itself or the complement?
? Is the rest used directly, or the difference to a full multiple?
- For the check character we take the remainder of the division itself.
/ The rest is used directly.
> rest = total % $modulus
- For the check character we take what the sum lacks to the next full multiple of the divisor, or 0 if nothing.
/ We use the complement, so what has to be added to reach a full multiple, or 0.
> rest = -total % $modulus

large: ten, two digits, two-digit, two-digit results, 10, above nine, larger than nine,
  bigger than 9, letter, remainder of ten
? What if it is above nine?
? What do you write for ten or more?
- Where the check character would be ten or more, we write a capital X.
/ Above nine we put an X.
> mark = "X" if rest > 9 else str(rest)
- Where the check character would be ten or more, we write a 0.
/ Above nine we put a 0.
> mark = "0" if rest > 9 else str(rest)
- Where the check character would be ten or more, we write only the last digit of that.
/ Above nine we put just the last digit of it.
> mark = str(rest % 10)

result: output, result, returned, return, appended, whole number, complete number, attached,
  alone, only the mark
? What is returned, the check character alone or the complete number?
? Should the output be the complete number?
- The result is the check character alone.
/ Just give me the one character.
> mark
- The result is the number with the check character at its end.
/ Give me the whole number with the character right behind it.
> $number + mark
- The result is the number, then a hyphen, then the check character.
/ Give me the whole number, then a hyphen, then the character.
> $number + "-" + mark
"""),
    code="""
def $function($number):
    total = 0
    for place, digit in enumerate($direction):
        total += int(digit) * $weight
    $complement
    $large
    return $result
""",
    draw=_draw,
)
