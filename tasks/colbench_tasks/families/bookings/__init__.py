"""Tasks about blocks of occupied days, with decisions on reversed entries, the last day, short stays, and gaps."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, _values: Mapping[str, Any]) -> tuple[list[tuple[int, int]]]:
    stays = []
    day = random.randrange(1, 9)
    for _ in range(random.randrange(2, 7)):
        last = day + random.randrange(1, 9)
        stays.append((last, day) if random.random() < 0.15 else (day, last))
        day = last + random.randrange(-2, 6)
    random.shuffle(stays)
    return (stays,)


FAMILY = Family(
    name="bookings",
    themes=themes("""
function       | stays    | one     | place
busy_blocks    | bookings | booking | our holiday flat
hall_use       | rentals  | rental  | the village hall
crane_days     | jobs     | job     | the crane we lend out
van_calendar   | loans    | loan    | the van of the sports club
kennel_days    | guests   | stay    | a kennel for dogs
"""),
    requests=requests("""
I look after the calendar of $place.
The calendar of $place is full of single entries, and I want to see the larger picture.
For $place we write down every $one, and they run into each other.

A Python function should put the entries together into blocks of occupied days.
I need a Python function that joins what belongs together and tells me about the blocks.
Please write a Python function that merges them into blocks and gives me what I need.

It gets a list of pairs, the number of the first day and of the last day of each $one, in any order.
Each $one is a pair of day numbers, first and last, and they come as an unsorted list.
"""),
    decisions=decisions("""
swapped: swapped, reversed, wrong order, last before first, first after last,
  first larger than last, backwards, pairs, mistake, invalid, first day after the last day
? What if the days of a $one are swapped?
? How do you treat an entry whose last day is before the first?
- If the two days of a $one are swapped, we just swap them back.
/ An entry that is the wrong way round is turned around.
> if last < first:
>     first, last = last, first
- If the two days of a $one are swapped, we ignore that $one.
/ An entry that is the wrong way round is left out.
> if last < first:
>     continue

ends: last day, departure, final day, inclusive, inclusively, checkout, day of leaving
? Does the last day count as occupied?
? Is the final day included?
- The last day of a $one counts as occupied.
/ The last day is included.
> days = last - first + 1
- The last day of a $one is free again, it does not count as occupied.
/ The day of leaving is not included.
> days = last - first

short: short, brief, minimum length, few days, long, too short
? Is there a minimum length for a $one?
? Do very short ones matter?
- A $one of fewer than $value occupied days is left out.
/ We only look at a $one with at least $value occupied days.
= 3 4 5 6
> if days < $value:
>     continue
- Even the shortest $one counts.
/ There is no minimum length.

season: season, end of the season, late, latest day, cut-off, far in the future, from some day on,
  after which day, after which day nothing counts
? Is there an end of the season after which entries do not count?
? Do you ignore what is too far in the future?
- A $one that begins after day $value is left out.
/ The season ends with day $value, and we ignore whatever begins after it.
= 20 14 16 18 24 28
> if first > $value:
>     continue
- There is no end of the season, so every day matters.
/ We ignore nothing, however late it begins.

gap: gap, merge, merged, close, free days between, together, apart, distance, belong together
? How large may the gap within a block be?
? When do two of them belong together?
- Two entries belong to one block if the number of free days between them is at most $value.
/ They are one block if the free days that lie between them are $value or fewer.
= 1 2 3 4
- Two entries belong to one block only without a free day between them.
/ They are one block if no free day lies between them, one free day parts them.
> 0

result: result, output, returned, return, tell, figure, list or number, give back
? What should the result be?
? What exactly is returned?
- The result is the number of blocks.
/ It says how many blocks there are.
> return len(blocks)
- The result is the length of the longest block in days, gaps included, or 0 if there is none.
/ It says how many days the longest block spans with its gaps, and 0 if there is none.
> return max((end - first for first, end in blocks), default=0)
- The result is a list with the number of days of each block, gaps included, in order of time.
/ Make it a list of how many days each block spans with its gaps, the earliest block first.
> return [end - first for first, end in blocks]
- The result is a list with the first day of each block, in order of time.
/ Make it a list of the days on which the blocks begin, the earliest first.
> return [first for first, end in blocks]
"""),
    code="""
def $function($stays):
    spans = []
    for first, last in $stays:
        $swapped
        $ends
        $short
        $season
        spans.append((first, first + days))
    blocks = []
    for first, end in sorted(spans):
        if blocks and first - blocks[-1][1] <= $gap:
            blocks[-1][1] = max(blocks[-1][1], end)
        else:
            blocks.append([first, end])
    $result
""",
    draw=_draw,
)
