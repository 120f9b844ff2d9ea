"""Tasks about a utility bill, with decisions on prices, heavy use, off-peak hours, basic charges, and rounding."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[int, int]:
    limit = values["limit"]
    used = random.choice((random.randrange(40), limit + random.randrange(-3, 4), 3 * limit))
    return used, random.choice((0, random.randrange(1, 60), random.randrange(400)))


FAMILY = Family(
    name="meters",
    themes=themes("""
function       | day        | night     | unit           | quiet   | what
power_bill     | day_units  | night     | kilowatt hours | night   | electricity
water_bill     | normal     | off_peak  | cubic metres   | off-peak | water
data_bill      | daytime    | late      | gigabytes      | late    | our village network
charging_bill  | peak       | low       | kilowatt hours | low-load | the charging column
heat_bill      | main_units | reduced   | heat units     | reduced | the district heating
"""),
    requests=requests("""
I write the bills for $what in our street.
For $what I send everybody a bill at the end of the month.
We share $what among neighbours, and I work out who pays what.

I need a Python function that returns the amount in cents.
Please make a Python function that says how many cents the bill is.
A Python function should give me the sum in cents.

It gets the $unit at the normal time and those at the $quiet time, as whole numbers.
There are two whole numbers, the $unit at the normal time and at the $quiet time.
"""),
    decisions=decisions("""
price: price, normal price, normal unit, unit at the normal time, cents per unit, regular price,
  standard rate, normally, what a unit costs normally
? What does one unit cost at the normal time?
? What is the normal price?
- One unit at the normal time costs $value cents.
/ The normal price is $value cents for a unit.
= 30 12 16 20 24 28 36 40

limit: limit, step, allowance, heavy use, higher usage, quota, first tier, price change,
  another price, different price, change from what amount, consumption, threshold, how many units,
  how many units at the normal price
? From what amount on does the price change?
? Is there a limit for heavy use?
- Units at the normal time beyond the first $value have another price.
/ Only the first $value units at the normal time have the normal price.
= 100 50 60 80 120 150 200

above: beyond the limit, beyond, price beyond the threshold, price above the limit,
  cost in second tier, price for heavy use, excess, second price, further units
? What does a unit beyond the limit cost?
? What is the price above it?
- Heavy use at the normal time has a limit, and each unit beyond it costs $value cents.
/ Each unit at the normal time beyond the limit is $value cents.
= 45 10 18 22 34 42 50 60

second: $quiet, $quiet time, $quiet units, units at the $quiet time, cheap hours, cheaper period,
  off hours, second number, other time
? What does a unit at the $quiet time cost?
? How are the $quiet units charged?
- A unit at the $quiet time costs half the normal price.
/ For the $quiet time we charge half of the normal price.
> cost += $night * $price // 2
- A unit at the $quiet time costs $value cents.
/ For the $quiet time we charge $value cents a unit.
= 9 5 7 11 13 15
> cost += $night * $value

basic: basic charge, base fee, standing charge, fixed, fixed fee, fixed amount, minimum,
  monthly fee, no use at all
? Is there a basic charge?
? What is the fixed fee or the minimum?
- There is a basic charge of $value cents on top of the cost of all units.
/ We add a fixed fee of $value cents.
= 500 300 450 600 750 900
> cost += $value
- There is no basic charge, but nobody pays less than $value cents.
/ Instead of a fixed fee there is a minimum of $value cents.
= 1000 800 1200 1500
> cost = max(cost, $value)

rounding: round, rounded, rounding, amount rounded, whole euros, final sum, smallest
? How do you round the final sum?
? Is the amount rounded?
- The final sum is rounded down to a multiple of $value cents.
/ In the end we round down to the last full $value cents.
= 100 20 25 50
> return cost // $value * $value
- The final sum is rounded up to a multiple of $value cents.
/ In the end we round up to the next full $value cents.
= 100 20 25 50
> return -(-cost // $value) * $value
- The final sum is not rounded.
/ We take the exact cents.
> return cost
"""),
    code="""
def $function($day, $night):
    normal = min($day, $limit)
    cost = normal * $price + ($day - normal) * $above
    $second
    $basic
    $rounding
""",
    draw=_draw,
)
