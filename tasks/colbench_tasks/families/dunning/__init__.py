"""Tasks about late payers, with decisions on the grace period, interest, charges for letters, and debt collection."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[int, int, int]:
    days = random.choice((values["patience"], values["collector"], 30, 60, 90))
    amount = random.choice((random.randrange(5, 60), random.randrange(40, 900)))
    return amount, max(0, days + random.randrange(-2, 12)), random.randrange(7)


FAMILY = Family(
    name="dunning",
    themes=themes("""
function      | amount   | days      | letters   | bill       | who          | place
dunning_step  | amount   | days_late | reminders | bill       | customers    | a small plumbing firm
rent_arrears  | rent     | days_over | letters   | rent       | tenants      | our four blocks of flats
unpaid_dues   | dues     | days_due  | warnings  | yearly fee | members      | the rowing club
tuition_delay | fee      | overdue   | notes     | school fee | parents      | the music school
dentist_debt  | treatment | days     | mailings  | bill       | patients     | a dental practice
feed_account  | euros    | lateness  | postcards | feed bill  | farmers      | the village mill
"""),
    requests=requests("""
At $place I look after the $who who pay late.
Some $who of $place forget to pay, and the paperwork falls to me.
I do the books of $place and chase the $who who have not paid.

I need a Python function that says what to do now and how many cents to ask for in all.
Could you write a Python function for the next step and the total in cents that is owed by now?
A Python function should tell me the next step, and what somebody owes altogether in cents.

The step is wait, reminder or collector; I know the $bill in whole euros, the whole days late and the letters sent.
It gets the $bill in euros, the days late and the number of letters so far, all whole; steps: wait, reminder, collector.
I put in whole numbers: euros of the $bill, days late, letters sent; the steps are called wait, reminder and collector.
"""),
    decisions=decisions("""
patience: patience, wait, grace, leave in peace, tolerated, tolerance
? How long do you wait before anything happens?
? Is there a grace period?
? How many days of delay do you tolerate?
- Up to and including $value days late the step is wait, and we ask for the $bill alone.
/ Until $value days late, that day included, we just wait and ask for nothing but the $bill.
= 14 5 7 10 20 21

counting: counted from, start counting, starting point, included in the count, retroactive
? From which day is interest counted?
? Do the days of waiting count for the interest?
? On what day does interest start?
- Interest counts all the days late, also those in which we just waited.
/ For interest we count every day since the $bill was due.
> late = $days
- Interest counts only the days late after those in which we just waited.
/ For interest the days in which we just waited are not counted.
> late = $days - $patience

interest: interest rate, percent interest, per month, daily sum, compensation
? How much interest do you take?
? What is the interest rate?
? Is the interest a percentage or a daily sum?
- The interest is $value percent of the $bill for each full 30 days that count for it.
/ For every complete 30 days that count, $value percent of the $bill is added as interest.
= 1 2 3 4 5
> extra = late // 30 * $amount * $value
- The interest is $value cents for every day that counts for it.
/ Each day that counts adds $value cents of interest.
= 10 5 15 20 25 50
> extra = late * $value

postage: letter, postage, stamp, charge for a letter, cost of writing, reminders sent, mail
? What do you charge for the letters?
? Does somebody pay for the letters they got?
? Is the first letter free?
- Every letter sent so far costs $value cents.
/ We charge $value cents for each letter that was sent.
= 500 200 250 300 400 750
> extra += $letters * $value
- The first letter is free, and every further one sent so far costs $value cents.
/ We charge $value cents for each letter that was sent, except the first.
= 500 200 250 300 400 750
> extra += max(0, $letters - 1) * $value

ceiling: ceiling, cap, maximum, no more than, grow forever, exceed, at most, upper limit
? Is there a ceiling for what comes on top of the $bill?
? Are the extra costs capped?
? Can the extras grow forever?
- All that comes on top of the $bill together is never more than $value percent of the $bill.
/ There is a ceiling: all extras together are at most $value percent of the $bill.
= 50 10 20 25 40 100
> extra = min(extra, $amount * $value)
- What comes on top of the $bill has no ceiling.
/ There is no limit to the extras, they just grow.

collector: collector, collection agency, hand over, give up, debt collector, lawyer, court
? When does the case go to the collector?
? When do you hand it over?
? Is the collector called by days or by letters?
- Once the step is no longer wait, it is collector from $value days late on, and reminder before that.
/ Whoever is $value days late or more goes to the collector, and all others who get past waiting get a reminder.
= 60 40 45 50 75 90
> step = "collector" if $days >= $value else "reminder"
- Once the step is no longer wait, it is collector from $value letters sent on, and reminder before that.
/ Among those who get past waiting, whoever has had $value letters or more goes to the collector, others get a reminder.
= 3 2 4 5
> step = "collector" if $letters >= $value else "reminder"

form: format, form, output, result, returned, look like, type, written, shape
? What form does the result have?
? How should the output look?
? Do you want a list, a dictionary or a text?
- The result is a list with the step as text and then the cents as a number.
/ Give me a list of two things: the step as text, then the cents as a number.
> return [step, $amount * 100 + extra]
- The result is a dictionary with the step as its only key and the cents as the value.
/ Give me a dictionary from the step to the cents, with just that one entry.
> return {step: $amount * 100 + extra}
- The result is text such as reminder: 1250, the step, a colon, a space and the cents.
/ Give me text like reminder: 1250, that is the step, a colon, a space and the cents.
> return f"{step}: {$amount * 100 + extra}"
"""),
    code="""
def $function($amount, $days, $letters):
    step, extra = "wait", 0
    if $days > $patience:
        $counting
        $interest
        $postage
        $ceiling
        $collector
    $form
""",
    draw=_draw,
)
