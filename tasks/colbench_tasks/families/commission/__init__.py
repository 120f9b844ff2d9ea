"""Tasks about a seller's commission, with decisions on small sales, rates, returns, bonuses, and beginners."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[int], int, int]:
    number = values["many"] + random.randrange(-2, 3)
    small, high = values["small"] or 50, random.choice((120, 400, 900))
    sales = [
        random.choice((small, small - 1, random.randrange(5, high), random.randrange(5, high)))
        for _ in range(random.choice((0, number, number, number + 3)))
    ]
    returned = random.choice((0, random.randrange(60), random.randrange(900)))
    return sales, returned, max(1, values["beginner"] + random.randrange(-2, 4))


FAMILY = Family(
    name="commission",
    themes=themes("""
function         | sales     | returned  | months     | deal       | deals          | sellers       | place
seller_pay       | sales     | returned  | months     | sale       | sales          | our sellers   | a furniture store
vineyard_share   | orders    | cancelled | months_in  | order      | orders         | our agents    | the vineyard
stall_earnings   | takings   | refunds   | month      | sale       | sales          | the stall crew | a winter fair
gallery_cut      | paintings | given_back | membership | painting   | paintings      | our artists   | a small gallery
donor_reward     | pledges   | withdrawn | experience | pledge     | pledges        | the canvassers | a charity
broker_income    | contracts | revoked   | tenure     | contract   | contracts      | the brokers   | a solar firm
"""),
    requests=requests("""
At $place I reckon at the end of each month what $sellers have earned.
I do the pay at $place, where $sellers live on what they bring in.
At $place, $sellers get their part of what they bring in, after rules of our own.

I need a Python function for what one person gets, in cents.
Please write me a Python function that gives the pay of one person in cents.
A Python function should work out how many cents somebody has earned.

I have a list with the whole euros of each $deal, the euros taken back in all, and in which month with us the person is.
It gets a list of whole euros, one for each $deal, the whole euros that were taken back, and which month with us it is.
The $deals are a list of whole euros; then come the euros taken back and the person's month here, counted from one.
"""),
    decisions=decisions("""
small: small $deal, tiny, trifle, minimum size, every $deal counted, little ones, lowest
? Does a small $deal count?
? Is there a minimum size for a $deal?
? Are tiny ones left out?
- No $deal below $value euros counts at all.
/ We leave out every $deal under $value euros, as if it had not happened.
= 50 20 25 30 40 60
> counted = [euros for euros in $sales if euros >= $value]
- Each $deal counts, however small it is.
/ Every single $deal counts, even one of a single euro.
> counted = $sales

back: taken back, returned, returns, cancelled, refunds, withdrawn, sent back, undone
? What happens with what was taken back?
? Are returns subtracted?
? Who bears the loss when something is cancelled?
- What was taken back is first subtracted from the sum of the $deals, which never falls below zero.
/ The euros taken back go off the sum, but not below zero.
> total = max(0, sum(counted) - $returned)
- Half of what was taken back, rounded down to a euro, is first subtracted from the sum of the $deals, down to zero.
/ Half of the euros taken back go off the sum, rounded down to a whole euro, but not below zero.
> total = max(0, sum(counted) - $returned // 2)
- What was taken back changes nothing about the pay.
/ The euros taken back are our loss and do not go off the sum.
> total = sum(counted)

percent: percentage, percent, rate, share, how much of it, cut, proportion
? What percentage do they get?
? What is the rate?
? What share of the sum is theirs?
- We pay $value percent of the sum of the $deals.
/ Of the sum, $value percent is paid out.
= 5 3 4 6 8 10

step: step, higher part, more for a high sum, above, climb, accelerate, second tier, progressive
? Does the percentage climb with a high sum?
? Is more paid above some sum?
? From which sum on is there more?
- Of what the sum of the $deals has above $value euros, we pay another 5 percent.
/ On top there are 5 percent of whatever the sum has above $value euros.
= 500 300 400 600 700 800
> cents += max(0, total - $value) * 5
- If the sum of the $deals is above $value euros, we pay another 2 percent of the entire sum.
/ With a sum above $value euros there are 2 percent of the entire sum on top.
= 500 300 400 600 700 800
> cents += total * 2 if total > $value else 0

many: many, number of $deals, busy, how many, diligence, bonus, prize for quantity
? Is there a bonus for many $deals?
? How many $deals bring something extra?
? Is diligence rewarded?
- Whoever has $value or more $deals that count gets 3000 cents on top.
/ With $value or more counted $deals there are 3000 cents extra.
= 5 3 4 6 7 8
> cents += 3000 * (len(counted) >= $value)
- For each counted $deal after the first $value there are 500 cents on top.
/ Every counted $deal beyond the first $value brings 500 cents extra.
= 5 3 4 6 7 8
> cents += 500 * max(0, len(counted) - $value)

top: ceiling, cap, maximum, most, upper limit, at most, highest
? Is there a ceiling for the pay?
? What is the most that somebody can earn?
? Is the pay capped?
- Nobody gets more than $value cents in a month, everything included.
/ The pay of a month ends at $value cents, bonus and all.
= 20000 12000 15000 18000 25000
> cents = min(cents, $value)
- The pay has no upper limit.
/ There is no maximum, whatever comes out is paid.

beginner: beginner, new, newcomer, first months, trial, just started, learning, fresh
? Is there a rule for beginners?
? What do newcomers get?
? How long is somebody new?
- In the first $value months we pay at least 10000 cents, whatever comes out by the other rules.
/ Up to and including month $value nobody goes home with less than 10000 cents.
= 3 2 4 6 12
> if $months <= $value:
>     cents = max(cents, 10000)
- In the first $value months we pay half of what comes out by all the other rules, rounded down to a cent.
/ Up to and including month $value everybody gets only half of the final pay, rounded down to a cent.
= 3 2 4 6 12
> if $months <= $value:
>     cents //= 2
"""),
    code="""
def $function($sales, $returned, $months):
    $small
    $back
    cents = total * $percent
    $step
    $many
    $top
    $beginner
    return cents
""",
    draw=_draw,
)
