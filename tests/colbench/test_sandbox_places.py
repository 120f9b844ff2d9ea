"""The sandbox in restricted places: as an ordinary user, and in a container that forbids namespaces."""

from __future__ import annotations

import json
import platform
import textwrap

import pytest
from marking import mostly
from sandbox_tiers import SAFE

from colbench.sandbox.attacks import attacks, controls

PROBE = """
    import asyncio
    from colbench.sandbox import CodeSandbox, Job, probe
    for report in probe():
        print(report.tier, report.works, report.reason)
    async def main():
        async with CodeSandbox(1) as box:
            print("chosen", box.environment)
            (result,) = await box.run([Job(source="def f(x): return x", calls=("f(42)",))])
            print("result", result.calls["module"][0].value.decode())
    asyncio.run(main())
"""
ATTACK = """
    import sys
    from colbench.cli import main
    sys.exit(main(["doctor", "--attack", "--json", *sys.argv[1:]]))
"""
CROWDED = """
    import asyncio, resource, sys
    from colbench.sandbox import CodeSandbox, Job
    BOMB = "\\n".join([
        "import _thread",
        "_thread.stack_size(32768)",
        "lock = _thread.allocate_lock()",
        "lock.acquire()",
        "while True:",
        "    try: _thread.start_new_thread(lock.acquire, ())",
        "    except Exception: pass",
    ])
    async def main():
        async with CodeSandbox(4, tier=sys.argv[1]) as box:
            await box.run([Job(source="", calls=("1",))] * 8)
            resource.setrlimit(resource.RLIMIT_NPROC, (500, 500))
            honest = [Job(source="def f(x): return x", calls=("f(42)",))] * 12
            bombs = [Job(source=BOMB, calls=("1", "2"))] * 6
            results = await box.run([job for pair in zip(bombs, honest, honest[6:]) for job in pair] + honest)
        print([getattr(result, "calls", result) for result in results if "started more than" not in repr(result)])
    asyncio.run(main())
"""
CONTAINER = """
    import errno, struct
    from colbench.sandbox.inside.seccomp import Filter
    from colbench.sandbox.inside.system import prctl
    FORBIDDEN = {"x86_64": [272, 165, 166, 155, 308, 442, 428, 429, 430, 321, 298, 323],
                 "aarch64": [97, 40, 39, 41, 268, 442, 428, 429, 430, 280, 241, 282]}
    CLONE = {"x86_64": 56, "aarch64": 220}
    def forbid(machine):
        allow, refuse = (6, 0, 0, 0x7FFF0000), (6, 0, 0, 0x50000 | errno.EPERM)
        program = [(0x20, 0, 0, 0)]
        for number in FORBIDDEN[machine]:
            program += [(0x15, 0, 1, number), refuse]
        program += [(0x15, 0, 1, 435), (6, 0, 0, 0x50000 | errno.ENOSYS)]
        program += [(0x15, 0, 4, CLONE[machine]), (0x20, 0, 0, 16), (0x54, 0, 0, 0x7E020000), (0x15, 1, 0, 0), refuse]
        program += [allow]
        prctl(38, 1)
        Filter(b"".join(struct.pack("=HBBI", *i) for i in program)).install()
    import platform
    forbid(platform.machine())
"""


def report(done):
    assert done.returncode == 0, done.stderr
    return {line.split()[0]: line for line in done.stdout.splitlines()}


needs_known_machine = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"),
    reason="the system call numbers of this machine are not listed",
)


def test_an_ordinary_user_gets_the_same_tiers_as_root(as_self, as_nobody):
    own = report(as_self(PROBE))
    theirs = report(as_nobody(PROBE))
    for tier in ("T0", "T0b", "T1", "T1b"):
        assert theirs[tier].split()[1] == own[tier].split()[1], theirs[tier]
    assert theirs["result"] == "result 42"


@needs_known_machine
def test_the_sandbox_falls_back_to_landlock_in_a_container_without_namespaces(as_self):
    found = report(as_self(textwrap.dedent(CONTAINER) + textwrap.dedent(PROBE)))
    assert found["T0"].split()[1] == "False"
    assert found["T0b"].startswith("T0b False PermissionError: [Errno 1] unshare")
    assert found["T1"].split()[1] == "True"
    assert found["chosen"].startswith("chosen T1 landlock+seccomp")
    assert found["result"] == "result 42"


@needs_known_machine
def test_the_sandbox_falls_back_to_landlock_for_an_ordinary_user_in_a_container(as_nobody):
    found = report(as_nobody(textwrap.dedent(CONTAINER) + textwrap.dedent(PROBE)))
    assert found["chosen"].startswith("chosen T1 landlock+seccomp")
    assert found["result"] == "result 42"


@pytest.mark.weekly
@pytest.mark.parametrize("tier", SAFE)
def test_honest_jobs_among_thread_bombs_succeed_under_a_limit_of_500_processes(as_nobody, tier):
    done = as_nobody(CROWDED, tier)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("value=b'42'") == 24, done.stdout
    assert "Error" not in done.stdout


def assert_all_stopped(done, tier):
    found = json.loads(done.stdout)
    assert [each for each in found["findings"] if each["faults"]] == []
    assert (done.returncode, found["successes"], found["failed_controls"]) == (0, 0, 0)
    assert len(found["findings"]) == len(attacks()) + len(controls()) + 1
    assert found["environment"].startswith(f"{tier} ")


@pytest.mark.slow
@pytest.mark.parametrize("tier", mostly(pytest.mark.weekly, SAFE, *SAFE[:1]))
def test_the_sandbox_of_an_ordinary_user_stops_every_attack(as_nobody, tier):
    done = as_nobody(ATTACK, "--tier", tier)
    assert_all_stopped(done, tier)


@needs_known_machine
@pytest.mark.slow
def test_the_sandbox_in_a_container_stops_every_attack(as_self):
    assert_all_stopped(as_self(textwrap.dedent(CONTAINER) + textwrap.dedent(ATTACK)), "T1")


@pytest.mark.weekly
@needs_known_machine
def test_the_sandbox_of_an_ordinary_user_in_a_container_stops_every_attack(as_nobody):
    assert_all_stopped(as_nobody(textwrap.dedent(CONTAINER) + textwrap.dedent(ATTACK)), "T1")
