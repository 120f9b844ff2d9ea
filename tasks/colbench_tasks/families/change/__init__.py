"""Tasks about giving change in coins, with decisions on denominations, rounding, a fee, and a bonus."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[int, int]:
    many = values["bonus"] or 500
    paid = random.choice((many, many - 10, many + 100, random.randrange(100, 1600)))
    back = random.choice((random.randrange(150), random.randrange(700), -30))
    return max(1, paid - back), paid


FAMILY = Family(
    name="change",
    themes=themes("""
function      | due     | paid     | thing         | who       | place
coins_back    | due     | paid     | a cup         | visitors  | the coffee machine of a hospital
wash_change   | price   | inserted | a wash        | drivers   | a car wash
ticket_change | fare    | given    | a ticket      | travellers | the boat jetty
bread_change  | total   | handed   | a bread order | customers | our market stall
arcade_change | cost    | thrown   | a game        | players   | an old pinball hall
candle_change | sum_due | dropped  | a candle      | pilgrims  | the candle stand of a chapel
"""),
    requests=requests("""
At $place people pay for $thing in cash, and I fill up the coins.
I look after $place, where $who pay in cash and get coins back.
The $who at $place seldom have the exact money for $thing.

I need a Python function that says which coins come back.
Please write me a Python function for the coins that somebody gets back.
A Python function should work out what coins we give back.

It gets the cents that are due and the cents that were paid, as whole numbers.
I know two whole numbers, the cents that are asked for and the cents that came in.
The inputs are how many cents there are to pay, and how many cents were given, both whole.
"""),
    decisions=decisions("""
coins: kinds, stock, available, denominations, nickels, dimes
? Which coins are there?
? What kinds of coins are in stock?
? Which denominations do you have?
- There are coins of 200, 100, 50, 20 and 10 cents, and large ones are used before small ones.
/ We have coins of 200, 100, 50, 20 and 10 cents, and always use as many of the large ones as we can.
> 200, 100, 50, 20, 10
- There are only coins of 100, 50 and 10 cents, and large ones are used before small ones.
/ We have only coins of 100, 50 and 10 cents, and always use as many of the large ones as we can.
> 100, 50, 10
- There are only coins of 200, 20 and 10 cents, and large ones are used before small ones.
/ We have only coins of 200, 20 and 10 cents, and always use as many of the large ones as we can.
> 200, 20, 10
- There are only coins of 50 and 10 cents, and large ones are used before small ones.
/ We have only coins of 50 and 10 cents, and always use as many of the large ones as we can.
> 50, 10

rounding: round, rounded, odd cents, crooked, single cents, remainder, in whose favour
? How is the sum rounded?
? What happens to odd cents?
? In whose favour do you round?
- What comes back is rounded down to a multiple of 10 cents.
/ Odd cents are ours, as we round down to a multiple of 10 cents.
> back = back // 10 * 10
- What comes back is rounded up to a multiple of 10 cents.
/ Odd cents are a gain for the $who, as we round up to a multiple of 10 cents.
> back = -(-back // 10) * 10

short: short, too little, not enough, underpaid, missing money, paid less
? What if somebody paid too little?
? What happens when it is not enough?
? What do you do when money is missing?
- Whoever paid too little just gets the text too little as the result.
/ When it is not enough, the result is only the text too little.
> return "too little"
- Whoever paid too little gets the number of missing cents as the result.
/ When it is not enough, the result is only a number, the cents that are missing.
> return $due - $paid
- Whoever paid too little gets nothing, and the result is the number 0.
/ When it is not enough, we keep the money and the result is only the number 0.
> return 0

bonus: bonus, reward, on top, gift, extra, generous, large banknote
? Is there a bonus for paying in a lot?
? Does anybody get something on top?
? Is there a gift for somebody who pays in a lot?
- Whoever paid $value cents or more, and enough, gets back 20 cents on top of the difference to what is due.
/ From $value cents paid on, there are 20 cents of bonus besides the difference.
= 1000 300 500 800 1200 1500
> back += 20 * ($paid >= $value)
- Nobody gets back more than the difference to what is due.
/ There is no bonus, only the difference comes back.

fee: fee, surcharge for cash, expense, handling, cost of cash, added to what is due
? Does it cost anything to pay in cash?
? Is there a fee for cash?
? Do you add anything to what is due?
- Paying in cash costs $value cents, which are added to what is due before all else.
/ We have a fee of $value cents for cash, and it makes what is due higher from the start.
= 10 20 30 40 50
> $due += $value
- Paying in cash costs nothing.
/ We have no fee, and what is due stays as it is.

number: number of coins, how many coins, pieces, handful, count of coins, run out, purse
? How many coins can come back?
? Is the number of coins limited?
? Can it be a whole handful of coins?
- No more than $value coins come back, the largest of them, and the others stay with us.
/ Only the $value largest coins come back if there would be more.
= 5 2 3 4 6
> coins = coins[:$value]
- Any number of coins may come back.
/ It does not matter how many coins it takes.

order: order, sequence, sorted, first, arrangement, one after another
? In what order do the coins come?
? Which coin comes first?
? How are the coins sorted?
- In the result the largest coin stands first.
/ The result goes from large coins to small ones.
- In the result the smallest coin stands first.
/ The result goes from small coins to large ones.
> coins.reverse()

form: format, form, output, result, look like, type, written, shape
? What form does the result have?
? How should the output look?
? Do you want a list of coins or something else?
- The result is a list with the cents of each coin, one by one.
/ Give me a list of the coins in cents, and two alike are listed twice.
> return coins
- The result is a list of tuples, each the cents of a kind of coin and how many of it.
/ Give me a list with a tuple for each kind of coin that comes back: its cents and how many there are.
> return [(coin, coins.count(coin)) for coin in dict.fromkeys(coins)]
- The result is text such as 50+20+20, the cents of each coin with a plus between them, and empty without any.
/ Give me text with the cents of each coin, joined by a plus, like 50+20+20, or empty text if there is none.
> return "+".join(map(str, coins))
"""),
    code="""
def $function($due, $paid):
    $fee
    if $paid < $due:
        $short
    back = $paid - $due
    $bonus
    $rounding
    coins = []
    for coin in ($coins):
        coins += [coin] * (back // coin)
        back %= coin
    $number
    $order
    $form
""",
    draw=_draw,
)
