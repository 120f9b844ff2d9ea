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
