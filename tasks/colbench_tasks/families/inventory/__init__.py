"""Tasks about a quantity to order, with decisions on demand, a reserve, packs, small orders, and the result's unit."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, _values: Mapping[str, Any]) -> tuple[int, list[int], int]:
    busy = random.choice((4, 9, 30))
    sales = [random.randrange(busy + 1) for _ in range(random.randrange(8, 11))]
    stock = random.choice((0, random.randrange(20), random.randrange(120)))
    return stock, sales, random.randrange(1, 8)


FAMILY = Family(
    name="inventory",
    themes=themes("""
function        | stock    | sales      | days       | thing    | place
order_quantity  | stock    | sales      | lead_days  | lamps    | my shop
reorder_amount  | on_hand  | daily_use  | lead_time  | filters  | the workshop
restock_count   | left     | sold       | wait_days  | loaves   | the village store
refill_order    | in_store | usage      | delay_days | syringes | our practice
barrel_order    | cellar   | served     | days_until | barrels  | the beer garden
"""),
    requests=requests("""
I look after the $thing in $place and decide every week what to order.
In $place we keep running out of $thing, or we order far too many.
Ordering $thing for $place is still done by feeling.

I need a Python function that says how much to order.
Please make a Python function for the size of the next order.
A function should tell me what to order.

It gets what is in stock, the list of pieces used per day (latest last), and the days until delivery.
I have the stock, a list with the use of each of the past days (the latest at the end), and the \
days a delivery takes.
"""),
    decisions=decisions("""
demand: demand, daily use, consumption, average, typical day, forecast, expected sales, per day
? How do you estimate the use per day?
? What daily demand do you expect?
- As the use per day we expect the average of the whole list, rounded up to whole pieces.
/ The daily use is the average over all days given, rounded up.
> daily = -(-sum($sales) // len($sales))
- As the use per day we expect the average of the last $value days in the list, rounded up to whole pieces.
/ The daily use is the average over the latest $value days, rounded up.
= 3 2 4 5 7
> daily = -(-sum($sales[-$value:]) // $value)
- As the use per day we expect that of the busiest day of the list.
/ The daily use is the highest number in the list.
> daily = max($sales)

reserve: reserve, safety, safety stock, buffer, cushion, emergency
? How much reserve do you keep?
? Is there a safety stock?
- Besides the use until delivery we want a reserve, the expected use of $value more days.
/ The safety stock is enough for $value extra days.
= 2 3 4 5 6
> target += daily * $value
- Besides the use until delivery we want a reserve of $value pieces.
/ The safety stock is always $value pieces.
= 10 5 8 15 20
> target += $value

small: small order, little, one piece, few pieces, minimum order, too few, worth it, tiny
? What about very small orders?
? Is there a minimum order?
- If fewer than $value pieces are missing, we order nothing.
/ Less than $value missing pieces are not worth an order.
= 10 5 8 12 15
> if lacking < $value:
>     return 0
- If pieces are missing, but fewer than $value, we count it as $value before packing.
/ When anything is missing at all, the minimum is $value pieces before packing.
= 10 16 20 25 30
> lacking = max(lacking, $value)
- However few pieces are missing, we order them.
/ No order is too small for us.

pack: pack, packs, pieces in a pack, how many in a pack, box, boxes, multiples, pack size, bundle,
  units per pack, number per pack
? How many pieces are in a pack?
? What is the pack size?
- The $thing come in packs of $value, and we round up to whole packs.
/ One pack holds $value pieces, and we only order whole packs.
= 10 4 6 8 12 20

unit: result, unit, output, returned, return packs, pieces or packs, packs or pieces,
  number means
? Is the result in pieces or in packs?
? What unit should the output have?
- The result is the number of packs to order.
/ I want to see how many packs it is.
> return packs
- The result is the number of single pieces in all packs to order.
/ I want to see how many single pieces it is.
> return packs * $pack
"""),
    code="""
def $function($stock, $sales, $days):
    $demand
    target = daily * $days
    $reserve
    lacking = target - $stock
    if lacking <= 0:
        return 0
    $small
    packs = -(-lacking // $pack)
    $unit
""",
    draw=_draw,
)
