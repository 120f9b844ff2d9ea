"""Tasks about one value from a series of readings, with decisions on gaps, faulty readings, and the summary."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[int | None]]:
    limit = values["limit"]
    readings: list[int | None] = [
        random.choice((random.randrange(5, 60), random.randrange(limit - 3, limit + 12)))
        for _ in range(random.randrange(1, 9))
    ]
    for _ in range(random.choice((0, 0, 1, 2))):
        readings[random.randrange(len(readings))] = None
    return (readings,)


FAMILY = Family(
    name="sensors",
    themes=themes("""
function      | readings    | what           | where
daily_value   | readings    | temperatures   | the greenhouse
river_level   | levels      | water levels   | a gauge at the river
noise_figure  | decibels    | noise levels   | the road in front of the school
hive_weight   | weights     | weights        | the scales under our bee hives
dust_reading  | samples     | dust values    | a dust meter in the saw mill
"""),
    requests=requests("""
We get $what from $where, and the device is not very reliable.
I collect $what from $where, and the raw data are a bit rough.
From $where I get a series of $what, and some of it is rubbish.

I need a Python function that makes one number out of a series.
A Python function should boil a series down to a single figure.
Please give me a Python function that returns one value for the whole series.

It gets a list of positive whole numbers in order of time, with None where the device was silent.
The series is a list of positive whole numbers, oldest first, and None means that nothing came.
"""),
    decisions=decisions("""
missing: missing, none, none readings, silent, gaps, nothing came, absent
? What do you do with a missing reading?
? How is None treated?
- For None, the reading before it is repeated, faulty or not, but at the start None is left out.
/ A None takes over the reading before it, faulty or not, and at the very start it is left out.
> kept = []
> for reading in $readings:
>     if reading is not None:
>         kept.append(reading)
>     elif kept:
>         kept.append(kept[-1])
- Where nothing came, the None is left out.
/ A None is skipped.
> kept = [reading for reading in $readings if reading is not None]
- Where nothing came, we take a zero, and that is a usable reading.
/ A None counts as 0, and that is a usable reading.
> kept = [reading or 0 for reading in $readings]

limit: limit, plausible, implausible, implausible reading from what limit, threshold, above,
  above which number, too high, realistic, valid range, considered wrong
? From what limit on is a reading too high?
? Which values are too high to be true?
- Any reading above $value is faulty.
/ A reading over $value cannot be true.
= 100 70 80 90 120 150

faulty: faulty, faulty readings, outlier, spike, wrong reading, handle implausible values,
  clipped, removed or capped, reading over the limit, values above the limit,
  reading above the limit
? What happens with a faulty reading?
? How do you treat outliers?
- A faulty reading is thrown away.
/ We drop a reading that cannot be true.
> kept = [reading for reading in kept if reading <= $limit]
- A reading so high that it is faulty is set to the highest value that is not faulty.
/ We cut a reading that cannot be true down to the limit, and then it is usable.
> kept = [min(reading, $limit) for reading in kept]

few: few, enough readings, minimum amount, minimum number, how many readings, at least,
  sufficient, required
? How many readings do you need at least?
? What is the minimum number of readings?
- With fewer than $value usable readings, filled or corrected ones included, there is no result.
/ We need at least $value usable readings, and those that were filled in or corrected are usable.
= 3 2 4 5

nothing: no result, return instead, too few, not enough data, come out, fallback, default
? What is returned if there is no result?
? What comes out when there is not enough data?
- If the readings are too few for a result, return the text n/a.
/ When we cannot say, the function gives the text n/a.
> "n/a"
- If the readings are too few for a result, return the number $value.
/ When we cannot say, the function gives the number $value.
= -1 0 -99

summary: summary, average, mean, median, combine, aggregate, calculated, computed, final value,
  figure
? How is the final value calculated?
? Do you take the mean or the median?
- The result is the average, rounded down to a whole number.
/ We take the mean and cut off the fraction.
> return sum(kept) // len(kept)
- The result is the median, and of two middle values the smaller one.
/ We sort them and take the middle one, the lower one if there are two.
> return sorted(kept)[(len(kept) - 1) // 2]
- The result is the difference between the highest and the lowest.
/ We take the span from the smallest to the largest.
> return max(kept) - min(kept)
"""),
    code="""
def $function($readings):
    $missing
    $faulty
    if len(kept) < $few:
        return $nothing
    $summary
""",
    draw=_draw,
)
