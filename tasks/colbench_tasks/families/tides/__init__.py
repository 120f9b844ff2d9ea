"""Tasks about the hours with enough water for a boat, with decisions on the sill, clearance, wind, and daylight."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[int], int, int]:
    """Draw the tide's heights, which vary around the height that the boat needs; draw the boat's draft and the wind."""
    draught, wind = random.randrange(40, 181), random.randrange(10)
    middle = values["sill"] + draught + random.randrange(10, 70)
    swing, phase = random.randrange(30, 90), random.randrange(12)
    wave = (0, 2, 5, 8, 10, 11, 12, 10, 8, 5, 2, 1)
    heights = [
        middle + swing * (wave[(hour + phase) % 12] - 6) // 6 + random.randrange(-9, 10)
        for hour in range(random.randrange(5, 25))
    ]
    return heights, draught, wind


FAMILY = Family(
    name="tides",
    themes=themes("""
function       | heights    | draught  | wind       | boat      | place
sailing_hours  | heights    | draught  | wind       | yacht     | a drying yacht harbour
ferry_hours    | levels     | depth_cm | beaufort   | ferry     | the island jetty
oyster_trips   | gauge      | hull     | force      | dredger   | an oyster bank
mangrove_tours | water      | keel     | wind_force | tour boat | the mangrove park
salvage_hours  | tide_table | needs    | gale       | barge     | a wreck on a sandbank
lock_openings  | outside    | drawing  | bft        | tall ship | the old sea lock
"""),
    requests=requests("""
At $place a $boat can only pass when there is water enough.
I look after $place, where a sandbar decides when a $boat gets through.
For $place I read the tide table each morning to see when a $boat can come or go.

I need a Python function that tells at which hours of the day it can pass.
Please write a Python function that finds the hours that are suitable.
A Python function should work out the good hours from the tide table.

It gets the water heights in whole centimetres for each full hour, as a list that begins with the hour 0.
The first input is a list of whole numbers: how high the water is, in centimetres, at each hour from 0 on.
What goes in is a list of heights in whole centimetres, one for every full hour of the day, hour 0 first.

Then come the draught of the $boat, in whole centimetres, and the force of the wind as a whole number.
The other two inputs are whole numbers: the centimetres that the $boat draws, and the wind force.
Besides, there are the draught in centimetres and the force of the wind, both whole numbers.
"""),
    decisions=decisions("""
sill: sill, bar, sandbar, ground, bottom, shallow, above zero, how deep
? How high is the sill?
? How do I get from the height to the depth?
? How much of the height does the sandbar take away?
- The sill is at $value centimetres, so the depth is the height minus $value.
/ The ground takes $value centimetres from each height, and what remains is the depth.
= 100 60 80 120 150

reserve: reserve, margin, clearance, under the keel, safety, spare, tight
? How much water must be under the keel?
? What is the safety margin?
? How much clearance is needed?
- The depth must be at least $value centimetres more than the draught.
/ There have to be $value centimetres or more between keel and ground.
= 30 15 20 25 40 50
> $draught + $value
- The depth must be at least the draught plus $value percent of it, rounded up to a centimetre.
/ Under the keel we want $value percent of the draught or more, and part of a centimetre counts as a whole one.
= 20 10 15 25 30
> $draught + -(-$draught * $value // 100)

gust: wind, gusts, storm, gale, waves, beaufort, rough
? What does the wind change?
? Is there a limit for the wind?
? What if it blows hard?
- With wind of force $value or more there are no suitable hours at all, and less wind changes nothing.
/ From force $value on nobody passes all day, and below that the wind plays no role.
= 7 4 5 6 8
> calm = $wind < $value
- For each point of the wind force, $value centimetres of depth more are needed.
/ Every single point of the wind force makes $value centimetres of depth more necessary.
= 5 2 3 8 10
> needed += $wind * $value
> calm = True

falling: falling, ebb, rising, flood, dropping, tide turns, going down
? Can one pass on a falling tide?
? Does it matter if the water is going down?
? What about the ebb?
- An hour does not count if the water is lower than an hour before; at hour 0 it is not falling.
/ Nobody passes while the water falls, that is at a smaller height than one hour earlier; at hour 0 it is not falling.
> ebb = hour > 0 and height < $heights[hour - 1]
- It does not matter whether the water is rising or falling.
/ Ebb or flood, just the depth decides.
> ebb = False

light: daylight, light, dark, night, morning, sunset, pilot
? Is it done in the dark?
? Must there be daylight?
? From what hour in the morning can one go?
- Only the hours from $value to 19 count, both included.
/ We need daylight, so the first hour that counts is $value and the last one is 19.
= 7 5 6 8 9
> bright = $value <= hour <= 19
- All hours are alike for us, by day and by night.
/ It is done in the dark as well.
> bright = True

lasting: lasting, in a row, single hour, consecutive, duration, how long, long enough, spell
? Is a single hour enough?
? How long must it last?
? How many hours in a row must be good?
- A single good hour is enough.
/ An hour counts even if those before and after it are bad.
- Only good hours that are part of a row of at least $value count.
/ It takes $value or more good hours in a row, and shorter rows do not count at all.
= 2 3
> rows = [all(good[at : at + $value]) for at in range(len(good) - $value + 1)]
> good = [any(rows[max(0, hour - $value + 1) : hour + 1]) for hour in range(len(good))]

form: form, format, output, returned, look like, type, count or list, list of hours
? In what form do you want the hours?
? What does the output look like?
? What type of output should it be?
- Return a list of the suitable hours, as whole numbers.
/ The result is a list with the number of every hour that is suitable.
> [hour for hour, fine in enumerate(good) if fine]
- Return a list with True or False for each hour of the table.
/ The result is as long as the table and has True where the hour is suitable and False elsewhere.
> good
- Return a tuple: how many hours are suitable, and the first of them, or -1 if there is none.
/ The result is a tuple of two whole numbers, the count of suitable hours and the earliest one, -1 for none.
> (sum(good), good.index(True) if True in good else -1)
"""),
    code="""
def $function($heights, $draught, $wind):
    needed = $reserve
    $gust
    good = []
    for hour, height in enumerate($heights):
        $falling
        $light
        good.append(calm and bright and not ebb and height - $sill >= needed)
    $lasting
    return $form
""",
    draw=_draw,
)
