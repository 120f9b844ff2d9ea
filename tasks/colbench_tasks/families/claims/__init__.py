"""Tasks about an insurance payment for damaged things, with decisions on wear, limits, a deductible, and receipts."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

Item = tuple[int, int, bool]


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[Item], int]:
    high, old = random.choice((120, 600, 1600)), values["old"]
    items = [
        (
            random.randrange(10, high),
            random.choice((0, 1, old - 1, old, old + 1, random.randrange(12))),
            random.random() < 0.7,
        )
        for _ in range(random.randrange(1, 5))
    ]
    return items, random.choice((0, values["loyal"] - 1, values["loyal"], random.randrange(12)))


FAMILY = Family(
    name="claims",
    themes=themes("""
function       | items    | years     | thing      | things      | insured      | place
claim_payout   | items    | years     | thing      | things      | clients      | the household insurance
bike_claim     | bikes    | member_for | bicycle   | bicycles    | cyclists     | a bicycle insurance
farm_claim     | machines | seasons   | machine    | machines    | farmers      | the farmers' mutual
band_claim     | gear     | loyalty   | guitar     | guitars     | musicians    | the musicians' union
luggage_claim  | bags     | standing  | suitcase   | suitcases   | travellers   | a travel insurance
boat_claim     | boats    | since     | boat       | boats       | skippers     | the harbour insurance
"""),
    requests=requests("""
I settle the damages for $insured at $place.
At $place we pay $insured when their $things are destroyed or stolen.
When $insured lose their $things, $place pays, and I do the sums by hand.

I need a Python function that works out what we pay in whole euros.
Please write a Python function for the whole euros that one claim brings.
A Python function should say how many euros we pay, without cents.

It gets a list of tuples (whole euros of price, whole years of age, True with a receipt) and the whole years with us.
Each $thing is a tuple in a list: euros of price, years of age, True with a receipt. Then come the years insured.
The list holds price in euros, age in years and True for a receipt, else False, as tuples; then come the years with us.
"""),
    decisions=decisions("""
wear: wear, used, depreciation, worn, lose value, new price
? Do you pay the new price for a used $thing?
? How much value does a $thing lose with the years?
? Is wear taken into account?
- For each year of age $value percent of the price is taken off, but not below zero, and we round down to whole euros.
/ A $thing loses $value percent of its price each year until nothing is left, rounded down to whole euros.
= 10 4 5 6 8
> worth = price * max(0, 100 - $value * age) // 100
- For each year of age $value euros are taken off the price, but not below zero.
/ A $thing loses $value euros each year until nothing is left.
= 20 5 10 15 25 30
> worth = max(0, price - $value * age)

old: age, great age, aged, ancient, antique, expired
? Is there an age beyond which you do not pay?
? What happens with a $thing of great age?
? Up to what age do you pay?
- From an age of $value years on we pay nothing for a $thing.
/ A $thing that is $value years old or older brings nothing.
= 8 4 5 6 7 9
> if age >= $value:
>     worth = 0
- From an age of $value years on a $thing is worth just 10 euros, before we ask for a receipt.
/ A $thing that is $value years old or older is worth 10 euros, whatever its price, before the receipt counts.
= 8 4 5 6 7 9
> if age >= $value:
>     worth = 10

proof: receipt, proof, bill of purchase, evidence, invoice, no paper, lost the receipt
? What if there is no receipt?
? Do they need a receipt?
? How do you treat what nobody can prove?
- Without a receipt only half of what a $thing is worth counts, rounded down to whole euros.
/ If there is no receipt, the worth of the $thing is halved and rounded down to whole euros.
> if not proof:
>     worth //= 2
- Without a receipt we pay $value euros for that $thing, or less if it would bring less.
/ A $thing with no receipt brings $value euros at the most.
= 50 20 30 40 60 80
> if not proof:
>     worth = min(worth, $value)

single: single, one $thing at most, most for one, per piece, dearest, luxury
? What is the most you pay for one $thing?
? What is the highest sum for one $thing?
? Do you pay in full for a very dear $thing?
- For one $thing we never pay more than $value euros, and this limit comes after all other rules for that $thing.
/ A single $thing brings $value euros at most, whatever comes out by all other rules for it.
= 400 100 150 200 250 300
> worth = min(worth, $value)
- For one $thing we pay without any upper limit.
/ A single $thing may bring any number of euros.

bear: bear, deductible, excess, pay themselves, own part, own risk, franchise
? What do $insured bear themselves?
? Is there a deductible?
? How large is the excess?
- Of the sum for all $things $insured bear $value euros themselves, or the whole sum if it is less.
/ There is a deductible of $value euros from the sum, which never falls below zero.
= 50 20 30 75 100 150
> paid = max(0, total - $value)
- Of the sum for all $things $insured bear $value percent themselves, rounded up to whole euros.
/ There is a deductible of $value percent of the sum, rounded up to whole euros.
= 10 5 15 20 25 30
> paid = total - -(-total * $value // 100)

loyal: loyal, faithful, long insured, years with us, bonus, old clients, thank
? Is there something for loyal $insured?
? What do the years with you change?
? Do faithful clients get more?
- Whoever has been with us for $value years or more gets 40 euros on top in the end, if anything is paid at all.
/ Loyal $insured, from $value years with us on, get 40 euros extra, but only if there is something to pay.
= 5 2 3 4 6 10
> if $years >= $value and paid:
>     paid += 40
- Whoever has been with us for $value years or more bears nothing and gets the whole sum for all $things.
/ Loyal $insured, from $value years with us on, are spared the deductible.
= 5 2 3 4 6 10
> if $years >= $value:
>     paid = total

form: format, form, output, result, returned, look like, type, written, shape
? What form does the result have?
? What exactly is in the result?
? Do you want one number or several?
- The result is one number, the euros that we pay in the end.
/ Give me just the final euros as one number.
> return paid
- The result is a list with the euros for each $thing before anything comes off their sum, and then the final euros.
/ Give me a list of what each $thing brings, in the same order, and as its last number the final euros.
> return [*each, paid]
- The result is a dictionary with the keys sum, before $insured bear their part, and paid, for the final euros.
/ Give me a dictionary with two keys, sum before $insured bear their part and paid for the final euros.
> return {"sum": total, "paid": paid}
"""),
    code="""
def $function($items, $years):
    each = []
    for price, age, proof in $items:
        $wear
        $old
        $proof
        $single
        each.append(worth)
    total = sum(each)
    $bear
    $loyal
    $form
""",
    draw=_draw,
)
