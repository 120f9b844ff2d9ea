"""The benchmarks as data: registrations, records, the page built from them, and which changes count as moved."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import page
import pytest
import records
import run
import usage
from bench import Benchmark
from msgspec.structs import replace
from records import Goal, Quantity, Ratio, moved, read_book, summarize, write_book

HERE = Path(__file__).parent
BUSY = "import time\nwhile time.process_time() < 0.7: pass\ntime.sleep(60)"
KNOWN = run.load()
BOOK = read_book()
RECORDED = [
    pytest.param(variant, name, id=f"{variant}-{name}")
    for variant in ("full", "quick")
    for name in BOOK.of(variant)
]
QUICK = [name for name, each in KNOWN.items() if each.quick is not None]


def test_the_page_is_up_to_date_with_the_records_and_the_template():
    built = page.build(BOOK, page.TEMPLATE.read_text("utf-8"))
    assert page.PAGE.read_text("utf-8") == built, "run `python tests/benchmarks/run.py --page`"


def test_every_script_registers_one_benchmark_under_its_name():
    scripts = {path.stem for path in HERE.glob("bench_*.py")}
    assert {f"bench_{name.replace('-', '_')}" for name in KNOWN} == scripts
    assert all(each.file.stem == f"bench_{each.name.replace('-', '_')}" for each in KNOWN.values())


def test_the_page_shows_every_benchmark():
    shown = re.findall(r'results\("([\w-]+)"\)', page.TEMPLATE.read_text("utf-8"))
    assert sorted(shown) == list(KNOWN)


def test_a_page_with_an_unrecorded_number_is_not_built():
    with pytest.raises(LookupError, match="not recorded: matching, no such figure"):
        page.build(BOOK, '{{ figure("matching", "no such figure") }}')


@pytest.mark.parametrize(("variant", "name"), RECORDED)
def test_records_match_the_declarations_of_their_benchmarks(variant, name):
    record = BOOK.of(variant)[name]
    declared = {ratio.name: ratio for ratio in KNOWN[name].ratios}
    assert record.arguments == ("" if variant == "full" else KNOWN[name].quick)
    assert record.ratios.keys() <= declared.keys()
    for label, found in record.ratios.items():
        ratio = declared[label]
        assert (found.better, found.unit) == (ratio.better, "x")
        assert found.wanted == (ratio.wanted if variant == "full" else None)
        assert {ratio.over, ratio.under} <= record.figures.keys()


@pytest.mark.parametrize(("variant", "name"), RECORDED)
def test_a_record_has_five_rounds_and_does_not_identify_the_machine(variant, name):
    record = BOOK.of(variant)[name]
    assert all(found.rounds >= 5 for found in record.ratios.values())
    text = msgspec.json.encode(record.machine).decode()
    assert socket.gethostname() not in text
    assert "/" not in text


def test_unknown_fields_and_impossible_spreads_are_refused(tmp_path):
    file = tmp_path / "benchmarks.json"
    file.write_text('{"full": {}, "fast": {}}')
    with pytest.raises(msgspec.ValidationError, match="fast"):
        read_book(file)
    found = {"median": 3.0, "low": 1.0, "high": 2.0, "rounds": 5, "unit": "x"}
    with pytest.raises(msgspec.ValidationError, match="median"):
        msgspec.convert(found, records.Measured)


def scaled(record, factor):
    """Return a record with all ratios multiplied by a factor."""
    ratios = {
        name: replace(
            each, median=each.median * factor, low=each.low * factor, high=each.high * factor
        )
        for name, each in record.ratios.items()
    }
    return replace(record, ratios=ratios)


@pytest.mark.parametrize(("variant", "name"), RECORDED)
def test_a_record_has_not_moved_compared_with_itself(variant, name):
    record = BOOK.of(variant)[name]
    assert moved(record, record) == []


def test_times_that_are_three_times_as_long_have_moved_and_are_worse():
    record = BOOK.full["matching"]
    moves = moved(record, scaled(record, 3))
    assert {each.name for each in moves} == record.ratios.keys()
    assert all(each.worse for each in moves)
    assert not any(each.worse for each in moved(scaled(record, 3), record))


def test_a_falling_rate_is_worse_and_a_rising_rate_is_not():
    record = BOOK.quick["sandbox"]
    assert all(each.better == "higher" for each in record.ratios.values())
    assert all(each.worse for each in moved(record, scaled(record, 1 / 5)))
    assert not any(each.worse for each in moved(record, scaled(record, 5)))
    assert len(moved(record, scaled(record, 5))) == len(record.ratios)


def test_rounds_that_overlap_with_the_recorded_ones_have_not_moved():
    record = BOOK.full["matching"]
    wide = {name: replace(each, high=2 * each.high) for name, each in record.ratios.items()}
    assert moved(replace(record, ratios=wide), scaled(record, 1.9)) == []


def test_a_ratio_that_is_a_tenth_higher_in_all_rounds_has_not_moved():
    record = BOOK.full["matching"]
    assert moved(record, scaled(record, 1.1)) == []


def test_records_with_different_arguments_are_not_compared():
    record = BOOK.full["matching"]
    assert moved(record, replace(scaled(record, 3), arguments="--tasks 5")) == []


ROUNDS = [
    {"ours: wall": Quantity(ours, "s"), "theirs: wall": Quantity(theirs, "s")}
    for ours, theirs in ((1.0, 4.0), (2.0, 6.0), (1.0, 5.0))
]
TWICE = Ratio("theirs to ours", "theirs: wall", "ours: wall", "higher", wanted=4.5)


def test_a_ratio_is_the_median_of_the_ratios_of_the_rounds():
    ratios, figures = summarize(ROUNDS, [TWICE], [Goal("ours: wall", wanted=1.5)])
    found = ratios["theirs to ours"]
    assert (found.median, found.low, found.high, found.rounds) == (4.0, 3.0, 5.0, 3)
    assert not found.reached
    assert figures["ours: wall"].median == 1.0
    assert figures["ours: wall"].reached
    assert figures["theirs: wall"].wanted is None


def test_rounds_without_one_of_the_sides_have_no_ratio():
    alone = [{"ours: wall": Quantity(1.0, "s")}]
    assert summarize(alone, [TWICE], [])[0] == {}
    assert summarize([*ROUNDS, *alone], [TWICE], [])[0]["theirs to ours"].rounds == 3


def test_a_ratio_of_quantities_with_different_units_raises_an_error():
    rounds = [{"ours: wall": Quantity(1.0, "s"), "theirs: wall": Quantity(1.0, "ms")}]
    with pytest.raises(ValueError, match="different units"):
        summarize(rounds, [TWICE], [])


SCRIPT = """\
from bench import benchmark, main
from records import Quantity, Ratio

@benchmark("{name}", ratios=[Ratio("a to b", "a", "b")], quick="--rounds 2")
def measure(given):
    for number in range(given.rounds):
        yield {{"a": Quantity(number + 1.0, "s"), "b": Quantity({divisor}, "s")}}

if __name__ == "__main__":
    main(measure)
"""


@pytest.fixture
def make_benchmark(tmp_path, monkeypatch):
    """Return a function that makes a benchmark with its own script."""
    monkeypatch.setenv("PYTHONPATH", f"{HERE}:{HERE.parents[1]}")

    def make(name: str, *, divisor: float = 2.0, needs: str = "") -> Benchmark:
        file = tmp_path / f"bench_{name}.py"
        file.write_text(SCRIPT.format(name=name, divisor=divisor))
        return Benchmark(
            name=name,
            measure=lambda given: iter(()),
            ratios=(),
            goals=(),
            options=lambda parser: None,
            rounds=5,
            quick="--rounds 2",
            needs=lambda given: needs,
            file=file,
        )

    return make


def test_cpu_time_of_other_programs_is_counted_without_that_of_children():
    busy = shlex.join([sys.executable, "-c", BUSY])
    detached = int(subprocess.check_output(["sh", "-c", f"{busy} > /dev/null & echo $!"]))
    with subprocess.Popen(shlex.split(busy)) as own:
        try:
            until = time.monotonic() + 60
            while usage.seconds_of([detached]) < 0.5 and time.monotonic() < until:
                time.sleep(0.05)
            others = usage.others_seconds()
            assert others[detached] >= 0.5
            assert own.pid not in others
        finally:
            own.kill()
            os.kill(detached, signal.SIGKILL)


def test_measurements_before_a_crash_are_recorded(make_benchmark, tmp_path):
    file = tmp_path / "benchmarks.json"
    runs = run.Runs(file)
    runs.full([make_benchmark("first"), make_benchmark("crashing", divisor=0.0)])
    assert runs.crashed == ["crashing", "crashing"]
    book = read_book(file)
    assert list(book.full) == list(book.quick) == ["first"]
    assert book.full["first"].ratios["a to b"].rounds == 5
    assert book.quick["first"].ratios["a to b"].median == 0.75


def test_a_skipped_benchmark_keeps_its_record(make_benchmark, tmp_path, capsys):
    file = tmp_path / "benchmarks.json"
    write_book(records.Book(full={"first": BOOK.full["matching"]}), file)
    run.Runs(file).full([make_benchmark("first", needs="there is no GPU")])
    assert read_book(file).full["first"] == BOOK.full["matching"]
    assert "there is no GPU" in capsys.readouterr().out


def test_quick_benchmarks_write_no_file_and_do_not_start_after_the_deadline(
    make_benchmark, tmp_path, capsys
):
    file = tmp_path / "benchmarks.json"
    runs = run.Runs(file)
    runs.quick([make_benchmark("first")], until=time.monotonic() + 60)
    runs.quick([make_benchmark("second")], until=time.monotonic() - 1)
    assert list(runs.found.quick) == ["first"]
    assert runs.crashed == []
    assert not file.exists()
    assert "second: not run, the time is up" in capsys.readouterr().out


@pytest.mark.weekly
@pytest.mark.parametrize("name", QUICK)
def test_the_quick_benchmarks_run(name):
    each = KNOWN[name]
    arguments = [*shlex.split(each.quick), "--rounds", "1"]
    if missing := each.needs(each.parse(arguments)):
        pytest.skip(missing)
    subprocess.run([sys.executable, each.file, *arguments], check=True)
