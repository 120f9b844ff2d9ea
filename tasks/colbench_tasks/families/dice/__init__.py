"""Tasks about a token's position after throws of two dice, with decisions on steps, doubles, the goal, and traps."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[tuple[int, int]], int]:
    start = random.choice((0, values["goal"] - random.randrange(1, 14), random.randrange(20)))
    if start % 7 == 0 or start % (values["trap"] or 9) == 0:
        start = 0
    throws = []
    for _ in range(random.randrange(1, 7)):
        one = random.randrange(1, 7)
        throws.append((one, one if random.random() < 0.3 else random.randrange(1, 7)))
    return throws, start


FAMILY = Family(
    name="dice",
    themes=themes("""
function     | token   | square | place
snail_race   | snail   | square | the snail race at the fair
knight_walk  | knight  | field  | a castle game in our youth club
pilgrim_walk | pilgrim | stone  | a game of pilgrims from an old book
frog_hops    | frog    | leaf   | a pond game at the kindergarten
rover_drive  | rover   | cell   | a game about Mars in my physics class
tram_ride    | tram    | stop   | the tram game at the museum
"""),
    requests=requests("""
In $place a $token is moved with two dice, and the players do not agree where it stands.
I look after $place, where a $token runs along a row, by two dice.
We play $place with two dice, and I want to check where the $token must be.

I need a Python function that follows the $token through all throws of one game.
Please write a Python function that moves the $token by our rules.
A Python function should work out how the $token gets along.

It gets the throws as a list of pairs of whole numbers, and the $square where the $token is; 0 is the start.
The input is a list with a pair of numbers for each throw, and the $square it stands on, a number, 0 for the start.
The throws are a list of tuples of two numbers, and the $square is the number where it stands before, 0 at the start.

Throws after the goal is reached are ignored.
Once the goal is reached, the game is over and further throws do not count.
When the $token is at the goal, the remaining throws are left aside.
"""),
    decisions=decisions("""
steps: steps, sum, added together, higher die, lower die, how far, distance
? How far does the $token move with a throw?
? Are the two dice added together?
- The number of steps is the sum of both dice.
/ Both dice are added together, and so many steps are made.
> one + other
- The number of steps is what the higher of the two dice shows.
/ Only the higher die counts, and so many steps are made.
> max(one, other)
- The number of steps is what the lower of the two dice shows.
/ Only the lower die counts, and so many steps are made.
> min(one, other)

double: double, doubles, doublets, twins, alike, both dice the same, pasch
? What happens with a double?
? Are doubles special?
- With a double, the $token moves twice as far.
/ A double is worth twice the steps.
> if one == other:
>     steps *= 2
- With a double, the $token moves backwards instead of forwards, but never behind the start.
/ A double makes it go back by the steps, to the start at most.
> if one == other:
>     steps = -steps
- A double is a throw like any other.
/ There is nothing special about a double.

leave: leave, away from the start, set off, depart, freed, released, stuck, get going
? What does it take to leave the start?
? Is any throw enough to get away from the start?
- To leave the start, a throw must show a $value on one die at least, and the $token moves by that throw at once.
/ At the start it is stuck until a $value is thrown, with one die or both, and that throw moves it too.
= 6 1 5
> if before == 0 and $value not in (one, other):
>     steps = 0
- To leave the start, the two dice must show $value or more in all, and the $token moves by that throw at once.
/ At the start it is stuck until both dice have $value or more together, and that throw moves it too.
= 8 5 6 7 9
> if before == 0 and one + other < $value:
>     steps = 0
- Any throw is enough to leave the start.
/ It sets off with whatever is thrown.

goal: goal, finish, target, length of the row, end of the row, how many $square numbers, final
? Where is the goal?
? How long is the row to the goal?
- The goal is at $square number $value.
/ It has reached the goal on number $value.
= 30 25 32 40 50

over: over, beyond, overshoot, exact, exactly, too far, surplus, past the end
? Must the goal be hit exactly?
? What if a throw leads beyond the goal?
- A throw that would lead beyond the goal does not move the $token at all.
/ If a throw is too far, the $token stays where it was.
> $square = before
- A throw that would lead beyond the goal just leads to the goal, so no exact throw is needed.
/ If a throw is too far, the surplus is lost and it is home.
> $square = $goal
- A throw that would lead beyond the goal moves the $token to the goal and then back by the surplus.
/ If a throw is too far, it turns round at the goal and walks back what is left.
> $square = 2 * $goal - $square

trap: trap, traps, multiple, multiples, danger, dangerous, bad luck, forbidden, bewitched
? Are there traps on the way?
? Is any number a bad place to land on?
- A $token that lands on a multiple of $value falls back to the start at once.
/ The multiples of $value are traps, and from there it goes back to 0 at once.
= 7 9 11 13 17
> if $square % $value == 0:
>     $square = 0
- A $token that lands on a multiple of $value, other than 0, returns to where it was before that throw.
/ The multiples of $value, without 0, are forbidden, and the throw is taken back when it ends there.
= 7 9 11 13 17
> if $square and $square % $value == 0:
>     $square = before
- There are no traps on the way.
/ All the numbers are harmless to land on.

report: report, returned, list of all, path, result, final position, tuple, how many throws
? What exactly should be returned?
? Should the result be the whole path or the final position?
- The result is a list of where the $token stands after each throw, moved or not, up to the goal.
/ For each throw up to the goal, even without a move, a list holds the number where it ends up.
> path
- The result is the last number the $token stands on, a single whole number.
/ Only the number where it is in the end is returned.
> $square
- The result is a tuple: where the $token is in the end, and how many throws were made, moved or not.
/ We want a pair, the last number it stands on and then the count of throws up to there, even those without a move.
> ($square, len(path))
"""),
    code="""
def $function(throws, $square):
    path = []
    for one, other in throws:
        before = $square
        steps = $steps
        $double
        $leave
        $square = max(0, before + steps)
        if $square > $goal:
            $over
        $trap
        path.append($square)
        if $square == $goal:
            break
    return $report
""",
    draw=_draw,
)
