"""Tasks about the order of stops on a round, with decisions on capacity, distance, urgent stops, and ties."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

NAMES = ("Ash", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Linden", "Maple", "Oak", "Pine")

Stop = tuple[str, int, int, bool]


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[Stop]]:
    far, heavy = values["far"] or 20, random.choice((3, 6, 12))
    distances = (2, far - 1, far, far + 1, random.randrange(1, 60))
    return (
        [
            (
                name,
                random.choice(distances),
                random.randrange(1, heavy + 1),
                random.random() < 0.25,
            )
            for name in random.sample(NAMES, random.randrange(2, 9))
        ],
    )


FAMILY = Family(
    name="stops",
    themes=themes("""
function     | stops    | place | load    | round              | who
plan_round   | stops    | shop  | crates  | the morning round  | our bakery
drone_route  | targets  | farm  | packets | the drone flight   | a mountain post office
sample_tour  | surgeries | surgery | boxes | the sample tour    | a blood laboratory
book_bus     | schools  | school | bags   | the book bus tour  | the county library
compost_run  | gardens  | garden | sacks  | the compost run    | a gardening cooperative
mail_sledge  | huts     | hut   | bundles | the dog sledge trip | the mail service in the far north
"""),
    requests=requests("""
For $who I plan $round, and not every $place gets its turn.
Each day I choose where $round of $who leads and in what order.
I am in charge of $round at $who, and I still plan it on a slip of paper.

I need a Python function that picks the ones to visit and puts them in order.
Could you make a Python function that says which ones we visit, one after the other?
A Python function should work out where we go, in the right order.

It gets a list with a tuple for each $place: name, whole kilometres to it, number of $load, True if urgent, else False.
Each $place is a tuple of name, whole kilometres, number of $load, and True or False for urgent; they come as a list.
The input is a list of tuples of name, distance in whole kilometres, number of $load, and True or False for urgent.
"""),
    decisions=decisions("""
order: order, sequence, sorted, first, nearest, farthest, begin with
? In what order do you visit them?
? Which ones come first?
? By what are they sorted?
- The nearest $place comes first.
/ We go from the nearest $place to the farthest.
> queue.sort(key=lambda one: one[1])
- The farthest $place comes first.
/ We go from the farthest $place to the nearest.
> queue.sort(key=lambda one: -one[1])
- The $place with the most $load comes first.
/ We go from the one with the most $load down to the one with the fewest.
> queue.sort(key=lambda one: -one[2])

tie: tie, equal, same, alphabet, two alike, even
? What if two come out equal?
? Who goes first in a tie?
? Does the alphabet play a part?
- When two come out equal in the order, they go by name, from A to Z.
/ In a tie the name decides, and A comes before Z.
> queue = sorted($stops)
- When two come out equal in the order, they go by name, from Z to A.
/ In a tie the name decides, and Z comes before A.
> queue = sorted($stops, reverse=True)
- When two come out equal in the order, they stay as they are in the list.
/ In a tie the one that is earlier in the list goes first.
> queue = list($stops)

urgent: urgent, hurry, priority, pressing, emergency, cannot wait, jump the queue
? Do urgent ones come first?
? What is done about urgent ones?
? What does it mean that one is urgent?
- All urgent ones come before all others, and otherwise the usual order holds.
/ Urgent ones go ahead of everything else, in the usual order among themselves.
> queue.sort(key=lambda one: not one[3])
- All urgent ones come after all others, as they get a visit of their own if need be.
/ Urgent ones go behind everything else, in the usual order among themselves.
> queue.sort(key=lambda one: one[3])
- Urgent ones are treated like all others.
/ It makes no difference whether one is urgent.

far: far, kilometres, distance, radius, reach, too remote, range
? How far do you go?
? Is some $place too far away?
? Is there a limit to the kilometres?
- A $place more than $value kilometres away is left out.
/ We go no farther than $value kilometres, and leave out every $place beyond that.
= 20 10 12 15 25 30 40
> if distance > $value:
>     continue
- We go to every $place, no matter how many kilometres it is.
/ No distance is too great for us.

room: room, capacity, hold, carry, space, full
? How many $load fit in?
? What is the capacity?
? How much can you carry?
- We can carry $value $load.
/ There is room for $value $load.
= 20 8 10 12 15 18

left: left behind, does not fit, overload, squeeze, go on, end there, too much for the rest
? What if the $load for the next $place do not fit any more?
? Do you go on with others when one does not fit?
? Does it end at the first one that does not fit?
- A $place whose $load do not all fit any more is left out, and we go on with the next one.
/ If there is not room for all $load of one $place, we skip it and try those that follow.
> if carried + number > $room:
>     continue
- At the first $place whose $load do not all fit any more the list ends, even if later ones would fit.
/ If there is not room for all $load of one $place, nothing is added after that.
> if carried + number > $room:
>     break

most: most visits, at most, how many visits, maximum number, limit of visits, day is over, enough
? How many visits do you make at most?
? Is there a maximum number of visits?
? Is the number of visits limited?
- We make at most $value visits.
/ After $value visits it is enough, and the others have to wait.
= 4 2 3 5
> chosen = chosen[:$value]
- We make as many visits as we can.
/ The number of visits has no limit.

form: format, form, output, result, returned, look like, type, written, shape
? What form does the result have?
? What should the output look like?
? What does each entry of the result look like?
- The result is a list of the names only.
/ Give me just the names, as a list.
> return [name for name, distance in chosen]
- The result is a list of texts such as Elm (12), the name and in brackets the kilometres.
/ Give me a list of texts like Elm (12), that is the name and the kilometres in brackets.
> return [f"{name} ({distance})" for name, distance in chosen]
- The result is a list of tuples, each with its number from 1 on and then the name.
/ Give me a list of tuples of running number and name, and the first number is 1.
> return [(place, name) for place, (name, distance) in enumerate(chosen, start=1)]
"""),
    code="""
def $function($stops):
    $tie
    $order
    $urgent
    chosen, carried = [], 0
    for name, distance, number, _ in queue:
        $far
        $left
        carried += number
        chosen.append((name, distance))
    $most
    $form
""",
    draw=_draw,
)
