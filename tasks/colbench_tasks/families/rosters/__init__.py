"""Tasks about the working time in a week of shifts, with decisions on overlaps, rest, breaks, nights, and overtime."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[tuple[int, int]]]:
    """Draw shifts in minutes since Monday 0:00; some overlap or touch, and some gaps are close to the required rest."""
    rest = 60 * values["rest"]
    shifts: list[tuple[int, int]] = []
    end = random.randrange(1500)
    for _ in range(random.randrange(1, 8)):
        close = rest + random.choice((-1, 0, -60, -random.randrange(1, 300)))
        gap = random.choice(
            (close, close, random.randrange(600, 1800), 0, -random.randrange(30, 300))
        )
        start = max(0, end + gap)
        end = start + random.choice((360, 361, random.randrange(180, 800)))
        if end <= 7 * 1440:
            shifts.append((start, end))
    random.shuffle(shifts)
    return (shifts,)


FAMILY = Family(
    name="rosters",
    themes=themes("""
function        | shifts     | who           | place
week_minutes    | shifts     | nurse         | a small hospital
watch_time      | watches    | observer      | a polar station
driver_account  | tours      | bus driver    | the bus company
stage_hours     | calls      | stage hand    | the theatre
kitchen_time    | duties     | cook          | a hotel kitchen
lookout_account | turns      | fire watcher  | the forest service
"""),
    requests=requests("""
At $place every $who has an account of working time, and on Sundays I add it up.
I make the roster of $place, and somebody has to say how much time each $who is credited.
For $place I check the week of each $who with a ruler and a pocket calculator.

I need a Python function for the credited time of one week.
Please write a Python function that works out what is credited for a week.
A Python function should tell how much working time is credited to one person.

It gets a list of tuples (start, end), in no particular order: whole minutes since the week began on Monday.
The shifts come as a list of pairs in any order, start and end, each in whole minutes since Monday began.
What goes in is an unsorted list of tuples (start, end), one for each shift, in whole minutes since Monday began.
"""),
    decisions=decisions("""
overlap: overlap, overlapping, touch, clash, same time, double booking, at once
? What about shifts that overlap?
? How are overlapping shifts treated?
? What if two shifts clash?
- Shifts that overlap or touch are counted as one long shift.
/ Where one shift starts before or just when another ends, both are merged to a single one.
> for start, end in sorted($shifts):
>     if kept and start <= kept[-1][1]:
>         kept[-1] = (kept[-1][0], max(end, kept[-1][1]))
>     else:
>         kept.append((start, end))
- We go by start and end, and a shift that starts before or just when the last counted one ends is left out.
/ In order of start (then end), a shift that overlaps or touches the last one we kept does not count at all.
> for start, end in sorted($shifts):
>     if not kept or start > kept[-1][1]:
>         kept.append((start, end))

rest: rest, recover, hours off, gap between shifts, short turnaround, enough sleep
? How much rest is there between two shifts?
? When is the rest between shifts too short?
? How many hours off must there be?
- The rest between two counted shifts is too short if it is under $value hours, and just $value hours are fine.
/ Between two counted shifts there must be $value hours of rest or more, otherwise it is too short.
= 11 8 9 10 12

makeup: compensation, make up, bonus, too little sleep, extra credit, in return, violation
? What does one get for too little sleep?
? Is there a compensation for coming back early?
? What is given in return when the gap was not long enough?
- Each time the rest between two shifts was too short, $value minutes are added in return.
/ For every rest that was too short there is a credit of $value extra minutes.
= 60 20 30 45 90
> total += $value
- Each time the rest between two shifts was too short, the minutes that it lacked are added in return.
/ For every rest that was too short the missing minutes of it are credited.
> total += 60 * $rest - (start - before)

breaks: break, breaks, lunch, pause, meal, unpaid
? Are breaks taken off?
? How long is the unpaid break?
? What about lunch?
- From each shift of more than 6 hours, $value minutes of break are taken off.
/ If a shift is longer than 6 hours, the break takes $value minutes away from it.
= 30 15 20 40 45
> if worked > 360:
>     worked -= $value
- From each shift, $value minutes of break are taken off for every full 4 hours of it.
/ Every 4 hours there is a break, so each complete 4 hours of a shift take $value minutes away.
= 20 10 15 25
> worked -= worked // 240 * $value
- No breaks are taken off.
/ Breaks are working time.

night: night, midnight, dark, late shift, unsocial, early morning
? Is there something for the night?
? What about a shift that goes past midnight?
? Do late shifts get more?
- A shift that goes on after a midnight brings $value extra minutes, and one that ends right at midnight does not.
/ We add $value minutes to a shift in which midnight falls, though not if it starts or ends just then.
= 30 10 20 40 50
> if (end - 1) // 1440 > start // 1440:
>     total += $value
- A shift that starts at 20:00 or later, but before midnight, brings $value extra minutes.
/ We add $value minutes to each shift that begins between 20:00, included, and midnight.
= 30 10 20 40 50
> if start % 1440 >= 1200:
>     total += $value
- The night is paid like the day.
/ Night work brings nothing extra.

full: full week, far too much, overtime, limit, contract, weekly hours, beyond
? How many hours is a full week?
? What about overtime?
? Is there a limit for the week?
- When the week with all extras is added up, what goes beyond $value hours is not credited.
/ The week is cut off at $value hours, and what is beyond them is lost.
= 40 20 25 30 35
> total = min(total, $value * 60)
- When the week with all extras is added up, what goes beyond $value hours counts twice.
/ After adding up, all time beyond $value hours is overtime and counts double.
= 40 20 25 30 35
> total += max(0, total - $value * 60)

round: round, rounded, quarter of an hour, steps, full minutes, smallest unit
? How is the total rounded?
? In what steps is time credited?
? Do you round to quarters of an hour?
- At the very end, the credited time is rounded down to a multiple of $value minutes.
/ In the end we round down to full steps of $value minutes.
= 15 5 6 10 30
> total = total // $value * $value
- At the very end, the credited time is rounded up to a multiple of $value minutes.
/ In the end we round up to full steps of $value minutes.
= 15 5 6 10 30
> total = -(-total // $value) * $value

form: form, format, output, returned, look like, text or number, string, type, write the time
? In what form do you want the time?
? What does the output look like?
? Should it be in minutes or in hours?
- Return the number of minutes, a whole number.
/ The result is one integer, in minutes.
> total
- Return text like "37:05", hours and minutes with a colon, the minutes always with two digits.
/ The result is a string such as "37:05": hours, colon, two digits of minutes.
> f"{total // 60}:{total % 60:02}"
- Return a dictionary with the keys hours and minutes, the minutes below 60.
/ The result is a dictionary: full hours under "hours", the minutes left over under "minutes".
> {"hours": total // 60, "minutes": total % 60}
"""),
    code="""
def $function($shifts):
    kept = []
    $overlap
    total = 0
    before = None
    for start, end in kept:
        worked = end - start
        $breaks
        total += worked
        $night
        if before is not None and start - before < 60 * $rest:
            $makeup
        before = end
    $full
    $round
    return $form
""",
    draw=_draw,
)
