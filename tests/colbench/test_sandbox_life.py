"""The life cycle of the code sandbox: jobs, failed starts, workers that die, and processes left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from sandbox_tiers import SAFE

from colbench.errors import SandboxError, UserError
from colbench.sandbox import CallResult, CodeSandbox, Job, JobResult
from colbench.sandbox.selection import self_test_fault
from colbench.sandbox.worker import failed_start


def job(source, *calls, **options):
    return Job(source=textwrap.dedent(source), calls=calls, **options)


async def outcomes(box, source, *calls, namespace="module"):
    """Return `status: value or message` for each call."""
    result = await box.run_one(job(source, *calls, namespaces=(namespace,)))
    return [
        f"{call.status}: {call.value.decode() or call.message}".removesuffix(": ")
        for call in result.calls[namespace]
    ]


async def test_a_sandbox_that_is_not_open_runs_no_job():
    with pytest.raises(SandboxError, match="must be used inside `async with`"):
        await CodeSandbox(1).run_one(job("", "1"))


async def test_a_fork_server_that_ends_silently_before_it_is_ready_is_reported(
    tmp_path, monkeypatch
):
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(UserError) as refused:
        await CodeSandbox(1, tier="T0").__aenter__()
    first, second = str(refused.value).splitlines()
    assert first == "the sandbox tier T0 does not work on this machine"
    assert "(bubblewrap+seccomp): the fork server ended before it was ready, without" in second


@pytest.mark.parametrize(
    ("cause", "said", "reason"),
    [
        (TimeoutError(), "", "the fork server was not ready within 60 s"),
        (TimeoutError(), "slow", "the fork server was not ready within 60 s; it wrote: slow"),
        (SandboxError("it ended"), "bwrap: no permission", "bwrap: no permission"),
        (
            BrokenPipeError(32, "Broken pipe"),
            "",
            "the fork server ended before it was ready, without an error message",
        ),
        (
            OSError(90, "Message too long"),
            "",
            "the setup could not be sent to the fork server: Message too long",
        ),
    ],
)
def test_a_failed_start_has_a_reason(cause, said, reason):
    assert failed_start(cause, said) == reason


REFUSED = CallResult(status="error", message="PermissionError: [Errno 1] Operation not permitted")
HONEST = CallResult(status="value", value=b"[1, 2, 3]")


@pytest.mark.parametrize(
    ("results", "invalid", "fault"),
    [
        ([HONEST, REFUSED], "", ""),
        ([CallResult(status="skipped")], "MemoryError", "which failed: MemoryError"),
        ([CallResult(status="value", value=b"[]")], "", "which failed: the result was []"),
        ([HONEST, CallResult(status="value", value=b"3")], "", "write(), which was not blocked"),
        (
            [HONEST, REFUSED, CallResult(status="error", message="OSError: full")],
            "",
            "fork(), which did not fail with a PermissionError: OSError: full",
        ),
        ([HONEST, CallResult(status="skipped")], "", "a PermissionError: it was skipped"),
    ],
)
def test_a_failed_self_test_has_a_reason(results, invalid, fault):
    found = self_test_fault(JobResult(calls={"module": tuple(results)}, invalid=invalid))
    assert found.endswith(fault)
    assert bool(found) == bool(fault)


async def test_results_of_many_jobs_are_in_the_order_of_the_jobs():
    async with CodeSandbox(2) as box:
        jobs = [job("def f(x): return x", f"f({n})") for n in range(200)]
        results = await box.run(jobs)
    assert [r.calls["module"][0].value for r in results] == [b"%d" % n for n in range(200)]


async def test_a_worker_is_usable_after_a_canceled_job():
    async with CodeSandbox(1) as box:
        looping = asyncio.create_task(box.run_one(job("while True: pass", "1")))
        await asyncio.sleep(0.1)
        looping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looping
        assert await outcomes(box, "", "1 + 1") == ["value: 2"]


async def test_canceling_a_waiting_job_does_not_affect_other_jobs():
    async with CodeSandbox(1) as box:
        source = "import time\ntime.sleep(0.3)"
        first = asyncio.create_task(outcomes(box, source, "1"))
        await asyncio.sleep(0.1)
        second = asyncio.create_task(box.run_one(job("while True: pass", "1")))
        third = asyncio.create_task(outcomes(box, "", "3"))
        await asyncio.sleep(0.1)
        second.cancel()
        assert (await first, await third) == (["value: 1"], ["value: 3"])
        assert second.cancelled()


async def test_a_job_that_runs_when_the_sandbox_closes_fails_and_leaves_no_process():
    processes = children(os.getpid())
    async with CodeSandbox(1) as box:
        running = asyncio.create_task(box.run_one(job("while True: pass", "1")))
        await asyncio.sleep(0.1)
    with pytest.raises(SandboxError, match="the sandbox is closed"):
        await running
    assert children(os.getpid()) == processes


async def test_a_worker_that_starts_while_the_sandbox_closes_is_killed():
    processes = children(os.getpid())
    async with CodeSandbox(3) as box, asyncio.timeout(60):
        jobs = (box.run_one(job("", "1")) for _ in range(12))
        running = asyncio.gather(*jobs, return_exceptions=True)
        while len(children(os.getpid()) - processes) < 3:  # noqa: ASYNC110  # no event announces a process
            await asyncio.sleep(0.001)
    await running
    assert children(os.getpid()) == processes


async def test_a_worker_that_dies_is_replaced_and_its_job_is_run_again():
    before = children(os.getpid())
    async with CodeSandbox(1) as box:
        running = asyncio.create_task(outcomes(box, "import time\ntime.sleep(0.3)", "1"))
        await asyncio.sleep(0.1)
        kill(children(os.getpid()) - before)
        assert await running == ["value: 1"]


async def test_a_job_whose_worker_dies_twice_is_a_sandbox_failure():
    before = children(os.getpid())
    async with CodeSandbox(1) as box:
        running = asyncio.create_task(box.run([job("import time\ntime.sleep(2)", "1")]))
        for _ in range(2):
            await asyncio.sleep(0.4)
            kill(children(os.getpid()) - before)
        (result,) = await running
        assert isinstance(result, SandboxError)
        assert await outcomes(box, "", "1") == ["value: 1"]


async def test_nothing_is_left_behind():
    descriptors = len(os.listdir("/proc/self/fd"))
    processes = children(os.getpid())
    async with CodeSandbox(2) as box:
        await box.run([job("import os\nos._exit(1)", "1") for _ in range(20)])
        await box.run([job("1", "1", rehearsal=True)])
    assert children(os.getpid()) == processes
    assert len(os.listdir("/proc/self/fd")) == descriptors


@pytest.mark.parametrize("tier", SAFE)
async def test_everything_dies_with_the_harness(tier):
    script = f"""
        import asyncio
        from colbench.sandbox import CodeSandbox, Job
        async def main():
            async with CodeSandbox(2, tier={tier!r}) as box:
                print("ready", flush=True)
                await box.run([Job(source="import time; time.sleep(4)", calls=("1",))] * 2)
        asyncio.run(main())
    """
    harness = subprocess.Popen(  # noqa: ASYNC220  # read line by line below
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert harness.stdout.readline() == b"ready\n"
    await until(lambda: len(descendants(harness.pid)) >= 4)
    brood = descendants(harness.pid)
    harness.kill()
    harness.wait()
    harness.stdout.close()
    await until(lambda: not [pid for pid in brood if Path(f"/proc/{pid}").exists()])


def kill(processes):
    assert processes
    for process in processes:
        os.kill(process, signal.SIGKILL)


def children(pid):
    """Return the living children of a process."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid and state != "Z":
                found.add(int(folder.name))
    return found


def descendants(pid):
    return {pid for child in children(pid) for pid in {child, *descendants(child)}}


async def until(condition, seconds=20.0):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit
        await asyncio.sleep(0.05)
