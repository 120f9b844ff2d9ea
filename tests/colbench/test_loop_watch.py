"""Inspection of the frames of other threads."""

from __future__ import annotations

import asyncio
import subprocess
import sys

from colbench.loop_watch import _clock_of, _frames

INSPECTION_WHILE_THREADS_START = """
import gc, sys, threading, time, weakref
from colbench.loop_watch import frame_of

class Node:
    pass

kept = weakref.WeakSet()
checked = []

def litter():
    one = Node()
    one.me = one
    kept.add(one)

def look():
    while time.monotonic() < end:
        for _ in range(50):
            litter()
        assert frame_of(main) is not None
        assert gc.isenabled()
    checked.append(True)

end, main = time.monotonic() + 3, threading.get_ident()
gc.set_threshold(1)
sys.setswitchinterval(1e-5)
looking = threading.Thread(target=look)
looking.start()
while time.monotonic() < end:
    thread = threading.Thread(target=litter)
    thread.start()
    thread.join()
looking.join()
assert checked
assert frame_of(looking.ident) is None
"""


def test_frame_inspection_does_not_deadlock_with_starting_threads_and_gc():
    subprocess.run((sys.executable, "-c", INSPECTION_WHILE_THREADS_START), check=True, timeout=60)


async def test_a_callback_that_ends_while_it_is_examined_has_no_clock():
    found = []
    asyncio.get_running_loop().call_soon(lambda: found.extend(_frames(sys._getframe())))
    await asyncio.sleep(0)
    assert found[-1].f_code.co_filename == __file__
    assert _clock_of(found) is None
