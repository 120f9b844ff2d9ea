"""Tasks about fines for borrowed items, with decisions on free days, the daily fine, lost items, and children."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[int | None], bool]:
    free, long = values["free"], random.choice((3, 12, 40, 90))
    days = (random.choice((0, free, free + 1, free + long)) for _ in range(6))
    late = [max(0, day - random.randrange(2)) for day in days][: random.randrange(1, 7)]
    lost: list[int | None] = [None] * random.choice((0, 0, 0, 1, 2))
    mixed = [*late, *lost]
    random.shuffle(mixed)
    return mixed, random.random() < 0.4


FAMILY = Family(
    name="library",
    themes=themes("""
function      | late      | child      | thing   | children      | place
library_fine  | late      | child      | book    | children      | the town library
tool_fine     | overdue   | apprentice | tool    | apprentices   | a tool lending shed
costume_fine  | days_late | in_play    | costume | cast members  | the theatre wardrobe
ski_fine      | delays    | junior     | pair of skis | juniors  | a ski rental
toy_fine      | belated   | newcomer   | toy     | new families  | the toy exchange
score_fine    | tardy     | is_student | score   | students      | the music archive
"""),
    requests=requests("""
At $place people bring things back late, and I work out what they owe.
I sit at the desk of $place, where not everything comes back on time.
People forget to bring things back to $place, and we have rules for that.

I need a Python function for the fine in cents and for whether somebody may go on borrowing.
Please write a Python function that gives the fine in cents, and says if the person may still borrow.
A Python function should tell me how many cents somebody owes and whether we go on lending to them.

It gets a list with the whole days late of each $thing, None for a lost one, and True for $children, else False.
I give a list, for each $thing the days late (0 is on time) or None if lost, and True for $children, else False.
For each $thing the list holds the days late, 0 if on time, None if lost; then comes True for $children or else False.
"""),
    decisions=decisions("""
free: free days, grace, forgiven, tolerance, without a fine, on the house
? How many days late are forgiven?
? Are there free days?
? After how many days does the fine begin?
- Up to and including $value days late, a $thing costs nothing; later than that, all its days count.
/ We forgive $value days; whoever brings a $thing later than that pays for every day from the first one.
= 3 2 4 5 6 7
> if days <= $value:
>     continue
- The first $value days late of each $thing are free, and only the days after those count.
/ We never charge the first $value days of a $thing, only those that follow.
= 3 2 4 5 6 7
> days = max(0, days - $value)

daily: daily fine, per day, each day, rate, per week, price of delay
? What does a day late cost?
? Is the fine by the day or by the week?
? What is the rate of the fine?
- Every late day that counts costs $value cents for each $thing.
/ The fine is $value cents a day and $thing.
= 20 10 15 25 30 40
> fine = days * $value
- Every started week of late days that count costs $value cents for each $thing.
/ The fine is $value cents a week and $thing, and a started week is a full one.
= 100 50 70 80 120 150
> fine = -(-days // 7) * $value

most: most, cap, ceiling, maximum, at most, upper limit, endless
? What is the most that one late $thing can cost?
? Is the fine for one $thing capped?
? Is there a maximum for a single $thing?
- One late $thing never costs more than $value cents.
/ For a single late $thing we stop at $value cents.
= 500 300 350 400 600
> owed += min(fine, $value)
- The fine for one $thing has no maximum.
/ There is no ceiling, it gets dearer with the days.
> owed += fine

lost: lost, gone, missing, never comes back, None, replacement, disappeared
? What does a lost $thing cost?
? What happens if somebody has lost a $thing?
? What about None in the list?
- A lost $thing costs $value cents.
/ For each lost $thing we take $value cents.
= 2000 900 1200 1500 2500 3000
> owed += $value
- The first lost $thing costs 500 cents, and each further one $value cents.
/ For lost ones we take 500 cents once, and $value cents for every one after the first.
= 2000 900 1200 1500 2500 3000
> owed += $value if lost else 500

lenient: $children, privilege, flag, mild, spare, young, favour
? What is different for $children?
? Are you lenient with $children?
? What does the flag change?
- We ask $children for half of the whole sum, rounded down to a cent.
/ Half of the sum, rounded down to a cent, is enough from $children.
> owed //= 2
- We ask $children for the whole sum less $value cents, but not for less than zero.
/ The sum is $value cents lower for $children, though never below zero.
= 200 100 150 250 300 400
> owed = max(0, owed - $value)

waive: waive, trifle, small sum, petty, not worth, forget about it, minimum
? Do you waive small sums?
? Is there a sum that is not worth the trouble?
? From how many cents on must somebody pay?
- In the end a sum below $value cents is waived, so that it is 0.
/ If the final sum is under $value cents, we forget about it and take 0.
= 100 200 300 400 500
> if owed < $value:
>     owed = 0
- In the end even the smallest sum has to be paid.
/ We waive nothing, each cent of the final sum is due.

block: block, blocked, stop lending, may borrow, banned, suspend, card taken away
? When is somebody blocked?
? When may somebody not borrow any more?
? Until when do you go on lending?
- Whoever has to pay $value cents or more in the end may not borrow any more.
/ We stop lending to people whose final sum is $value cents or higher.
= 1000 400 500 600 800 1500
> may = owed < $value
- Whoever has $value or more in the list that are late by any time, or lost, may not borrow any more.
/ We stop lending to people with $value or more late or lost ones, free days or not.
= 3 2 4
> may = sum(days != 0 for days in $late) < $value

form: format, form, output, result, returned, look like, type, written, shape
? What form does the result have?
? How should the output look?
? Do you want a tuple, a dictionary or a text?
- The result is a tuple of the cents and True if the person may borrow, else False.
/ Give me a tuple, first the cents, then True or False for whether they may borrow.
> return owed, may
- The result is a dictionary with the keys fine, for the cents, and borrow, for True or False.
/ Give me a dictionary with the cents under fine and True or False under borrow.
> return {"fine": owed, "borrow": may}
- The result is text such as 450 yes, the cents, a space, and yes or no for borrowing.
/ Give me text like 450 yes, that is the cents, a space, and yes or no for whether they may borrow.
> return f"{owed} {'yes' if may else 'no'}"
"""),
    code="""
def $function($late, $child):
    owed = lost = 0
    for days in $late:
        if days is None:
            $lost
            lost += 1
            continue
        $free
        $daily
        $most
    if $child:
        $lenient
    $waive
    $block
    $form
""",
    draw=_draw,
)
