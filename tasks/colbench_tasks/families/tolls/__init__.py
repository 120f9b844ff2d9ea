"""Tasks about a vehicle's toll and lane, with decisions on length, height, the hour, the return trip, and the lane."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[int, int, int, bool]:
    long, high = values["length"], values["height"]
    hour = random.choice((values["night"], values["night"] - 1, 5, 6, random.randrange(24)))
    return (
        random.choice((long, long + 1, long + random.randrange(1, 9), random.randrange(2, 19))),
        random.choice((high, high + 10, 10 * random.randrange(14, 42))),
        hour,
        random.random() < 0.5,
    )


FAMILY = Family(
    name="tolls",
    themes=themes("""
function     | metres  | tall      | hour   | back      | vehicle  | vehicles  | place
bridge_toll  | metres  | height    | hour   | same_day  | car or lorry | cars and lorries | the old toll bridge
ferry_fare   | length  | height_cm | clock  | returning | vehicle  | vehicles  | our river ferry
tunnel_fee   | size    | top       | time   | way_back  | truck    | trucks    | the mountain tunnel
lock_dues    | hull    | mast      | at     | homeward  | boat     | boats     | a canal lock
train_ticket | long    | tall      | starts | second    | camper   | campers   | the car train under the pass
forest_pass  | trailer | stack     | o_clock | again    | log trailer | log trailers | a private forest road
"""),
    requests=requests("""
I take the money at $place and want to stop reckoning in my head.
At $place every $vehicle is measured, and then I look at a faded price board.
We let $vehicles cross at $place, and each one has a price and a lane.

I need a Python function that says what one of them pays in cents, and in which lane it belongs.
Please write a Python function that gives the price in cents and the lane for one crossing.
A Python function should tell me the lane and how many cents one crossing costs.

It gets whole metres of length, whole cm of height, the hour (0 is midnight), and True on the way back the same day.
I type in whole metres of length, whole centimetres of height, the hour (0 is midnight), True for a same-day return.
Length (metres), height (cm) and hour (0 is midnight) are whole; a flag is True for those coming back the same day.
"""),
    decisions=decisions("""
base: base, basic price, basic, normal price, ordinary, start with
? What is the basic price?
? What does an ordinary $vehicle pay?
? What price do you start with?
- The basic price is $value cents.
/ One crossing costs $value cents before anything else.
= 500 200 300 400 600 800

length: length, long, long enough, which length included, up to how long
? Up to what length is the basic price enough?
? From what length on does it cost more?
? How many metres are included?
- The basic price is good for up to $value metres, and what is longer is a long $vehicle.
/ A $vehicle of $value metres or less is not long, anything above is.
= 6 4 5 7 8 10

metre: metre more, longer, surplus, surcharge, extra metre, each further, overlong
? What does a long $vehicle pay?
? What does each further metre cost?
? Is there a surcharge for the long ones?
- A long $vehicle pays $value cents more for each metre beyond the length that the basic price is good for.
/ For every metre over the length, a long $vehicle pays $value cents on top.
= 100 50 80 120 150
> price += max(0, $metres - $length) * $value
- A long $vehicle pays $value cents more, no matter how many metres it is.
/ Whatever the metres, being long costs $value cents on top.
= 400 200 250 300 500
> price += $value * ($metres > $length)

height: height, high, tall, centimetres, roof, low
? From what height on is a $vehicle high?
? How many centimetres are too high?
? What counts as tall?
- A $vehicle over $value centimetres is high: the basic price with any surcharge for length grows by half, rounded down.
/ Over $value centimetres it is high, and half of the price with any surcharge for length is added, rounded down.
= 250 200 220 270 300
> price += price // 2 if $tall > $value else 0
- A $vehicle of more than $value centimetres is high, which adds 350 cents.
/ Over $value centimetres it is high, and 350 cents are added.
= 250 200 220 270 300
> price += 350 if $tall > $value else 0

night: night, dark, evening, late, hour, clock, before dawn
? Is there a night price?
? When does the night begin?
? Does the hour matter?
- From $value o'clock until before 6 it is night, and a quarter of the price with surcharges is added, rounded down.
/ From $value o'clock on and before 6 it costs a quarter more, surcharges included, and the quarter is rounded down.
= 22 18 19 20 21 23
> if $hour >= $value or $hour < 6:
>     price += price // 4
- From $value o'clock until before 6 it is night, and 100 cents go off the price with its surcharges.
/ At night, from $value o'clock on and before 6, it costs 100 cents less, after all surcharges.
= 22 18 19 20 21 23
> if $hour >= $value or $hour < 6:
>     price -= 100

homeward: return, way back, same day, back again, second crossing, round trip
? What does the return cost?
? Is the return on the same day cheaper?
? What changes if somebody comes back the same day?
- The way back on the same day costs half of the whole, rounded down to a cent.
/ Who comes back the same day pays half, and half cents are dropped.
> if $back:
>     price //= 2
- The way back on the same day costs $value cents, whatever else holds.
/ Who comes back the same day just pays $value cents, day or night, large or small.
= 150 50 80 100 120
> if $back:
>     price = $value
- The way back on the same day costs the same as the way there.
/ Who comes back the same day pays the full price again.

lane: lane, queue, which side, sent to, where to line up, left or right, gate
? Which lane does a $vehicle go to?
? How is the lane chosen?
? Who has to go left?
- The lane is left for a long $vehicle and right for all others.
/ Long ones are sent left, the others right.
> lane = "left" if $metres > $length else "right"
- The lane is left if there is more than the basic price to pay in the end and right otherwise.
/ Whoever has to pay more than the basic price in the end goes left, the others right.
> lane = "left" if price > $base else "right"
- The lane is left for the way back on the same day and right for all others.
/ Those on their way back on the same day are sent left, the others right.
> lane = "left" if $back else "right"

form: format, form, output, result, handed over, look like, type, written, shape
? What form does the result have?
? How should the output look?
? Do you want a tuple, a dictionary or a text?
- The result is a tuple of the lane as text and the cents as a number.
/ Give me a tuple, first the lane as text, then the cents as a number.
> return lane, price
- The result is a dictionary with the lane under the key lane and the cents under price.
/ Give me a dictionary with two keys, lane for the lane and price for the cents.
> return {"lane": lane, "price": price}
- The result is text such as left 450, the lane, a space and the cents.
/ Give me text like left 450, that is the lane, a space and the cents.
> return f"{lane} {price}"
"""),
    code="""
def $function($metres, $tall, $hour, $back):
    price = $base
    $metre
    $height
    $night
    $homeward
    $lane
    $form
""",
    draw=_draw,
)
