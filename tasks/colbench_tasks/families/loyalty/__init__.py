"""Tasks about points for a purchase, with decisions on the rate, a minimum purchase, a limit, and loyal customers."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[int, bool, bool]:
    least = values["least"] or 1500
    amount = random.choice(
        (least, least - 1, least + random.randrange(300), random.randrange(100, 60000))
    )
    return amount, random.random() < 0.4, random.random() < 0.4


FAMILY = Family(
    name="loyalty",
    themes=themes("""
function        | amount   | gold      | birthday      | status        | shop
loyalty_points  | amount   | is_gold   | birthday      | gold customer | our book shop
bonus_stamps    | spent    | regular   | has_birthday  | regular       | the coffee bar
air_miles       | price    | premium   | on_birthday   | premium flyer | a small airline
cinema_stars    | total    | is_friend | birthday_week | friend        | the cinema
garden_leaves   | purchase | patron    | its_birthday  | patron        | the garden centre
"""),
    requests=requests("""
At $shop people collect points, and the till cannot do that on its own.
We run a points card at $shop, with a few rules of our own.
Customers of $shop get points for what they buy.

I need a Python function that says how many points a purchase brings.
Please write a Python function for the points of one purchase.
A function should return the points as a whole number.

It gets the cents paid, whether the person is a $status, and whether it is their birthday.
I know the amount in cents, and True or False for being a $status and for having a birthday.
"""),
    decisions=decisions("""
least: smallest purchase, minimum purchase, too small, small amounts, minimum, from what amount
? Is there a minimum purchase for getting points?
? Do very small purchases bring points too?
- A purchase under $value cents brings nothing at all, birthday or not.
/ You have to spend at least $value cents, or you get 0, birthday or not.
= 1000 500 800 1500 2000
> if $amount < $value:
>     return 0
- Every purchase counts, however small.
/ There is no minimum.

rate: rate, earning rate, spend for one point, cents per point, money for one point,
  points per euro
? How many cents do you have to spend for one point?
? What is the rate of points?
- Every full $value cents bring one point.
/ You get a point for each full $value cents.
= 100 50 80 120 150 200 250

cap: maximum, maximum points, maximum for one purchase, cap, ceiling, at most, upper limit
? Is there a maximum of points for one purchase?
? Are the points of a purchase capped?
- One purchase brings $value points at most, before extras for a $status or a birthday.
/ We stop at $value points for a purchase, and extras come after that.
= 100 40 50 60 80 120
> points = min(points, $value)
- There is no maximum of points for one purchase.
/ The more you buy, the more you get, without a limit.

level: $status, status, status earns more, loyal, vip, level, membership, advantage
? What does a $status get?
? Is there an advantage for being a $status?
- For a $status the points are multiplied by $value.
/ A $status gets $value times as many points.
= 2 3 4
> points *= $value
- A $status gets $value points on top.
/ For a $status we add $value points.
= 10 5 15 20 25 30
> points += $value

party: birthday, birthday points, birthday bonus, present, anniversary, celebrate
? What happens on a birthday?
? Is there a present for birthdays?
- On a birthday, $value points are added at the very end.
/ For the birthday there are $value points on top of everything else.
= 50 20 25 40 75 100
> points += $value
- On a birthday, all the points are doubled at the very end.
/ For the birthday you get twice the points, after everything else.
> points *= 2
"""),
    code="""
def $function($amount, $gold, $birthday):
    $least
    points = $amount // $rate
    $cap
    if $gold:
        $level
    if $birthday:
        $party
    return points
""",
    draw=_draw,
)
