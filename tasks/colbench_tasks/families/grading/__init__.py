"""Tasks about a final grade, with decisions on missing work, dropped marks, rounding, a bonus, and the pass mark."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[int | None]]:
    if random.random() < 0.08:
        return ([],)
    middle = random.choice((values["fail"], 60, 80))
    marks: list[int | None] = [
        min(100, max(0, middle + random.randrange(-14, 20))) for _ in range(random.randrange(1, 7))
    ]
    if random.random() < 0.4:
        marks[random.randrange(len(marks))] = None
    if random.random() < 0.3:
        marks[random.randrange(len(marks))] = 100
    return (marks,)


FAMILY = Family(
    name="grading",
    themes=themes("""
function     | marks     | who            | work
final_grade  | marks     | my pupils      | homework
course_score | scores    | the students   | lab report
exam_result  | results   | the apprentices | test piece
jury_verdict | points    | the dance pairs | performance
tasting_note | judgments | the wine makers | tasting
"""),
    requests=requests("""
At the end of the term I have to make one result out of many marks for $who.
I still work out the overall result of $who with a pocket calculator.
Every year I turn the single marks of $who into one overall result.

I need a Python function that does it the way we agreed on.
Could there be a Python function for that, with our own rules in it?
A function should give me the overall result.

It gets a list with one mark from 0 to 100 for each $work, and None where a $work is missing.
The marks come as a list of whole numbers from 0 to 100, with None for a missing $work.
"""),
    decisions=decisions("""
missing: missing, none, skip none, missing as zero, count a none, not handed in, absent, lacking
? What happens with a missing $work?
? How do you count a None in the list?
- A missing $work counts as zero.
/ What is missing is taken as 0.
> kept = [mark or 0 for mark in $marks]
- A missing $work is ignored.
/ What is missing just does not count.
> kept = [mark for mark in $marks if mark is not None]

empty: empty, no marks, no marks at all, nothing, nobody
? What is the result if there are no marks at all?
? What should come out for an empty list?
- Without any mark that counts the result is the text n/a.
/ If there is nothing to count, return the text n/a.
> "n/a"
- Without any mark that counts the result is just the number $value.
/ If there is nothing to count, return the number $value.
= 0 -1 1

drop: dropped, worst, lowest, best and worst, outliers, strike, discard
? Do you drop the worst mark?
? Are the lowest or highest marks discarded?
- The lowest mark is dropped, only one, if at least two marks count.
/ With two marks or more that count, a single one, the worst, is struck.
> if len(kept) >= 2:
>     kept.remove(min(kept))
- The highest and the lowest mark are dropped, one of each, if at least three marks count.
/ With three marks or more that count, a single best one and a single worst one are struck.
> if len(kept) >= 3:
>     kept.remove(min(kept))
>     kept.remove(max(kept))
- All marks stay in, no matter how bad.
/ Nothing is dropped.

rounding: round, rounded, decimals, average, mean, fraction, whole, nearest integer
? How is the average rounded?
? Do you round the mean up or down?
- The average is rounded to a whole number, and a half goes up.
/ We take the average, rounded to the nearest whole number, halves upwards.
> grade = (2 * sum(kept) + len(kept)) // (2 * len(kept))
- The average is always rounded down to a whole number.
/ We take the average and cut off everything after the point.
> grade = sum(kept) // len(kept)
- The average is always rounded up to a whole number.
/ We take the average, and any fraction counts as one more.
> grade = -(-sum(kept) // len(kept))

bonus: bonus, extra points, extra credit, reward, perfect, complete, on top,
  on top of the average, something added
? Are there bonus points?
? Does anybody get something on top of the average?
- Whoever has a mark of 100, dropped or not, gets $value points on top of the rounded average once, even above 100.
/ A perfect 100 in the list, dropped or not, brings $value extra points after rounding, once however many there are.
= 2 3 4 5 6
> if 100 in $marks:
>     grade += $value
- Whoever has no $work missing gets $value points on top of the rounded average, even above 100.
/ A complete list brings $value extra points after rounding, without a limit.
= 2 3 4 5 6
> if None not in $marks:
>     grade += $value

fail: pass, fail, failed, pass mark, threshold, enough, minimum
? What is the pass mark?
? When has somebody failed?
- If an average is below $value after any bonus, the result is the word failed in place of the number.
/ Whoever has marks and ends up under $value, any bonus included, just gets the word failed.
= 50 40 45 55 60 65
"""),
    code="""
def $function($marks):
    $missing
    if not kept:
        return $empty
    $drop
    $rounding
    $bonus
    if grade < $fail:
        return "failed"
    return grade
""",
    draw=_draw,
)
