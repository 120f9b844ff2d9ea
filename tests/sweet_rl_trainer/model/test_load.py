"""Loading of models by name, and the errors for models that cannot be loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("peft", reason="peft is not installed (colbench[train])")

from safetensors.torch import load_file

from colbench.errors import UserError
from sweet_rl_trainer.model.checkpoint import find_local, load_tokenizer, readable, resolve
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.model.load import enough_memory, load_model, load_trained
from sweet_rl_trainer.model.lora import adapt
from sweet_rl_trainer.settings import LoraSettings

torch.set_num_threads(1)

IDS = torch.arange(24).reshape(2, 12) * 5 % 67


def logits(model):
    with torch.no_grad():
        return model(IDS).logits


def merged(model, folder):
    """Return the model with W + alpha / rank · B A in place of each W, computed here."""
    adapters = load_file(folder / "adapter_model.safetensors")
    for name, lowered in adapters.items():
        if "lora_A" in name:
            raised = adapters[name.replace("lora_A", "lora_B")]
            weight = name.removeprefix("base_model.model.").replace(".lora_A", "")
            model.get_parameter(weight).data += 32 / 4 * raised @ lowered
    return model.eval()


@pytest.fixture
def base(make_model, tmp_path):
    make_model().save_pretrained(tmp_path / "base")
    return tmp_path / "base"


@pytest.fixture
def adapters(make_model, tmp_path):
    """Return nonzero adapters of the base, in a run's folder."""
    torch.manual_seed(1)
    adapted = adapt(make_model(), LoraSettings(rank=4))
    for name, value in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(value, std=0.1)
    adapted.save_pretrained(tmp_path / "run" / "model")
    return tmp_path / "run" / "model"


def test_a_folder_resolves_to_itself(tmp_path):
    assert resolve(str(tmp_path)) == tmp_path


@pytest.mark.parametrize("name", ["/nowhere/at/all", "a/b/c", "~/no such model", "a/b@", ""])
def test_a_name_that_is_neither_a_folder_nor_a_hub_id_is_refused(name):
    with pytest.raises(UserError, match="neither an existing folder nor a Hub ID"):
        resolve(name)


@pytest.mark.parametrize("name", ["./nothere", "../nothere", "a--b", "a/b."])
def test_a_path_in_the_form_of_a_hub_id_is_refused(name):
    assert find_local(name) is None
    with pytest.raises(UserError, match="neither an existing folder nor a Hub ID"):
        resolve(name)


def resolved(name, folder, **environment):
    """Return what `resolve` prints in a new process with this cache."""
    code = (
        "import sys; from colbench.errors import UserError; from sweet_rl_trainer.model.checkpoint import resolve\n"
        "try: print(resolve(sys.argv[1]))\n"
        "except UserError as error: print('UserError:', error)"
    )
    path = os.pathsep.join(filter(None, sys.path))
    clean = {"PYTHONPATH": path, "HF_HUB_CACHE": str(folder), "HF_HUB_OFFLINE": "1", **environment}
    command = [sys.executable, "-c", code, name]
    done = subprocess.run(
        command, env={**os.environ, **clean}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("owner/name", "`hf download owner/name`"),
        ("owner/name@v1", "`hf download owner/name --revision v1`"),
    ],
)
def test_an_uncached_model_offline_is_an_error_with_the_download_command(name, command, tmp_path):
    said = resolved(name, tmp_path)
    assert said.startswith("UserError: model owner/name: not in the cache")
    assert "HF_HUB_OFFLINE is 1" in said
    assert command in said


def test_a_cached_model_is_found_offline_at_its_revision(base, tmp_path):
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "cache" / "models--owner--name"
    (repository / "snapshots").mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "v1").write_text(commit)
    base.rename(repository / "snapshots" / commit)
    for name in ("owner/name@v1", f"owner/name@{commit}"):
        found = resolved(name, tmp_path / "cache")
        assert found == str(repository / "snapshots" / commit)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_a_model_is_loaded_as_it_was_saved(make_model, tmp_path, kind, dtype):
    model = make_model(kind)
    model.save_pretrained(tmp_path)
    found = load_model(tmp_path, dtype=dtype)
    assert not found.training
    assert found.config._attn_implementation == "sdpa"
    assert {value.dtype for value in found.parameters()} == {getattr(torch, dtype)}
    for name, value in model.named_parameters():
        assert torch.equal(found.get_parameter(name), value.to(getattr(torch, dtype))), name


def test_adapters_are_loaded_on_their_base(base, adapters, make_model):
    expected = logits(merged(make_model(), adapters))
    assert not torch.allclose(expected, logits(load_model(base)), atol=0.1)
    torch.testing.assert_close(logits(load_trained(adapters, base)), expected, rtol=1e-5, atol=1e-5)
    narrow = load_trained(adapters, base, dtype="bfloat16")
    kinds = {("lora_" in name, value.dtype) for name, value in narrow.named_parameters()}
    assert kinds == {(True, torch.float32), (False, torch.bfloat16)}


def test_a_whole_trained_model_loads_without_its_base(base, tmp_path):
    torch.testing.assert_close(
        logits(load_trained(base, tmp_path / "nowhere")), logits(load_model(base))
    )


def test_adapters_of_another_base_are_refused(base, adapters, make_model, tmp_path):
    make_model("qwen2").save_pretrained(tmp_path / "other")
    record = {"origin": model_digest(tmp_path / "other"), "settings": {}}
    (adapters.parent / "run.json").write_text(json.dumps(record))
    with pytest.raises(
        UserError, match=r"run/model was trained from a base model other than .*base;"
    ):
        load_trained(adapters, base)


def edit(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_folders_without_a_whole_model_are_refused(base, adapters, tmp_path):
    with pytest.raises(UserError, match="contains adapters, not a whole model; use a folder"):
        load_model(adapters)
    with pytest.raises(UserError, match=r"config\.json is missing"):
        load_model(tmp_path)
    (base / "model.safetensors").unlink()
    with pytest.raises(UserError, match="base: the model cannot be loaded: .*safetensors"):
        load_model(base)


def test_damaged_weights_are_an_error(base):
    (base / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(UserError, match="base: the model cannot be loaded"):
        load_model(base)


def test_an_unknown_architecture_is_an_error(base):
    edit(base, model_type="perceptron")
    with pytest.raises(UserError, match="the model cannot be loaded: .*perceptron"):
        load_model(base)


@pytest.mark.parametrize(
    ("error", "said"), [(KeyError("llama5"), "KeyError: 'llama5'"), (ValueError(), "ValueError")]
)
def test_an_error_without_a_sentence_is_named_by_its_type(error, said, tmp_path):
    with pytest.raises(UserError, match=f"the model cannot be loaded: {said}$"):
        with readable(tmp_path, "model"):
            raise error


def test_missing_weights_are_an_error(base):
    edit(base, num_hidden_layers=3)
    with pytest.raises(
        UserError,
        match=r"these weights are missing or have the wrong shape:.* model\.layers\.2\..* and \d+ more",
    ):
        load_model(base)


def test_weights_of_another_shape_are_an_error(base):
    edit(base, vocab_size=68)
    with pytest.raises(
        UserError, match=r"have the wrong shape: lm_head\.weight, model\.embed_tokens\.weight$"
    ):
        load_model(base)


def test_a_folder_without_a_tokenizer_is_an_error(base):
    with pytest.raises(UserError, match="base: the tokenizer cannot be loaded"):
        load_tokenizer(base)


def test_insufficient_memory_is_a_user_error_that_names_the_model():
    with pytest.raises(UserError, match=r"model m: not enough memory \(.*allocate memory.*\)\. "):
        with enough_memory("model m"):
            torch.empty(2**60, dtype=torch.uint8)


def test_other_torch_errors_pass_unchanged():
    with pytest.raises(RuntimeError, match="size"):
        with enough_memory("model m"):
            torch.zeros(2) + torch.zeros(3)
