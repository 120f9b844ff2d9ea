"""Tasks about the pay for a week, with decisions on breaks, overtime, Sunday work, and rounding."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, _values: Mapping[str, Any]) -> tuple[list[float], int]:
    most = random.choice((6, 9, 12))
    hours = [random.randrange(0, 4 * most + 1) / 4 for _ in range(6)]
    sunday = random.choice((0, 0, random.randrange(1, 20) / 4))
    return [*hours, sunday], random.choice((1250, 1387, 1533, 1846, 2011, 2275))


FAMILY = Family(
    name="payroll",
    themes=themes("""
function       | hours       | rate         | who                | boss
weekly_pay     | hours       | hourly_rate  | our drivers        | I do the wages
shift_wages    | shift_hours | cents_per_h  | the waiters        | I run a restaurant
crew_pay       | worked      | wage         | the building crew  | I manage a building site
guard_salary   | on_duty     | rate         | the night guards   | I plan the guards
harvest_wages  | days        | pay_per_hour | the harvest helpers | we own an orchard
"""),
    requests=requests("""
As $boss, I write the pay of $who for the week by hand.
Since $boss, every Monday I have to find out what $who get.
You see, $boss, and the weekly pay of $who is a lot of paperwork.

I need a Python function for the pay of one person in cents.
Can I have a Python function that gives the amount in cents?
A function for one person and one week would be great, with the result in cents.

It gets a list of seven numbers, the hours from Monday to Sunday, and the cents for an hour.
I have the hours of the seven days, Monday first, and the hourly wage in cents.
"""),
    decisions=decisions("""
breaks: break, breaks, lunch, rest, unpaid, pause
? Are breaks paid, or are they taken off?
? How much unpaid break is there?
- On days with more than 6 hours, $value hours of unpaid break are taken off.
/ Whoever works more than 6 hours on a day has an unpaid break of $value hours.
= 0.5 0.25 0.75 1.5
> worked = [day - $value if day > 6 else day for day in $hours]
- All breaks are paid.
/ Breaks count as work, nothing is taken off.
> worked = $hours

overtime: overtime, extra hours, too many hours, how many hours, beyond how many hours,
  more than a full day, full week, limit of hours
? From when on is it overtime?
? How many hours are normal before overtime starts?
- Whatever goes beyond $value paid hours on one day, without unpaid breaks, is overtime.
/ Overtime is counted day by day, from $value paid hours on, without unpaid breaks.
= 8 7 7.5 9 10
> extra = sum(max(0, day - $value) for day in worked)
- Whatever goes beyond $value paid hours in the week, without unpaid breaks, is overtime.
/ Overtime is counted for the whole week, from $value paid hours on, without unpaid breaks.
= 40 30 35 36 38
> extra = max(0, sum(worked) - $value)

factor: overtime rate, overtime pay, paid for overtime, overtime bring, more for overtime,
  times the wage, overtime premium, multiplier
? How is overtime paid?
? How much more does an hour of overtime bring?
- An hour of overtime is paid $value times the wage.
/ For overtime they get $value times the wage.
= 1.5 1.25 1.75 2

sunday: sunday, weekend, saturday, holiday, sunday extra, weekend hours, extra on weekends,
  sunday premium
? Is there something extra for Sunday?
? What do people get for working on the weekend?
- Each paid hour on Sunday brings $value cents on top.
/ For every paid Sunday hour we add $value cents.
= 300 150 200 400 500
> pay += worked[6] * $value
- Whoever works on Sunday gets $value cents on top, no matter how long.
/ Any work on Sunday brings a flat $value cents extra.
= 1000 1500 2000 2500
> if $hours[6] > 0:
>     pay += $value
- Sunday is a day like any other.
/ There is nothing extra for Sunday.

rounding: round, rounded, rounding, whole cents, smallest coin, fraction
? How is the final amount rounded?
? What do you round the pay to?
- In the end the pay is rounded down to a multiple of $value cents.
/ The final amount is rounded down to the last full $value cents.
= 100 10 20 50
> return int(pay // $value * $value)
- In the end the pay is rounded up to a multiple of $value cents.
/ The final amount is rounded up to the next full $value cents.
= 100 10 20 50
> return int(-(-pay // $value) * $value)
"""),
    code="""
def $function($hours, $rate):
    $breaks
    $overtime
    pay = (sum(worked) + extra * ($factor - 1)) * $rate
    $sunday
    $rounding
""",
    draw=_draw,
)
