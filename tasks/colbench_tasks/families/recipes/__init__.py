"""Tasks about scaling a recipe to more people, with decisions on portions, a reserve, rounding, and tiny amounts."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

NAMES = ("flour", "milk", "rice", "sugar", "butter", "beans", "oats", "yeast")


def _draw(random: Random, _values: Mapping[str, Any]) -> tuple[dict[str, int], int]:
    amounts = {
        name: random.choice((random.randrange(1, 30), random.randrange(20, 700)))
        for name in random.sample(NAMES, random.randrange(1, 4))
    }
    if random.random() < 0.6:
        amounts["salt"] = random.randrange(2, 60)
    return amounts, random.randrange(1, 30)


FAMILY = Family(
    name="recipes",
    themes=themes("""
function       | amounts     | people   | place            | guests
scale_recipe   | amounts     | people   | the school canteen | pupils
camp_shopping  | ingredients | campers  | our scout camp   | campers
soup_amounts   | recipe      | guests   | the soup kitchen | guests
bakery_batch   | grams       | orders   | a small bakery   | orders
hike_food      | food        | hikers   | a mountain hut   | hikers
"""),
    requests=requests("""
I cook at $place and have to convert every recipe.
For $place I turn small recipes into large ones all the time.
The recipes at $place never fit the number of $guests.

I need a Python function that gives the amounts we really need.
Please write a Python function that converts the amounts.
A Python function should do the conversion the way our cook does it.

It gets a dictionary from ingredient to whole grams in the recipe, and the number of $guests.
The recipe is a dictionary with grams for each ingredient (whole numbers), and I say how many $guests.
"""),
    decisions=decisions("""
written: written for, recipe portions, original, portions in the recipe, serves, servings,
  meant for, recipe for how many people
? For how many portions are the recipes written?
? How many people does the original recipe serve?
- The recipes are written for $value portions.
/ One recipe serves $value.
= 4 2 3 5 6 8 10

reserve: reserve, extra portions, additional portions, second helping, more than needed, spare,
  buffer, hungry, in addition, hungrier
? Do you cook some extra portions?
? Is there a reserve for hungry people?
- We always make $value portions more than there are $guests.
/ On top of the $guests we cook $value portions as a reserve.
= 2 3 4 5 6
> portions = $people + $value
- We make exactly as many portions as there are $guests.
/ There is no reserve, just one portion each.
> portions = $people

rounding: round, rounded, step, multiples, precision, accuracy, scales
? How are the grams rounded?
? To what step do you round?
- Every amount is rounded up to a multiple of $value grams.
/ We round up to the next full $value grams.
= 10 5 20 25 50
> grams = -(-grams * portions // ($written * $value)) * $value
- Every amount is rounded down to a multiple of $value grams.
/ We round down to the last full $value grams.
= 10 2 3 4 5
> grams = grams * portions // ($written * $value) * $value

salt: salt, salty, seasoning, spice, like everything else, like the rest
? Is salt converted like everything else?
? Is there something special about seasoning?
- After rounding, salt is cut to $value grams at most, before the rule for tiny amounts.
/ Salt ends at $value grams, whatever comes out of the rounding, and then follows the rule for tiny amounts.
= 30 15 20 25 40
> if name == "salt":
>     grams = min(grams, $value)
- Salt is halved after rounding, without the half gram, and before the rule for tiny amounts.
/ After rounding and before the rule for tiny amounts, we take half of the salt, in whole grams rounded down.
> if name == "salt":
>     grams //= 2

tiny: tiny, small amounts, very small amounts, small quantities, little, below, minimum,
  not worth, negligible
? What about tiny amounts?
? Are very small amounts left out?
- What comes out below $value grams in the end is left out.
/ Anything under $value grams in the end is not listed.
= 10 15 20 25 30
> if grams < $value:
>     continue
- What comes out below $value grams in the end is made $value grams.
/ Anything under $value grams in the end is raised to $value.
= 10 15 20 25 30
> grams = max(grams, $value)

form: format, form, output, result, returned, look like, dictionary or list
? What form does the result have?
? Should the output be a dictionary or a list?
- The result is a dictionary from ingredient to grams again.
/ Give me the same kind of dictionary back.
> needed
- The result is a list of texts such as flour: 50 g, in the order of the recipe.
/ Give me a list of texts in the recipe's order, like flour: 50 g.
> [f"{name}: {grams} g" for name, grams in needed.items()]
- The result is the total of all grams as one number.
/ Give me just the sum of all the grams.
> sum(needed.values())
"""),
    code="""
def $function($amounts, $people):
    $reserve
    needed = {}
    for name, grams in $amounts.items():
        $rounding
        $salt
        $tiny
        needed[name] = grams
    return $form
""",
    draw=_draw,
)
