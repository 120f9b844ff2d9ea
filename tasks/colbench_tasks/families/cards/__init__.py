"""Tasks about the value of a hand of cards, with decisions on high numbers, ones, equal numbers, runs, and a limit."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

COLOURS = ("red", "blue", "green", "yellow")


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[tuple[str, int]]]:
    size = random.randrange(10)
    colours = (*COLOURS, values["suit"] or "red")
    numbers = random.choice((range(1, 14), range(1, 5), range(7, 14), (1, 9, 10, 12, 13)))
    return ([(random.choice(colours), random.choice(numbers)) for _ in range(size)],)


FAMILY = Family(
    name="cards",
    themes=themes("""
function      | hand   | card       | cards       | place
hand_points   | hand   | card       | cards       | the card evening at our pub
rack_points   | rack   | tile       | tiles       | a tile game that my grandmother taught us
duck_points   | catch  | rubber duck | rubber ducks | the duck pond at the fair
basket_points | basket | wooden egg | wooden eggs | the egg hunt in our village
pouch_points  | pouch  | marble     | marbles     | the marble league of the school yard
net_points    | net    | paper fish | paper fish  | a fishing game at the kindergarten
"""),
    requests=requests("""
For $place I count what everybody has at the end.
At $place we quarrel every time about what a $hand is worth.
I am the one who does the sums at $place.

I need a Python function that says how many points a $hand is worth.
Please write a Python function that returns the points of one $hand as a whole number.
A Python function should give me the points of a whole $hand.

It gets the $hand as a list of pairs: a colour, as a word in small letters, and a whole number from 1 on.
Each $card in the list is a pair of its colour, a lowercase word, and its number, at least 1.
The input is a list with one pair for each of the $cards: colour (lowercase text) and number (1 or more).
"""),
    decisions=decisions("""
limit: how many, limit, too many, number of $cards, hand size, first few, surplus, left over
? How many $cards count at most?
? What if there are too many $cards?
- Only the first $value $cards of the list count, as if the others were not there.
/ Whatever comes after the first $value $cards is put aside before anything else is counted.
= 5 4 6 7 8
> $hand = $hand[:$value]
- All $cards count, however many there are.
/ There may be as many $cards as you like, and none is put aside.

empty: empty, nothing at all, no $cards, nobody, without any, zero $cards
? What is an empty $hand worth?
? What if there is not a single $card?
- Without a single $card there are no points, so the result is 0.
/ Whoever has nothing at all gets 0.
> 0
- Without a single $card there are $value points less than zero, as a negative number.
/ Whoever has nothing at all stands at minus $value.
= 10 5 15 20 25
> -$value

high: high, high numbers, large, big numbers, face value, picture, highest
? What are high numbers worth?
? Does a $card always count the number on it?
- From number 2 on, a $card brings its number in points, but above $value only $value.
/ Any number from 2 on brings as many points as it says, and a number higher than $value just $value.
= 10 7 8 9 11
> min(number, $value)
- From number 2 on, a $card brings its number in points, however high that is.
/ High numbers bring exactly as many points as they say, and so do all others from 2 on.
> number

one: ace, 1, one, lowest, smallest
? What is a 1 worth?
? Is the 1 something better, like an ace?
- A $card with the number 1 is worth $value points.
/ A $card with a 1 on it brings $value points.
= 11 14 15 16 18 20
- A $card with the number 1 is worth a single point.
/ A $card with a 1 on it brings no more than one point.
> 1

suit: colour, coloured, trump, suit, favourite colour, red, blue
? Does the colour matter?
? Is there a special colour?
- Each $value $card brings its own points twice.
/ Whatever is $value brings twice the points that it would bring otherwise.
= red blue green yellow
> if colour == $value:
>     worth *= 2
- Each $value $card brings no points of its own, but its number is there for everything else.
/ Whatever is $value brings nothing itself, though its number is there for everything else.
= red blue green yellow
> if colour == $value:
>     worth = 0
- The colour makes no difference.
/ All colours count the same.

same: same, pair, pairs, equal, equal numbers, twins, repeated, twice, triple
? Is there something for equal numbers?
? What do pairs bring?
- Each number that is there at least twice brings $value points on top, once for that number.
/ For every number that comes up more than once, there are $value extra points, no matter how often it comes up.
= 10 4 5 8 12 16
> points += $value * sum(numbers.count(number) > 1 for number in set(numbers))
- Each $card whose number was there before in the list brings $value points on top.
/ When a number comes up again, every time after the first brings $value extra points.
= 5 3 6 7 9
> points += $value * (len(numbers) - len(set(numbers)))
- Equal numbers bring nothing on top.
/ There are no extra points if a number comes up again.

run: run, row, sequence, street, straight, consecutive, neighbours, follow
? Is there something for a run of consecutive numbers?
? What does a straight bring?
- Three consecutive numbers, in any order and colour, bring $value points on top, once for the whole $hand.
/ If three numbers follow one another, in whatever order and colours, $value points are added, but never twice.
= 20 6 13 17 25 30
> if any({number + 1, number + 2} <= set(numbers) for number in numbers):
>     points += $value
- Consecutive numbers bring nothing on top.
/ There are no extra points if numbers follow one another.

bust: bust, maximum, total, ceiling, cap, overshoot, final sum, too much
? Can one have too many points in the end?
? Is there a ceiling for the total?
- Whoever ends with more than $value points gets 0 in place of them.
/ A total above $value makes the whole $hand worthless, that is 0.
= 50 30 35 40 45 60
> if points > $value:
>     points = 0
- Whoever ends with more than $value points gets exactly $value.
/ A total above $value is brought down to just $value.
= 50 30 35 40 45 60
> points = min(points, $value)
- The total may be as high as it likes.
/ There is no ceiling for the total, whoever has a lot keeps it.
"""),
    code="""
def $function($hand):
    $limit
    if not $hand:
        return $empty
    points = 0
    for colour, number in $hand:
        worth = $one if number == 1 else $high
        $suit
        points += worth
    numbers = [number for _, number in $hand]
    $same
    $run
    $bust
    return points
""",
    draw=_draw,
)
