"""Tasks about the shares of a bill, with decisions on a tip, rounding, the host, and leftover cents."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

NAMES = ("Ana", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gia", "Hugo", "Iris")


def _draw(random: Random, _values: Mapping[str, Any]) -> tuple[int, list[str]]:
    return random.randrange(500, 30000), random.sample(NAMES, random.randrange(2, 8))


FAMILY = Family(
    name="sharing",
    themes=themes("""
function      | total  | names    | bill                 | group
split_bill    | total  | names    | the restaurant bill  | our lunch group
share_costs   | cents  | members  | the monthly costs    | our shared flat
trip_shares   | amount | riders   | the fuel and the tolls | the car pool
gift_shares   | price  | givers   | a joint present      | the office
boat_shares   | rent   | crew     | the rent of the boat | the sailing crew
"""),
    requests=requests("""
In $group we share $bill, and there is always some debate.
When $group divides $bill, I am the one with the calculator.
I collect the money for $bill in $group.

I need a Python function that works out the shares in cents.
Please write me a Python function for what each one has to pay in cents.
A Python function should divide it the way we always do.

It gets the amount in cents and a list of different names, with the host first.
The input is the sum in cents and the names as a list, and the first name is the host.
"""),
    decisions=decisions("""
tip: tip, service, gratuity, on top, surcharge, added
? How much tip is added?
? Is there something on top of the amount?
- We add $value percent as a tip, rounded up to a whole cent.
/ The tip is $value percent of the amount, rounded up to a cent.
= 10 5 8 12 15 20
> due = $total + -(-$total * $value // 100)
- We add a tip of $value cents for each name.
/ The tip is $value cents a head.
= 100 50 80 150 200
> due = $total + $value * len($names)
- There is no tip.
/ Nothing is added on top.
> due = $total

step: round, rounded, rounding, multiple, full euros, even sum
? Is the sum rounded before it is divided?
? To what do you round the sum?
- Before dividing, the sum with any tip is rounded up to a multiple of $value cents.
/ The sum, with the tip if there is one, is rounded up to the next full $value cents.
= 100 10 20 50 200 500

host: host, does the host pay, first name, first person, organiser, first on the list, invited
? Does the host pay as well?
? Is the organiser treated like the others?
- The host pays nothing and does not appear in the result.
/ The host is invited, so leave that name out.
> payers = $names[1:]
- The host pays like all the others.
/ The host is treated like everybody else.
> payers = $names

rest: leftover, remainder, remaining cents, extra cents, rest, cannot be divided, divide evenly,
  divisible, uneven, odd cents
? What happens with the leftover cents?
? Who pays the remainder if it cannot be divided evenly?
- The first one who pays takes all the leftover cents.
/ Whatever cannot be divided goes to the first payer in the list.
> shares[payers[0]] += rest
- The last one in the list takes all the leftover cents.
/ Whatever cannot be divided goes to the last payer in the list.
> shares[payers[-1]] += rest
- The leftover cents are spread one by one, from the first payer on.
/ Whatever cannot be divided is given out in single cents, starting with the first payer.
> for name in payers[:rest]:
>     shares[name] += 1

form: format, form, output, result, returned, look like, list or dictionary, type, type of result,
  list
? What form does the result have?
? Should the output be a dictionary or a list?
- The result is a dictionary from name to cents.
/ Give me a dictionary with the cents for each name.
> shares
- The result is a list of the cents only, in the order of the names.
/ Give me just the amounts as a list, in the order of the names.
> list(shares.values())
- The result is a list of texts such as Ana: 1250, in the order of the names.
/ Give me a list of texts like Ana: 1250, in the order of the names.
> [f"{name}: {cents}" for name, cents in shares.items()]
"""),
    code="""
def $function($total, $names):
    $tip
    due = -(-due // $step) * $step
    $host
    share, rest = divmod(due, len(payers))
    shares = {name: share for name in payers}
    $rest
    return $form
""",
    draw=_draw,
)
