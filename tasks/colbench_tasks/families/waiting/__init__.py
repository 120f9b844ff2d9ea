"""Tasks about the order in which people are called, with decisions on urgency, age, emergencies, and ties."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

NAMES = ("Ali", "Bea", "Cora", "Dov", "Emma", "Fritz", "Greta", "Hans", "Ida")


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[tuple[str, int, int, int]]]:
    young = values["young"]
    return (
        [
            (
                name,
                random.choice((young, young - 1, young + 1, 34, 51, 70, 83)),
                random.randrange(1, 6),
                random.randrange(0, 12) * 5,
            )
            for name in random.sample(NAMES, random.randrange(3, 8))
        ],
    )


FAMILY = Family(
    name="waiting",
    themes=themes("""
function      | people   | who       | place
call_order    | patients | patient   | a doctor's practice
help_queue    | callers  | caller    | the help line
repair_queue  | tickets  | customer  | the repair service
visit_plan    | clients  | client    | the nursing service
advice_order  | visitors | visitor   | the advice centre
"""),
    requests=requests("""
At $place I decide who is next, and that is not just first come, first served.
In the waiting room of $place it must be clear who comes next.
For $place I make the list of who is called when.

I need a Python function that puts them in order.
Please write a Python function that returns the names in the order in which they are called.
A Python function should give me the list of names.

For each $who it gets the name, the age, the urgency from 1 (low) to 5 and the minutes waited.
The input is a list of tuples: name, age, urgency from 1 to 5 (highest) and minutes of waiting.
"""),
    decisions=decisions("""
urgency: urgency, weigh, urgent, level, compared with waiting, influence of urgency,
  worth in minutes
? How do you weigh urgency against waiting?
? How many minutes is one level of urgency worth?
- One level of urgency counts like $value minutes of waiting, and the highest sum comes first.
/ We add $value minutes to the waiting for each level of urgency, and the largest sum is next.
= 10 4 6 8 15 20

young: children, child, who is a child, age limit, young, age, old enough, kids, minor
? Up to what age is somebody a child?
? What is the age limit for children?
- Whoever is younger than $value counts as a child.
/ Children are those under $value years.
= 12 6 8 10 14 16

bonus: advantage, preferred, ahead, priority for children, benefit, favoured
? What advantage do children have?
? How much are children favoured?
- A child gets $value minutes more on the sum of waiting and urgency.
/ For a child we add $value minutes.
= 15 7 12 18 25 30
> score += $value
- For a child the sum of waiting and urgency is doubled.
/ The sum counts twice if it is a child.
> score *= 2

emergency: emergency, level 5, urgency 5, highest urgency, highest level, acute, immediately,
  always first
? Is the highest urgency an emergency that goes first?
? What about level 5?
- Urgency 5 goes before all the others, whatever the sum.
/ Level 5 is always at the front, and the sum only decides among them.
> score += 10000 * (urgency == 5)
- Urgency 5 is just a number like the others.
/ Level 5 has no special treatment.

tie: tie, equal, same sum, same score, same priority, draw, equal sum
? Who goes first with an equal sum?
? How is a tie resolved?
- With an equal sum, the older person goes first, and then it goes by the name from A to Z.
/ A tie goes to the older one, and if they are of the same age too, to the earlier in the alphabet.
> (-score, -age, name)
- With an equal sum, it goes by the name from A to Z.
/ A tie goes to the one who is earlier in the alphabet.
> (-score, name)
- With an equal sum, it goes by the name from Z to A.
/ A tie goes to the one who is later in the alphabet.
> (-score, [-ord(letter) for letter in name])

cut: how many names, length of the list, limited, limited list, list limited to a number,
  how long, next few, only the next, everyone, all of them, top, list, whole list
? How many names should the list have?
? Do you want all of them, or only the next few?
- Only the next $value names are listed.
/ The list stops after $value names.
= 3 2 4 5
> [:$value]
- All the names are listed.
/ The list holds everybody.
"""),
    code="""
def $function($people):
    queue = []
    for name, age, urgency, minutes in $people:
        score = minutes + urgency * $urgency
        if age < $young:
            $bonus
        $emergency
        queue.append(($tie, name))
    return [name for _, name in sorted(queue)]$cut
""",
    draw=_draw,
)
