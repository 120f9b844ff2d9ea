"""Tasks about an auction's winner and price, with decisions on repeated bids, a minimum bid, rounding, and ties."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

NAMES = ("Ada", "Bo", "Cai", "Dee", "Eli", "Fay")

Bid = tuple[str, int, bool]


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[Bid]]:
    least, lead = values["least"], values["favour"] or 20
    high = random.choice((least + 2, 2 * least, 3 * least + 20))
    below = (0, lead, random.choice((lead - 5, lead + 5)), random.randrange(200))
    special = {name for name in NAMES if random.random() < 0.3}
    bids = [
        (name, max(1, high - random.choice(below) - random.randrange(2)), name in special)
        for name in random.choices(NAMES, k=random.randrange(1, 6))
    ]
    return (bids,)


FAMILY = Family(
    name="auctions",
    themes=themes("""
function       | bids    | thing            | special      | who                | place
auction_result | bids    | painting         | a local      | locals             | the village auction
stand_winner   | offers  | stand            | a regular    | regulars           | the flea market
harvest_buyer  | tenders | load of apples   | a member     | members            | the fruit cooperative
domain_sale    | prices  | web address      | a supporter  | supporters         | a club that sells web addresses
horse_sale     | calls   | horse            | a breeder    | breeders           | the autumn horse sale
cabin_auction  | wishes  | week in the cabin | an heir     | heirs              | our family cabin
"""),
    requests=requests("""
At $place each $thing goes to somebody by written bids, and I have to say how it ended.
I run $place, where people write down bids for each $thing.
For every $thing at $place I get slips of paper with bids on them.

I need a Python function for who gets the $thing and the whole euros to pay, or the text unsold if no bid counts.
Please write a Python function that tells the winner and the whole euros to pay, or just unsold if no bid counts.
A Python function should say who wins and what it costs in whole euros; if no bid counts, the text unsold is the answer.

It gets a list of tuples in the order they came in: name, bid in whole euros, and True if that person is $special.
Each bid is a tuple of a name, whole euros and a bool that tells if it is $special; the list is in order of arrival.
I have a list of bids as they arrived, each a tuple: name, whole euros, and True for $who, False for others.
"""),
    decisions=decisions("""
several: several, twice, more than once, another slip, change their mind, once again
? What if somebody bids more than once?
? Which counts when one person hands in several bids?
? May people change their mind?
- When one person bids several times, we look at the last of these bids only, even if it is too low.
/ Whoever bids again has thrown away the earlier bid, so we look at the last one only, high or low.
> bids = [one for i, one in enumerate($bids) if one[0] not in [x[0] for x in $bids[i + 1 :]]]
- When one person bids several times, we look at the first of these bids only, even if it is too low.
/ Whoever bids again is not heard, so we look at the first one only, high or low.
> bids = [one for i, one in enumerate($bids) if one[0] not in [x[0] for x in $bids[:i]]]
- When one person bids several times, we look at none of these bids.
/ Whoever bids more than once is out altogether.
> bids = [one for one in $bids if [x[0] for x in $bids].count(one[0]) == 1]

least: least, reserve, minimum, too low, lowest, at least
? What is the least that one has to bid?
? Is there a reserve price?
? Which bids are too low?
- Bids of less than $value euros, as written on the slip, do not count.
/ A bid has to be $value euros or more, as it is written, or it does not count.
= 50 20 30 40 60 80 100

step: step, round, rounded, odd amounts, multiple, even sums, crooked
? Are bids rounded?
? In what steps can people bid?
? How do you treat odd amounts?
- Each bid that counts is first rounded down to a multiple of $value euros, for ranking and for paying.
/ We only know steps of $value euros, and a bid that counts is first lowered to the step below unless it is on a step.
= 10 2 3 4 5 6

favour: $who, favour, prefer, privilege, advantage, flag, home bonus
? Are $who favoured?
? What is the advantage of being $special?
? What does the flag change?
- A bid by $who is ranked as if it were $value euros higher, though they do not pay that.
/ When we compare, $who get $value euros added, which they need not pay.
= 10 5 15 20 25 30
> rank = euros + $value if special else euros
- A bid by $who is ranked like any other.
/ When we compare, it makes no difference whether it is $special.
> rank = euros

tie: tie, equal, alike, draw, toss
? Who wins a tie?
? What if two bids are equal?
? How do you decide between two who are alike?
- Among bids that are ranked equal the one that came in earlier wins.
/ In a tie the earlier bid is better.
> ranked.append((-rank, place, name, euros))
- Among bids that are ranked equal the one that came in later wins.
/ In a tie the later bid is better.
> ranked.append((-rank, -place, name, euros))
- Among bids that are ranked equal the name decides, and the first from A to Z wins.
/ In a tie the names are put in order from A to Z, and the first is the best.
> ranked.append((-rank, name, name, euros))

price: price, pay, runner-up, second price, own bid, what it costs, owe
? What does the winner pay?
? Does the winner pay the own bid or the second price?
? How is the price found?
- The winner pays the own bid.
/ What the winner bid is also the price.
> price = ranked[0][3]
- The winner pays what the runner-up bid, but not more than the own bid, and the own bid if there is no runner-up.
/ The price is the bid in second place, but never over the winner's own bid, and the own bid if it is the only one.
> price = min(one[3] for one in ranked[:2])

premium: premium, on top, surcharge, commission, fee, house, added
? Is there a premium for the house?
? What comes on top of the price?
? Do you add a fee?
- On top of the price comes a premium of $value percent, rounded up to a whole euro.
/ We add $value percent to the price, and a started euro is a full one.
= 10 5 8 12 15 20
> price += -(-price * $value // 100)
- On top of the price comes a fee of $value euros.
/ We add a fixed sum of $value euros to the price.
= 5 2 3 4 8 12
> price += $value
- Nothing comes on top of the price.
/ We add nothing to the price.

form: format, form, output, result, returned, look like, type, written, shape
? What form does the result have?
? How should the output look?
? Do you want a tuple, a dictionary or a text?
- If there is a winner, the result is a tuple of the winner's name and the euros to pay.
/ Give me a tuple, first the winner's name, then the euros as a number.
> return name, price
- If there is a winner, the result is a dictionary from the winner's name to the euros to pay.
/ Give me a dictionary with the winner's name as its only key and the euros as the value.
> return {name: price}
- If there is a winner, the result is text such as Ada pays 45 euros, the name and what is to pay.
/ Give me text with the winner and the price, in the manner of Ada pays 45 euros.
> return f"{name} pays {price} euros"
"""),
    code="""
def $function($bids):
    $several
    ranked = []
    for place, (name, euros, special) in enumerate(bids):
        if euros < $least:
            continue
        euros = euros // $step * $step
        $favour
        $tie
    if not ranked:
        return "unsold"
    ranked.sort()
    name = ranked[0][2]
    $price
    $premium
    $form
""",
    draw=_draw,
)
