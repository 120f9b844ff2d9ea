"""Tasks about a day's plan of doses, with decisions on frequency, rounding, a maximum, and young patients."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[float, int, int]:
    young = values["young"]
    kilos = random.choice((random.randrange(1, 30), random.randrange(8, 121))) / 2
    months = random.choice((young - 1, young, random.randrange(1, 40), random.randrange(1, 200)))
    return kilos, months, random.randrange(24)


FAMILY = Family(
    name="doses",
    themes=themes("""
function       | kilos      | months     | hour       | patient | stuff        | place
dose_plan      | kilos      | months     | hour       | dog     | pain killer  | a veterinary clinic
syrup_plan     | weight     | age        | first_hour | child   | cough syrup  | a holiday camp
goat_drench    | weight_kg  | age_months | begin      | goat    | worm drench  | a cheese farm
seal_feeding   | kilograms  | months_old | at         | seal    | fish mash    | a seal rescue station
falcon_tonic   | body_kilos | its_months | from_hour  | vulture | bone meal    | a bird of prey centre
foal_minerals  | mass       | month_age  | start_hour | foal    | mineral mix  | a stud farm
"""),
    requests=requests("""
At $place I write a plan for every $patient that gets our $stuff.
We give $stuff at $place, and each $patient needs a plan of its own.
I work at $place, and the plans for the $stuff are still made with pencil and paper.

I need a Python function that makes the plan for one day, all in milligrams.
Please write a Python function that gives the doses of one day in milligrams.
A Python function should work out what has to be given within a day, in milligrams.

It gets the weight in kilos (halves are possible), the age in whole months, and the full hour of the first dose.
I know the weight of the $patient in kilos, maybe with a half, its age in whole months, and at which full hour we begin.
The inputs are kilos (whole or half), the age in months, and the hour of the first dose, both whole numbers.
"""),
    decisions=decisions("""
often: often, interval, how many times, frequency, hours apart, how often given, every few hours
? How often is a dose given?
? What is the interval between two doses?
? How many hours apart are they?
- Beginning with the given hour, there is a dose every $value hours, and none once 24 hours have passed.
/ The doses are $value hours apart, from the given hour on, and when 24 hours have passed there is no more.
= 8 3 4 6 12

strength: strength, per kilo, for each kilo, by weight, how much, milligrams a kilo, amount
? How much is it for each kilo?
? How does the amount depend on the weight?
? How many milligrams a kilo are right?
- A single dose is $value milligrams for each kilo.
/ Each time we give $value milligrams a kilo.
= 10 4 6 8 14 18
> int($kilos * $value)
- The whole day's amount is $value milligrams for each kilo, divided by the number of doses in 24 hours.
/ Over 24 hours it is $value milligrams a kilo, split into equal doses.
= 48 24 72 96
> $kilos * $value * $often / 24

round: round, rounded, tablet, pieces, steps, multiple, break, measurable
? How is a dose rounded?
? In what steps can you measure a dose?
? Is it rounded up or down?
- Each dose is rounded down to a multiple of $value milligrams, before any change for age or any limit.
/ The computed dose goes down to the next full $value milligrams, and only then age and limits are looked at.
= 10 5 20 25
> dose = int(dose // $value) * $value
- Each dose is rounded up to a multiple of $value milligrams, before any change for age or any limit.
/ The computed dose goes up to the next full $value milligrams, and only then age and limits are looked at.
= 10 5 20 25
> dose = -int(-dose // $value) * $value

young: young, how old, age limit, grown up, adult, infant, age
? Up to what age is one young?
? Is there an age limit?
? When does it count as grown up?
- Under $value months the $patient is young, and from $value months on it is not.
/ The $patient counts as young as long as it is not yet $value months old.
= 12 6 9 15 18 24

gentle: gentle, less for the young, little ones, babies, careful, reduce, smaller dose
? What do the young ones get?
? Is the dose smaller for little ones?
? How careful are you with babies?
- A young $patient gets half of the rounded dose, and half a milligram is dropped.
/ For the young the rounded dose is halved, down to a whole milligram.
> dose //= 2
- A young $patient gets $value milligrams less than the rounded dose, but at least 1 milligram.
/ For the young we take $value milligrams off the rounded dose, and 1 milligram is the least.
= 30 15 20 40 60
> dose = max(1, dose - $value)
- A young $patient gets nothing at all, so each of its doses in the plan is 0.
/ For the young every dose is 0 milligrams.
> dose = 0

most: most, maximum, cap, ceiling, upper limit, overdose, too much
? Is there a maximum for a dose?
? What is the most that may be given?
? Is a dose capped?
- No dose is ever above $value milligrams, whatever was worked out by the other rules.
/ A dose is cut to $value milligrams if it would be more.
= 200 120 150 180 240
> dose = min(dose, $value)
- There is no upper limit for a dose.
/ A dose may be as large as it comes out.

night: night, sleep, wake, asleep, dark, quiet hours, midnight
? What about doses in the night?
? Do you wake the $patient?
? Are there quiet hours?
- A dose that falls on 22 o'clock or later, or before $value o'clock, is left out and not made up for.
/ From 22 o'clock until just before $value o'clock nothing is given, and what falls there is lost.
= 6 4 5 7 8
> plan = [(at, mg) for at, mg in plan if $value <= at < 22]
- Doses are given in the night like at any other time.
/ It does not matter whether it is dark, every dose is given.

form: form, format, output, look like, returned, type, dictionary or list, text
? In what form do you want the plan?
? What does the output look like?
? Should it be a list or a dictionary?
- The plan should be a list of pairs (hour, milligrams), in the order in which the doses are given.
/ Return a list of tuples, hour and milligrams, from the first dose to the last.
> plan
- The plan should be a dictionary from the hour to the milligrams.
/ Return a dictionary with hours as keys and milligrams as values.
> dict(plan)
- The plan should be a list of texts like "14:00 75 mg", in the order in which the doses are given.
/ Return strings like "14:00 75 mg" in a list, the hour with two digits, from the first dose to the last.
> [f"{at:02}:00 {mg} mg" for at, mg in plan]
"""),
    code="""
def $function($kilos, $months, $hour):
    dose = $strength
    $round
    if $months < $young:
        $gentle
    $most
    plan = [(($hour + passed) % 24, dose) for passed in range(0, 24, $often)]
    $night
    return $form
""",
    draw=_draw,
)
