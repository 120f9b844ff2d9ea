"""Tasks about the price of sending a parcel, with decisions on weight steps, distance, and free delivery."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[int, int, int]:
    step, far = values["step"], values["zone"]
    weight = random.choice((step * random.randrange(1, 6) + random.randrange(2), 137, 4210, 880))
    distance = random.choice((far, far + 1, random.randrange(5, 900)))
    free = values["waiver"] or 5000
    worth = random.choice((free, free - 1, random.randrange(300, 20000)))
    return weight, distance, worth


FAMILY = Family(
    name="shipping",
    themes=themes("""
function       | weight    | distance    | worth        | thing   | shop
shipping_cost  | weight    | distance    | order_value  | parcel  | our online shop
courier_price  | grams     | kilometres  | declared     | package | a small courier service
flower_fee     | weight    | distance_km | bouquet      | bouquet | our flower shop
delivery_price | mass      | far         | basket_total | crate   | the vegetable farm
freight_charge | weight_g  | route_km    | goods_value  | box     | a tile workshop
"""),
    requests=requests("""
We send things from $shop, and working out the delivery price takes me too long.
For $shop I have to say what the delivery of a $thing costs.
Customers of $shop keep asking me for the price of sending a $thing.

I need a Python function that returns the price in cents.
Please make me a function that says how many cents we charge.
I would like a Python function with the delivery price in cents as its result.

It gets the weight in grams, the distance in kilometres and the value of the goods in cents.
What I know is the grams, the kilometres and how many cents the goods are worth.
"""),
    decisions=decisions("""
base: base, base price, basic, basic price, fixed part, flat, start with, handling
? What is the basic price before weight and distance?
? Is there a fixed part, and how high is it?
- Every $thing starts at a basic price of $value cents.
/ The fixed part is $value cents.
= 390 190 250 290 350 450 490

step: steps of weight, steps of grams, grams, price grows in steps, how many grams, how heavy,
  weight increments, weight grouped, size of a step, weight units
? In steps of how many grams does the price grow?
? What are the weight steps?
- The weight counts in steps of $value grams, and a started step counts in full.
/ We go in steps of $value grams, rounded up.
= 1000 200 250 400 500 750

each: price per weight step, each weight step, cents each weight step adds, cents for weight,
  weight step adds to the price, per kilo price, cost of weight, weight unit
? How many cents does each weight step add?
? What is the price per weight step?
- Each weight step adds $value cents.
/ It is $value cents more for every weight step.
= 100 40 60 80 120 150

zone: how far, far, far away, remote, distance, distance limit, zone, kilometres, local,
  long distance from where, count as far
? From what distance on is a place far away?
? Where does the local zone end?
- Anything beyond $value kilometres is far away for us.
/ Up to $value kilometres is local, beyond that it is far.
= 100 30 50 80 150 200 300

remote: surcharge, distance surcharge, far places, far away price, far-away delivery, expensive,
  far destinations, long way, remote, multiple
? What is the surcharge for far places?
? What do you add for a long way?
- For far places the whole price, weight included, is doubled.
/ A long way costs twice the whole price, weight included.
> price *= 2
- For far places there is a surcharge of $value cents.
/ A long way costs $value cents more.
= 300 150 200 450 600
> price += $value

waiver: free delivery, free shipping, no charge, waived, value of the goods, expensive goods, big order
? Is delivery free from some value of the goods on?
? When do you waive the price?
- From a goods value of $value cents on, delivery is free.
/ If the goods are worth $value cents or more, we charge nothing.
= 5000 2500 4000 7500 10000
> if $worth >= $value:
>     return 0
- Delivery is never free, whatever the goods are worth.
/ Even for expensive goods we charge the delivery.
"""),
    code="""
def $function($weight, $distance, $worth):
    $waiver
    price = $base + -(-$weight // $step) * $each
    if $distance > $zone:
        $remote
    return price
""",
    draw=_draw,
)
