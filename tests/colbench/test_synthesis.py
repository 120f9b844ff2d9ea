"""`colbench tasks synthesize` as a user runs it, against the scripted server of the package."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from colbench.cli import main
from colbench.errors import UserError
from colbench.messages import Message
from colbench.models.scripted_server import Fault, ScriptedServer
from colbench.synthesis.records import Ledger
from colbench.task import read_tasks
from colbench_tasks.families import FAMILIES
from colbench_tasks.generate import generate

REFERENCE = """def boat_fee(minutes, member):
    fee = -(-minutes // 20) * 350
    if member:
        fee = fee * 3 // 4
    return min(fee, 2400)
"""
GOOD = {
    "request": "We lend rowing boats on our lake. From the minutes somebody was out, and whether they are a member, "
    "I want to know what they owe us in cents.",
    "signature": "def boat_fee(minutes, member)",
    "reference": REFERENCE,
    "calls": [f"boat_fee({minutes}, {minutes % 10 == 0})" for minutes in range(5, 205, 22)],
}
RETURN = "return min(fee, 2400)"
SAYS = "It is 350 cents for each 20 minutes, members pay 3 of 4 parts, and 2400 at most. "
QUOTES = "I wrote: if member: fee = fee * 3 // 4, and return min(fee, 2400). "


def returning(code: str) -> dict[str, str]:
    return {"reference": REFERENCE.replace(RETURN, code)}


ROWS: dict[str, dict[str, object]] = {
    "good": {},
    "malformed": {"signature": 3},
    "not_a_function": {"reference": "RATE = 350\n" + REFERENCE},
    "bad_calls": {"calls": ["boat_fee(5, True)"] * 10},
    "gives_away": {"request": SAYS + str(GOOD["request"])},
    "quotes": {"request": QUOTES + str(GOOD["request"]).replace("boat", "ship")},
    "fails": returning("return fee // (minutes - 5)"),
    "hangs": returning("while minutes == 5: pass\n    return fee"),
    "unstable": returning("return fee + __import__('random').random()"),
    "none": returning("return fee if minutes > 5 else None"),
    "constant": returning("return fee > 2400"),
    "unofficial": returning("return fee if minutes < 30 else boat_fee(minutes - 20, member) + 1"),
    "near_duplicate": {
        "request": "Skates for hire at the rink! How much is it, in cents, by time and by membership?",
        "signature": "def skates(time, regular)",
        "reference": REFERENCE.replace("boat_fee", "skates")
        .replace("minutes", "time")
        .replace("member", "regular"),
        "calls": [call.replace("boat_fee", "skates") for call in GOOD["calls"]],
    },
}
REASON = {"quotes": "gives_away", "hangs": "fails"}


def script(messages: Sequence[Message]) -> str:
    name = messages[-1].content.split("\n\n")[-1]
    if name in ROWS:
        return json.dumps({**GOOD, **ROWS[name]})
    return bundled_reply(name) if "-" in name else "I cannot."


BUNDLED = {
    f"{family}-{n}": task
    for family in list(FAMILIES)[:12]
    for n, task in enumerate(generate(FAMILIES[family], 2, "synthesis"))
}


def bundled_reply(name: str) -> str:
    task = BUNDLED[name]
    request, _, signature = task.request.partition("The signature of the function is: ")
    code, calls = task.hidden.reference, list(task.hidden.tests)
    return json.dumps(
        {"request": request, "signature": signature, "reference": code, "calls": calls}
    )


def sources(folder: Path, names: Sequence[str]) -> str:
    path = folder / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": name}) + "\n" for name in names))
    return str(path)


def command(server: ScriptedServer, source: str, out: Path, *flags: str) -> list[str]:
    model = f"openai:{server.model}@{server.base_url}"
    return [
        *("tasks", "synthesize", "--model", model, "--source", source, "--out", str(out)),
        *("--sandbox-workers", "2", *flags),
    ]


async def synthesize(server: ScriptedServer, source: str, out: Path, *flags: str) -> int:
    return await asyncio.to_thread(main, command(server, source, out, *flags))


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_good_task_is_accepted_and_each_flawed_one_is_rejected_with_its_reason(
    tmp_path, capsys
):
    out = tmp_path / "new.jsonl"
    names = [*ROWS, "unknown"]
    async with ScriptedServer(script) as server:
        code = await synthesize(server, sources(tmp_path, names), out, "--json")
    assert code == 0
    assert [task.request for task in read_tasks(out)] == [
        f"{GOOD['request']} The signature of the function is: {GOOD['signature']}"
    ]
    rejected = rows(tmp_path / "new.rejected.jsonl")
    expected = [REASON.get(name, name) for name in names if name != "good"]
    assert [row["reason"] for row in rejected] == [*expected[:-1], "malformed"]
    assert all(row["detail"] for row in rejected)
    assert json.loads(str(rejected[2]["reply"]))["calls"] == ["boat_fee(5, True)"] * 10
    said = json.loads(capsys.readouterr().out)
    assert (said["texts"], said["accepted"], said["pending"]) == (len(names), 1, 0)
    assert said["rejected"] == {
        reason: expected[:-1].count(reason) + (reason == "malformed") for reason in expected[:-1]
    }


async def test_a_request_has_the_schema_a_seed_and_the_text(tmp_path):
    async with ScriptedServer(script) as server:
        await synthesize(server, sources(tmp_path, ["good"]), tmp_path / "new.jsonl")
    (request,) = server.requests
    assert request["response_format"]["json_schema"]["schema"]["required"] == list(GOOD)
    assert request["messages"][-1]["content"] == "The text:\n\ngood"
    assert (request["temperature"], request["max_tokens"]) == (1.0, 4096)
    assert isinstance(request["seed"], int)


async def test_the_schema_is_omitted_after_the_server_refuses_it(tmp_path, capsys):
    refuse = Fault(status=400, body="response_format is not supported")
    names = ["good", "fails", "none"]
    async with ScriptedServer(script, fault=lambda n: refuse if n == 1 else None) as server:
        flags = ("--concurrency", "1")
        code = await synthesize(server, sources(tmp_path, names), tmp_path / "new.jsonl", *flags)
    assert code == 0
    assert ["response_format" in request for request in server.requests] == [
        True,
        False,
        False,
        False,
    ]
    assert len(rows(tmp_path / "new.jsonl")) == 1
    assert "response_format is not supported" in capsys.readouterr().err


async def test_structured_false_omits_the_schema_and_seed_false_the_seed(tmp_path):
    flags = ("--model-arg", "structured=false", "--model-arg", "seed=false")
    async with ScriptedServer(script) as server:
        await synthesize(server, sources(tmp_path, ["good"]), tmp_path / "new.jsonl", *flags)
    assert not {"response_format", "seed"} & set(server.requests[0])


async def test_a_text_that_exceeds_the_context_of_the_server_is_rejected(tmp_path):
    long = Fault(status=400, body="maximum context length is 8192 tokens")
    async with ScriptedServer(script, fault=lambda _: long) as server:
        assert await synthesize(server, sources(tmp_path, ["good"]), tmp_path / "new.jsonl") == 0
    (row,) = rows(tmp_path / "new.rejected.jsonl")
    assert (row["reason"], row["reply"]) == ("refused", "")
    assert row["synthesis"]["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "requests": 0}


async def test_a_guessed_task_is_rejected_and_the_tokens_are_counted(tmp_path, capsys):
    def guess(messages: Sequence[Message]) -> str:
        solved = "boats" in messages[-1].content
        return f"I WANT TO ANSWER: {REFERENCE if solved else 'def f(): pass'}"

    hard = {**GOOD, "request": str(GOOD["request"]).replace("rowing boats", "canoes")}
    replies = {"easy": json.dumps(GOOD), "hard": json.dumps(hard)}
    out = tmp_path / "new.jsonl"
    async with (
        ScriptedServer(lambda said: replies[said[-1].content.split()[-1]]) as server,
        ScriptedServer(guess, model="guessing") as other,
    ):
        flags = ("--guess", f"openai:guessing@{other.base_url}", "--guess-tries", "3")
        prices = ("--price", "1000,0", "--guess-price", "0,1000000", "--concurrency", "1")
        source = sources(tmp_path, ["easy", "hard"])
        assert await synthesize(server, source, out, *flags, *prices) == 0
        seeds = [request["seed"] for request in other.requests]
        single = other.requests[0]["messages"][0]["content"]
    (rejected,), (accepted,) = rows(tmp_path / "new.rejected.jsonl"), rows(out)
    assert (rejected["reason"], rejected["detail"]) == ("guessed", "by guess 1")
    assert len(seeds) == len(set(seeds)) == 4
    assert "You cannot ask anything" in single
    used = [row["synthesis"]["usage"]["prompt_tokens"] for row in (rejected, accepted)]
    spent = rejected["synthesis"]["guesses"] + accepted["synthesis"]["guesses"]
    words = sum(usage["completion_tokens"] for usage in spent)
    assert len(spent) == 4
    shown = capsys.readouterr().out
    assert f"tokens of the author model: {sum(used):,} in" in shown
    assert f"${sum(used) / 1000:,.2f}" in shown
    assert f"{words} out; ${words:,.2f}" in shown


async def test_a_near_duplicate_of_a_task_in_an_against_source_is_rejected(tmp_path):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    async with ScriptedServer(script) as server:
        await synthesize(server, sources(tmp_path, ["good"]), first)
        await synthesize(server, sources(tmp_path, ["good"]), second, "--against", str(first))
    (row,) = rows(tmp_path / "second.rejected.jsonl")
    assert row["reason"] == "near_duplicate"
    assert rows(first)[0]["id"] in row["detail"]


def test_an_accepted_task_can_be_evaluated(tmp_path, capsys):
    out = tmp_path / "new.jsonl"

    async def write() -> int:
        async with ScriptedServer(script) as server:
            return await synthesize(server, sources(tmp_path, ["good"]), out)

    assert asyncio.run(write()) == 0
    flags = ["--tasks", str(out), "--sandbox-workers", "1"]
    assert main(["eval", *flags, "--agent", "guesser", "--out", str(tmp_path / "run")]) == 0
    assert main(["tasks", "validate", *flags, "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (said["default"], said["official"], said["blank"]) == (1, 1, 1)


@pytest.mark.slow
async def test_a_killed_command_resumes_and_writes_the_same_files(tmp_path):
    source = sources(tmp_path, [*BUNDLED, *ROWS])
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    async with ScriptedServer(script, delay=0.05) as server:
        flags = ("--concurrency", "3")
        assert await synthesize(server, source, whole, *flags) == 0
        asked = len(server.requests)
        for lines in (4, 14):
            await kill_after(lines, command(server, source, killed, *flags), killed)
        kept = killed.read_bytes()
        killed.write_bytes(kept + kept.splitlines()[0][:100])  # a torn line
        assert await synthesize(server, source, killed, *flags) == 0
        again = len(server.requests) - asked
        assert await synthesize(server, source, killed, *flags) == 0
        assert len(server.requests) == asked + again  # nothing is pending, so no model is asked
    assert killed.read_bytes() == whole.read_bytes()
    assert killed.with_suffix(".rejected.jsonl").read_bytes() == (
        whole.with_suffix(".rejected.jsonl").read_bytes()
    )
    assert asked == len(BUNDLED) + len(ROWS)
    assert again <= asked + 2 * 2 * 3  # each kill loses at most the backlog
    assert len(read_tasks(whole)) > len(BUNDLED) / 2


async def kill_after(lines: int, arguments: list[str], out: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "colbench.cli", *arguments, stdout=-3, stderr=-3
    )
    await asyncio.to_thread(wait_for_lines, lines, out)
    process.send_signal(signal.SIGKILL)
    await process.wait()


def wait_for_lines(lines: int, path: Path) -> None:
    while not path.exists() or path.read_bytes().count(b"\n") < lines:
        time.sleep(0.01)


async def test_a_text_whose_request_failed_stays_pending_and_is_retried(tmp_path, capsys):
    broken = Fault(status=400, body="our fault")
    out, source = tmp_path / "new.jsonl", sources(tmp_path, ["fails", "good", "none"])
    flags = ("--concurrency", "1", "--model-arg", "structured=false")
    async with ScriptedServer(script, fault=lambda n: broken if n == 2 else None) as server:
        assert await synthesize(server, source, out, *flags) == 1
        assert out.read_bytes() == b""
        assert "our fault" in (said := capsys.readouterr().out)
        assert "still pending; repeat the command to continue" in said
        assert await synthesize(server, source, out, *flags) == 0
    assert len(server.requests) == 4
    assert len(rows(out)) == 1


async def test_the_command_stops_after_20_failed_texts_in_a_row(tmp_path, capsys):
    gone = Fault(status=400, body="gone")
    source = sources(tmp_path, [f"{n}" for n in range(50)])
    flags = ("--concurrency", "1", "--model-arg", "structured=false")
    async with ScriptedServer(script, fault=lambda _: gone) as server:
        assert await synthesize(server, source, tmp_path / "new.jsonl", *flags) == 1
    assert "20 seed texts in a row failed" in capsys.readouterr().err
    assert len(server.requests) < 25


async def test_replies_without_token_counts_are_reported_as_not_counted(tmp_path, capsys):
    out, source = tmp_path / "new.jsonl", sources(tmp_path, ["good", "none"])
    flags = ("--price", "1,1")
    async with ScriptedServer(script) as server:
        await synthesize(server, source, out, *flags)
        for path, said in (
            (out, "; 1 reply not counted"),
            (tmp_path / "new.rejected.jsonl", "tokens of the author model: not counted"),
        ):
            (row,) = rows(path)
            row["synthesis"]["usage"] = None
            path.write_text(json.dumps(row, separators=(",", ":")) + "\n")
            capsys.readouterr()
            await synthesize(server, source, out, *flags)
            assert said in capsys.readouterr().out


BAD_FLAGS = {
    ("--concurrency", "none"): "--concurrency: expected a whole number",
    ("--concurrency", "0"): "--concurrency: expected a whole number >= 1",
    ("--limit", "-3"): "--limit: expected a whole number",
    ("--price", "3"): "--price: expected two values, got 3",
    ("--model-arg", "temperature=hot"): "--model-arg, temperature: expected a number",
    ("--model-arg", "heat=1"): "--model-arg, heat: unknown key",
    ("--model-arg", "heat"): "--model-arg: `heat` is not NAME=VALUE",
    ("--guess-tries", "2"): "require --guess SPEC",
    ("--guess", "nobody"): "--guess nobody: unknown",
    ("--guess", "guesser", "--guess-tries", "0"): "--guess-tries: expected a whole number >= 1",
    ("--guess", "guesser", "--guess-arg", "wit=1"): "--guess guesser: no argument `wit`",
    ("--against", "nowhere"): "--against nowhere: neither a file nor a known source",
    ("--model", "gpt-4o"): "--model gpt-4o: use openai:MODEL[@BASE_URL]",
    ("--model", "openai:@http://x/v1"): "does not name a model",
    ("--model", "openai:m@http://127.0.0.1:9/v1"): "no model server answers",
    ("--source", "no.jsonl"): "--source no.jsonl: cannot be read: No such file",
    ("--out", "new.json"): "--out new.json: use a name that ends in .jsonl",
    ("--out", "nodir/new.jsonl"): "--out nodir/new.jsonl: the folder nodir does not exist",
}


@pytest.mark.parametrize("flags", BAD_FLAGS, ids=" ".join)
def test_an_invalid_flag_gives_a_one_line_error(flags, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    given = {
        "--model": "openai:m@http://127.0.0.1:9/v1",
        "--source": "texts.txt",
        "--out": "new.jsonl",
    }
    Path("texts.txt").write_text("good\n")
    given |= dict(zip(flags[::2], flags[1::2], strict=True))
    assert main(["tasks", "synthesize", *(part for pair in given.items() for part in pair)]) == 2
    said = capsys.readouterr().err
    assert BAD_FLAGS[flags] in said
    assert said.count("\n") == 1
    assert not Path("new.jsonl").exists()


BAD_SOURCES = {
    b"": "contains no text",
    b"\n \n": "contains no text",
    b"\xff\xfe": "not UTF-8 at byte 0",
    b'{"text": "a"}\n{"txt": "b"}\n': "line 2: Object missing required field `text`",
    b'{"text": "a"}\nplain\n': "line 2: JSON is malformed",
    b'{"text": 5}\n': "line 1: Expected `str`, got `int`",
    b'{"text": " "}\n': "line 1: `text` is empty",
}


@pytest.mark.parametrize("content", BAD_SOURCES)
def test_an_invalid_source_is_reported_with_its_file_and_line(content, tmp_path, capsys):
    source = tmp_path / "texts.jsonl"
    source.write_bytes(content)
    flags = ["--model", "openai:m@http://127.0.0.1:9/v1", "--out", str(tmp_path / "new.jsonl")]
    assert main(["tasks", "synthesize", "--source", str(source), *flags]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"colbench: --source {source}")
    assert BAD_SOURCES[content] in said
    assert said.count("\n") == 1


OTHER_FILES = {
    b'{"problem_description": "a", "ground_truth": "b"}\n': "line 1",
    b'{"problem_description": "a"': "line 1",
    b"notes\n": "line 1",
}


@pytest.mark.parametrize("content", OTHER_FILES)
def test_a_file_not_written_by_the_command_is_refused_and_unchanged(content, tmp_path, capsys):
    out, source = tmp_path / "new.jsonl", tmp_path / "texts.txt"
    out.write_bytes(content)
    source.write_text("good\n")
    flags = ["--model", "openai:m@http://127.0.0.1:9/v1", "--source", str(source)]
    assert main(["tasks", "synthesize", *flags, "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert f"--out {out}: {OTHER_FILES[content]} was not written by" in said
    assert out.read_bytes() == content


def test_an_alien_file_of_rejections_is_named_without_the_hint_for_tasks(tmp_path):
    out = tmp_path / "new.jsonl"
    (tmp_path / "new.rejected.jsonl").write_text("notes\n")
    with pytest.raises(UserError, match=r"line 1 of .*new\.rejected\.jsonl was not") as caught:
        Ledger(out)
    assert str(caught.value).startswith(f"--out {out}: ")
    assert "--against" not in str(caught.value)


async def test_a_file_checked_with_a_different_guess_setting_is_not_continued(tmp_path, capsys):
    out = tmp_path / "new.jsonl"
    async with ScriptedServer(script) as server:
        source = sources(tmp_path, ["good", "none"])
        await synthesize(server, source, out, "--limit", "1")
        before = out.read_bytes()
        assert await synthesize(server, source, out, "--guess", "guesser") == 2
    said = capsys.readouterr().err
    assert "were checked with no --guess, but this run has --guess guesser once" in said
    assert out.read_bytes() == before


async def test_two_commands_do_not_write_the_same_file(tmp_path, capsys):
    source, out = sources(tmp_path, ["good", "none"]), tmp_path / "new.jsonl"
    async with ScriptedServer(script, delay=0.5) as server:
        codes = await asyncio.gather(*(synthesize(server, source, out) for _ in range(2)))
    assert sorted(codes) == [0, 2]
    assert "is in use by another colbench process" in capsys.readouterr().err
    assert len(rows(out)) == 1


async def test_plain_lines_are_texts_and_repeated_texts_are_requested_once(tmp_path, capsys):
    source = tmp_path / "texts.txt"
    source.write_text("\ufeffgood\n\n  good \nnone\n", "utf-8")
    async with ScriptedServer(script) as server:
        await synthesize(server, str(source), tmp_path / "new.jsonl")
    assert [said["messages"][-1]["content"].split()[-1] for said in server.requests] == [
        "good",
        "none",
    ]
    assert "1 task of 2 texts" in capsys.readouterr().out
