from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from threading import Thread
from typing import NamedTuple

import pytest

from colbench.errors import DataError, UserError
from colbench.run_folder import hold

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.model.digest import SETTLED, model_digest
from sweet_rl_trainer.model.packing import lay_out
from sweet_rl_trainer.train.loss import pair_losses, row_logprobs, scores
from sweet_rl_trainer.train.reference_cache import ReferenceCache, content_key

torch.set_num_threads(1)


class Sequence(NamedTuple):
    ids: list[int]
    token_weights: list[float]
    pictures: tuple[str, ...] = ()


def sequence(number, length=6):
    return Sequence(
        [(number * 5 + 3 * place) % 67 for place in range(length)],
        [0.0, 0.0, *(0.5 + place for place in range(length - 2))],
    )


PAIRS = [[[sequence(n, 5 + n)], [sequence(n + 10), sequence(n + 20)]] for n in range(4)]


def fake_logprobs(row):
    """Return log-probabilities that identify their tokens, and count the rows."""
    fake_logprobs.rows += 1
    return -row.targets - row.ids[row.predictors] / 100


@pytest.fixture(autouse=True)
def reset_row_count():
    fake_logprobs.rows = 0


def open_cache(folder, **changes):
    return ReferenceCache(folder, **{"model": "m", "precision": "float32", **changes})


def expected_logprobs(parts):
    return [
        -part.ids[place] - part.ids[place - 1] / 100
        for part in parts
        for place in range(2, len(part.ids))
    ]


@pytest.mark.parametrize("share", [False, True])
def test_the_cache_keeps_one_weighted_sum_for_each_trajectory(tmp_path, share):
    cache = open_cache(tmp_path)
    cache.fill(PAIRS, fake_logprobs, budget=40, share=share)
    for parts in (parts for pair in PAIRS for parts in pair):
        weights = [weight for part in parts for weight in part.token_weights if weight]
        expected = sum(w * v for w, v in zip(weights, expected_logprobs(parts), strict=True))
        assert cache.get(parts).tolist() == pytest.approx([expected])


def test_another_cache_in_the_folder_does_not_recompute_known_values(tmp_path):
    open_cache(tmp_path).fill(PAIRS[:3], fake_logprobs, budget=40)
    rows = fake_logprobs.rows
    assert rows > 1
    later = open_cache(tmp_path)
    later.fill(PAIRS[:3], fake_logprobs, budget=40)
    assert fake_logprobs.rows == rows
    later.fill(PAIRS, fake_logprobs, budget=1000)
    assert fake_logprobs.rows == rows + 1


def test_a_trajectory_in_two_pairs_is_computed_once(tmp_path):
    computed = []

    def count(row):
        computed.append(row.count)
        return fake_logprobs(row)

    best = [sequence(1)]
    open_cache(tmp_path).fill([[best, [sequence(2)]], [best, [sequence(3)]]], count, budget=1000)
    assert computed == [3]


@pytest.mark.parametrize("changes", [{"model": "other"}, {"precision": "bfloat16"}])
def test_another_model_or_precision_does_not_find_the_values(tmp_path, changes):
    open_cache(tmp_path).fill(PAIRS, fake_logprobs, budget=40)
    with pytest.raises(UserError, match="fill the cache first"):
        open_cache(tmp_path, **changes).get(PAIRS[0][0])


def test_the_key_depends_on_kind_ids_weights_and_split_into_sequences():
    one = Sequence([1, 2, 3], [0, 0.5, 0])
    keys = [
        content_key([one], "sum"),
        content_key([one], "value"),
        content_key([one._replace(ids=[1, 2, 4])], "sum"),
        content_key([one._replace(token_weights=[0, 0.25, 0])], "sum"),
        content_key([one._replace(token_weights=[0, 0.5, 0.5])], "sum"),
        content_key([Sequence([1, 2], [0, 0.5]), Sequence([3], [0])], "sum"),
    ]
    assert len(set(keys)) == len(keys)


def test_an_incomplete_line_is_removed_and_recomputed(tmp_path):
    open_cache(tmp_path).fill(PAIRS, fake_logprobs, budget=40)
    (file,) = tmp_path.glob("*/*.jsonl")
    whole = file.read_bytes()
    file.write_bytes(whole[:-9])
    cache = open_cache(tmp_path)
    cache.fill(PAIRS, fake_logprobs, budget=40)
    assert sorted(file.read_bytes().splitlines()) == sorted(whole.splitlines())


def test_a_damaged_line_is_reported_with_its_number(tmp_path):
    open_cache(tmp_path).fill(PAIRS, fake_logprobs, budget=40)
    (file,) = tmp_path.glob("*/*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + b"{]\n" + lines[2])
    with pytest.raises(DataError, match=r"0\.jsonl:2: .*delete the file"):
        open_cache(tmp_path)


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import test_reference_cache as t
def until(row, left=[3]):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return t.fake_logprobs(row)
t.fake_logprobs.rows = 0
t.open_cache(Path({folder!r})).fill(t.PAIRS, until, budget=25)
"""


@pytest.mark.weekly
def test_values_computed_before_a_kill_are_kept(tmp_path):
    code = KILLED.format(tests=os.path.dirname(__file__), folder=str(tmp_path))
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode == -signal.SIGKILL
    whole = tmp_path / "whole"
    open_cache(whole).fill(PAIRS, fake_logprobs, budget=25)
    rows, fake_logprobs.rows = fake_logprobs.rows, 0
    resumed = open_cache(tmp_path)
    resumed.fill(PAIRS, fake_logprobs, budget=25)
    assert 0 < fake_logprobs.rows == rows - 2
    for parts in (parts for pair in PAIRS for parts in pair):
        assert torch.equal(resumed.get(parts), open_cache(whole).get(parts))


def test_each_writer_has_its_own_file_and_reads_all_files(tmp_path):
    one, other = open_cache(tmp_path), open_cache(tmp_path, writer=1)
    one.fill(PAIRS[:2], fake_logprobs, budget=40)
    other.fill(PAIRS[2:], fake_logprobs, budget=40)
    one.reload()
    assert all(torch.equal(one.get(p), open_cache(tmp_path).get(p)) for pair in PAIRS for p in pair)
    assert len(list(tmp_path.glob("*/*.jsonl"))) == 2


def test_a_second_writer_waits_and_does_not_recompute_known_values(tmp_path):
    open_cache(tmp_path).fill(PAIRS[:1], fake_logprobs, budget=40)
    (lock,) = tmp_path.glob("*/*.lock")
    rows = []

    def counted(row):
        rows.append(row)
        return fake_logprobs(row)

    late = open_cache(tmp_path)
    second = Thread(target=late.fill, args=(PAIRS, counted), kwargs={"budget": 40})
    with hold(lock, tmp_path):
        second.start()
        second.join(0.2)
        assert second.is_alive()
        assert not rows
    second.join()
    assert sum(row.count for row in rows) == 2 * len(PAIRS[1:])


@pytest.mark.parametrize(("kind", "name"), [("sum", "log-probabilities"), ("value", "values")])
def test_nonfinite_values_are_refused_and_not_kept(tmp_path, kind, name):
    cache = open_cache(tmp_path)
    with pytest.raises(UserError, match=rf"^the model's {name} of \d+ tokens are not finite"):
        cache.fill(
            PAIRS, lambda row: torch.full((len(row.targets),), torch.nan), kind=kind, budget=40
        )
    assert not any(file.read_bytes() for file in tmp_path.glob("*/*.jsonl"))


def test_the_digest_depends_on_configuration_and_weights_but_not_on_the_tokenizer(
    make_model, tmp_path
):
    model = make_model()
    model.save_pretrained(tmp_path / "a")
    model.save_pretrained(tmp_path / "b")
    (tmp_path / "b" / "tokenizer.json").write_text("{}")
    first = model_digest(tmp_path / "a")
    assert model_digest(tmp_path / "b") == first
    config = (tmp_path / "b" / "config.json").read_text()
    (tmp_path / "b" / "config.json").write_text(config.replace("256", "512"))
    assert model_digest(tmp_path / "b") != first
    (tmp_path / "b" / "config.json").write_text(config)
    assert model_digest(tmp_path / "b") == first
    with torch.no_grad():
        model.lm_head.weight[0, 0] += 1
    model.save_pretrained(tmp_path / "b")
    assert model_digest(tmp_path / "b") != first


@pytest.fixture(scope="module")
def opened():
    """Return the list of files that Python opens from now on, recorded by an audit hook."""
    files = []

    def record(event, arguments):
        if event == "open":
            files.append(os.path.basename(str(arguments[0])))

    sys.addaudithook(record)
    return files


def read_weights(opened):
    """Return how many of the opened files are weights, and forget them all."""
    count = opened.count("model.safetensors")
    opened.clear()
    return count


def test_the_digest_detects_changes_that_keep_size_and_modification_time(
    make_model, tmp_path, opened
):
    make_model().save_pretrained(tmp_path)
    folder, weights = tmp_path, tmp_path / "model.safetensors"
    first = model_digest(folder)
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)  # same size, immediately
    assert (second := model_digest(folder)) != first
    time.sleep(SETTLED + 0.1)
    assert model_digest(folder) == second
    opened.clear()
    assert model_digest(folder) == second
    assert not read_weights(opened)
    before = weights.stat()
    content[-1] ^= 1
    weights.write_bytes(content)
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))  # as `cp --preserve` does
    assert model_digest(folder) == first


def test_a_model_with_a_known_digest_is_not_read_again(make_model, tmp_path, opened):
    make_model().save_pretrained(tmp_path)
    time.sleep(SETTLED + 0.1)
    opened.clear()
    known = model_digest(tmp_path)
    assert read_weights(opened) == 1
    assert model_digest(tmp_path) == known
    assert not read_weights(opened)


def test_a_folder_without_weights_is_refused(make_model, tmp_path):
    make_model().config.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="is not a complete checkpoint"):
        model_digest(tmp_path)


@pytest.mark.parametrize("share", [False, True])
def test_a_model_scores_0_against_its_own_cached_reference(make_model, tmp_path, share):
    model = make_model("qwen2")
    cache = open_cache(tmp_path)
    cache.fill(PAIRS, lambda row: row_logprobs(model, model.config, row), budget=30)
    row = lay_out(PAIRS, share=share)
    reference = torch.cat([cache.get(parts) for pair in PAIRS for parts in pair])
    found = scores(row, row_logprobs(model, model.config, row), reference)
    sizes = row.sums(row.token_weights)
    assert (found.abs() <= 1e-5 * sizes).all()
    losses = pair_losses(found, torch.zeros(8), beta=0.1, likelihood_weight=0).losses
    torch.testing.assert_close(losses, torch.full((4,), 2.0).log(), rtol=0, atol=1e-5)
