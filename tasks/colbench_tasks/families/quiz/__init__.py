"""Tasks about points in a quiz and who advances, with decisions on time, hints, and wrong or skipped answers."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

ANSWERS = ("right", "right", "right", "right", "wrong", "skip")


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[tuple[str, int, bool]]]:
    limits = (values["speed"] or 6, values["limit"] or 30)
    answers = random.choice((ANSWERS, ("right", "skip"), ("right",)))
    return (
        [
            (
                random.choice(answers),
                max(1, random.choice((*limits, random.randrange(1, 50))) + random.randrange(-2, 3)),
                random.random() < 0.3,
            )
            for _ in range(random.randrange(1, 8))
        ],
    )


FAMILY = Family(
    name="quiz",
    themes=themes("""
function      | answers   | player     | players     | question | hint          | place
quiz_result   | answers   | team       | teams       | question | lifeline      | the quiz night at our pub
spelling_sum  | words     | child      | children    | word     | hint          | the spelling contest of our school
theory_result | replies   | learner    | learners    | question | hint          | a driving school
plant_quiz    | leaves    | gardener   | gardeners   | leaf     | magnifier     | the plant quiz of the garden club
radio_round   | guesses   | caller     | callers     | tune     | phone call    | a morning show on local radio
rally_points  | stations  | family     | families    | station  | look into the guide | a rally through the museum
"""),
    requests=requests("""
For $place I work out by hand how each $player has done.
At $place I keep the score, and my slips of paper get lost.
We need a fair and quick way to score $players at $place.

I need a Python function that returns a tuple: the points (maybe negative) and True if the $player qualifies.
Please write a Python function that gives me a pair: the points, negative or not, and whether the $player qualifies.
A Python function should return the points of one $player, maybe below zero, and a bool for qualifying, as a tuple.

It gets a list of tuples: "right", "wrong" or "skip", the whole seconds taken, and True if there was a $hint.
Each $question is a tuple in a list: the outcome ("right", "wrong" or "skip"), whole seconds, and a bool for a $hint.
The input is a list with a tuple for each $question: right, wrong or skip as text, whole seconds, $hint (True or False).
"""),
    decisions=decisions("""
worth: worth, right, correct, score, basic points, each $question, harder, difficult, first $question
? How many points is a right answer worth?
? Are all $question answers worth the same?
- Each right answer is worth $value points.
/ Whoever is right gets $value points each time.
= 10 4 6 8 12 15
- At the first place in the list a right answer is worth $value points, and at each next place $value more.
/ A right answer is worth $value points times its place in the list, so the first one gets just $value.
= 2 3 4 5 6
> place * $value

limit: time limit, late, too slow, time is up, timeout, deadline, out of time, long
? Is there a time limit?
? What happens if somebody takes too long?
- What takes more than $value seconds counts as wrong, whatever was said.
/ After $value seconds it is too late, and everything that took longer counts as wrong.
= 30 20 25 40 45
> if seconds > $value:
>     answer = "wrong"
- What takes more than $value seconds counts as skipped, whatever was said.
/ After $value seconds it is too late, and everything that took longer counts as skipped.
= 30 20 25 40 45
> if seconds > $value:
>     answer = "skip"
- Everybody may take as long as they like.
/ There is no time limit.

speed: speed, fast, faster, bonus, rapid, lightning, swift, hurry
? Is there a bonus for speed?
? Do fast answers bring more?
- A right answer in $value seconds or less brings double points.
/ Whoever is right within $value seconds, or exactly then, gets twice the points.
= 5 3 4 7 8
> if seconds <= $value:
>     gained *= 2
- A right answer brings an extra point for every second that it stays under $value seconds.
/ Whoever is right gets one point more for each second less than $value.
= 10 6 9 12 15
> gained += max(0, $value - seconds)
- There is no reward for speed.
/ Being quick brings nothing extra.

hint: $hint, assistance, aid, support, used
? What does a $hint cost?
? What is a right answer with a $hint worth?
- With a $hint a right answer brings only half of all its points, rounded down.
/ If there was a $hint, whatever a right answer would bring is halved and rounded down.
> if helped:
>     gained //= 2
- With a $hint, $value points go off all that a right answer would bring, but never below 0.
/ If there was a $hint, $value points are taken off what a right answer would bring, down to 0 at most.
= 3 2 4 5 6
> if helped:
>     gained = max(0, gained - $value)
- A $hint makes no difference to the points.
/ Using a $hint is free, and the points stay the same.

wrong: mistake, false, error, incorrect, penalty, fault
? What does a mistake cost?
? Is there a penalty for incorrect answers?
- A wrong answer costs $value points.
/ For every mistake we take away $value points.
= 5 2 3 4 7
> points -= $value
- The first wrong answer costs nothing, but ends everything: nothing that comes after it counts.
/ With the first mistake it is over, and the rest of the list is not looked at.
> break
- A wrong answer costs nothing.
/ A mistake brings no points but does not take any away either.
> pass

skip: skip, skipped, pass on, passed over, left out, no answer
? What does skipping cost?
? What happens when a $question is skipped?
- Skipping costs $value points each time.
/ Whoever skips loses $value points for it, from the first time on.
= 2 3 4 5 6
> points -= $value
- Skipping is free the first time, and each further time it costs $value points.
/ Whoever skips again after the first time loses $value points for each one after the first.
= 2 3 4 5 6
> points -= $value if skipped > 1 else 0
- Skipping costs nothing, no matter how often.
/ Whoever skips does not lose anything, again and again.

qualify: qualify, qualifies, qualified, next round, final, advance, threshold, succeed
? When does a $player qualify?
? What is the condition for the next round?
- It takes at least $value points in the end to qualify.
/ With $value points or more in the end the $player qualifies, otherwise not.
= 30 12 18 24 36
> points >= $value
- It takes at least $value answers that count as right to qualify.
/ The $player qualifies with $value right ones or more, whatever the points.
= 3 2 4 5
> right >= $value
"""),
    code="""
def $function($answers):
    points = right = skipped = 0
    for place, (answer, seconds, helped) in enumerate($answers, start=1):
        $limit
        if answer == "right":
            right += 1
            gained = $worth
            $speed
            $hint
            points += gained
        elif answer == "skip":
            skipped += 1
            $skip
        else:
            $wrong
    return points, $qualify
""",
    draw=_draw,
)
