"""Tasks about the payout of a currency exchange, with decisions on margin, limits, better rates, and rounding."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[int, int, bool]:
    edges = [values[name] for name in ("least", "large", "limit") if values[name]]
    near = random.choice(edges or [50]) + random.randrange(-2, 3)
    amount = random.choice((near, near, random.randrange(1, 900)))
    return amount, random.randrange(40, 240), random.random() < 0.4


FAMILY = Family(
    name="exchange",
    themes=themes("""
function     | amount | rate        | regular    | one    | many    | regulars | place
change_money | amount | rate        | is_regular | franc  | francs  | the commuters | the exchange desk at the border
cash_chips   | chips  | chip_value  | has_card   | chip   | chips   | the card holders | the cage of a casino
token_refund | tokens | token_cents | is_crew    | token  | tokens  | the crew | the till of a music festival
sell_gems    | gems   | gem_price   | is_patron  | gem    | gems    | the patrons | the market of our online game
scrap_payout | kilos  | kilo_price  | is_trader  | kilo   | kilos   | the traders | our scrap metal yard
bottle_money | points | point_value | neighbour  | point  | points  | the neighbours | the bottle return of a shop
"""),
    requests=requests("""
I sit at $place, where people bring us $many and get money for them.
At $place we give people money for their $many, and I reckon it on a slip of paper.
People come to $place with $many and go home with money.

I need a Python function that works out what we pay out to somebody.
Could you make me a Python function for the amount that is paid out?
A Python function should say how much money one person gets.

It gets the number of $many and the rate in cents for one $one, both whole, and whether it is one of $regulars (a bool).
I enter how many $many it is, what one $one is worth in cents, both whole, and True for $regulars or else False.
The inputs are the $many and today's rate in cents for one $one, both whole, and a flag that is True for $regulars.
"""),
    decisions=decisions("""
least: fewest, minimum, too little, refuse, smallest, turn away, tiny
? Is there a minimum number of $many?
? Do you refuse people who bring very few?
? What is the smallest number that you accept?
- We refuse fewer than $value $many, and then the result is only the text too little.
/ Whoever brings fewer than $value $many is sent away, and the result is only the text too little.
= 10 5 15 20 25 30
> if $amount < $value:
>     return "too little"
- We refuse fewer than $value $many, and then the result is only the number 0.
/ Whoever brings fewer than $value $many is sent away, and the result is only the number 0.
= 10 5 15 20 25 30
> if $amount < $value:
>     return 0

limit: limit, most, largest, at once, at one time, upper bound, handed back
? Is there a limit to what one person can bring at once?
? What is the most that you accept at one time?
? What if somebody brings a very great number?
- We take at most $value $many at once, and those beyond that are handed back and count for nothing.
/ No more than $value $many are accepted at one time, and anything over that goes back uncounted.
= 500 300 350 400 450 600
> $amount = min($amount, $value)
- We take any number at once, however many somebody brings.
/ There is no limit, all that somebody brings is accepted.

large: large amounts, bigger, better rate, higher rate, volume, bulk, wholesale
? Do large amounts get a better rate?
? Is there a higher rate for bulk?
? From which number on is the rate higher?
- From $value accepted $many on, the rate is one cent higher for every $one.
/ If we take $value $many or more, each $one counts one cent more than today's rate.
= 100 60 80 120 150 200
> each = $rate + ($amount >= $value)
- From $value accepted $many on, the rate is three cents higher for every $one.
/ If we take $value $many or more, each $one counts three cents more than today's rate.
= 100 60 80 120 150 200
> each = $rate + 3 * ($amount >= $value)
- Everybody gets today's rate, no matter how much it is.
/ Nobody gets a better rate for bringing a lot.
> each = $rate

margin: margin, keep, earn, commission, our cut, own share, fee
? What do you keep for yourselves?
? How large is your margin?
? Do you take a commission?
- We keep $value percent of what the $many are worth, rounded up to a whole cent.
/ Our margin is $value percent of the full value, and a started cent is ours.
= 5 2 3 4 6 8 10
> kept = -(-full * $value // 100)
- We keep $value cents of what the $many are worth, or everything if it is less.
/ Our margin is a fixed sum of $value cents, or everything if it is worth less.
= 200 100 150 250 300
> kept = min(full, $value)

favour: favour, loyal, $regulars, regular, familiar, known, flag, privilege
? What do $regulars get?
? How are $regulars favoured?
? What changes when the flag is True?
- We keep nothing at all of what $regulars bring.
/ We pay $regulars the full value and keep none of it.
> if $regular:
>     kept = 0
- Of what $regulars bring we keep only half of the cents that we usually keep, rounded down to a cent.
/ With $regulars we are content with half of what we usually keep, rounded down to a cent.
> if $regular:
>     kept //= 2

coins: coins, round, rounded, small change, coppers, multiple
? How is the payout rounded?
? Do you hand out small coins?
? To what multiple do you round?
- What we pay is in the end rounded down to a multiple of $value cents.
/ Our smallest coin is $value cents, and the payout is rounded down to that.
= 10 5 20 50 100
> paid = paid // $value * $value
- What we pay is in the end rounded up to a multiple of $value cents.
/ Our smallest coin is $value cents, and the payout is rounded up to that.
= 10 5 20 50 100
> paid = -(-paid // $value) * $value

form: format, form, output, result, returned, look like, type, written, displayed
? What form does the result have?
? How should the output look?
? Is the result in cents or in euros?
- The payout is given as a number, in cents.
/ Give me the payout as one whole number of cents.
> paid
- The payout is given as text like 12.05, euros and cents with a point.
/ Write the payout as text with euros, a point and two digits for the cents, like 12.05.
> f"{paid // 100}.{paid % 100:02}"
- The payout is given as a tuple of two numbers, the full euros and the cents left over.
/ Give me a pair, a tuple with the whole euros and then the remaining cents.
> divmod(paid, 100)
"""),
    code="""
def $function($amount, $rate, $regular):
    $least
    $limit
    $large
    full = $amount * each
    $margin
    $favour
    paid = full - kept
    $coins
    return $form
""",
    draw=_draw,
)
