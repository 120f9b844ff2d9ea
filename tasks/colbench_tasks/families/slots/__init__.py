"""Tasks about start times of appointments, with decisions on length, gaps, lunch, and the last appointment."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, _values: Mapping[str, Any]) -> tuple[int, int]:
    opens = random.randrange(7 * 12, 14 * 12) * 5
    return opens, opens + random.randrange(12, 60) * 5


FAMILY = Family(
    name="slots",
    themes=themes("""
function          | opens     | closes     | what         | place
appointment_times | opens     | closes     | appointment  | our dental practice
lesson_starts     | begin     | end        | lesson       | the music school
tour_times        | first_min | last_min   | guided tour  | the old castle
test_drive_slots  | opening   | closing    | test drive   | a car dealer
repair_slots      | start_min | finish_min | repair visit | the bicycle repair café
"""),
    requests=requests("""
Every morning I write down when each $what of the day starts at $place.
At $place I make the plan of the day on paper, one $what after the other.
We want to show visitors of $place when each $what begins.

I need a Python function that lists the start times.
Could you make a Python function that gives all the start times in order?
A function should list when each $what of the day starts.

Opening and closing time come as whole minutes after midnight, and the result is a list.
It gets the minutes after midnight at which we open and at which we close, and returns a list.
"""),
    decisions=decisions("""
length: long, length, duration, take, lasts, how long, minutes for each, how many minutes
? How long is one $what?
? What is the duration of one $what?
- One $what takes $value minutes.
/ It lasts $value minutes.
= 30 20 25 35 40 45 50 60

gap: gap, pause, between, buffer, one after another, cleaning, back to back
? Is there a gap between one $what and the next?
? How long is the pause in between?
- After each $what there is a gap of $value minutes.
/ We leave $value minutes between one and the next.
= 5 10 15 20
> start += $value
- Each $what follows the one before without any gap.
/ The next one starts right when the one before ends.

first: first, begin, beginning, earliest, right at opening, opening, delay after opening, set up
? When does the first one begin?
? How long after opening does the first $what start?
- The first $what starts right at opening.
/ We begin the minute we open.
> start = $opens
- The first $what starts $value minutes after opening.
/ We begin $value minutes after we have opened.
= 15 5 10 20 30
> start = $opens + $value

lunch: lunch, lunch break, midday, noon, meal
? Is there a lunch break?
? What happens around midday?
- Our lunch break is from $value o'clock for an hour; a $what that would overlap it starts right after it.
/ For one hour from $value o'clock we eat, and whatever would overlap is moved to the end of that.
= 12 11 13
> if start < $value * 60 + 60 and start + $length > $value * 60:
>     start = $value * 60 + 60
>     continue
- We have no lunch break.
/ We work right through midday.

last: last, last start, when may the last start, last one, end of the day, closing, close,
  run over, finished by closing, latest, before closing
? Must the last one be finished by closing time?
? When may the last $what start?
- The last $what has to be over by closing time.
/ Nothing may run beyond closing time.
> start + $length <= $closes
- The last $what only has to start before closing time, and may run over.
/ As long as it starts before we close, it may end later.
> start < $closes

form: format, form, output, shown, look like, written, style, strings or numbers, strings,
  represented
? What format do the times have?
? How should each time be written?
- Each time is text such as 09:05, with two digits for hour and minute.
/ Write them as text like 09:05, always four digits with a colon.
> return [f"{time // 60:02}:{time % 60:02}" for time in times]
- Each time is a number, the minutes after midnight.
/ Just give them as minutes after midnight, as numbers.
> return times
- Each time is a list of two numbers, the hour and the minute.
/ Give them as small lists of hour and minute, both numbers.
> return [[time // 60, time % 60] for time in times]
"""),
    code="""
def $function($opens, $closes):
    times = []
    $first
    while $last:
        $lunch
        times.append(start)
        start += $length
        $gap
    $form
""",
    draw=_draw,
)
