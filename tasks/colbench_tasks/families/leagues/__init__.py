"""Tasks about a league table, with decisions on points for wins and draws, forfeits, deductions, and ties."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

TEAMS = ("Ash", "Birch", "Cedar", "Elm", "Fir")


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[tuple[str, str, int, int]]]:
    teams = random.sample(TEAMS, random.randrange(2, 6))
    margin, most = values["bonus"] or 3, random.choice((2, 4, 9))
    results = []
    for _ in range(random.randrange(1, 7)):
        home, guest = random.sample(teams, 2)
        goals = random.randrange(most)
        other = max(
            0, goals + random.choice((0, 0, -1, 1, 1 - margin, margin - 1, margin, -margin))
        )
        if random.random() < 0.2:
            goals, other = random.choice(((-1, other), (goals, -1)))
        results.append((home, guest, goals, other))
    return (results,)


FAMILY = Family(
    name="leagues",
    themes=themes("""
function        | results  | teams    | match   | goals    | place
village_league  | results  | teams    | match   | goals    | the football league of our villages
debating_league | debates  | schools  | debate  | votes    | the debating league
bowls_season    | games    | pubs     | game    | skittles | the skittles season
robot_league    | bouts    | labs     | bout    | hits     | the robot league of the universities
baking_league   | duels    | bakeries | duel    | stars    | the baking duels on local television
tug_league      | pulls    | crews    | pull    | metres   | the tug of war in the harbour
"""),
    requests=requests("""
For $place I add up the results by hand.
I keep the standings of $place in an old notebook.
After every $match of $place all the $teams want to know where they stand.

I need a Python function that returns the standings, the best on top.
Please write a Python function that works out the standings with the points.
A Python function should give me the standings with everybody's points.

It gets a list of tuples, one for each $match: two names, then the $goals of the first and those of the second.
The input is a list with a tuple for each $match, which is home name, guest name, home $goals and guest $goals.
Each $match is a tuple in a list: the name at home, the name of the guest, and the whole number of $goals of each.

All $teams in the input are listed, and a -1 for the $goals of one means that they did not come.
A -1 in place of the $goals of one means that they did not turn up; everybody named in the input is listed.
If one of the two did not come, -1 stands for their $goals, and even so all $teams of the input are listed.
"""),
    decisions=decisions("""
win: win, wins, winning, victory, winner, won
? How many points is a win?
? What does the winner of a $match get?
- A win brings $value points.
/ The winner gets $value points.
= 3 2 4 5 6

draw: draw, drawn, equal $goals, level, undecided, stalemate
? How many points is a draw?
? What happens in a drawn $match?
- In a draw, both get one point.
/ If nobody wins, each of the two gets a single point.
> points[home] += 1
> points[guest] += 1
- In a draw, the guest gets two points and the home side one.
/ If nobody wins, there are two points for the guest and one for the home side.
> points[home] += 1
> points[guest] += 2
- In a draw, nobody gets a point.
/ If nobody wins, there are no points for either of the two.

bonus: bonus, clear, high, narrow, margin, extra point, crushing, landslide
? Is there a bonus for a clear win?
? Does a narrow defeat bring anything?
- Whoever wins by $value $goals or more gets one extra point.
/ A margin of at least $value $goals brings the winner another point.
= 3 2 4 5 6
> if abs(ours - theirs) >= $value:
>     points[home if ours > theirs else guest] += 1
- Whoever loses by fewer than $value $goals gets one point all the same.
/ A defeat with a margin under $value $goals still brings the loser a point.
= 3 2 4 5 6
> if abs(ours - theirs) < $value:
>     points[guest if ours > theirs else home] += 1
- The margin does not matter.
/ No extra points are given for a clear win or a narrow defeat.

absent: absent, turn up, no show, forfeit, walkover, did not come, default
? What if somebody does not turn up?
? How is a forfeit treated?
- Whoever does not turn up loses $value points, and the other gets the points of a win, but the $goals do not count.
/ A no show costs $value points and counts as a win for the other, without any $goals.
= 2 3 4 5 6
> points[present] += $win
> points[missing] -= $value
- When somebody does not turn up, the other gets the points of a win, and the $goals do not count.
/ A no show counts as a win for the other, without any $goals, and costs nothing.
> points[present] += $win
- A $match where somebody does not turn up does not count at all.
/ With a no show, the $match is struck out and nobody gets anything.

level: tie, ties, tied, same points, equal on points, tiebreak, higher up, ahead
? What if two have the same points?
? How do you break a tie in the standings?
- With the same points, the better difference of $goals (scored less conceded) is on top, then the alphabet.
/ A tie in points is broken by $goals scored minus $goals conceded, the higher first, and then from A to Z.
> -difference[name], name
- With the same points, whoever scored more $goals is on top, then the alphabet.
/ A tie in points is broken by the total of $goals scored, the higher first, and then from A to Z.
> -scored[name], name
- With the same points, the alphabet decides.
/ A tie in points is broken by the name alone, from A to Z.
> name

start: start, begin, beginning, handicap, carried over, initial, before the first
? With how many points does everybody start?
? Is anything carried over at the beginning?
- Everybody starts with $value points.
/ At the beginning each has $value points already.
= 10 4 5 8 12
- Everybody starts with no points.
/ At the beginning each has zero points.
> 0

form: form, format, tuples, texts, lists, line, written, entry
? In what form do you want the standings?
? What does an entry of the standings look like?
- The standings are a list of tuples, each with name and points.
/ We want a list with one tuple of name and points for each of them.
> [(name, points[name]) for name in order]
- The standings are a list of texts: place from 1 on, dot, space, name, colon, space, points.
/ We want a list of lines, each with place (from 1 on), dot, space, name, colon, space, points.
> [f"{place}. {name}: {points[name]}" for place, name in enumerate(order, start=1)]
- The standings are a tuple of two lists, first the names and then their points in the same order.
/ We want two lists in a tuple, one of the names and one of the points that belong to them.
> (order, [points[name] for name in order])
"""),
    code="""
def $function($results):
    names = sorted({name for result in $results for name in result[:2]})
    points = dict.fromkeys(names, $start)
    scored = dict.fromkeys(names, 0)
    difference = dict.fromkeys(names, 0)
    for home, guest, ours, theirs in $results:
        if -1 in (ours, theirs):
            missing, present = (home, guest) if ours == -1 else (guest, home)
            $absent
            continue
        scored[home] += ours
        scored[guest] += theirs
        difference[home] += ours - theirs
        difference[guest] += theirs - ours
        if ours == theirs:
            $draw
            continue
        points[home if ours > theirs else guest] += $win
        $bonus
    order = sorted(names, key=lambda name: (-points[name], $level))
    return $form
""",
    draw=_draw,
)
