"""Tasks about a machine that hands out portions, with decisions on early visits, strangers, and an empty machine."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

NAMES = ("Ada", "Ben", "Kim", "Lou", "Mia")


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[tuple[int, str]]]:
    """Draw visits in order of time; many names visit again exactly when their wait is over, or one minute earlier."""
    wait, names = values["wait"], random.sample(NAMES, random.choice((1, 3, 5, 5)))
    visits: list[tuple[int, str]] = []
    minute = random.randrange(400)
    for _ in range(random.randrange(3, 24)):
        name = random.choice((*names, *names, ""))
        before = [at for at, other in visits if other == name and at + wait > minute]
        if before and random.random() < 0.6:
            minute = before[0] + wait - random.randrange(2)
        visits.append((minute, name))
        minute += random.choice((0, 1, wait // 2, wait, random.randrange(70)))
    return ([visit for visit in visits if visit[0] < 1440],)


FAMILY = Family(
    name="feeders",
    themes=themes("""
function       | visits  | one      | unit        | machine
cat_feeder     | visits  | cat      | grams       | the feeding machine of the animal shelter
calf_milk      | stops   | calf     | decilitres  | the milk machine in the calf barn
sweets_machine | pushes  | child    | sweets      | the sweets machine at the summer camp
paper_issue    | demands | pupil    | sheets      | the paper dispenser in the art room
barrel_taps    | taps    | gardener | litres      | the tap of the rain barrel in the allotments
squirrel_bar   | calls   | squirrel | nuts        | the nut dispenser in the park
"""),
    requests=requests("""
We look after $machine, which knows every $one by a chip.
I am in charge of $machine, and each $one has a chip with a name.
For $machine I have a log of one day, as each $one is known by a chip.

I need a Python function that works out what was handed out on that day.
Please write a Python function that says what should have been given.
A Python function should go through the log and tell what goes out.

It gets the log of a day: a list of tuples (minute of the day, name) in order of time, all minutes whole numbers.
The log is a list with a tuple for each visit, first the minute of the day (whole), then the name, earliest first.
What goes in is the log, a list of pairs: the whole minute of the day and the name, sorted by time.

A name that is empty text means that the chip could not be read.
If a chip could not be read, there is empty text for the name.
Empty text in place of a name stands for somebody without a chip that can be read.
"""),
    decisions=decisions("""
stranger: stranger, unknown, empty name, no chip, chip, cannot be read, nameless
? What about strangers without a chip?
? How is an empty name treated?
? What if a chip cannot be read?
- A visit without a name gets nothing and changes nothing.
/ Who has no name is simply ignored.
> shut = False
- All visits without a name are treated as those of one and the same $one, called stranger.
/ Whoever has no name is given the name stranger, in small letters, and is then like the others.
> name = name or "stranger"
> shut = False
- Nobody gets anything less than $value minutes after a visit without a name, which gets nothing itself.
/ Who has no name gets nothing, and neither does anybody in less than $value minutes after each such visit.
= 30 20 45 60
> if not name:
>     closed = minute + $value
> shut = minute < closed

wait: wait, interval, too early, too soon, minutes between, gap, come again, patience
? How long must one wait?
? When does somebody come back too soon?
? How many minutes must lie between two portions?
- Nobody gets anything less than $value minutes after their last portion.
/ After a portion one has to wait $value minutes for the next, and then may have it at once.
= 60 30 45 75 90 120
> early = name in fed and minute - fed[name] < $value
- Nobody gets anything less than $value minutes after their last visit, even if that one was in vain.
/ One has to stay away for $value minutes, and every visit starts that time anew, with or without a portion.
= 60 30 45 75 90 120
> early = name in seen and minute - seen[name] < $value
> seen[name] = minute

daily: daily, times a day, how often, number of portions, allowance, allowed, quota
? How many portions are there for each $one?
? How often a day is one served?
? Is there a daily quota?
- Each $one gets $value portions a day at most, and a visit that gets nothing is not a portion.
/ Nobody has more than $value portions on one day, not counting any that were 0.
= 2 3

size: size, portion size, large, big portion, amount, how many $unit, how much
? How large is a portion?
? How many $unit are in a portion?
? Does the size of a portion change?
- A portion is $value $unit, every time.
/ Every portion has the same size, $value $unit.
= 20 16 18 24 25
> $value
- The first portion of each $one is $value $unit, the second half of that, the third a quarter and so on, rounded down.
/ Everybody begins with $value $unit, and the next are half, a quarter and so on of it, without fractions.
= 40 24 30 36 50
> $value >> count.get(name, 0)

stock: stock, supply, capacity, in the machine, filled, loaded, in the morning, total
? How much is in the machine?
? How large is the stock?
? With how many $unit is it filled?
- In the morning there are $value $unit in the machine, and it is not refilled.
/ The stock for the day is $value $unit in all.
= 110 85 135

rest: runs out, last bit, not enough, remainder, rest, incomplete, nearly empty
? What if there is not enough for a whole portion?
? Who gets the last bit?
? What happens when the machine nearly runs out?
- If less than a portion is left in the machine, the $one gets what is left.
/ When the machine has not enough for a portion, it gives its last bit.
> amount = min(amount, left)
- If less than a portion is left in the machine, the $one gets nothing, and it is kept for smaller portions.
/ When the machine has not enough for a portion, that visit is in vain and the last bit stays in.
> amount = amount if amount <= left else 0

form: form, format, output, returned, look like, dictionary, list, type, give back, read
? In what form do you want the answer?
? What does the output look like?
? Should it be a dictionary or a list?
- Return a dictionary from the name to all $unit of the day, without those who got nothing.
/ The result maps names to their sum of $unit, and who had none is not in it.
> total
- Return a list with the $unit of each visit in the log, 0 for those that got nothing.
/ The result is a list as long as the log: the number of $unit for every visit, maybe 0.
> amounts
- Return a tuple: the $unit left in the machine, and how many visits got nothing.
/ The result is a tuple of two whole numbers, what is left in the machine and the number of visits that got 0.
> (left, amounts.count(0))
"""),
    code="""
def $function($visits):
    left = $stock
    closed = 0
    fed, seen, count, total = {}, {}, {}, {}
    amounts = []
    for minute, name in $visits:
        $stranger
        $wait
        amount = 0
        if name and not shut and not early and count.get(name, 0) < $daily:
            amount = $size
            $rest
        if amount:
            left -= amount
            fed[name] = minute
            count[name] = count.get(name, 0) + 1
            total[name] = total.get(name, 0) + amount
        amounts.append(amount)
    return $form
""",
    draw=_draw,
)
