"""Tasks about the score of a game of throws, with decisions on streaks, misses, limits, and the last throw."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, _values: Mapping[str, Any]) -> tuple[list[int]]:
    skill = random.choice((0.3, 0.7, 0.9, 1.0))
    points = (random.choice((1, 3, 7, 12, 18, 25, 33, 42, 55)) for _ in range(9))
    throws = [hit if random.random() < skill else 0 for hit in points]
    return (throws[: random.randrange(1, 10)],)


FAMILY = Family(
    name="throws",
    themes=themes("""
function     | throws | one   | game                  | where
dart_total   | throws | throw | a darts game          | in our pub
archery_sum  | arrows | arrow | an archery contest    | in the village
ring_score   | rings  | ring  | the ring toss         | at the summer fair
bowl_points  | bowls  | bowl  | our own bowling game  | in the back yard
shot_score   | shots  | shot  | a basketball contest  | at the youth club
"""),
    requests=requests("""
For $game $where I have to work out the score of each player.
We play $game $where, with house rules, and quarrel about the score.
I keep the score for $game $where.

I need a Python function that returns the total of one player.
Could you write a Python function that gives the final score?
A Python function should add it all up.

It gets a list with the points of each $one in order, and 0 means a miss.
The input is a list of whole numbers, one for each $one, where 0 is a miss.
"""),
    decisions=decisions("""
cap: most points, maximum, one $one worth, limit for one $one, ceiling, cap
? Is there a maximum for one $one?
? Are the points of a single $one limited?
- No $one is worth more than $value points, before any doubling or multiplying.
/ A single $one counts for $value points at most, and any doubling or multiplying comes after that.
= 40 10 15 20 30 50
> points = min(points, $value)
- Every $one counts with all its points.
/ There is no limit for a single $one.

streak: streak, in a row, series, consecutive, hot, combo, hits in a row
? What happens after several hits in a row?
? Is there something for a streak?
- After $value hits in a row, every further hit counts double until the next miss.
/ Once somebody has $value hits in a row, each hit after that is doubled until a miss.
= 3 2 4 5

miss: miss, missed, player misses, cost of a miss, penalty, minus, lose, deducted,
  points subtracted, subtracted for a zero
? What does a miss cost?
? Is there a penalty for missing?
- A miss costs $value points.
/ For each miss we take away $value points.
= 5 2 3 4 8 10

floor: negative, below zero, end below zero, player below zero, under zero, minus score,
  less than nothing
? Can the score go below zero?
? Is a negative score possible?
- The score never goes below zero, at no moment of the game.
/ Whoever would fall under zero stands at zero and goes on from there.
> score = max(0, score)
- The score may well be negative.
/ The score can go below zero.

last: last, final, final attempt, final $one, final $one worth more, finish, end of the game,
  differently
? Is the last $one special?
? How does the final $one count?
- A hit with the last $one counts $value times, on top of any doubling.
/ A hit at the very end is multiplied by $value, after everything else.
= 2 3 4 5
> if number == len($throws):
>     points *= $value
- The last $one is like all the others.
/ There is nothing special about the end.

clean: clean, no misses, without a miss, never misses, never, perfect, perfect game,
  perfect game bring, flawless, bonus
? Is there a bonus for playing without a miss?
? What does a perfect game bring?
- Whoever never misses gets $value points on top at the end.
/ A game without a single miss brings $value extra points.
= 50 10 20 25 30 100
> if 0 not in $throws:
>     score += $value
- Never missing brings nothing extra.
/ A perfect game is its own reward, there is no bonus.
"""),
    code="""
def $function($throws):
    score = streak = 0
    for number, points in enumerate($throws, start=1):
        if points == 0:
            streak = 0
            score -= $miss
            $floor
            continue
        $cap
        if streak >= $streak:
            points *= 2
        streak += 1
        $last
        score += points
    $clean
    return score
""",
    draw=_draw,
)
