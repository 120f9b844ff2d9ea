"""Tasks about tables for groups, with decisions on the order of groups, the choice of table, sharing, and waiting."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

NAMES = ("Adler", "Baker", "Costa", "Dunn", "Evans", "Fox", "Grant", "Hall")


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[tuple[str, int]], list[int]]:
    cap = values["cap"] or 8
    most = random.choice((2, 4, 7))
    tables = [
        random.choice((random.randrange(2, 8), cap, cap + 1, cap + 3))
        for _ in range(random.randrange(1, 5))
    ]
    names = random.sample(NAMES, random.randrange(1, 7))
    groups = [(name, random.randrange(1, most + 1)) for name in names]
    if random.random() < 0.4:
        groups[0] = (names[0], cap + random.randrange(-1, 2))
    return groups, tables


FAMILY = Family(
    name="seating",
    themes=themes("""
function    | groups     | group     | tables | table | spots | place
table_plan  | parties    | party     | tables | table | seats | our restaurant
boat_plan   | families   | family    | boats  | boat  | seats | the boat hire at the lake
tent_plan   | patrols    | patrol    | tents  | tent  | beds  | the scout camp
van_plan    | teams      | team      | vans   | van   | seats | the away matches
pew_plan    | households | household | pews   | pew   | seats | the Christmas concert in church
cabin_plan  | crews      | crew      | cabins | cabin | bunks | the sailing course
"""),
    requests=requests("""
For $place I decide which $group gets which $table.
At $place I put every $group somewhere, with a lot of rubbing out.
Who goes to which $table is what I plan for $place.

I need a Python function that returns a dictionary from the number of the $table to a list of names.
Please write a Python function that gives me a dict: number of the $table, list of the names there.
A Python function should make the plan, a dict with a list of names for the number of each $table.

It gets a list of pairs (name of a $group, people in it), as booked, and a list with the $spots of each $table.
The input is a list of pairs, name and people of each $group as they booked, and a list with the $spots by $table.
What goes in: a list of pairs, name and number of people, in the order of the booking, and the $spots of all $tables.

Whoever is placed earlier is also listed earlier.
Inside a list of names, those who were placed earlier come earlier.
The names in a list are in the order in which they were placed.
"""),
    decisions=decisions("""
turn: turn, largest, biggest, smallest, booking, booked, arrival, sorted, priority
? Which $group is placed first?
? In what order are the $groups placed?
- The $groups are placed in the order of the booking.
/ Whoever booked earlier is placed earlier, whatever the size.
> line = list($groups)
- The largest $group is placed first, and equally large ones in the order of the booking.
/ We go from the largest $group to the smallest, and for equal ones the earlier booking is first.
> line = sorted($groups, key=lambda group: -group[1])
- The smallest $group is placed first, and equally small ones in the order of the booking.
/ We go from the smallest $group to the largest, and for equal ones the earlier booking is first.
> line = sorted($groups, key=lambda group: group[1])

cap: full, filled, all $spots, overcrowded, cap, used at most, crowded
? May a $table be full to the last one of its $spots?
? Are all the $spots of a $table used?
- Of any $table, at most $value $spots are used.
/ No more than $value $spots of any $table are used, even if it has more.
= 8 6 7 9 10
> min(spots, $value)
- Every $table may be full, so all its $spots are used.
/ All $spots of a $table can be used, however large it is.
> spots

extra: extra, additional, spare, one more, coats, luggage, comfort
? Does a $group get extra $spots?
? How many $spots does a $group take up?
- A $group of more than $value people takes up one more of the $spots than it has people.
/ If a $group has more than $value people, it gets an extra one of the $spots, and otherwise not.
= 4 2 3 5 6
> need = size + 1 if size > $value else size
- Every $group takes up one more of the $spots than it has people.
/ Each $group gets an extra one of the $spots, however small it is.
> need = size + 1
- A $group takes up just as many $spots as it has people.
/ No $group gets any extra, just one of the $spots for each person.
> need = size

choice: which $table, choose, chosen, choice, selected, best fit, tightest, emptiest, enough room
? By what rule do you choose a $table?
? How do you choose among several $tables with enough room?
- Of the $tables with enough room left, the $group gets the first in the list.
/ We go through the $tables from the beginning and take the first that still has enough room.
> fits[0]
- Of the $tables with enough room left, the $group gets the one with the least room left, the first one of equals.
/ We take the $table that is just big enough, with as little room left as possible, and of equals the first.
> min(fits, key=lambda i: room[i])
- Of the $tables with enough room left, the $group gets the one with the most room left, the first one of equals.
/ We take the $table that has the most room left at that moment, and of equals the first.
> max(fits, key=lambda i: room[i])

share: share, shared, strangers, together, several $groups, one $group alone, company, mixed
? May several $groups share a $table?
? Does each $group have a $table of its own?
- Several $groups share a $table as long as there is room.
/ Strangers may be put together, as many $groups as there is room for.
> room[i] -= need
- Each $group has a $table of its own, and nobody else is put there.
/ A $table is never shared, so one $group is enough for it.
> room[i] = 0
- No more than $value $groups share a $table.
/ Strangers may be put together, but with $value $groups a $table is closed.
= 2 3
> room[i] = room[i] - need if len(plan[i]) < $value else 0

waits: wait, waiting, no room, turned away, does not fit, left over, too large, outside, rejected
? What if there is no room for a $group?
? What happens to those who do not fit anywhere?
- A $group for which there is no room is missing from the result, and the next one is tried.
/ Those who do not fit anywhere are dropped without a trace, and we go on with the others.
- Those without room are listed as they were tried, under the word $value as one more key, if there are any.
/ Whoever does not fit goes to the end of a list with the key $value, which is there only if it is needed.
= waiting later outside full
> if waiting:
>     result[$value] = waiting

number: number, numbered, numbering, count from, key of the first, label, named, zero
? How are the $tables numbered?
? What is the number of the first $table?
- The first $table in the list has the number $value, the next one a number more, and so on.
/ The $tables are numbered one by one from $value on, as they are in the list.
= 1 0 2 10 11 20 101

empty: empty, unused, free, nobody, vacant
? Is an empty $table in the result?
? What about a $table where nobody is?
- An empty $table is in the result with an empty list.
/ Each $table is in the result, an unused one with an empty list.
> dict(enumerate(plan, $number))
- An empty $table is not in the result.
/ Only a $table with somebody there is in the result, an unused one is left out.
> {key: names for key, names in enumerate(plan, $number) if names}
"""),
    code="""
def $function($groups, $tables):
    $turn
    room = [$cap for spots in $tables]
    plan = [[] for _ in room]
    waiting = []
    for name, size in line:
        $extra
        fits = [i for i, left in enumerate(room) if left >= need]
        if not fits:
            waiting.append(name)
            continue
        i = $choice
        plan[i].append(name)
        $share
    result = $empty
    $waits
    return result
""",
    draw=_draw,
)
