"""The contents of a bundle: ambiguous JSON, unsorted dialogues, invalid blobs, and deceptive texts."""

from __future__ import annotations

import hashlib
import json
import re

import msgspec
import pytest

from colbench.cli import main
from colbench.errors import DataError
from colbench.rollout import read_rollouts
from colbench_leaderboard.bundle.confusables import prototypes
from colbench_leaderboard.bundle.files import open_file
from colbench_leaderboard.bundle.plain_text import look_alike, name_flaw
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.bundle.refused import Refused

OWED = b'{"completion_tokens":-5,"prompt_tokens":0,"requests":0}'
FIRST = "trajectories/000.jsonl"


def refusal(folder):
    """Return the refusal of a bundle that is read to its end."""
    with pytest.raises(Refused) as caught:
        read_all(folder)
    return caught.value


def read_all(folder):
    with read_bundle(folder) as bundle:
        return list(bundle.cells())


def changed(folder, name, change):
    path = folder / name
    path.write_bytes(change(path.read_bytes()))


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("name", "old", "new", "rule"),
    [
        ("lock.json", b'"seed":0', b'"seed":NaN', "json.number"),
        ("lock.json", b'"seed":0', b'"seed":Infinity', "json.number"),
        ("lock.json", b'"seed":0', b'"seed":-Infinity', "json.number"),
        ("lock.json", b'"seed":0', b'"seed":1e999', "json.number"),
        ("lock.json", b'"seed":0', b'"seed":' + b"9" * 5000, "json.number"),
        ("lock.json", b'"seed":0', b'"seed":1,"seed":0', "json.duplicate-key"),
        ("lock.json", b'"seed":0', b'"seed": 0', "json.canonical"),
        ("lock.json", b'"seed":0', b'"seed":0.00', "json.canonical"),
        ("lock.json", b'"agent_args":{}', b'"agent_args":{"a":' + b"[" * 30 + b"]" * 30 + b"}", "json.depth"),
        ("lock.json", b'"agent_args":{}', b'"agent_args":' + b"[" * 90_000 + b"]" * 90_000, "json.depth"),
        ("lock.json", b'"trials":2}}', b'"trials":2}} ', "json.canonical"),
        ("lock.json", b'"trials":2}}', b'"trials":2}}{}', "json.malformed"),
        ("lock.json", b'"trials":2}}', b'"trials":"2"}}', "schema.lock"),
        ("lock.json", b"colbench.bundle/1", b"colbench.bundle/2", "schema.version"),
        ("submission.json", b"Guesser", b"Gue\xffsser", "json.text"),
        ("submission.json", b"Guesser", b"Gue\\ud800sser", "schema.submission"),
        ("submission.json", b"Guesser", b"\\u0047uesser", "json.canonical"),
        ("submission.json", b"{", b"\xef\xbb\xbf{", "json.malformed"),
        ("submission.json", b'"open"', b'"closed"', "schema.submission"),
        ("submission.json", b'"license":', b'"extra":1,"license":', "schema.submission"),
        ("submission.json", b'"license":', b'"final_score":1,"license":', "submission.score"),
        ("submission.json", b'"tools":', b'"passRate":1,"tools":', "submission.score"),
        ("submission.json", b'"tools":"none"', b'"tools":""', "schema.submission"),
        (FIRST, b'"trial":0', b'"trial":NaN', "json.number"),
        (FIRST, b'"trial":0', b'"trial":-1', "schema.trajectory"),
        (FIRST, b'"trial":0', b'"trial":0,"trial":0', "json.duplicate-key"),
        (FIRST, b'"trial":0', b'"scores":{},"trial":0', "schema.trajectory"),
        (FIRST, b'"trial":0', b'"trial":9999999999999', "trajectories.number"),
        (FIRST, b'"ended_by":"answer"', b'"ended_by":"success"', "schema.trajectory"),
        (FIRST, b'"turns":[{', b'"turns":[{"agent_usage":' + OWED + b",", "schema.trajectory"),
        (FIRST, b'"task_id":', b' "task_id":', "json.canonical"),
        (FIRST, b"}\n{", b"}\n\n{", "json.malformed"),
        (FIRST, b"}\n{", b"} {", "json.malformed"),
    ],
)  # fmt: skip
def test_invalid_or_ambiguous_json_is_refused_with_its_rule_file_and_line(
    name, old, new, rule, packed, seal
):
    changed(packed, name, lambda content: content.replace(old, new, 1))
    found = refusal(seal(packed))
    assert (found.rule, found.file) == (rule, name)
    assert found.line == (None if name.endswith(".json") else (2 if b"\n\n" in new else 1))


@pytest.mark.parametrize("name", ["submission.json", FIRST])
def test_huge_json_is_refused_for_its_size(name, packed, seal):
    huge = b'{"name":"' + b"a" * (9 << 20) + b'"}\n'
    changed(packed, name, lambda content: huge)
    assert refusal(seal(packed)).rule in {"archive.size", "json.size"}


@pytest.mark.parametrize(
    ("change", "rule", "line"),
    [
        (lambda lines: lines[::-1], "trajectories.order", 2),
        (lambda lines: [lines[0], lines[0]], "trajectories.order", 2),
        (lambda lines: [], "trajectories.files", None),
        (lambda lines: lines * 200, "trajectories.order", 7),
    ],
)
def test_unsorted_duplicate_or_missing_dialogues_are_refused(change, rule, line, packed, seal):
    path = packed / FIRST
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(change(lines)))
    found = refusal(seal(packed))
    assert (found.rule, found.line) == (rule, line)


def test_a_last_line_without_a_line_break_is_refused(packed, seal):
    changed(packed, FIRST, lambda content: content[:-1])
    found = refusal(seal(packed))
    assert (found.rule, found.line) == ("json.size", 6)


def test_trajectory_files_with_gaps_or_too_few_lines_are_refused(packed, seal):
    lines = (packed / FIRST).read_bytes().splitlines(keepends=True)
    (packed / "trajectories" / "002.jsonl").write_bytes(b"".join(lines))
    assert refusal(seal(packed)).rule == "trajectories.files"
    (packed / "trajectories" / "002.jsonl").rename(packed / "trajectories" / "001.jsonl")
    found = refusal(seal(packed))
    assert (found.rule, found.file) == ("trajectories.files", FIRST)


def test_long_texts_become_blobs_and_are_read_back_unchanged(run_with_blob, packed_with_blob):
    (cell,) = read_all(packed_with_blob)
    (rollout,) = read_rollouts(run_with_blob / "rollouts.jsonl")
    assert [(t.raw, t.said, t.human) for t in cell.rollout.turns] == [
        (t.raw, t.said, t.human) for t in rollout.turns
    ]
    (blob,) = (packed_with_blob / "blobs").iterdir()
    assert blob.read_text() == rollout.turns[0].raw
    assert blob.name == hashlib.sha256(blob.read_bytes()).hexdigest()


def add_unused_blob(folder):
    name = hashlib.sha256(b"x" * 20_000).hexdigest()
    (folder / "blobs" / name).write_bytes(b"x" * 20_000)


def blob_with(content):
    """Return a function that replaces the content of the blob, and its name in the dialogue."""

    def change(folder):
        (old,) = (folder / "blobs").iterdir()
        old.unlink()
        name = hashlib.sha256(content).hexdigest()
        (folder / "blobs" / name).write_bytes(content)
        changed(folder, FIRST, lambda text: text.replace(old.name.encode(), name.encode()))

    return change


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (add_unused_blob, "blob.unused"),
        (lambda b: next((b / "blobs").iterdir()).unlink(), "blob.missing"),
        (lambda b: next((b / "blobs").iterdir()).write_text("y" * 20_000), "blob.digest"),
        (blob_with(b"short"), "words.short"),
        (blob_with(b"\xff" * 20_000), "blob.text"),
        (
            lambda b: changed(
                b,
                FIRST,
                lambda text: re.sub(rb'\{"blob":"\w+"\}', b'"' + b"z" * 20_000 + b'"', text),
            ),
            "words.long",
        ),
        (
            lambda b: changed(
                b, FIRST, lambda text: re.sub(rb'"blob":"\w+"', b'"blob":"../../x"', text)
            ),
            "schema.trajectory",
        ),
    ],
)
def test_invalid_blobs_and_misplaced_long_texts_are_refused(change, rule, packed_with_blob, seal):
    change(packed_with_blob)
    assert refusal(seal(packed_with_blob)).rule == rule


@pytest.mark.parametrize(
    ("key", "text", "rule"),
    [
        ("name", "Gu\u202eesser", "submission.name"),
        ("name", "Gue\u200bsser", "submission.name"),
        ("name", "Gu\u0435sser", "submission.name"),
        ("name", "Guesser\u00a0", "submission.name"),
        ("name", " Guesser", "submission.name"),
        ("name", "Gue\U000e0041sser", "submission.name"),
        ("name", "G\u0300\u0301\u0302\u0303uesser", "submission.name"),
        ("name", "Nilsso\u0308n", "submission.name"),
        ("name", "Gue\u3164sser", "submission.name"),
        ("name", "Guesser\u2800", "submission.name"),
        ("name", "Gue\u034fsser", "submission.name"),
        ("name", "Guesser\ufe0f", "submission.name"),
        ("name", "Guesse\ua4e2", "submission.name"),
        ("name", "Gues\nser", "schema.submission"),
        ("name", "", "schema.submission"),
        ("name", "x" * 121, "schema.submission"),
        ("contact", "a\u2028b", "submission.name"),
        ("description", "fine \u202e enif", "submission.text"),
        ("description", "bell \u0007", "submission.text"),
        ("description", "fine\uffa0", "submission.text"),
        ("description", "x" * 2001, "schema.submission"),
        ("link", "javascript:alert(1)", "submission.link"),
        ("link", "http://example.org", "submission.link"),
        ("link", "https://me:secret@example.org/", "submission.link"),
        ("link", 'https://example.org/"onmouseover="alert(1)', "submission.link"),
        ("link", "https://ex\u0430mple.org/", "submission.link"),
        ("link", "https://example.org/\u202egro.elpmaxe", "submission.link"),
    ],
)  # fmt: skip
def test_deceptive_or_malformed_submission_texts_are_refused(key, text, rule, packed, seal):
    values = json.loads((packed / "submission.json").read_text())
    (packed / "submission.json").write_bytes(canonical({**values, key: text}))
    found = refusal(seal(packed))
    assert (found.rule, found.file) == (rule, "submission.json")
    assert str(found).isprintable()


@pytest.mark.parametrize(
    "name",
    [
        "ColBench 2 (8B)",
        "Система 7",
        "系统",
        "Ω mega",
        "L'été – v1.2",
        "Nilssön",
        "نظام",
        "agent/α",
    ],
)
def test_names_in_any_script_are_accepted(name):
    assert name_flaw(name) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GPT-5  Agent", "ｇｐｔ５ agent"),
        ("COPA", "\u0421\u041e\u0420\u0410"),  # all of it Cyrillic
        ("Anna", "\u0391\u039d\u039d\u0391"),  # Greek
        ("o1", "0l"),
        ("Llama I", "LLAMA 1"),
        ("Thea", "Théa"),
        ("System 1.0", "System 1-0"),
        ("LISA", "\ua4e1\ua4f2\ua4e2\ua4ee"),  # Lisu
        ("Llama", "Ll\u0251m\u0251"),  # the Latin letter alpha
        ("agent", "\U0001d41a\U0001d420\U0001d41e\U0001d427\U0001d42d"),  # mathematical
        ("PHOTO", "\u146d\u041d\u041e\u0422\u041e"),  # a Canadian syllable and Cyrillic
        ("modern", "rnodem"),
        ("ЗЕБРА", "зебра"),
        ("straße", "STRASSE"),
        ("口", "ロ"),  # a Chinese character and a Japanese syllable
    ],
)
def test_similar_looking_names_are_detected(one, other):
    assert look_alike(one, other)
    assert look_alike(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Agent A", "Agent B"),
        ("Agent 1", "Agent 11"),
        ("System 1.0", "System 10"),
        ("系统", "系統"),
        ("की", "का"),
        ("+", "-"),
        ("Nova", "vova"),
        ("نظام", "نظم"),
        ("서울", "부산"),
        ("Система 7", "Система 8"),
    ],
)
def test_distinguishable_names_are_not_treated_as_similar(one, other):
    assert not look_alike(one, other)


def test_letters_look_like_their_prototypes_in_unicodes_table():
    table = prototypes()
    assert len(table) == 6712
    letters = {code: text for code, text in table.items() if chr(code).isalpha() and text.isalpha()}
    assert len(letters) > 3000
    unlike = {c: t for c, t in letters.items() if not look_alike(f"x{chr(c)}x", f"x{t}x")}
    assert unlike == {}


def test_html_in_a_description_is_kept_as_plain_text(packed):
    with read_bundle(packed) as bundle:
        assert bundle.submission.description == "Guesses. <script>alert(1)</script>"


def test_a_refusal_is_one_line_on_stderr_with_exit_code_2(packed, repository, capsys):
    changed(packed, "submission.json", lambda content: content.replace(b"G", b"\x1b", 1))
    assert main(["submit", "push", str(packed), "--to", str(repository.folder)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("colbench: submission.json: ")
    assert "(manifest.digest)" in said
    assert said.count("\n") == 1


def test_an_unknown_key_is_escaped_and_shortened_in_the_refusal(packed, seal):
    key = b"x\\n::error::\\u001b[2J" + b"y" * 5000
    changed(
        packed,
        "submission.json",
        lambda c: c.replace(b'"license"', b'"' + key + b'":1,"license"', 1),
    )
    said = str(refusal(seal(packed)))
    assert "\n" not in said
    assert "\x1b" not in said
    assert len(said) < 800


def test_a_bundle_contains_no_hidden_tests_scores_or_times(run, packed):
    text = b"".join(path.read_bytes() for path in packed.rglob("*") if path.is_file()).decode()
    assert '"said"' in text
    for word in ("scores", "success", "reference", "ground_truth", "test_cases", "seconds", "leak"):
        assert f'"{word}"' not in text
    for rollout in read_rollouts(run / "rollouts.jsonl"):
        for check in rollout.scores["default"].checks:
            assert check.call not in text
    assert msgspec.json.decode((packed / "lock.json").read_bytes())["tasks"]["count"] == 3


def test_a_file_that_cannot_be_read_is_no_reason_to_refuse_the_bundle(tmp_path):
    with pytest.raises(DataError, match=r"lock\.json: cannot be read: No such file") as caught:
        open_file(tmp_path, "lock.json")
    assert not isinstance(caught.value, Refused)
    (tmp_path / "lock.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match=r"it is a symbolic link \(archive\.link\)"):
        open_file(tmp_path, "lock.json")
