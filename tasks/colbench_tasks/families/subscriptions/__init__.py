"""Tasks about the monthly cost of a subscription, with decisions on a trial, more people, a price rise, and pauses."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[int, int, list[int]]:
    months = random.choice((values["trial"], values["rise"], values["gift"] or 12, 12))
    months += random.randrange(5)
    covered = random.choice((values["covered"], random.randrange(1, 7)))
    pauses = random.sample(range(1, months + 1), min(months, random.choice((0, 0, 1, 3))))
    return months, covered + random.randrange(2), sorted(pauses)


FAMILY = Family(
    name="subscriptions",
    themes=themes("""
function        | months   | people  | pauses    | one       | many       | thing        | place
membership_bill | months   | people  | pauses    | person    | people     | membership   | our climbing gym
box_payments    | term     | eaters  | skipped   | eater     | eaters     | vegetable box | an organic farm
software_cost   | duration | seats   | frozen    | user      | users      | licence      | a small software firm
paper_bill      | run      | readers | holidays  | reader    | readers    | subscription | the local newspaper
lesson_payments | period   | pupils  | breaks    | pupil     | pupils     | package      | the guitar school
hive_patronage  | length   | friends | rests     | godparent | godparents | patronage    | a bee keeper
"""),
    requests=requests("""
At $place every $thing is paid by the month, and I write each month into a book.
I keep the book of who pays what for their $thing at $place.
People with a $thing at $place ask me what they will pay in the months to come.

I need a Python function that works out the cents for the months of one $thing.
Could you make a Python function for what one $thing costs in cents, month after month?
A Python function should find what the months of one $thing cost in cents.

It gets the number of months, the number of $many, both whole, and a list of the paused months, where 1 is the first.
I put in how many months it runs, how many $many it is for, both whole, and a list of the months with a pause (from 1).
The inputs are whole numbers of months and of $many, and a list of the months with a pause, with 1 as the first month.
"""),
    decisions=decisions("""
price: price, monthly rate, basic, standard, regular amount
? What is the price of a month?
? What is the monthly rate?
? How many cents is the basic price?
- A month costs $value cents.
/ The basic price is $value cents a month.
= 1000 600 800 900 1200 1600

trial: trial, try out, test, start, introduction, welcome
? Is there a trial?
? How do the first months differ?
? How long can people try it out?
- Up to and including month $value it is a trial, and nothing is paid at all.
/ The trial ends after month $value, and until then no month costs anything.
= 1 2 3 4 5
> if month <= $value:
>     cents = 0
- Up to and including month $value it is a trial, with 100 cents a month and nothing more.
/ The trial ends after month $value, and until then every month costs just 100 cents.
= 1 2 3 4 5
> if month <= $value:
>     cents = 100

covered: $many, covered, included, how many $many, good for, family, group
? How many $many are covered?
? For how many $many is one $thing good?
? Up to how many $many is there no surcharge?
- The price of a month covers $value $many.
/ Up to $value $many are included in the price.
= 2 3 4 5

each: each further $one, additional $one, extra $one, surcharge, per head, companion
? What does each further $one cost?
? How much is an additional $one?
? What is the surcharge for an extra $one?
- Each further $one beyond those covered costs $value cents a month.
/ For every additional $one a month is $value cents dearer.
= 500 200 300 400 600
> cents += max(0, $people - $covered) * $value
- For all further $many together, beyond those covered, a month is $value cents dearer.
/ The surcharge is $value cents a month, no matter how many further $many there are.
= 500 200 300 400 600
> cents += $value * ($people > $covered)

rise: rise, dearer, increase, inflation, later, up
? Does the price rise at some time?
? When does it become dearer?
? By how much does the price rise?
- From month $value on, every month is 150 cents dearer than before.
/ There is one rise, of 150 cents a month, which holds from month $value on.
= 12 6 8 10 14
> cents += 150 * (month >= $value)
- The price goes up by 50 cents in month $value and again in every month after it, paused or not.
/ In month $value, and in every month that follows, there is another rise of 50 cents, paused or not.
= 12 6 8 10 14
> cents += 50 * max(0, month - $value + 1)

pause: pause, paused, break, holiday, interrupt, suspended, rest, skip
? What does a paused month cost?
? What is paid during a pause?
? Is a pause free?
- A paused month costs nothing, in the trial or later.
/ In a month with a pause nobody pays anything, trial or not.
> if month in $pauses:
>     cents = 0
- A paused month costs $value cents, in the trial or later.
/ In a month with a pause $value cents are paid and nothing else, trial or not.
= 200 50 150 250 300
> if month in $pauses:
>     cents = $value

gift: gift, present, given away, loyalty, reward, thank you
? Is there a gift for those who stay?
? Is some month a present?
? How do you reward loyalty?
- Every month whose number can be divided by $value is a gift and costs nothing, pause or not.
/ As a thank you, each month with a number divisible by $value is free of any charge, pause or not.
= 12 6 7 8 9 10
> if month % $value == 0:
>     cents = 0
- There are no gifts, all the months follow the same rules.
/ We give nothing away, and no month is a present.

form: format, form, output, result, returned, look like, type, written, shape
? What form does the result have?
? How should the output look?
? Do you want all the months or only a sum?
- The result is a list with the cents of every month in order, zeros too.
/ Give me a list of the cents, one number for each month, also where it is zero.
> return bill
- The result is a tuple of two numbers, all the cents together and how many months are not zero.
/ Give me a tuple, first the sum of the cents and then the number of months with more than zero to pay.
> return sum(bill), sum(cents > 0 for cents in bill)
- The result is a dictionary from the number of the month to its cents, without the months that cost zero.
/ Give me a dictionary of the cents by number of the month, and leave out those with zero.
> return {month: cents for month, cents in enumerate(bill, start=1) if cents}
"""),
    code="""
def $function($months, $people, $pauses):
    bill = []
    for month in range(1, $months + 1):
        cents = $price
        $each
        $rise
        $trial
        $pause
        $gift
        bill.append(cents)
    $form
""",
    draw=_draw,
)
