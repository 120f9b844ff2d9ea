"""Tasks about the price of an advertisement, with decisions on short words, capitals, a minimum, and long runs."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes

WORDS = "a in my we old the for new boat call dog Eva good house lamp piano singer teacher wanted"
NUMBERS = "5 8 12 40 60 350 500 1990 2400"


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[str, int]:
    words = random.choices(WORDS.split(), k=random.randrange(1, 13))
    words += random.choices(NUMBERS.split(), k=random.choice((0, 0, 1, 2)))
    loud = random.choice((0, 0, 0.3))
    words = [word.upper() if len(word) > 1 and random.random() < loud else word for word in words]
    random.shuffle(words)
    return " ".join(words), max(1, values["long_run"] + random.randrange(-2, 4))


FAMILY = Family(
    name="adverts",
    themes=themes("""
function       | text     | days     | thing    | place
advert_price   | text     | days     | advert   | a weekly newspaper
banner_cost    | wording  | nights   | banner   | the football ground
window_notice  | notice   | shown    | notice   | the window of a corner shop
screen_price   | message  | runs     | message  | the screen in a hotel lobby
taxi_sign      | slogan   | on_road  | slogan   | the roof signs of our taxis
radio_greeting | greeting | airings  | greeting | the local radio
"""),
    requests=requests("""
We print or show what people write, and I work out the price of each $thing for $place.
I take the orders for $place, where every $thing is paid by its words and its days.
At $place people pay for each $thing, and I count the words with a pencil.

I need a Python function for the price of one $thing.
Please write a Python function that tells what one $thing costs.
A Python function should work out the price of a single $thing.

It gets the text, words and numbers with a space in between and no other signs, and a whole number of days.
I have the text, only words and numbers with single spaces in it, and for how many days it is (a whole number).
The inputs are the text (nothing but words, numbers and single spaces) and the number of days as a whole number.
"""),
    decisions=decisions("""
price: price, rate, tariff, per word, one word cost
? What does one word cost?
? What is the price of a word?
? How many cents do you take for each word?
- Each word that counts costs $value cents a day.
/ For each counted word we take $value cents a day.
= 50 20 30 40 60 80 90

short: short, little words, length, letters, tiny, longer
? Do short words count?
? Are little words free?
? Does the length of a word matter?
- No word or number of up to $value letters or digits counts at all.
/ Whatever has $value letters or digits or fewer is not counted at all.
= 2 3 4
> if len(word) <= $value:
>     continue
- Short words count like long ones.
/ The length makes no difference, all of them count.

repeated: repeated, again, twice, same, double, once more
? Do repeated words count again?
? What if the same word is there twice?
? Is a word paid once more when it comes again?
- A word or number that was there before in the same text does not count again, capitals or not.
/ If something is repeated, it only counts the first time, and capitals do not matter for that.
> if word.lower() in seen:
>     continue
> seen.add(word.lower())
- A word or number that is repeated counts every time.
/ If something is there again, it counts again.

figures: figures, digits, numbers in the text, phone number, house number, year, sums
? How do you count numbers?
? Does a number in the text count as a word?
? Are figures free?
- A number in the text counts like two words.
/ We count each number as two words.
> count += word.isdigit()
- A number in the text counts like one word.
/ We count each number as one word.
- A number in the text does not count.
/ We do not count numbers at all.
> if word.isdigit():
>     continue

loud: capitals, loud, shout, upper case, block
? What about words in capitals?
? Do capital letters cost more?
? Is it dearer to shout?
- A counted word that is all in capitals counts as two.
/ If a counted word is all in capitals, we take it for two words.
> count += word.isupper()
- A counted word that is all in capitals costs $value cents more a day.
/ If a counted word is all in capitals, there are $value cents a day on top for it.
= 25 10 15 35 45
> extra += $value * word.isupper()

least: least, minimum, very brief, at least, smallest, how few
? Is there a minimum?
? What is the least that has to be paid for?
? What about a very brief text?
- If fewer than $value words are counted, or none, $value words have to be paid for.
/ At least $value words have to be paid for, even if fewer are counted.
= 5 3 4 6 7 8
> count = max(count, $value)
- Only the words that are counted have to be paid for, however few.
/ There is no minimum, and it may even be nothing.

long_run: long run, many days, later days, weeks, how long, discount for time
? Is it cheaper for many days?
? What do later days cost?
? Is there a discount for a long run?
- After the first $value days each further day costs half, rounded down to a cent.
/ From day $value on, that day not included, we take half of the price of a day, rounded down.
= 7 2 3 4 5 10
> total = day * min($days, $value) + day // 2 * max(0, $days - $value)
- After the first $value days each further day is free.
/ More than $value days are never charged, the others are a gift.
= 7 2 3 4 5 10
> total = day * min($days, $value)

form: format, form, output, result, look like, type, written, shape
? What form does the result have?
? How should the output look?
? Do you want a number, a text or more than that?
- The result is just the cents as a number.
/ Give me only the cents, as one number.
> return total
- The result is text such as 12.50 euros, with two digits after the point.
/ Give me text in the manner of 12.50 euros, always with two digits for the cents.
> return f"{total // 100}.{total % 100:02} euros"
- The result is a tuple of the number of words that are paid for and the cents.
/ Give me a tuple, first how many words are paid for and then the cents.
> return count, total
"""),
    code="""
def $function($text, $days):
    count = extra = 0
    seen = set()
    for word in $text.split():
        $short
        $figures
        $repeated
        $loud
        count += 1
    $least
    day = count * $price + extra
    $long_run
    $form
""",
    draw=_draw,
)
