"""The code sandbox on every safe tier of this machine: values, errors, limits, namespaces, isolation, and tiers."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest
import pytest_asyncio
from sandbox_tiers import SAFE

from colbench.errors import UserError
from colbench.sandbox import CodeSandbox, Job, Limits
from colbench.sandbox.work import Ending, Work

pytestmark = pytest.mark.asyncio(loop_scope="module")
QUICK = Limits(cpu_seconds=0.3, wall_seconds=4.0)
TIMED_OUT = (  # a loaded machine reaches the second limit first
    f"timeout: {QUICK.cpu_seconds:g} s of CPU time used up",
    f"timeout: not finished after {QUICK.wall_seconds:g} s",
)


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=SAFE)
async def box(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET", "reference")
        async with CodeSandbox(1, tier=request.param, limits=QUICK) as box:
            yield box


def job(source, *calls, **options):
    return Job(source=textwrap.dedent(source), calls=calls, **options)


async def outcomes(box, source, *calls, namespace="module"):
    """Return `status: value or message` for each call."""
    result = await box.run_one(job(source, *calls, namespaces=(namespace,)))
    return [
        f"{call.status}: {call.value.decode() or call.message}".removesuffix(": ")
        for call in result.calls[namespace]
    ]


async def test_each_call_runs_in_a_fresh_namespace_and_gives_a_value_or_an_error(box):
    source = """
        from math import sqrt
        seen = []
        def f(x):
            seen.append(x)
            return [sqrt(x), len(seen)]
    """
    assert await outcomes(box, source, "f(4)", "f(9.0)", "f('a')", "g(1)", "f(") == [
        "value: [2.0, 1]",
        "value: [3.0, 1]",
        "error: TypeError: must be real number, not str",
        "error: NameError: name 'g' is not defined",
        "error: SyntaxError: '(' was never closed (<string>, line 1)",
    ]


async def test_a_source_that_does_not_compile_is_invalid_and_its_calls_are_skipped(box):
    result = await box.run_one(job("def f(:", "f(1)", "f(2)"))
    assert result.invalid.startswith("SyntaxError: invalid syntax")
    assert [call.status for call in result.calls["module"]] == ["skipped", "skipped"]


@pytest.mark.parametrize("source", ["\0", "\ud800", "(" * 5000, "x = " + "-" * 100_000 + "1"])
async def test_a_malformed_source_is_a_failure_of_the_candidate(box, source):
    result = await box.run_one(Job(source=source, calls=("1",)))
    assert result.invalid or result.calls["module"][0].status == "error"


async def test_the_split_namespace_hides_top_level_names_from_functions(box):
    for source in (
        "import math\ndef f(x): return math.floor(x)",
        "LIMIT = 3\ndef f(x): return min(x, LIMIT)",
        "def g(x): return x\ndef f(x): return g(x)",
        "def f(x): return x if x < 1 else f(x - 1)",
    ):
        assert (await outcomes(box, source, "f(2)"))[0].startswith("value")
        split = await outcomes(box, source, "f(2)", namespace="split")
        assert split[0].startswith("error: NameError")


async def test_results_of_both_namespaces_are_reported_separately(box):
    both = ("module", "split")
    dependent = await box.run_one(
        job("K = 1\ndef f(x): return K + x", "f(1)", "1", namespaces=both)
    )
    assert [call.status for call in dependent.calls["module"]] == ["value", "value"]
    assert [call.status for call in dependent.calls["split"]] == ["error", "value"]
    alone = await box.run_one(job("def f(x): return x", "f(1)", "f(2)", namespaces=both))
    assert alone.calls["module"] == alone.calls["split"]


async def test_all_children_must_find_that_an_answer_behaves_the_same_in_both_namespaces():
    calls = (
        "[f(x) for x in (1, 2)]",
        "f(3)",
    )  # in the namespace `split`, only the second call finds f
    work = Work(job("def f(x): return x", *calls, namespaces=("module", "split")), QUICK)
    work.absorb(Ending(reason="cpu", status=-9, output=b"apart\nvalue\t[1, 2]\n"))
    work.absorb(Ending(reason="ended", status=0, output=b"same\nvalue\t3\n"))
    assert work.left == 2, "the calls run again in the namespace `split`"
    work.absorb(Ending(reason="ended", status=0, output=b'apart\nerror\t"NameError"\nvalue\t3\n'))
    assert work.left == 0
    statuses = {
        name: [each.status for each in found] for name, found in work.result().calls.items()
    }
    assert statuses == {"module": ["value", "value"], "split": ["error", "value"]}


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        ("os._exit(3)", "ended the process (status 3)"),
        ("sys.exit('bye')", "SystemExit: bye"),
        ("ctypes.string_at(0)", "killed by signal 11"),
        ("os.closerange(3, 64)", "ended the process (status 0)"),
        ("[0] * 10**9", "MemoryError"),
    ],
)
async def test_a_call_that_ends_the_process_does_not_affect_other_calls(box, ending, message):
    source = f"""
        import os, sys, ctypes
        def f(x):
            return {ending} if x == 2 else x
    """
    results = await outcomes(box, source, "f(1)", "f(2)", "f(3)")
    assert results[0] == "value: 1"
    assert results[1] == f"error: {message}"
    assert results[2] == "value: 3"


async def test_an_endless_loop_times_out_and_the_other_calls_succeed(box):
    source = "def f(x):\n    while x == 2: pass\n    return x"
    first, second, third = await outcomes(box, source, "f(1)", "f(2)", "f(3)")
    assert (first, third) == ("value: 1", "value: 3")
    assert second in TIMED_OUT


@pytest.mark.parametrize("tier", SAFE)
async def test_calls_within_the_cpu_limit_succeed_even_if_their_sum_exceeds_it(tier):
    source = """
        import time
        def f(x):
            start = time.process_time()
            while time.process_time() - start < 0.12: pass
            return x
    """
    calls = [f"f({n})" for n in range(4)]
    limits = Limits(cpu_seconds=0.2, wall_seconds=30.0)
    async with CodeSandbox(1, tier=tier, limits=limits) as box:
        assert await outcomes(box, source, *calls) == [f"value: {n}" for n in range(4)]


async def test_threads_share_the_cpu_limit_of_their_call(box):
    source = """
        import hashlib, threading, time
        def work():
            while True: hashlib.sha256(bytes(1 << 20))
        def f():
            for _ in range(4): threading.Thread(target=work).start()
            time.sleep(60)
    """
    (result,) = await outcomes(box, source, "f()")
    assert result in TIMED_OUT


FORGED_TIME = """
    import gc, mmap, os, time
    def lines(*texts):
        for number in range(3, 64):
            try: os.write(number, "".join(text + "\\n" for text in texts).encode())
            except OSError: pass
    def f(x):
        {deed}
        while x == 1: time.sleep(0.01)
        return x
"""


@pytest.mark.parametrize(
    ("deed", "told"),
    [
        (  # nothing in memory is inspected
            "[page.__setitem__(slice(None), bytes(len(page))) for page in gc.get_objects() "
            "if isinstance(page, mmap.mmap)]",
            ["timeout", "value", "value"],
        ),
        # a result for the looping call, ahead of the real one: later results no longer belong to their own calls
        ("lines('error\\t\"early\"') if x == 1 else 0", ["error", "value", "value"]),
        ("lines('same', 'apart', 'invalid\\t\"x\"') if x == 1 else 0", ["error"] * 3),
    ],
    ids=["shared pages", "a result ahead", "first lines"],
)
async def test_forged_output_does_not_extend_the_time_limit(box, deed, told):
    source = FORGED_TIME.format(deed=deed)
    results = await outcomes(box, source, "f(1)", "f(2)", "f(3)")
    assert [result.split(":")[0] for result in results] == told


async def test_a_call_that_starts_too_many_threads_fails_and_the_others_succeed(box):
    source = """
        import _thread
        def f(n):
            lock = _thread.allocate_lock(); lock.acquire()
            _thread.stack_size(32768)
            for _ in range(n): _thread.start_new_thread(lock.acquire, ())
            return n
    """
    assert await outcomes(box, source, "f(9)", "f(10_000)", "f(2)") == [
        "value: 9",
        "error: started more than 128 threads",
        "value: 2",
    ]


MODULE_ONLY = {
    "by its own globals": "K = 41\ndef f(): return (lambda: 0).__globals__['K'] + 1",
    "by an attribute name built at run time": """
        from operator import attrgetter
        K = 41
        def f(look=attrgetter("__glo" + "bals__")): return look(lambda: 0)["K"] + 1
    """,
    "by a class pattern": """
        K = 41
        def f():
            match (lambda: 0):
                case object(__globals__=names): return names["K"] + 1
    """,
    "by a star import": "from math import *\ndef f(): return floor(42.5)",
    "by its frame": """
        K = 41
        def f():
            import inspect
            return inspect.currentframe().f_globals["K"] + 1
    """,
    "with a claim that both namespaces are the same": """
        import posix
        K = 41
        def f():
            posix.write(3, b"same\\n"); posix.write(4, b"same\\n"); posix.write(5, b"same\\n")
            return K + 1
    """,
    "with results for the other namespace": """
        K = 41
        def f():
            import posix
            found = K + 1
            for number in range(3, 9):
                try: posix.write(number, b"value\\t42\\n" * 2)
                except OSError: pass
            return found
    """,
}


@pytest.mark.parametrize("source", MODULE_ONLY.values(), ids=MODULE_ONLY)
async def test_code_that_needs_module_globals_fails_in_the_split_namespace(box, source):
    result = await box.run_one(job(source, "f()", namespaces=("module", "split")))
    assert [call.status for call in result.calls["split"]] == ["error"]
    alone = await box.run_one(job("def f(): return 42", "f()", namespaces=("module", "split")))
    assert [call.value for calls in alone.calls.values() for call in calls] == [b"42", b"42"]


async def test_a_sleeping_call_times_out_by_the_wall_clock(box):
    source = "import time\ndef f(x):\n    time.sleep(x)\n    return x"
    assert await outcomes(box, source, "f(0)", "f(30)") == [
        "value: 0",
        "timeout: not finished after 4 s",
    ]


async def test_remaining_calls_are_skipped_after_three_timeouts(box):
    results = await outcomes(box, "def f(x):\n    while x: pass", *["f(1)"] * 9, "f(0)")
    assert [text.split(":")[0] for text in results] == ["timeout"] * 3 + ["skipped"] * 7


async def test_a_call_that_ignores_signals_and_exceptions_still_times_out(box):
    source = """
        import signal
        def f():
            for number in range(1, 32):
                try: signal.signal(number, signal.SIG_IGN)
                except Exception: pass
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
            while True:
                try:
                    while True: pass
                except BaseException: pass
    """
    (result,) = await outcomes(box, source, "f()")
    assert result in TIMED_OUT


async def test_a_value_that_is_too_large_is_an_error(box):
    results = await outcomes(box, "def f(n): return 'x' * n", "f(2**20)", "f(9)")
    assert results == ["error: ValueError: the value is larger than 1 MiB", 'value: "xxxxxxxxx"']


async def test_large_values_of_many_calls_are_returned(box):
    results = await outcomes(box, "def f(n): return 'x' * n", *["f(900_000)"] * 10)
    assert [len(text) for text in results] == [900_009] * 10


async def test_a_flood_of_output_does_not_affect_the_next_call(box):
    source = """
        import socket
        def f():
            with socket.socket(fileno=4) as output:
                while True:
                    output.sendall(b'x' * 65536)
        def honest(): return 1
    """
    results = await outcomes(box, source, "f()", "honest()")
    assert results[0] in (*TIMED_OUT, "error: wrote more than the maximum size of a result")
    assert results[1] == "value: 1"


async def test_threads_and_asyncio_work(box):
    source = """
        import asyncio, threading
        def f(x):
            found = []
            thread = threading.Thread(target=lambda: found.append(x))
            thread.start(); thread.join()
            async def double(): return found[0] * 2
            return asyncio.run(double())
    """
    wanted = "value: 42"
    assert await outcomes(box, source, "f(21)") == [wanted]


async def test_printing_is_discarded_and_input_raises_eof_error(box):
    source = "def f():\n    print('x' * 100_000)\n    return input()"
    assert await outcomes(box, source, "f()") == ["error: EOFError: EOF when reading a line"]


async def test_random_numbers_are_the_same_in_every_call_and_candidate(box):
    source = "import random\ndef f(): return random.random()"
    first = await outcomes(box, source, "f()", "f()")
    assert first == await outcomes(box, source, "f()", "f()")
    assert first[0] == first[1]


async def test_a_rehearsal_has_a_different_hash_seed_random_seed_and_clock(box):
    source = "import random, time, datetime\ndef f(x): return x"
    calls = (
        "hash('a')",
        "random.random()",
        "datetime.date.today().year",
        "datetime.datetime.now().month",
        "time.time() // 86_400",
        "isinstance(datetime.datetime.now(), datetime.date)",
        "str(datetime.datetime(2024, 1, 1) - datetime.timedelta(days=1))",
        "f(1)",
    )
    first = (await box.run_one(job(source, *calls))).calls["module"]
    second = (await box.run_one(job(source, *calls, rehearsal=True))).calls["module"]
    same = [a == b for a, b in zip(first, second, strict=True)]
    assert same == [False] * 5 + [True] * 3


async def test_the_environment_and_the_files_of_the_host_are_hidden(box, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("reference")
    tmp_path.chmod(0o755)
    source = f"""
        import os, sys
        def names(): return sorted(os.environ)
        def read(path): return open(path).read()
        def listing(path): return os.listdir(path)
        def packages():
            sys.path += {[p for p in sys.path if p.endswith("-packages")]!r}
            import msgspec
    """
    results = await outcomes(
        box,
        source,
        "names()",
        f"read({str(secret)!r})",
        f"read({__file__!r})",
        "read('/etc/passwd')",
        "listing('/proc/self')",
        f"listing({str(Path(__file__).parent)!r})",
        "packages()",
    )
    assert results[0].startswith("value: ")
    assert "HOME" not in results[0]
    assert "SECRET" not in results[0]
    assert all(text.startswith("error: ") for text in results[1:]), results


async def test_a_candidate_has_only_the_standard_descriptors_and_its_socket(box):
    source = """
        import os
        def f():
            found = []
            for number in range(64):
                try: os.fstat(number)
                except OSError: continue
                found.append(number)
            return len(found)
    """
    assert await outcomes(box, source, "f()") == ["value: 4"]


async def test_an_unknown_tier_is_a_user_error():
    with pytest.raises(UserError, match="unknown sandbox tier T9; known: T0, T0b, T1, T1b, T2"):
        async with CodeSandbox(tier="T9"):
            pass


async def test_the_unsafe_tier_requires_permission():
    with pytest.raises(UserError, match="--allow-unsafe-sandbox"):
        async with CodeSandbox(tier="T2"):
            pass
    async with CodeSandbox(1, tier="T2", allow_unsafe=True) as box:
        assert box.environment.startswith("T2 resource limits only · CPython 3.")
        assert await outcomes(box, "", "1") == ["value: 1"]


async def test_a_missing_bubblewrap_is_reported_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="bubblewrap is not installed.*apt-get install bubblewrap"):
        async with CodeSandbox(tier="T0"):
            pass
