"""The sandbox where it is harder: as an ordinary user, and in a container that forbids namespaces."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest

from colbench.sandbox import probe
from colbench.sandbox.attacks import attacks, controls

NOBODY = 65534
WORKING = [report.tier for report in probe() if report.works and report.safe]
TOP = Path(__file__).parents[2]
PLACES = [str(TOP), str(TOP / "leaderboard"), str(Path(msgspec.__file__).parents[1])]
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


def readable_python():
    """An interpreter of this version that an ordinary user may start with this project on its path."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/python{version}", f"/usr/local/bin/python{version}"):
        try:
            done = run(python, "import colbench.sandbox", user=NOBODY)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    pytest.skip("no interpreter that an ordinary user can read")


def run(python, script, *arguments, user=None):
    return subprocess.run(
        [python, "-c", textwrap.dedent(script), *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(PLACES)},
        cwd="/",
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def report(done):
    assert done.returncode == 0, done.stderr
    return {line.split()[0]: line for line in done.stdout.splitlines()}


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
needs_known_machine = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="no system call numbers"
)


@needs_root
def test_an_ordinary_user_gets_the_tiers_that_root_gets():
    python = readable_python()
    own = report(run(python, PROBE))
    theirs = report(run(python, PROBE, user=NOBODY))
    for tier in ("T0", "T0b", "T1", "T1b"):
        assert theirs[tier].split()[1] == own[tier].split()[1], theirs[tier]
    assert theirs["result"] == "result 42"


@needs_known_machine
def test_in_a_container_without_namespaces_the_sandbox_falls_back_to_landlock():
    found = report(run(sys.executable, textwrap.dedent(CONTAINER) + textwrap.dedent(PROBE)))
    assert found["T0"].split()[1] == "False"
    assert found["T0b"].startswith("T0b False PermissionError: [Errno 1] unshare")
    assert found["T1"].split()[1] == "True"
    assert found["chosen"].startswith("chosen T1 landlock+seccomp")
    assert found["result"] == "result 42"


@needs_root
@needs_known_machine
def test_so_it_does_for_an_ordinary_user():
    found = report(
        run(readable_python(), textwrap.dedent(CONTAINER) + textwrap.dedent(PROBE), user=NOBODY)
    )
    assert found["chosen"].startswith("chosen T1 landlock+seccomp")
    assert found["result"] == "result 42"


def assert_all_stopped(done, tier):
    found = json.loads(done.stdout)
    assert [each for each in found["findings"] if each["faults"]] == []
    assert (done.returncode, found["successes"], found["failed_controls"]) == (0, 0, 0)
    assert len(found["findings"]) == len(attacks()) + len(controls()) + 1
    assert found["environment"].startswith(f"{tier} ")


@needs_root
@pytest.mark.slow
@pytest.mark.parametrize("tier", WORKING)
def test_an_ordinary_users_sandbox_stops_every_attack(tier):
    done = run(readable_python(), ATTACK, "--tier", tier, user=NOBODY)
    assert_all_stopped(done, tier)


@needs_known_machine
@pytest.mark.slow
def test_the_sandbox_in_a_container_stops_every_attack():
    script = textwrap.dedent(CONTAINER) + textwrap.dedent(ATTACK)
    assert_all_stopped(run(sys.executable, script), "T1")


@needs_root
@needs_known_machine
@pytest.mark.slow
def test_so_it_does_for_an_ordinary_user_in_a_container():
    script = textwrap.dedent(CONTAINER) + textwrap.dedent(ATTACK)
    assert_all_stopped(run(readable_python(), script, user=NOBODY), "T1")
