"""Tasks about streaks of good days, with decisions on the daily goal, jokers that save missed days, and illness."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[int | None]]:
    enough, big = values["enough"], values["big"] or 60
    days: list[int | None] = []
    for _ in range(random.randrange(4, 23)):
        good = random.choice(
            (enough, enough + 1, random.randrange(enough, 46), big + random.randrange(-9, 9))
        )
        days.append(random.choice((good, good, good, good, enough - 1, 0, None)))
    return (days,)


FAMILY = Family(
    name="streaks",
    themes=themes("""
function        | days      | unit      | did       | club
practice_streak | minutes   | minutes   | practised | a music school
reading_run     | pages     | pages     | read      | a reading club
vocabulary_run  | words     | words     | learned   | a language course
workout_series  | push_ups  | push-ups  | did       | a sports club
swim_streak     | lengths   | lengths   | swam      | a swimming group
knitting_chain  | rows      | rows      | knitted   | a knitting circle
"""),
    requests=requests("""
In $club we award the people who stay at it day after day.
I run $club, and everybody is proud of an unbroken run of days.
At $club we hang up a sheet on which everybody writes down each day.

I need a Python function that works out how long somebody's streak is.
Please write a Python function that counts the streak of one person.
A Python function should tell how far somebody has come with a streak.

It gets a list with one entry a day, oldest first: how many $unit somebody $did, whole numbers, or None when ill.
The input is a list of whole numbers, the $unit of each day from the first to the last, with None for days of illness.
What goes in is the list of days in order: the whole number of $unit somebody $did, and None for a day of being ill.
"""),
    decisions=decisions("""
enough: enough, threshold, good day, minimum, how many $unit, daily goal, target, sufficient
? How many $unit are enough for a day?
? What is the daily goal?
? When is a day a good day?
- A good day is one with $value $unit or more.
/ From $value $unit on, and with exactly that many, a day is good.
= 20 10 12 15 25 30
> count >= $value
- A good day is one with more than $value $unit.
/ Only with more than $value $unit is a day good, exactly that many do not suffice.
= 20 10 12 15 25 30
> count > $value

big: extra effort, hard-working, double, outstanding, twice, huge day, exceptional, especially many
? Does an extra effort count twice?
? What about a day with especially many $unit?
? Is there a reward for an outstanding day?
- A day with $value $unit or more makes the streak 2 days longer at once.
/ Whoever comes to $value $unit or more gets 2 days for that day.
= 60 50 55 70 80
> streak += 2 if count >= $value else 1
- A good day makes the streak 1 day longer, no matter how good.
/ Extra effort brings nothing, every good day is just one.
> streak += 1

ill: ill, illness, sick, none, absent, doctor, fever
? What about days of illness?
? How do you treat None?
? What if somebody is sick?
- A day of illness is skipped, it neither helps nor hurts.
/ None is passed over as if that day had not existed.
> if count is None:
>     continue
- A day of illness counts as 0 $unit.
/ None is the same as doing 0 $unit.
> if count is None:
>     count = 0
- A day of illness makes the streak 1 day longer, provided that the streak is not 0 at that time.
/ None adds 1 to a running streak, and with a streak of 0 it changes nothing.
> if count is None:
>     streak += streak > 0
>     best = max(best, streak)
>     continue

jokers: joker, jokers, lifeline, second chance, forgive, how many may be missed, protect
? Are there jokers?
? How does one get a joker?
? How many jokers are there at the beginning?
- Everybody has $value jokers at the beginning, each good for one day that is not good enough.
/ There are $value jokers to start with, one for each day that has to be saved.
= 2 3 4
> $value
- Nobody starts with a joker, but after every $value good days, counted over the whole list, there is one more.
/ Jokers have to be earned: from zero on, each $value good days in the list, in a row or not, bring one.
= 5 2 3 4
> good // $value

covered: covered, saved day, bridged, joker is used, rescued, used up, by itself, automatic
? What is a day worth that a joker covered?
? Does a saved day lengthen the streak?
? What happens when a joker is used?
- A joker is used by itself while a streak is above 0, and the saved day leaves the streak as it is.
/ With a streak above 0 a joker steps in at once, and that day adds nothing but costs nothing.
- A joker is used by itself while a streak is above 0, and the saved day makes the streak 1 day longer.
/ With a streak above 0 a joker steps in at once, and that day counts as 1 more.
> streak += 1

broken: broken, break, missed, misses a day, lost, fall, back to zero, start again, ruined, lose, reset
? What happens when a streak is broken?
? Does one start again from zero?
? How much is lost by missing a day?
- A day that is not good and that no joker saves sets the streak back to 0.
/ Without a joker, missing a day means to begin again at 0.
> streak = 0
- A day that is not good and that no joker saves halves the streak, rounded down.
/ Without a joker, missing a day costs half of the streak, and what remains is rounded down.
> streak //= 2
- A day that is not good and that no joker saves takes $value days off the streak, but it never gets below 0.
/ Without a joker, missing a day makes the streak $value days shorter, and 0 is the least.
= 3 2 4 5
> streak = max(0, streak - $value)

fresh: fresh, new joker, comfort, consolation, refill, after a setback, compensation
? Is there some comfort after a setback?
? Are the jokers refilled after a setback?
? Does one get a fresh joker as consolation?
- Each time a streak above 0 has to suffer for want of a joker, the stock of jokers then becomes $value.
/ As a comfort, after each setback to a streak above 0 the stock is filled up to $value for later days.
= 1 2
> spare += $value
- A setback brings no new joker.
/ There is no comfort, jokers never come from a setback.

form: form, format, output, returned, longest, current, which number, best ever
? What should be returned?
? Do you want the current streak or the longest?
? What does the output look like?
- Return the streak as it stands after the last day, as a whole number.
/ The result is one integer: how long the streak is at the end of the list.
> streak
- Return the longest that the streak ever was, as a whole number.
/ The result is one integer: the best length reached at any time.
> best
- Return a tuple of the streak after the last day, the longest it ever was, and the jokers that are left.
/ The result is a tuple of three integers: final streak, longest streak, jokers still unused.
> (streak, best, $jokers + spare)
"""),
    code="""
def $function($days):
    streak = best = good = spare = 0
    for count in $days:
        $ill
        if $enough:
            $big
            good += 1
        elif streak and $jokers + spare > 0:
            spare -= 1
            $covered
        elif streak:
            $broken
            $fresh
        best = max(best, streak)
    return $form
""",
    draw=_draw,
)
