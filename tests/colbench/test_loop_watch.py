"""Looking at the frames of other threads."""

from __future__ import annotations

import subprocess
import sys

LOOKS_WHILE_THREADS_START = """
import gc, sys, threading, time, weakref
from colbench.loop_watch import frame_of

class Node:
    pass

kept = weakref.WeakSet()

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
assert frame_of(looking.ident) is None
"""


def test_looking_while_threads_start_and_garbage_is_collected_does_not_wait_for_ever():
    subprocess.run((sys.executable, "-c", LOOKS_WHILE_THREADS_START), check=True, timeout=60)
