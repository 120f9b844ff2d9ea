"""The shifted clock, with which a reference is run a second time."""

from __future__ import annotations

import subprocess
import sys

CLOCKS = """
import datetime, time
from colbench.sandbox.inside.clock import shift_clock
moments = {
    "time": lambda: time.time(),
    "time_ns": lambda: time.time_ns() / 1e9,
    "localtime": lambda: time.mktime(time.localtime()),
    "now": lambda: datetime.datetime.now().timestamp(),
    "today": lambda: datetime.datetime.today().timestamp(),
    "date": lambda: datetime.date.today().toordinal() * 86400,
}
before = {name: moment() for name, moment in moments.items()}
shift_clock(1000 * 86400)
for name, moment in moments.items():
    print(name, round((moment() - before[name]) / 86400))
"""


def test_a_shifted_clock_moves_every_time_function_by_the_same_span():
    run = subprocess.run([sys.executable, "-c", CLOCKS], capture_output=True, text=True, check=True)
    names = ("time", "time_ns", "localtime", "now", "today", "date")
    assert dict(line.split() for line in run.stdout.splitlines()) == dict.fromkeys(names, "1000")


SAME = """
import copy, datetime, json, sys
from colbench.sandbox.inside.clock import shift_clock
if sys.argv[1:]:
    shift_clock(86400)
from datetime import date, datetime
class Day(date):
    pass
moment = datetime(2020, 1, 2, 3)
print([date(2020, 1, 1), moment, Day(2020, 1, 1)], date, datetime, str(moment))
print(type(moment.date()) is date, type(moment) is datetime, moment.date() == date(2020, 1, 2))
print(isinstance(date.today(), Day), isinstance(Day(2020, 1, 1), Day), isinstance(moment, date))
print(date.__module__, type(moment).__name__, copy.deepcopy([moment, moment.date()]))
"""


def test_fixed_dates_look_the_same_with_a_shifted_clock():
    plain, shifted = (
        subprocess.run([sys.executable, "-c", SAME, *given], capture_output=True, check=True).stdout
        for given in ((), ("shifted",))
    )
    assert shifted == plain
