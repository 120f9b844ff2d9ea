"""Tasks about a parking fee, with decisions on free time, billing blocks, a limit, and a rebate for members."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[int, bool]:
    free, block = values["free"], values["block"]
    near_free = free + random.randrange(-4, 10)
    near_block = free + block * random.randrange(1, 12) + random.randrange(2)
    minutes = random.choice((near_free, near_block, random.randrange(1, 2000)))
    return minutes, random.random() < 0.4


FAMILY = Family(
    name="parking",
    themes=themes("""
function      | minutes        | member     | members        | place
parking_fee   | minutes        | has_permit | permit holders | a small car park
locker_charge | minutes_used   | is_member  | club members   | the lockers at the pool
desk_price    | minutes_booked | subscriber | subscribers    | a co-working space
mooring_fee   | stay_minutes   | local_boat | local boats    | a mooring for small boats
scooter_cost  | ride_minutes   | is_student | students       | a scooter rental
"""),
    requests=requests("""
I run $place and work out by hand what people have to pay.
We look after $place, and every evening I add up the charges on paper.
At $place we charge by time, with the usual exceptions.

I need a Python function that gives the amount in cents for one visit.
I want a function that tells me how many cents one customer owes.
A Python function should work out the price in cents of a single use.

It gets whole minutes and whether the special terms for $members apply (True or False).
I have the time in whole minutes and a flag that is True for $members.
"""),
    decisions=decisions("""
free: free, free time, free minutes, grace period, no charge, cost nothing, no cost
? How many minutes are free?
? Is there a grace period that costs nothing, and how long is it?
- Up to and including $value minutes, nothing has to be paid.
/ Whoever stays no more than $value minutes pays nothing.
= 15 5 10 20 25 30 40

longer: deducted, subtracted, still subtracted, taken off, first minute, whole time, entire time,
  complete duration, exceeds, longer, goes over
? For a longer stay, is the free part deducted or is the whole time charged?
? When somebody stays longer, is the free part still taken off?
- Whoever stays longer than the free minutes pays for the whole time, from the first minute.
/ Whoever goes over the free minutes pays for everything from the very start.
> billed = $minutes
- Whoever stays longer than the free minutes only pays for the time after them.
/ Whoever goes over the free minutes still has them deducted.
> billed = $minutes - $free

block: block, billing block, billing unit, time unit, started hour, by the hour, interval,
  smaller intervals, round, granularity
? How long is one billing block?
? To what unit of time do you round up when billing?
- We bill in blocks of $value minutes, and a started block counts in full.
/ The time is billed in blocks of $value minutes, always rounded up.
= 60 10 15 20 30 45 90

rate: rate, price, tariff, price per block, price of one block of time, price of one interval,
  hourly rate, rate per interval
? What is the rate?
? What is the price of one block of time?
- The rate is $value cents for each block of time.
/ Every block costs $value cents.
= 200 80 120 140 160 220 240 260 300

cap: maximum, cap, ceiling, upper limit, at most, most expensive, no longer increases,
  stops growing
? Is there a maximum amount for one visit?
? Is the amount capped?
- Nobody pays more than $value cents for one visit, before any rebate.
/ There is a maximum of $value cents, before any rebate.
= 1500 800 1000 1200 1800 2000 2400
> fee = min(fee, $value)
- There is no maximum amount for one visit.
/ The price just keeps growing with the time.

rebate: discount, rebate, reduction, percentage off, special terms, special flag, $members,
  pay less, cheaper
? What discount do $members get?
? How much less do $members pay?
- $value percent of the final amount is taken off for $members.
/ The special terms for $members are $value percent off the final amount.
= 20 10 15 25 30 40 50
> fee -= fee * $value // 100
- The final amount is $value cents lower for $members, but never below zero.
/ The special terms for $members are $value cents off the final amount, but not below 0.
= 100 50 150 200 250
> fee = max(0, fee - $value)
"""),
    code="""
def $function($minutes, $member):
    if $minutes <= $free:
        return 0
    $longer
    blocks = -(-billed // $block)
    fee = blocks * $rate
    $cap
    if $member:
        $rebate
    return fee
""",
    draw=_draw,
)
