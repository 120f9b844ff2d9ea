"""Tasks about alarms for low temperatures, with decisions on the start and end of an alarm, gaps, and reminders."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from colbench_tasks.family import Family
from colbench_tasks.notation import decisions, requests, themes


def _draw(random: Random, values: Mapping[str, Any]) -> tuple[list[float | None]]:
    """Draw temperatures: a random walk in half degrees around the limit, with missing readings and some jumps."""
    limit, severe = values["limit"], values["severe"] or -2
    here = random.choice((limit + 1.5, limit, severe + 1))
    readings: list[float | None] = []
    for _ in range(random.randrange(6, 21)):
        readings.append(None if random.random() < 0.12 else float(here))
        here += random.choice((-3, -1, -0.5, -0.5, 0, 0, 0.5, 0.5, 1, 2))
        if random.random() < 0.2:
            bitter, mild = random.randrange(-1, 3) / 2, random.randrange(2, 11) / 2
            here = random.choice((severe + bitter, limit + mild))
        here = min(limit + 7, max(severe - 2, here))
    return (readings,)


FAMILY = Family(
    name="alerts",
    themes=themes("""
function       | temps        | what                  | place
frost_alarms   | temps        | the blossom           | an orchard
pipe_warnings  | degrees      | the water pipes       | a mountain hut
hatchery_log   | readings     | the eggs              | a hatchery
vaccine_alarms | fridge_temps | the vaccines          | a country doctor's fridge
reptile_alerts | basking      | the tortoises         | a reptile house
"""),
    requests=requests("""
In $place we must know at once when it gets too cold for $what.
I look after $what in $place, where a thermometer writes down the temperature every hour.
We lost a lot in $place last year because nobody saw that it was too cold for $what.

I need a Python function that makes the list of messages of one day.
Please write a Python function that turns the temperatures into a list of messages.
A Python function should say which messages have to go out.

It gets a list with one temperature for each hour, in degrees and halves of a degree, with None where one is missing.
The input is the list of hourly readings, halves of a degree being possible, and None if the thermometer failed.
What I have is a list of temperatures, one an hour, whole or half degrees, None standing for one that is lost.

Each message is a tuple: which reading it is about, and a word, "on" when an alarm begins and "off" when it ends.
A message is a tuple of the reading's position and a word; the words are "on" for a new alarm and "off" for its end.
The messages are tuples (position, word), and the word is "on" where an alarm starts and "off" where it stops.
"""),
    decisions=decisions("""
limit: limit, threshold, too cold, critical, temperature, danger mark
? At what temperature is it too cold?
? What is the limit?
? How cold is too cold?
- It is too cold below $value degrees, and $value degrees are still fine.
/ Anything under $value degrees is too cold, but not $value itself.
= 0 2 3 4 5
> limit = $value
> cold = temp < limit
- It is too cold at $value degrees and below.
/ Too cold means $value degrees or less.
= 0 2 3 4 5
> limit = $value
> cold = temp <= limit

gap: gap, missing, none, lost, failed, hole
? What about a missing reading?
? How do you treat None?
? What if the thermometer failed?
- A None is passed over as if that hour had never been, but the positions of later readings stay the same.
/ What is missing is skipped as if there had been no such hour, though later positions do not move up.
> if temp is None:
>     continue
- A None is treated as a temperature far lower than any limit.
/ For what is missing, assume the worst: it was colder than anything.
> if temp is None:
>     temp = -99
- A None is treated as a temperature far higher than any limit.
/ For what is missing, assume the best: it was warmer than anything.
> if temp is None:
>     temp = 99

confirm: confirm, at once, immediately, in a row, false alarm, how many, patience, begin, "on"
? Does an alarm begin at once?
? How many cold readings in a row does it take?
? Is there something against a false alarm?
- An alarm begins with the first reading that is too cold.
/ A single reading that is too cold raises the alarm at once.
> 1
- Only $value readings in a row that are too cold begin an alarm, and it begins with the last of them.
/ It takes $value readings in a row that are too cold, and the alarm is raised with the last of them.
= 2 3

clear: clear, end an alarm, over, all-clear, warm enough, switched off, recover, stop, "off"
? When is an alarm over?
? How warm must it get for the all-clear?
? What switches an alarm off?
- An alarm ends with the first reading that is at least $value degrees above the limit of what is too cold.
/ It is over as soon as a reading lies $value degrees or more above the limit.
= 2 3 4 5
> temp >= limit + $value
- An alarm ends as soon as $value readings in a row are not too cold, with the last of them.
/ It takes $value readings in a row that are not too cold to finish it, and it stops at the last of them.
= 2 3 4
> mild >= $value

position: position, count, numbered, numbering, index, zero or one, which hour, clock
? How are the readings numbered?
? Does the position start at zero or one?
? Is the position a number or a time?
- The first reading of the list has position 0.
/ Positions are counted from 0.
> position
- The first reading of the list has position 1.
/ Positions are counted from 1.
> position + 1
- The position is written as a time like "07:00", and the first reading belongs to "00:00".
/ Instead of a number there is the full hour as text, "00:00" for the first reading, "01:00" for the next.
> f"{position:02}:00"

again: remind, reminder, again, repeat, every few hours, keep telling, nag
? Are there reminders while it stays cold?
? Is a message repeated?
? Do you keep reminding us?
- While an alarm lasts, the word "again" is sent after every $value further readings, with the last of them.
/ As long as it is not over, each time $value more readings have come, the last of these gets the word "again".
= 3 2 4 5 6
> if since % $value == 0:
>     messages.append(($position, "again"))
- While an alarm lasts, no message is repeated.
/ There are no reminders, just the beginning and the end.

severe: severe, worse, extreme, bitter, level, stage, grade
? Is there a word for something worse?
? Are there levels of danger?
? What if it is extremely cold at the beginning?
- If the reading that begins an alarm is $value degrees or less, its word is "severe" in place of "on".
/ In place of "on" we write "severe" where the alarm begins with a reading of $value degrees or lower.
= -2 -3 -4 -5 -6
> "severe" if temp <= $value else "on"
- There are no levels of danger, and every alarm begins with the same word "on".
/ However bitter the frost, one word serves for all.
> "on"

open: open, last reading, through, going on, unfinished, midnight, list runs out
? What if an alarm is still going on after the last reading?
? How is an unfinished alarm treated?
? What happens at midnight?
- An alarm that goes on after the last reading gets no further message.
/ If the list is through and the alarm is not, we leave it at that.
- An alarm that goes on after the last reading gets the message "open" at the last position.
/ If the list is through and the alarm is not, the last position gets an "open".
> if on:
>     position = len($temps) - 1
>     messages.append(($position, "open"))
"""),
    code="""
def $function($temps):
    messages = []
    on = False
    row = mild = since = 0
    for position, temp in enumerate($temps):
        $gap
        $limit
        row = row + 1 if cold else 0
        mild = 0 if cold else mild + 1
        if not on and row >= $confirm:
            on = True
            since = 0
            messages.append(($position, $severe))
        elif on and $clear:
            on = False
            messages.append(($position, "off"))
        elif on:
            since += 1
            $again
    $open
    return messages
""",
    draw=_draw,
)
