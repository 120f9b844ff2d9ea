"""Tasks about a watering plan, with decisions on dry soil, the size of a bed, expected rain, and an empty tank."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

NAMES = ("A1", "A2", "B1", "B2", "C1", "C2", "north", "south", "wall", "pond", "gate", "shed")


def _draw(
    random: Random, values: Mapping[str, Any]
) -> tuple[list[tuple[str, int | None, int]], int]:
    dry = values["dry"]
    beds: list[tuple[str, int | None, int]] = []
    for name in random.sample(NAMES, random.choice((1, 2, 3, 3, 4))):
        moisture = random.choice(
            (dry, random.randrange(dry), random.randrange(dry), dry + random.randrange(14))
        )
        missing = random.random() < 0.15
        beds.append((name, None if missing else moisture, random.randrange(1, 14)))
    return beds, random.choice((0, 0, 1, 2, 3, 4, 5, 6, 8, 10))


FAMILY = Family(
    name="irrigation",
    themes=themes("""
function       | beds   | rain       | bed     | place
watering_plan  | beds   | rain       | bed     | the community garden
sprinkle_plan  | lawns  | rain_mm    | lawn    | a sports ground
vine_watering  | rows   | forecast   | row     | a small vineyard
roof_watering  | tubs   | shower     | tub     | our roof terrace
nursery_hoses  | plots  | expected   | plot    | a tree nursery
grave_watering | graves | rain_due   | grave   | the cemetery
"""),
    requests=requests("""
Every evening I decide how much water each $bed at $place gets.
At $place somebody has to say who waters what, and so far that is me.
I look after the water at $place, and I am going on holiday.

I need a Python function that makes the watering plan for one evening, in whole litres.
Please write a Python function that says how many litres go where tonight.
A Python function should work out the litres for tonight.

It gets a list with one tuple for each $bed: name, moisture in percent, size in square metres, the last two whole.
I have a list of tuples (name, percent of moisture in the soil, square metres), with whole numbers.
What goes in first is a list of tuples: the name of the $bed, its moisture in whole percent, its whole square metres.

A broken probe leaves None for the moisture; the second input is the rain forecast in whole millimetres.
The moisture is None if a probe failed, and besides the list there are the whole millimetres of rain to come.
Where a probe is defective, the moisture is None; then there is the rain to come as a whole number of millimetres.
"""),
    decisions=decisions("""
dry: dry, dry enough, threshold, moisture limit, thirsty, when to water, wet enough
? From what moisture on is the $bed dry?
? When is the $bed too dry?
? How dry must the soil be?
- Each $bed below $value percent of moisture is dry and watered, and at just $value percent it is not.
/ Only under $value percent of moisture the soil is dry, $value itself is wet enough.
= 40 30 35 45 50
> moisture < $value
- Each $bed at $value percent of moisture or below is dry and watered.
/ With $value percent of moisture or less the soil is dry, so $value itself still counts as dry.
= 40 30 35 45 50
> moisture <= $value

probe: probe, broken, none, missing, sensor, no measurement, defective, fails
? What if the probe is broken?
? How do you treat None?
? What happens without a measurement?
- A broken probe counts as 0 percent, as if all were dust.
/ None is taken as a moisture of 0 percent.
> if moisture is None:
>     moisture = 0
- A broken probe counts as 100 percent, so that $bed gets nothing.
/ None is taken as a moisture of 100 percent, which is never dry.
> if moisture is None:
>     moisture = 100

amount: amount, dose, ration, serving, how many litres, litres per square metre, area, size
? How many litres does the $bed get when it is dry?
? How is the amount worked out?
? How much water is it for each square metre?
- A dry $bed gets $value litres for each square metre.
/ The basic amount for dry soil is $value litres a square metre, no matter how dry.
= 5 3 4 6 7
> area * $value
- A dry $bed gets one litre a square metre for every full $value percent that its moisture lacks to 100.
/ For each complete $value percent between the moisture and 100, dry soil gets a litre a square metre.
= 10 5 8 12 16
> area * ((100 - moisture) // $value)

shower: rain, millimetre, forecast, weather, wet night, cloud
? What does rain change?
? How do you allow for the forecast?
? How much less is it when rain comes?
- For each millimetre of rain, every $bed gets $value litres less, but never less than none.
/ Every millimetre of rain saves $value litres on each $bed, down to zero at most.
= 2 3 4 5
> litres = max(0, litres - $rain * $value)
- If $value millimetres of rain or more are coming, nothing at all is watered; less rain changes nothing.
/ Nobody gets a drop if the rain is $value millimetres or more, and with less we act as if there was none.
= 5 3 4 6 8
> if $rain >= $value:
>     litres = 0

can: can, cans, round, rounded, full cans, portion, smallest unit, multiple
? How are the litres rounded?
? How large is one can?
? Are cans carried that are half full?
- Once rain is considered, what each $bed needs is rounded up to full cans of $value litres.
/ We carry cans of $value litres, so what each $bed needs after the rain is rounded up to full cans.
= 10 4 6 8 12
> litres = -(-litres // $value) * $value
- Once rain is considered, what each $bed needs is rounded down to full cans of $value litres.
/ We carry cans of $value litres, so what each $bed needs after the rain is rounded down to full cans.
= 10 4 6 8 12
> litres = litres // $value * $value

tank: tank, supply, total, in all, barrel, reservoir, altogether, cistern
? How much water is in the tank?
? Is there a limit for all together?
? How large is the supply?
- The tank holds $value litres, and no more than that can be given out in one evening.
/ There are $value litres in the tank for one evening.
= 100 60 70 80 90 120

scarce: scarce, shortage, not enough, does not suffice, run dry, priority, shared out, served first
? What if there is not enough for all?
? Who has priority in a shortage?
? How is it shared out when it does not suffice?
- If the tank has not enough, the driest come first, equally dry ones by name, and the last one gets just the rest.
/ In a shortage we serve from dry to wet, then by the alphabet, until all is used up, even in the middle of one.
> needs.sort()
- If the tank has not enough, we serve in the order of the list, and the last one gets just the rest.
/ In a shortage we go through the list from its beginning until all is used up, even in the middle of one.
- If the tank has not enough, each need is multiplied by tank / sum of all needs and rounded down to a litre.
/ In a shortage everybody gets need times supply divided by the sum of all needs, rounded down to a litre.
> total = sum(litres for _, _, litres in needs)
> if total > $tank:
>     needs = [(m, name, litres * $tank // total) for m, name, litres in needs]

form: form, format, output, returned, dictionary, list or dictionary, look like, type
? In what form do you want the plan?
? What does the output look like?
? Should it be a dictionary or a list?
- The plan should be a dictionary from each name to its litres, with 0 for those that get nothing.
/ Return a dictionary, name to litres, in which everyone from the list appears, even with 0.
> given
- The plan should be a list of texts like "pond: 12" in the order of the input, without those that get nothing.
/ Return strings like "pond: 12" in a list: name and litres, in input order and leaving out zeros.
> [f"{name}: {given[name]}" for name, _, _ in $beds if given[name]]
- The plan should be a list of pairs (name, litres) sorted by name, without those that get nothing.
/ Return tuples of name and litres in a list, in alphabetical order and leaving out zeros.
> sorted((name, litres) for name, litres in given.items() if litres)
"""),
    code="""
def $function($beds, $rain):
    needs = []
    for name, moisture, area in $beds:
        $probe
        litres = 0
        if $dry:
            litres = $amount
        $shower
        $can
        needs.append((moisture, name, litres))
    $scarce
    left = $tank
    given = {}
    for _, name, litres in needs:
        given[name] = min(litres, left)
        left -= given[name]
    return $form
""",
    draw=_draw,
)
