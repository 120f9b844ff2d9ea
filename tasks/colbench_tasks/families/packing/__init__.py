"""Tasks about the boxes and pallets of a delivery, with decisions on capacity, heavy pieces, remainders, and spares."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[int, int, int]:
    near = values["fill"] * random.randrange(30) + random.randrange(-1, 6)
    pieces = max(0, random.choice((near, random.randrange(250))))
    grams = (values["weight"] or 500) + random.choice((-400, -50, 0, 50, 400))
    return pieces, random.choice((0, 0, 1, 2, 3, 4, 7)), max(50, grams)


FAMILY = Family(
    name="packing",
    themes=themes("""
function       | pieces | piece | kind    | box   | boxes  | load    | loads    | place
jam_shipment   | jars   | jar   | tall    | box   | boxes  | pallet  | pallets  | our jam kitchen
book_transport | books  | book  | rare    | case  | cases  | trolley | trolleys | the move of the library
plant_delivery | plants | plant | tender  | tray  | trays  | rack    | racks    | the garden nursery
tile_freight   | tiles  | tile  | painted | crate | crates | skid    | skids    | a tile workshop
toy_transfer   | toys   | toy   | soft    | sack  | sacks  | sledge  | sledges  | the Christmas collection of toys
relic_move     | finds  | find  | fragile | chest | chests | cart    | carts    | an excavation
"""),
    requests=requests("""
For $place I have to know how much there is to carry.
At $place we pack everything into $boxes, and I always miscount them.
I plan the transport for $place with pencil and paper.

I need a Python function that tells me how many $boxes and how many $loads it takes.
Please write a Python function that works out the number of $boxes and of $loads.
A Python function should give me two numbers, how many $boxes and how many $loads there will be.

It gets how many ordinary $pieces there are, how many $kind ones, and the grams of one $piece (whole numbers).
I know how many ordinary $pieces there are, how many $kind ones besides, and what one $piece weighs in grams.
The input is three whole numbers: ordinary $pieces, $kind ones (not counted before), and the grams of a single $piece.
"""),
    decisions=decisions("""
fill: fill, fit in, capacity, hold, how many $pieces, content
? How many $pieces fit in one $box?
? What is the capacity of one $box?
- One $box holds $value ordinary $pieces.
/ Into one $box go $value ordinary $pieces.
= 12 6 8 10 16 20

weight: weight, weigh, heavy, heavier, grams, light
? What if a $piece is heavy?
? Does the weight matter?
- If a $piece weighs more than $value grams, half as many fit in a $box, rounded down.
/ Above $value grams for a $piece, only half of the usual number fits in, rounded down.
= 500 250 400 750 1000
> if grams > $value:
>     most //= 2
- If a $piece weighs $value grams or more, two fewer fit in a $box.
/ From $value grams for a $piece on, the usual number that fits in goes down by two.
= 500 250 400 750 1000
> if grams >= $value:
>     most -= 2
- The weight changes nothing.
/ Heavy or light, it is packed in the same way.

care: $kind, $kind ones, careful, special treatment, apart, delicate
? What about $kind $pieces?
? How are $kind ones packed?
- A $kind $piece takes the room of $value ordinary ones.
/ For the room, each $kind $piece counts like $value ordinary ones.
= 2 3 4
> room, alone = $pieces + $value * $kind, 0
- A $kind $piece gets a full-sized $box of its own, apart from the ordinary ones.
/ Each $kind $piece is alone in a $box, and the ordinary ones are packed without it.
> room, alone = $pieces, $kind
- A $kind $piece is packed like an ordinary one.
/ Being $kind makes no difference, they all go in together.
> room, alone = $pieces + $kind, 0

rest: rest, remainder, partly filled, half empty, left after the full, incomplete, remaining $pieces, squeezed
? What about a rest that does not fill a $box?
? Is a partly filled $box used?
- A rest of $pieces that does not fill a $box gets one all the same.
/ For what remains after the full $boxes there is one more, however little it is.
> if rest:
>     boxes += 1
- A rest up to the room of $value ordinary $pieces is squeezed in if there is a full $box; any other rest gets a $box.
/ What remains gets one more $box, unless a full one is there and it takes the room of $value ordinary $pieces or less.
= 2 3 4
> if rest > $value or (rest and not boxes):
>     boxes += 1
- A rest of $pieces that does not fill a $box stays behind.
/ What remains after the full $boxes is not taken along.

spare: spare, empty, additional, reserve, in case, papers, extra $box
? Is a spare $box taken along?
? Is there an additional empty $box?
- From $value $boxes on, one empty $box is added as a spare and carried with the others.
/ If there are $value $boxes or more, we carry one more as a spare, which stays empty.
= 10 5 7 12 15
> if boxes >= $value:
>     boxes += 1
- One empty $box is always added as a spare and carried too, even if there is nothing else.
/ We carry one more as a spare in any case, which stays empty.
> boxes += 1
- There is no spare $box.
/ We never take an empty $box along.

stack: stack, stacked, carry, $load capacity, per $load, on one $load, how many $boxes
? How many $boxes go on one $load?
? What does a $load carry?
- One $load carries $value $boxes.
/ We put $value $boxes on each $load.
= 8 5 6 9 10 12

loose: loose, left over, by hand, started $load, last $load, not full, almost empty, surplus $boxes
? What about $boxes left over that do not make a full $load?
? Does the last $load have to be full?
- Any $boxes left over after the full $loads go on one more $load, which counts in full.
/ The last $load may be almost empty, and it counts like the others.
> if loose:
>     loads += 1
- If no more than $value $boxes are left over after the full $loads, they go by hand, but still count as $boxes.
/ The last $load is only used for more than $value $boxes; otherwise they go by hand but are still counted.
= 2 3
> if loose > $value:
>     loads += 1
- All $boxes left over after the full $loads go by hand, but still count as $boxes.
/ Only full ones count as a $load, and what is left over is carried by hand but still counted.

form: form, tuple, dictionary, dict, text, slash, keys, report, presented, type of the result
? In what form do you want the two numbers?
? Should the result be a tuple, a dictionary or text?
- The result is a tuple, the number of $boxes before the number of $loads.
/ We want both numbers as a tuple, $boxes first.
> (boxes, loads)
- The result is a dictionary with the keys $boxes and $loads.
/ We want both numbers as a dict, where the keys are the words $boxes and $loads.
> {"$boxes": boxes, "$loads": loads}
- The result is text, the number of $boxes, a slash and the number of $loads, without spaces.
/ We want both numbers as one text with only a slash in between, $boxes first.
> f"{boxes}/{loads}"
"""),
    code="""
def $function($pieces, $kind, grams):
    most = $fill
    $weight
    $care
    boxes, rest = divmod(room, most)
    $rest
    boxes += alone
    $spare
    loads, loose = divmod(boxes, $stack)
    $loose
    return $form
""",
    draw=_draw,
)
