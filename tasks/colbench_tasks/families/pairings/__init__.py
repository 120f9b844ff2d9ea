"""Tasks about the next pairings of a tournament, with decisions on participants, order, ties, and an odd number."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

NAMES = ("Ana", "Ben", "Cleo", "Dora", "Emil", "Finn", "Gita", "Hugo", "Ines", "Jan", "Kim", "Lars")
CLUBS = ("North", "South", "Lake")


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[tuple[str, str, int]]]:
    names = random.sample(NAMES, random.randrange(2, 8))
    least, gap = values["least"] or 0, values["gap"] or 10
    spread = random.choice((3, gap, gap + 3, 2 * gap))
    return (
        [
            (name, random.choice(CLUBS), max(0, least + random.randrange(-2, spread + 1)))
            for name in names
        ],
    )


FAMILY = Family(
    name="pairings",
    themes=themes("""
function      | players  | player  | club    | points     | place
next_round    | players  | player  | club    | points     | our chess evenings
sparring_list | fighters | fighter | gym     | wins       | a boxing weekend
buddy_pairs   | divers   | diver   | town    | dives      | our diving trips
debate_plan   | speakers | speaker | school  | points     | the debating contest
duel_list     | cooks    | cook    | kitchen | stars      | the cooking duels
tandem_list   | riders   | rider   | village | kilometres | the tandem weekend
"""),
    requests=requests("""
At $place I have to say who meets whom next.
I put the $players at $place into twos, on a piece of paper.
Who is with whom at $place is my job, and somebody always complains.

I need a Python function that returns the list of pairs, each a tuple of two names.
Please write a Python function that makes the pairs: a list of tuples with two names each.
A Python function should return a list with one tuple of two names for each pair.

It gets a list of tuples, one for each $player: the name, the $club and the number of $points.
For each $player the list has a tuple of name, $club (both are text) and $points (a whole number).
The input is a list of tuples with a name, a $club and a whole number of $points, in the order in which they signed up.
"""),
    decisions=decisions("""
least: minimum, fewer, few, left aside, beginners, enough, required, take part, excluded, everybody
? Does everybody take part?
? Is there a minimum of $points?
- Whoever has fewer than $value $points is left aside from the start and meets nobody.
/ It takes at least $value $points to be paired, and all others are left aside before anything else.
= 5 2 3 4 6 8
> line = [entry for entry in $players if entry[2] >= $value]
- Everybody takes part, however few $points they have.
/ Nobody is left aside for having too few $points.
> line = list($players)

rank: line up, lined up, strongest, weakest, best, sorted, ranked, ascending, descending, most $points
? In what order are the $players lined up?
? Does the strongest or the weakest come first?
- The $players are lined up before pairing, with the most $points in front.
/ The line starts with whoever has the most $points and goes down from there.
> -entry[2]
- The $players are lined up before pairing, with the fewest $points in front.
/ The line starts with whoever has the fewest $points and goes up from there.
> entry[2]

tie: tie, ties, tied, equal, draw, equally strong
? What about two with equal $points?
? How are ties broken in the line?
- With equal $points, the line goes by the alphabet from A to Z.
/ Those with equal $points stand in alphabetical order of their names.
> line.sort(key=lambda entry: entry[0])
- With equal $points, whoever signed up earlier stands in front.
/ Those with equal $points stand in the order of the list that comes in.
- With equal $points, whoever signed up later stands in front.
/ Those with equal $points stand in the reverse order of the list that comes in.
> line.reverse()

odd: odd, odd number, left over, alone, without a partner, sits out, bye, remains, lonely
? What if the number of $players is odd?
? Who sits out if one is left over?
- With an odd number of $players, the last in line sits out and is not in the result.
/ If one is left over, it is the last in line, who then appears nowhere.
> line.pop()
- With an odd number of $players, the first in line sits out and is not in the result.
/ If one is left over, it is the first in line, who then appears nowhere.
> line.pop(0)
- If the number is odd, the last in line gets the word $value as partner, in one more pair at the very end, name first.
/ If one is left over, the last in line and the word $value are put at the very end as a pair, name first.
= bye rest free nobody
> rest = [(line.pop()[0], $value)]

method: method, opponent, opponents, system, neighbours, halves, halved, scheme, meets, against
? Who in the line meets whom?
? By what system do you find the opponents?
- The first in line meets the second, the third meets the fourth, and so on.
/ Neighbours in the line meet, two by two from the front.
> pairs = list(zip(line[::2], line[1::2], strict=True))
- The first in line meets the last, the second meets the last but one, and so on.
/ We pair from both ends of the line inwards, so the first meets the last.
> half = len(line) // 2
> pairs = list(zip(line[:half], reversed(line[half:]), strict=True))
- The line is cut into halves, and the first of the front half meets the first of the back half, and so on.
/ We cut the line in the middle, and those at the same place of both halves meet, beginning in front.
> half = len(line) // 2
> pairs = list(zip(line[:half], line[half:], strict=True))

club: $club, $club mates, together, colleagues, shared $club, same $club
? What if two are from the same $club?
? Does the $club matter?
- A pair from the same $club is left out of the result without replacement.
/ When two from the same $club would meet, their pair is simply deleted.
> pairs = [(one, other) for one, other in pairs if one[1] != other[1]]
- Pairs from the same $club are moved behind the other pairs, in unchanged order.
/ When two from the same $club meet, their pair goes behind all mixed pairs, and nothing else changes.
> pairs.sort(key=lambda pair: pair[0][1] == pair[1][1])
- It does not matter who is from the same $club.
/ Two from the same $club are a pair like any other.

gap: difference, gap, far apart, uneven, unequal, imbalance, much stronger, distance
? May the difference in $points be large?
? What if two are far apart in $points?
- A pair with a difference of more than $value $points is struck out without replacement.
/ If more than $value $points lie between two, their pair is struck out.
= 10 3 4 6 8 12
> pairs = [(one, other) for one, other in pairs if abs(one[2] - other[2]) <= $value]
- The difference in $points may be as large as it likes.
/ Two may be far apart in $points and still be a pair.

first: named first, inside a pair, inside the tuple, first name, written, which of the two, left name
? Which of the two names is written first in a pair?
? How are the names ordered inside a tuple?
- Inside a pair, whoever stands further in front in the line is named first.
/ The name of the one nearer to the front of the line is written first in the tuple.
> (one[0], other[0])
- Inside a pair, whoever stands further back in the line is named first.
/ The name of the one nearer to the back of the line is written first in the tuple.
> (other[0], one[0])
- Inside a pair, the names are in alphabetical order.
/ The name that is earlier in the alphabet is written first in the tuple.
> (min(one[0], other[0]), max(one[0], other[0]))
"""),
    code="""
def $function($players):
    $least
    $tie
    line.sort(key=lambda entry: $rank)
    rest = []
    if len(line) % 2:
        $odd
    $method
    $club
    $gap
    return [$first for one, other in pairs] + rest
""",
    draw=_draw,
)
