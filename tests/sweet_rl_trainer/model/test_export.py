"""The exported model is the trained model, and its checkpoint is complete."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("peft", reason="peft is not installed (colbench[train])")

from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from colbench.errors import UserError
from sweet_rl_trainer.model.export import export
from sweet_rl_trainer.model.lora import adapt
from sweet_rl_trainer.settings import LoraSettings

torch.set_num_threads(1)

IDS = torch.arange(24).reshape(2, 12) * 5 % 67
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
SAMPLING = {"eos_token_id": [2, 3], "temperature": 0.6, "do_sample": False}
"""Generation settings that transformers itself would refuse to save."""


def tokenizer():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())[:67]
    words = Tokenizer(models.BPE(vocab={c: n for n, c in enumerate(alphabet)}, merges=[]))
    made = PreTrainedTokenizerFast(tokenizer_object=words, eos_token=alphabet[2])
    made.chat_template = TEMPLATE
    return made


@pytest.fixture
def base(make_model, tmp_path):
    folder = tmp_path / "base"
    make_model().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    (folder / "generation_config.json").write_text(json.dumps(SAMPLING))
    return folder


@pytest.fixture
def adapters(make_model, tmp_path):
    adapted = adapt(make_model(), LoraSettings(rank=4))
    torch.manual_seed(1)
    for name, value in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(value, std=0.1)
    adapted.save_pretrained(tmp_path / "run" / "model")
    return tmp_path / "run" / "model"


def merged(model, folder):
    """Return the model with W + alpha / rank · B A in place of each W, computed here."""
    adapters = load_file(folder / "adapter_model.safetensors")
    for name, lowered in adapters.items():
        if "lora_A" in name:
            raised = adapters[name.replace("lora_A", "lora_B")]
            weight = name.removeprefix("base_model.model.").replace(".lora_A", "")
            model.get_parameter(weight).data += 32 / 4 * raised @ lowered
    return model.eval()


def logits(model):
    with torch.no_grad():
        return model.eval()(IDS).logits.float()


def test_adapters_are_merged_into_their_base(make_model, base, adapters, tmp_path):
    expected = logits(merged(make_model(), adapters))
    assert (expected - logits(make_model())).abs().max() > 0.1
    out = export(adapters, base, tmp_path / "out", dtype="float32")
    found = logits(AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_weights_are_rounded_once_at_the_end(make_model, base, adapters, tmp_path):
    wide = load_file(
        export(adapters, base, tmp_path / "wide", dtype="float32") / "model.safetensors"
    )
    narrow = load_file(export(adapters, base, tmp_path / "narrow") / "model.safetensors")
    assert wide.keys() == narrow.keys() == dict(make_model().named_parameters()).keys()
    for name, value in wide.items():
        assert torch.equal(narrow[name], value.bfloat16()), name
    expected = logits(merged(make_model(), adapters))
    found = logits(AutoModelForCausalLM.from_pretrained(tmp_path / "narrow"))
    assert (found - expected).norm() < 2**-5 * expected.norm()


def test_a_whole_trained_model_is_exported_with_its_weights_unchanged(make_model, base, tmp_path):
    model = make_model()
    torch.nn.init.normal_(model.lm_head.weight)
    model.config.use_cache = False
    model.save_pretrained(tmp_path / "trained")
    out = export(tmp_path / "trained", base, tmp_path / "out", dtype="float32")
    found = AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32)
    torch.testing.assert_close(logits(found), logits(model), rtol=1e-5, atol=1e-5)
    assert found.config.use_cache


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_exported_checkpoint_is_complete(base, adapters, tmp_path, dtype):
    out = export(adapters, base, tmp_path / "out", dtype=dtype)
    config = json.loads((out / "config.json").read_text())
    assert config["dtype"] == dtype
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert json.loads((out / "generation_config.json").read_text()) == SAMPLING
    found = AutoTokenizer.from_pretrained(out)
    assert found.chat_template == TEMPLATE
    assert found.get_vocab() == tokenizer().get_vocab()
    assert not (out / "adapter_config.json").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "out", "run"]


def test_a_nonempty_output_folder_is_refused(base, adapters, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("")
    with pytest.raises(UserError, match="out already exists; choose another folder"):
        export(adapters, base, out)
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]


def test_an_interrupted_export_is_redone_even_into_an_empty_folder(base, adapters, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out.part").mkdir()
    (tmp_path / "out.part" / "model.safetensors.index.json").write_text("{}")
    out = export(adapters, base, tmp_path / "out")
    assert not (out / "model.safetensors.index.json").exists()
    assert AutoModelForCausalLM.from_pretrained(out)
    assert not (tmp_path / "out.part").exists()


def test_an_export_that_cannot_load_its_model_leaves_no_files(base, tmp_path):
    with pytest.raises(UserError, match=r"config\.json is missing"):
        export(tmp_path / "nothing", base, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["base"]
