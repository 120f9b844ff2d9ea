"""Tasks about a ranking, with decisions on direction, ties, shared places, and the number of lines."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

NAMES = ("Ada", "Bo", "Cem", "Dia", "Eli", "Fay", "Gus", "Hal", "Ina", "Jo", "Kit", "Lev")


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[tuple[str, int]]]:
    least = values["least"] or 10
    names = random.sample(NAMES, random.randrange(3, 9))
    return ([(name, random.randrange(least - 3, least + 5)) for name in names],)


FAMILY = Family(
    name="ranking",
    themes=themes("""
function      | results | points  | event
ranking       | results | points  | the chess evening
result_list   | scores  | points  | our quiz night
league_table  | entries | goals   | the table football league
reading_stars | readers | books   | the reading contest at school
race_board    | runners | rounds  | a charity run
"""),
    requests=requests("""
After $event I write the list for the notice board.
For $event I need the final list.
Everybody wants to see the list right after $event.

Please make a Python function that gives me the finished list.
I need a Python function that turns the raw figures into the list for the board.
A Python function should make the list.

It gets pairs of a name and the number of $points, in the order in which they were entered.
The input is a list of pairs, name and $points, as they came in, and the result is a list.
"""),
    decisions=decisions("""
least: minimum, at least, qualify, too few, threshold, low numbers, low, left out,
  need for the list, everybody
? Does everybody get on the list, or is there a minimum of $points?
? How many $points do you need to qualify?
- You need at least $value $points to get on the list.
/ Whoever has fewer than $value $points is left out.
= 10 4 5 6 8 12
> kept = [entry for entry in $results if entry[1] >= $value]
- Everybody gets on the list.
/ Nobody is left out for having too few.
> kept = $results

best: best, winner, wins, higher or lower, direction, highest, lowest, ascending, descending,
  better, more or less, high or low, a high number or a low one
? Who is on top, the one with the highest or the lowest number?
? Who wins?
- The one with the most $points comes first.
/ The highest number wins.
> -entry[1]
- The one with the fewest $points comes first.
/ The lowest number wins.
> entry[1]

tie: tie, ties, tied, tied order, equal, same number, two people with the same number, equal ones,
  draw
? In what order do you list people with equal $points?
? How are ties sorted?
- Those with equal $points are listed by the alphabet.
/ With equal $points, the names go from A to Z.
> kept = sorted(kept, key=lambda entry: ($best, entry[0]))
- Those with equal $points stay in the order in which they were entered.
/ With equal $points, whoever was entered earlier is listed earlier.
> kept = sorted(kept, key=lambda entry: $best)
- Those with equal $points are listed in reverse, the one entered later first.
/ With equal $points, whoever was entered later is listed earlier.
> kept = sorted(reversed(kept), key=lambda entry: $best)

place: place, rank, ranks numbered, same place, same rank, share, shared, share a place,
  people share a place, numbering, position, same place number
? How are the places numbered when people share one?
? Do people with equal $points share a place?
- Those with equal $points share a place, and the places after it are skipped, as in 1, 1, 3.
/ Places are shared and then left out, so it may go 1, 1, 3.
> place = [$points for _, $points in kept].index($points) + 1
- Those with equal $points share a place, and no place is skipped, as in 1, 1, 2.
/ Places are shared and the next one follows on, so it may go 1, 1, 2.
> place = len({other for _, other in kept[:number]})
- Nobody shares a place, we just count the lines, as in 1, 2, 3.
/ Places are never shared, every line has the next number, so it goes 1, 2, 3.
> place = number

cut: how many lines, number of lines, how many entries, entries shown, cut, top, top few,
  length of the list, only the top, list everybody
? How many lines has the list?
? Do you show all of them or only the top?
- Only the first $value lines of the list are shown, even if that parts equal ones.
/ The list stops after $value lines, no matter what.
= 3 2 4 5
> [:$value]
- All lines of the list are shown.
/ The list is as long as it gets.

form: format, line look like, how a line looks, how an entry looks, each entry, each line,
  look like, written, form, text or pair, string, line, lines written, write a line
? What does each line look like?
? In what format is an entry written?
- A line of the list is text such as 1) Ada, the place with a bracket, a space and the name.
/ Write each line as text, place, bracket, space, name, like 1) Ada.
> f"{place}) {name}"
- A line of the list is text such as Ada (1), the name and the place in brackets.
/ Write each line as text, name, space, place in brackets, like Ada (1).
> f"{name} ({place})"
- A line of the list is a small list of the place as a number and the name.
/ Give each line as a small list, first the place as a number, then the name.
> [place, name]
"""),
    code="""
def $function($results):
    $least
    $tie
    lines = []
    for number, (name, $points) in enumerate(kept, start=1):
        $place
        lines.append($form)
    return lines$cut
""",
    draw=_draw,
)
