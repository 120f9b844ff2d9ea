"""Tasks about a due date, with decisions on working days, holidays, requests in the evening, and urgent cases."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[str, int, bool, list[str]]:
    if random.random() < 0.4:
        came = date(random.randrange(2021, 2029), 12, random.randrange(8, 31))
    else:
        came = date(random.randrange(2021, 2029), random.randrange(2, 11), random.randrange(1, 29))
    evening = values["evening"] or 12
    hour = random.choice((evening - 1, evening, random.randrange(24)))
    closed = {came + timedelta(days=random.randrange(14)) for _ in range(random.randrange(4))}
    return came.isoformat(), hour, random.random() < 0.3, sorted(map(date.isoformat, closed))


FAMILY = Family(
    name="deadlines",
    themes=themes("""
function        | received   | hour     | urgent     | closed     | thing       | place
reply_until     | received   | hour     | urgent     | holidays   | complaint   | a complaints office
repair_due      | reported   | at_hour  | dangerous  | days_off   | defect      | a housing association
results_ready   | arrived    | clock    | critical   | lab_closed | blood sample | an animal laboratory
permit_deadline | handed_in  | hour     | pressing   | feast_days | application | a small town hall
proof_due       | sent       | full_hour | express   | free_days  | manuscript  | a printing house
"""),
    requests=requests(
        """
At $place we promise to be done with every $thing by a certain day.
I work at $place, where every $thing has a deadline that I count out on a wall calendar.
We run $place, and somebody has to write on each $thing when it is due.

I need a Python function that finds the day on which it is due.
Please give me a Python function for the due day.
A Python function should tell me until when it has to be done.

It gets the date on which the $thing came in, as text like YYYY-MM-DD, and the full hour, a whole number.
I know the date when the $thing came (text, YYYY-MM-DD) and the full hour of the day (a whole number).
What goes in first is the day the $thing arrived, as text YYYY-MM-DD, and the full hour as a whole number.

Then there are True or False for $urgent, and a list with the dates on which we are closed, written likewise.
Besides, a flag is True if it is $urgent, and a list names all days on which we are closed, like the date.
The third input says whether it is $urgent (True or False), the last is a list of the dates when we are closed.
"""
    ),
    decisions=decisions("""
evening: evening, o'clock, hour, too late, clock, afternoon, closing hour
? Does the hour at which it came in matter?
? From what hour on is it too late?
? What if the $thing comes in the evening?
- What comes in at $value o'clock or later is treated as if it had come in on the next calendar day.
/ From $value o'clock on, the next day on the calendar is taken as the day of arrival.
= 17 12 14 15 16 18
> if $hour >= $value:
>     day += timedelta(days=1)
- The time of day plays no role, whatever comes in shortly before midnight came in that same day.
/ Nobody looks at the clock, the date alone decides.

weekdays: weekdays, weekend, saturday, sunday, monday, which days of the week, opening days
? On which days of the week do you work?
? Is Saturday a working day?
? Are weekends counted?
- We work from Monday to Friday, and only days on which we work are counted.
/ Counted are working days, and these are Monday to Friday.
> (0, 1, 2, 3, 4)
- We work from Monday to Saturday, and only days on which we work are counted.
/ Counted are working days, and these are Monday to Saturday.
> (0, 1, 2, 3, 4, 5)
- We work from Tuesday to Saturday, and only days on which we work are counted.
/ Counted are working days, and these are Tuesday to Saturday.
> (1, 2, 3, 4, 5)

bridge: bridge day, day after a holiday, next to a holiday, neighbour of a closed date, on the list
? Do you take a bridge day after a holiday?
? Is the day after a closed day counted?
? What about the day that follows a holiday?
- No closed day on the list is counted, and the day right after it is not counted either.
/ Besides each closed day on the list, the day that follows it drops out too.
> if day.isoformat() in $closed or (day - timedelta(days=1)).isoformat() in $closed:
>     return False
- No closed day on the list is counted, but the day right after it is like any other.
/ Just the closed days on the list themselves drop out, no bridge days.
> if day.isoformat() in $closed:
>     return False

winter: christmas, winter, december, january, new year, year's end, yearly break
? Is there a break at Christmas?
? What about the days around New Year?
? Do you close at the end of the year?
- From 24 December to $value January, both included, no day is counted.
/ There is a winter break, in which nothing counts: 24 December up to and including $value January.
= 1 2 4 6 8
> if (day.month, day.day) >= (12, 24) or (day.month, day.day) <= (1, $value):
>     return False
- There is no break in winter unless those days are on the list.
/ Christmas and New Year are like the rest of the year, only the list counts.

period: period, how many days, number of days, how long, length, how much time
? How many days do you have?
? How long is the normal period?
? How many working days are there until the deadline?
- The ordinary period is $value working days.
/ Ordinarily $value working days are what we give ourselves.
= 10 5 6 7 8 12

rush: pressing, faster, rush, priority, quick, flag, halved, cannot wait, $urgent
? What if it is $urgent?
? How much faster must the $thing be when the flag is set?
? What changes when the flag is True?
- If the flag is True, the number of working days that we have is just $value.
/ With the flag set, working days are reduced to $value in number, whatever is ordinary.
= 2 1
> left = $value
- If the flag is True, we take half of the ordinary number of working days, rounded up.
/ With the flag set, the ordinary number of days is halved, and half a day counts as a whole one.
> left = -(-left // 2)

first: included, inclusive, begin to count, counting begins, receipt, starting date
? Does the day of receipt count as the first day?
? When does the counting begin?
? Is the date of arrival included in the count?
- The first day that can count is the one after the day of arrival.
/ Counting starts with the day after arrival, never with the day of arrival.
- The day of arrival is the first to count, provided that it is one which counts at all.
/ Counting starts with the day of arrival itself, if that is one which counts at all.
> left -= is_open(day)

form: form, format, output, type, returned, text or number, look like, notation
? In what form do you want the due day?
? What does the output look like?
? Should it return text or something else?
- The due day should be text in the same notation as the input, YYYY-MM-DD.
/ Return the due date as a string like YYYY-MM-DD, as in the input.
> day.isoformat()
- The due day should be a tuple of three whole numbers: year, month, day.
/ Return the due date as (year, month, day), a tuple of integers.
> (day.year, day.month, day.day)
- The due day should be a whole number: how many calendar days it is after the date in the input.
/ Return the calendar days from the given date to the due date, as an integer.
> (day - date.fromisoformat($received)).days
"""),
    code="""
def $function($received, $hour, $urgent, $closed):
    from datetime import date, timedelta

    def is_open(day):
        $bridge
        $winter
        return day.weekday() in $weekdays

    day = date.fromisoformat($received)
    $evening
    left = $period
    if $urgent:
        $rush
    $first
    while left > 0:
        day += timedelta(days=1)
        left -= is_open(day)
    return $form
""",
    draw=_draw,
)
