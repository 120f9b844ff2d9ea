"""A synthetic leaderboard store: its bundles, receipts and log have the real format, but their content is random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import msgspec

from colbench.messages import Usage
from colbench.registry import get_domain
from colbench.stats import Estimate
from colbench.task import Fact, Hidden, Task
from colbench_leaderboard.bundle.encoding import canonical, sha256
from colbench_leaderboard.bundle.files import manifest
from colbench_leaderboard.bundle.schema import (
    BLOBS,
    LOCK,
    LONG,
    MANIFEST,
    PER_FILE,
    SUBMISSION,
    TRAJECTORIES,
    Blob,
    Disclosures,
    Lock,
    LockedTasks,
    Model,
    Submission,
    Trajectory,
    Turn,
    Words,
)
from colbench_leaderboard.store.layout import FIRST, LOG, Record, bundle_folder, verified_folder
from colbench_leaderboard.verify.receipt import (
    RECEIPT,
    SCORES,
    SUMMARY,
    CellScore,
    Finding,
    Receipt,
    Summary,
)

WORDS = (
    "the of a total price order rate member night guest charge discount week limit when how should round first "
    "last every number list value above below before after under over rule fee season group early late return"
).split()
CODE = "    {0} = min({0}, {1}) if {0} > {1} else {0} + {1}  # {2}\n"


def text(source: random.Random, words: int) -> str:
    """Return a sentence of random words."""
    return " ".join(source.choices(WORDS, k=words)).capitalize() + "."


def program(source: random.Random, lines: int) -> str:
    """Return a function with a number of random lines."""
    body = "".join(
        CODE.format(source.choice(WORDS), source.randint(1, 99), text(source, 4))
        for _ in range(lines)
    )
    return f"def settle(order, rate):\n{body}    return order\n"


def make_tasks(number: int, domain: str = "backend") -> list[Task]:
    """Return a number of tasks of one domain."""
    source = random.Random(f"tasks/{number}")
    return [
        Task(
            id=f"{domain}-task-{n:04d}",
            domain=domain,
            request=text(source, 58) + "\ndef settle(order, rate):",
            hidden=_hidden(source, domain, n),
        )
        for n in range(number)
    ]


def _hidden(source: random.Random, domain: str, number: int) -> Hidden:
    if domain == "frontend":
        page = f"<html><body><h1>Target {number}</h1></body></html>"
        return Hidden(reference=page, information=page)
    facts = (Fact(name="a", topics=("x",), statement=text(source, 9)),)
    code = program(source, 8)
    return Hidden(reference=code, tests=("settle(1, 2)",) * 10, information=code, facts=facts)


class Entrant(msgspec.Struct, kw_only=True):
    """The description of an entry in the store."""

    name: str
    skill: float
    organization: str = "Institute"
    description: str = "A system."
    model: str = "model-8b"
    notes: str = ""
    said: str = ""
    """The text before the random words in each message of the agent."""
    answer: str | None = None
    line: bool = False
    reruns: str = ""
    """The digest of the entry that this entry repeats: the maintainers ran its system again."""
    findings: tuple[Finding, ...] = ()
    tokens: bool = True
    trained: bool = False
    link: str = ""


class Store:
    """A store to which entries can be added."""

    def __init__(
        self, folder: Path, tasks: Sequence[Task], trials: int = 1, source: str = ""
    ) -> None:
        self.folder, self.tasks, self.trials = folder, tasks, trials
        self.source = source or f"bundled:{tasks[0].domain}/test"
        self.records: list[Record] = []
        self.head = FIRST
        self._blobs: dict[str, bytes] = {}

    def add(self, entrant: Entrant) -> str:
        """Accept an entry and return its digest."""
        source = random.Random(f"entry/{entrant.name}")
        cells = [
            self._cell(entrant, task, trial, source)
            for task in sorted(self.tasks, key=lambda task: task.id)
            for trial in range(self.trials)
        ]
        digest = self._bundle(entrant, [trajectory for trajectory, _ in cells])
        receipt = self._verified(entrant, digest, [score for _, score in cells])
        self.decide(
            "accepted",
            digest,
            receipt=receipt,
            reference_line=entrant.line,
            reruns=entrant.reruns,
        )
        return digest

    def decide(self, decision: str, bundle: str, **fields: object) -> None:
        """Append a record to the log."""
        record = msgspec.convert(
            {
                "number": len(self.records) + 1,
                "previous": self.head,
                "time": f"2026-0{1 + len(self.records) % 9}-14T09:30:00Z",
                "decision": decision,
                "bundle": bundle,
                **fields,
            },
            Record,
        )
        line = canonical(record)
        self.head = sha256(line)
        self.records.append(record)
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / LOG).open("ab") as log:
            log.write(line + b"\n")

    def _cell(
        self, entrant: Entrant, task: Task, trial: int, source: random.Random
    ) -> tuple[Trajectory, CellScore]:
        share = min(1.0, max(0.0, source.gauss(entrant.skill + 0.25, 0.35)))
        value = round(share, 1) if task.domain == "backend" else round(0.5 + share / 2, 4)
        turns = [
            Turn(raw=said, said=said, human=text(source, 18), agent_usage=self._usage(entrant))
            for said in (f"{entrant.said}{text(source, 30)}" for _ in range(source.randint(1, 6)))
        ]
        answer = entrant.answer or (
            program(source, 9)
            if task.domain == "backend"
            else f"<html><p>{text(source, 9)}</p></html>"
        )
        turns.append(
            Turn(
                raw=self._words(f"I WANT TO ANSWER:{answer}"),
                said="",
                agent_usage=self._usage(entrant),
            )
        )
        success = value == 1 if get_domain(task.domain).success else None
        score = CellScore(
            task_id=task.id,
            trial=trial,
            value=value,
            success=success,
            turns=len(turns),
            answered=True,
            agent_words=30 * len(turns),
            human_words=18 * (len(turns) - 1),
            agent_tokens=900 * len(turns) if entrant.tokens else None,
            by_turn=tuple(value * (n + 1 >= len(turns)) for n in range(10)),
        )
        trajectory = Trajectory(
            task_id=task.id,
            task_hash=task.hash,
            trial=trial,
            seed=1,
            request=task.request,
            turns=tuple(turns),
            answer=self._words(answer),
            ended_by="answer",
        )
        return trajectory, score

    def _words(self, words: str) -> Words:
        content = words.encode()
        if len(content) <= LONG:
            return words
        self._blobs[sha256(content)] = content
        return Blob(sha256(content))

    def _usage(self, entrant: Entrant) -> Usage | None:
        return (
            Usage(prompt_tokens=840, completion_tokens=60, requests=1) if entrant.tokens else None
        )

    def _bundle(self, entrant: Entrant, trajectories: Sequence[Trajectory]) -> str:
        files = {
            SUBMISSION: canonical(_submission(entrant)),
            LOCK: canonical(self._lock(entrant)),
            **{f"{BLOBS}/{digest}": content for digest, content in self._blobs.items()},
        }
        self._blobs = {}
        for number, start in enumerate(range(0, len(trajectories), PER_FILE)):
            lines = (canonical(each) + b"\n" for each in trajectories[start : start + PER_FILE])
            files[f"{TRAJECTORIES}/{number:03d}.jsonl"] = b"".join(lines)
        draft = self.folder / "draft"
        for name, content in files.items():
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            (draft / name).write_bytes(content)
        listed = manifest(draft, files)
        (draft / MANIFEST).write_bytes(listed)
        digest = sha256(listed)
        place = bundle_folder(self.folder, digest)
        place.parent.mkdir(parents=True)
        draft.rename(place)
        return digest

    def _lock(self, entrant: Entrant) -> Lock:
        return Lock(
            colbench="0.9.0",
            commit="0123456789abcdef",
            python="3.11.9",
            started="2026-01-02T03:04:05.678+00:00",
            config={"agent": f"openai:{entrant.model}", "human": "keyless", "max_turns": 10},
            pins={"colbench": "0.9.0"},
            digest="ab" * 32,
            sandbox="bubblewrap, Python 3.11",
            environment="",
            tasks=LockedTasks(
                source=self.source,
                count=len(self.tasks),
                hash=sha256("".join(task.hash for task in self.tasks).encode()),
                domain=self.tasks[0].domain,
                trials=self.trials,
            ),
        )

    def _verified(self, entrant: Entrant, digest: str, scores: Sequence[CellScore]) -> str:
        lines = b"".join(canonical(score) + b"\n" for score in scores)
        summary = canonical(self._summary(scores))
        receipt = canonical(
            Receipt(
                bundle=digest,
                colbench="0.9.0",
                tasks="cd" * 32,
                scorer="unit-tests/default/2",
                level="V1",
                findings=entrant.findings,
                replayed=0,
                scores=sha256(lines),
                summary=sha256(summary),
            )
        )
        place = verified_folder(self.folder, digest, sha256(receipt))
        place.mkdir(parents=True)
        for name, content in ((SCORES, lines), (SUMMARY, summary), (RECEIPT, receipt)):
            (place / name).write_bytes(content)
        return sha256(receipt)

    def _summary(self, scores: Sequence[CellScore]) -> Summary:
        solvable = get_domain(self.tasks[0].domain).success is not None
        success = _estimate([float(bool(score.success)) for score in scores])
        return Summary(
            domain=self.tasks[0].domain,
            tasks=len(self.tasks),
            trials=self.trials,
            value=_estimate([score.value for score in scores]),
            success=success if solvable else None,
            pass_k=tuple(success.mean**k for k in range(1, self.trials + 1)) if solvable else (),
            turns=_estimate([float(score.turns) for score in scores]),
            agent_words=_estimate([float(score.agent_words) for score in scores]),
            human_words=_estimate([float(score.human_words) for score in scores]),
            answered=1.0,
            success_by_turn=tuple(
                sum(score.by_turn[n] == 1 if solvable else score.by_turn[n] for score in scores)
                / len(scores)
                for n in range(10)
            ),
            undisclosed=0.031 if solvable else None,
        )


def _estimate(values: Sequence[float]) -> Estimate:
    mean = sum(values) / len(values)
    spread = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    half = 1.96 * spread / len(values) ** 0.5
    return Estimate(mean=round(mean, 6), low=round(mean - half, 6), high=round(mean + half, 6))


def _submission(entrant: Entrant) -> Submission:
    return Submission(
        name=entrant.name,
        organization=entrant.organization,
        authors=("A. Author", "B. Author"),
        contact="a@example.org",
        track="standard",
        description=entrant.description,
        link=entrant.link,
        models=(Model(name=entrant.model, open_weights=True, license="Apache-2.0"),),
        disclosures=Disclosures(
            trained_on_colbench=entrant.trained,
            training_notes=entrant.notes,
            human_in_the_loop=False,
            tools="none",
        ),
    )


LINES = (("blank", -0.3), ("guesser", 0.05), ("interviewer", 0.5))


def make_store(folder: Path, entries: int, tasks: Sequence[Task], trials: int = 1) -> Store:
    """Make a store with a number of ranked entries and three reference lines."""
    store = Store(folder, tasks, trials)
    for name, skill in LINES:
        store.add(
            Entrant(
                name=name,
                skill=skill,
                organization="ColBench",
                line=True,
                model="none",
                tokens=False,
            )
        )
    source = random.Random("entries")
    for number in range(entries):
        flag = Finding(
            rule="disclosure.high",
            severity="flag",
            file="",
            message="Answers knew 31% of the facts before.",
        )
        entrant = Entrant(
            name=f"System {number + 1:03d} {source.choice(WORDS)} {source.choice(('8B', '70B', 'large'))}",
            skill=source.uniform(0.0, 0.6),
            organization=source.choice(("University of Example", "Example Labs", "An Institute")),
            findings=(flag,) if number % 9 == 4 else (),
            trained=number % 5 == 2,
            tokens=number % 4 != 3,
            link="https://example.org",
        )
        store.add(entrant)
    return store
