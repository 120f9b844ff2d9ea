"""Tasks about a vote with preferences, with decisions on points, void ballots, a quorum, ties, and the result."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

NAMES = ("lake", "museum", "forest", "zoo", "castle")


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[list[str]]]:
    ballots = []
    options = random.sample(NAMES, random.randrange(3, 5))
    for _ in range(values["quorum"] + random.randrange(-1, 5)):
        ballot = random.sample(options, random.randrange(1, 4))
        if random.random() < 0.2:
            ballot = [ballot[0], *ballot[:2]]
        ballots.append(ballot)
    return (ballots,)


FAMILY = Family(
    name="ballots",
    themes=themes("""
function      | ballots | what        | who
trip_vote     | ballots | outings     | the class
club_choice   | votes   | destinations | our hiking club
team_decision | sheets  | places      | the team at work
family_vote   | wishes  | trips       | the big family
choir_vote    | cards   | places      | the choir
"""),
    requests=requests("""
In $who we vote on $what, and everybody names up to three in order of preference.
When $who choose between $what, each writes down up to three wishes, the dearest first.
I count the votes when $who pick from several $what.

I need a Python function that does the counting.
Please make a Python function that finds out how it ended.
A Python function should count it for me.

It gets a list of lists with the names on each sheet, best first, at most three a sheet.
Each sheet is a list of one to three names, the favourite first, and all sheets come as one list.
"""),
    decisions=decisions("""
first: first choice, favourite on a sheet, favourite worth, first wish, top choice, top wish,
  first place, first preference, points for the first
? How many points does a first choice get?
? What is a favourite worth?
- A first choice gets $value points.
/ The favourite on a sheet is worth $value points.
= 3 4 5 6 7 8 9

second: second choice, second wish, runner-up on a sheet, points for the second
? How many points does a second choice get?
? What is the second wish worth?
- A second choice is worth $value, and a third one is worth 1.
/ The second on a sheet counts $value, the third always 1.
= 2 1 3

void: twice, same name twice, repeated name, duplicate, invalid sheet, void, spoiled,
  ballot that lists the same name more than once
? What if somebody names the same one twice?
? Are sheets with a repeated name invalid?
- A sheet with the same name twice gives no points, but it still counts as a sheet that was handed in.
/ If somebody repeats a name, that sheet gives no points, though it counts as handed in.
> if len(set(ballot)) < len(ballot):
>     continue
- If a name is twice on a sheet, it simply gets the points for both places.
/ Somebody who repeats a name gives it points each time.

quorum: quorum, enough sheets, turnout, minimum number, sheets needed, how many sheets, hand in,
  few votes, how many ballots, ballots needed
? How many sheets are needed at least?
? Is there a quorum?
- We need at least $value sheets, and any points at all, or the result is the text no vote.
/ With fewer than $value sheets, or without any points, the result is the text no vote.
= 5 3 4 6 7 8

tie: tie, equal, same points, draw, equal points
? Who wins in a tie?
? What if two have equal points?
- With equal points, the first in the alphabet wins.
/ A tie goes to the name that comes first from A to Z.
> winner = min(points, key=lambda name: (-points[name], name))
- With equal points, the last in the alphabet wins.
/ A tie goes to the name that comes last from A to Z.
> winner = max(points, key=lambda name: (points[name], name))

result: output, result, returned, return, winner or points, how shown, form
? What should the result be?
? What exactly is returned?
- The result is text such as zoo (9), the winner and its points.
/ Give me text with the winner and in brackets the points, like zoo (9).
> return f"{winner} ({points[winner]})"
- The result is a list of the winner's name and its points as a number.
/ Give me a small list, first the winner's name, then the points as a number.
> return [winner, points[winner]]
- The result is a dictionary with just the winner as the key and its points as the value.
/ Give me a dictionary whose only key is the winner, with the points.
> return {winner: points[winner]}
"""),
    code="""
def $function($ballots):
    if len($ballots) < $quorum:
        return "no vote"
    points = {}
    for ballot in $ballots:
        $void
        for name, worth in zip(ballot, ($first, $second, 1)):
            points[name] = points.get(name, 0) + worth
    if not points:
        return "no vote"
    $tie
    $result
""",
    draw=_draw,
)
