"""`colbench agents check`: planted faults are found by the rule that they break, and agents without fault pass."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from colbench.cli import main
from colbench.cli.agents.checking import Checking, Verdict
from colbench.cli.agents.rules import FORMS_OF_MESSAGES, LATE, RAISED, REPLY, TOO_LONG
from colbench.errors import EndpointError, TooLongError
from colbench.messages import Message, Usage
from colbench.plugins import resolve
from colbench_agents.frameworks.functions import FunctionAgent

HERE = Path(__file__).parent


class Case(NamedTuple):
    """An agent with a fault, the first rule that it breaks, and the reported reason."""

    fault: str
    rule: str
    reason: str
    patience: float = 20.0
    program: str = "unruly_agent.py"


COMMANDS = [
    Case("shows-a-banner", "Says `ready`", "it sent an invalid message, .*: Loading the model"),
    Case(
        "replies-first", "Says `ready`", "first message must be `ready`", program="faulty_agent.py"
    ),
    Case("other-version", "Says `ready`", "'colbench-agent/2'", program="faulty_agent.py"),
    Case("silent-at-start", "Says `ready`", "not ready within 2 s", program="faulty_agent.py"),
    Case("crashes-at-start", "Says `ready`", "code 1; .*no model here", program="faulty_agent.py"),
    Case("is-ready-twice", "Sends nothing before it is asked", "before a dialogue, it sent"),
    Case(
        "answers-start", "Sends nothing before it is asked", "after `start`, which expects no reply"
    ),
    Case("garbage", "Replies to requests", "Loading checkpoint", program="faulty_agent.py"),
    Case("half-a-line", "Replies to requests", "middle of a line", program="faulty_agent.py"),
    Case("number-for-text", "Replies to requests", "got `int`", program="faulty_agent.py"),
    Case(
        "hangs",
        "Replies to requests",
        "no reply within 1 s .--timeout.$",
        1.0,
        "faulty_agent.py",
    ),
    Case("gives-up", "Replies to requests", "it says: too hard", program="faulty_agent.py"),
    Case("holds-back", "Replies to requests", "within 1 s .*; .*flush standard output", 1.0),
    Case("counts-below-zero", "Replies to requests", r"`int` >= 0 - at `\$.usage"),
    Case(
        "names-another",
        "Names the dialogue of each reply",
        "reply names episode 'x', but the request was for episode 'check-",
    ),
    Case("says-it-again-later", "Replies once to one request", "it sent .*And another thing"),
    Case("says-goodbye", "Sends nothing after a dialogue ends", "it sent .*Goodbye"),
    Case("says-goodbye-to-all", "Sends nothing after a dialogue ends", "closed, it sent bye"),
    Case("is-never-the-same", "Describes itself the same way every time", "its `version` was '"),
    Case("knows-all-fields", "Ignores unknown fields", "unexpected keyword argument"),
    Case("stays", "Ends when its standard input is closed", "was still running 2 s .* after `end`"),
    Case(
        "ends-at-end-alone", "Ends when its standard input is closed", "in the middle of a dialogue"
    ),
    Case(
        "reads-short-lines",
        "Reads messages of any length",
        "a request line of 262,144 bytes: .*exceed the limit",
    ),
    Case(
        "knows-one-dialogue",
        "Holds several dialogues at a time",
        "replied twice to episode 'check-",
    ),
    Case("dies-in-turn-2", "Sustains a dialogue of up to 10 turns", "in turn 2: .*MemoryError"),
    Case("says-nothing", "Sends no empty reply", "its reply in turn 1 is empty"),
    Case("never-answers", "Gives an answer", "it did not write .* in 10 turns"),
    Case("knows-ids-for-ever", "Can repeat the same dialogue", "I had that dialogue"),
    Case("mixes-dialogues", "Keeps concurrent dialogues separate", "asked for .*, it mentioned"),
    Case("reads-ascii", "Accepts any text", "codec can't encode"),
    Case("knows-functions-alone", "Does not fail on tasks of other domains", "KeyError: 'def'"),
    Case("dies-at-pictures", "Accepts pictures", "TypeError: a picture"),
]
SOUND = [Case("none", "", ""), Case("none-concurrent", "", "")]
SERVERS = [
    Case("has-no-such-page", "Says `ready`", "it responded with HTTP 404"),
    Case("is-elsewhere", "Says `ready`", "it responded with HTTP 302"),
    Case("speaks-another-version", "Says `ready`", "its protocol is 'colbench-agent/2'"),
    Case("hangs-at-the-start", "Takes `start`", "did not respond to /v1/episodes within 1 s", 1.0),
    Case("begins-nothing", "Takes `start`", "it responded with HTTP 409"),
    Case("fails", "Replies to requests", "it responded with HTTP 500"),
    Case(
        "replies-in-chat-form", "Replies to requests", "invalid message, .*missing required field"
    ),
    Case("breaks-off", "Replies to requests", "its response was cut off"),
    Case("hangs", "Replies to requests", "no reply within 1 s", 1.0),
    Case("names-another", "Names the dialogue of each reply", "names episode 'another'"),
    Case("hangs-at-the-end", "Answers when a dialogue is over", "DELETE was not answered", 1.0),
    Case("is-never-the-same", "Describes itself the same way every time", "its `version` was '"),
    Case("knows-all-fields", "Ignores unknown fields", "HTTP 422: .*not permitted"),
    Case("takes-short-bodies", "Reads messages of any length", "of 262,144 bytes: .*HTTP 413"),
    Case(
        "knows-ids-for-ever",
        "Restarts a dialogue that was never ended",
        "second time.*HTTP 409",
    ),
    Case("has-one-at-a-time", "Holds several dialogues at a time", "HTTP 409"),
]


WRONG = {"broken", "advice"}


class Enough(Exception):
    """Raised at the first wrong verdict, to stop the check."""


def check(agent: object, patience: float = 20.0) -> list[Verdict]:
    """Return the verdicts up to the first one that reports a problem."""

    def show(verdict: Verdict) -> None:
        if verdict.outcome in WRONG:
            raise Enough

    checking = Checking(agent, patience, show)
    with suppress(Enough):
        assert checking.run()
    return checking.verdicts


def check_command(case: Case) -> list[Verdict]:
    command = shlex.join([sys.executable, "-S", str(HERE / case.program), case.fault])
    startup = 2.0 if case.fault == "silent-at-start" else 60.0
    return check(resolve("agent", f"cmd:{command}", {"startup_timeout": startup}), case.patience)


def check_server(case: Case, address: str) -> list[Verdict]:
    return check(resolve("agent", f"{address}/{case.fault}", {}), case.patience)


@pytest.fixture(scope="module")
def address():
    """Yield the address of a server of agents."""
    command = [sys.executable, "-S", str(HERE / "unruly_server.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        yield server.stdout.readline().strip()
        server.terminate()


@pytest.fixture(scope="module")
def checked(address):
    """Yield futures of the verdicts on every agent; many are checked at once, because most of the time is waiting."""
    with ThreadPoolExecutor(12) as pool:
        futures: dict[Case, Future[list[Verdict]]] = {}
        futures |= {case: pool.submit(check_command, case) for case in [*SOUND, *COMMANDS]}
        futures |= {case: pool.submit(check_server, case, address) for case in SERVERS}
        yield futures


@pytest.mark.parametrize("case", [*COMMANDS, *SERVERS], ids=lambda case: case.fault)
def test_a_fault_is_found_by_the_rule_that_it_breaks(checked, case):
    found = checked[case].result()[-1]
    assert (found.rule, found.outcome in WRONG) == (case.rule, True), found
    assert re.search(case.reason, found.reason), found.reason
    assert found.fix
    assert found.see


@pytest.mark.parametrize("case", SOUND, ids=lambda case: case.fault)
def test_a_program_without_fault_keeps_every_rule(checked, case):
    verdicts = checked[case].result()
    spared = {"none": {"Holds several dialogues at a time", "Accepts pictures"}}
    assert named(verdicts, "not applicable") == spared.get(case.fault, {"Accepts pictures"})
    assert len(named(verdicts, "kept")) == len(verdicts) - len(named(verdicts, "not applicable"))


def test_a_server_without_fault_keeps_every_rule(address):
    verdicts = check_server(Case("none", "", ""), address)
    assert {each.outcome for each in verdicts} == {"kept", "not applicable"}


@pytest.mark.parametrize("spec", ["blank", "guesser", "interviewer", "designer"])
def test_a_built_in_agent_keeps_every_rule(spec):
    assert {each.outcome for each in check(resolve("agent", spec, {}))} == {
        "kept",
        "not applicable",
    }


def test_a_plain_function_keeps_every_rule(tmp_path):
    file = tmp_path / "plain.py"
    file.write_text("def agent(messages):\n    return 'I WANT TO ANSWER: x = 1'\n")
    verdicts = check(resolve("agent", f"{file}:agent", {}))
    assert {each.outcome for each in verdicts} == {"kept", "not applicable"}


def named(verdicts: list[Verdict], outcome: str) -> set[str]:
    return {each.rule for each in verdicts if each.outcome == outcome}


class Silent:
    async def reply(self, dialogue):
        return None


class Raises:
    async def reply(self, dialogue):
        raise SystemExit("no model")


class RaisesLater:
    async def reply(self, dialogue):
        if len(dialogue) > 1:
            raise AttributeError("no attribute `history`")
        return "What else?"


class OfNoDomain(Silent):
    domains = ("Backend",)


class Restless(Silent):
    said = 0

    def describe(self):
        self.said += 1
        return {"run": str(self.said)}


class Locked:
    """An agent whose lock stays closed when a reply is canceled."""

    def __init__(self):
        self.free = asyncio.Event()

    async def reply(self, dialogue):
        if len(dialogue) == 1:
            return "What else?"
        assert not self.free.is_set(), "busy"
        self.free.set()
        await asyncio.sleep(0.8)
        self.free.clear()
        return "I WANT TO ANSWER: x = 1"


class Blocks:
    """An agent that blocks the event loop during its first reply."""

    had = False

    async def reply(self, dialogue):
        if not self.had:
            time.sleep(1.5)  # noqa: ASYNC251 - that is the fault
        self.had = True
        return "I WANT TO ANSWER: x = 1"


class Hangs:
    async def reply(self, dialogue):
        await asyncio.Event().wait()


class HangsOutside(Hangs):
    def conformance_rules(self, patience):
        return ()


class HangsLater:
    async def reply(self, dialogue):
        if len(dialogue) > 1:
            await asyncio.Event().wait()
        return "What else?"


class Overflows:
    async def reply(self, dialogue):
        raise TooLongError("9,000 tokens")


class Owes:
    async def reply(self, dialogue):
        usage = Usage(prompt_tokens=1, completion_tokens=-1, requests=1)
        return Message(role="assistant", content="I WANT TO ANSWER: x = 1", usage=usage)


@pytest.mark.parametrize(
    ("agent", "outcome", "rule", "reason"),
    [
        (Silent(), "broken", "Replies to a request", "reply() returned NoneType"),
        (Raises(), "broken", "Replies to a request", "the code raised SystemExit: no model"),
        (Hangs(), "broken", "Replies to a request", "no reply within 2 s"),
        (OfNoDomain(), "broken", "Names installed domains", "'Backend'"),
        (
            Restless(),
            "broken",
            "Has the same description every time",
            "`run` was '1' when first read, but '2' when read again",
        ),
        (Locked(), "broken", "Survives an interrupted dialogue", "busy"),
        (Blocks(), "advice", "Does not block other dialogues", "blocked the event loop"),
        (Owes(), "broken", "Replies to a request", "Expected `int` >= 0"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_fault_of_an_in_process_agent_is_found(agent, outcome, rule, reason):
    found = check(agent, 2.0)[-1]
    assert (found.rule, found.outcome) == (rule, outcome), found
    assert reason in found.reason


class ReadsDictionaries:
    async def reply(self, dialogue):
        return dialogue[0]["content"]


class ReadsMessages:
    def __call__(self, messages):
        return messages[0].content


@pytest.mark.parametrize(
    ("agent", "fix"),
    [
        (Raises(), RAISED),
        (ReadsDictionaries(), f"{RAISED} {FORMS_OF_MESSAGES}"),
        (FunctionAgent(ReadsMessages(), None), f"{RAISED} {FORMS_OF_MESSAGES}"),
        (Silent(), REPLY),
        (Hangs(), LATE),
        (HangsOutside(), LATE),
        (HangsLater(), LATE),
        (Overflows(), TOO_LONG),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_advice_for_an_agent_that_does_not_reply_fits_the_error(agent, fix):
    assert check(agent, 1.0)[-1].fix == fix


def test_rules_about_longer_dialogues_are_skipped_if_the_second_turn_raises():
    checking = Checking(RaisesLater(), 20.0, lambda _: None)
    assert checking.run()
    assert named(checking.verdicts, "broken") == {"Sustains a dialogue of up to 10 turns"}
    assert named(checking.verdicts, "skipped") == {
        "Gives an answer",
        "Survives an interrupted dialogue",
        "Keeps concurrent dialogues separate",
        "Accepts pictures",
    }


def test_an_endpoint_error_skips_the_rule_and_breaks_none():
    class Gone:
        async def reply(self, dialogue):
            raise EndpointError("no model server")

    verdicts = check(Gone())
    assert named(verdicts, "broken") == set()
    (first,) = (each for each in verdicts if each.rule == "Replies to a request")
    assert (first.outcome, first.reason) == ("skipped", "no model server")


def test_an_agent_that_blocks_forever_breaks_one_rule(tmp_path):
    file = tmp_path / "stuck.py"
    file.write_text(
        "class Agent:\n    async def reply(self, dialogue):\n        while True: pass\n"
    )
    flags = ["--in-process", "--timeout", "0.1", "--json"]
    ended = colbench("agents", "check", f"{file}:Agent", *flags)
    found = json.loads(ended.stdout)
    assert ended.returncode == 1
    assert found["counts"]["broken"] == 1
    assert "blocks the event loop" in found["rules"][2]["reason"]


def test_the_report_has_a_line_for_each_rule_and_advice_for_a_broken_one():
    command = shlex.join([sys.executable, "-S", str(HERE / "unruly_agent.py"), "says-goodbye"])
    ended = colbench("agents", "check", f"cmd:{command}")
    assert ended.returncode == 1
    lines = [line.rstrip() for line in ended.stdout.splitlines()]
    assert lines[1] == "check   21 rules; at most 32 replies are requested"
    assert lines[2] == "kept    Says `ready`"
    assert lines[7] == "broken  Sends nothing after a dialogue ends"
    assert re.search(
        r"standard\s+error.*docs/agent-protocol.md, Messages", ended.stdout.replace("\n", " ")
    )
    assert lines[-1] == "18 kept, 1 broken, 2 not applicable"


def test_the_protocol_page_lists_every_rule_and_has_its_section():
    page = (HERE.parents[1] / "docs" / "agent-protocol.md").read_text("utf-8")
    table = set(re.findall(r"^\| (.+?) \| (?:both|`cmd:`|HTTP) \|", page, re.MULTILINE))
    agents = [resolve("agent", spec, {}) for spec in ("cmd:true", "http://127.0.0.1:9")]
    rules = [rule for agent in agents for rule in agent.conformance_rules(1.0)]
    assert table == {rule.name for rule in rules}
    for rule in rules:
        assert f"\n## {rule.see.partition(', ')[2]}" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nobody"], "--agent nobody: unknown"),
        (["cmd:./nowhere"], "the program ./nowhere was not found"),
        (["http://127.0.0.1:9", "--agent-arg", "retries=0"], "cannot connect: .*check that"),
        (["blank", "--agent-arg", "x=1"], "no argument `x`; it has no arguments for --agent-arg"),
        (["blank", "--timeout", "0"], "--timeout: expected seconds above 0"),
    ],
)
def test_a_user_error_prints_a_message_and_exits_with_2(capsys, words, said):
    assert main(["agents", "check", *words]) == 2
    assert re.search(said, capsys.readouterr().err)


def colbench(*words: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("colbench")
    return subprocess.run([program, *words], capture_output=True, text=True, check=False)
