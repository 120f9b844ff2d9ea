"""Tasks about the price of a stay, with decisions on nights, additional guests, long stays, cleaning, and tax."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[int, int, int]:
    long = values["long"]
    nights = random.choice((long - 1, long, long + 1, random.randrange(1, 22)))
    return nights, random.randrange(1, 6), random.choice((0, 0, 1, 2, 3))


FAMILY = Family(
    name="hotel",
    themes=themes("""
function     | nights     | adults  | children | place
stay_price   | nights     | adults  | children | our guest house
cabin_price  | nights     | grown   | kids     | the cabin in the woods
pitch_price  | nights     | campers | children | a camp site
barge_price  | days       | sailors | kids     | a houseboat
farm_price   | sleeps     | guests  | little   | rooms on the farm
"""),
    requests=requests("""
We rent out $place, and I answer a lot of letters about prices.
I do the bookings for $place.
People who want to come to $place ask me what it will cost.

I need a Python function that gives the price of a stay in whole euros.
Please write a Python function that says how many euros we ask for.
A Python function should return the price in euros.

It gets the number of nights, of adults and of children, as whole numbers.
I know how many nights it is, how many adults come and how many children.
"""),
    decisions=decisions("""
price: price, per night, one night, nightly rate, basic price, rate
? What does one night cost?
? What is the price per night?
- A night costs $value euros.
/ We take $value euros a night.
= 80 40 50 60 70 90 100 120

included: included, included people, covered, cover, how many for that price,
  price for how many people, number of guests, guests included
? How many people are included in the price?
? How many guests does the price cover?
- The price of a night covers a party of up to $value, big or small.
/ The price of a night is for a party of up to $value, children counted like adults.
= 2 1 3 4

more: additional person, additional guest, extra person, extra guest, further guest,
  more cost for more people, more guests, each more
? What does an additional person cost?
? How much is each extra guest?
- Each additional person that the price of a night does not cover is $value euros a night.
/ For everybody who is not included, adult or child, we take $value euros a night.
= 15 5 8 10 20 25
> cost += $nights * extra * $value
- Each additional person that the price of a night does not cover is $value euros for the whole stay.
/ For everybody who is not included, adult or child, we take $value euros once.
= 30 12 18 22 35 40
> cost += extra * $value

long: long stay, longer stay, week, many nights, from how many nights, long
? From how many nights on is it a long stay?
? When is a stay long?
- From $value nights on it is a long stay.
/ A stay is long if it has $value nights or more.
= 7 3 4 5 6 10 14

benefit: discount, reduction, cheaper, long stay cheaper, taken off, reward for long, rebate,
  advantage
? What is the discount for a long stay?
? How much cheaper is a long stay?
- For a long stay, the basic price of one night is taken off.
/ A long stay gets one night free, at the basic price without any extras.
> cost -= $price
- For a long stay, $value euros are taken off.
/ A long stay is $value euros cheaper.
= 30 15 25 35 45
> cost -= $value

tax: tax, city tax, visitor tax, fee for the town, cleaning, final cleaning, additional charge
? Is there a tax or a cleaning fee?
? What additional charges are there?
- The town takes a tax of $value euros a night for each adult, which comes on top.
/ On top there are $value euros of tax for each adult and night.
= 2 3 4 5
> cost += $nights * $adults * $value
- At the end there are $value euros for cleaning on top.
/ On top there are $value euros for cleaning, once for each stay.
= 40 20 32 48 55
> cost += $value
"""),
    code="""
def $function($nights, $adults, $children):
    cost = $nights * $price
    extra = max(0, $adults + $children - $included)
    $more
    if $nights >= $long:
        $benefit
    $tax
    return cost
""",
    draw=_draw,
)
