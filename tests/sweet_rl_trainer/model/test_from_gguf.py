"""A GGUF file becomes a checkpoint with the same log-probabilities, tokens and template."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
gguf = pytest.importorskip("gguf", reason="gguf is not installed (colbench[dev])")

from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from colbench.errors import UserError
from sweet_rl_trainer.model.from_gguf import convert, main
from sweet_rl_trainer.model.tiny import build
from sweet_rl_trainer.settings import Shape

TEXT = "def late(orders): return [order for order in orders if order.days > 3]"
NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "model.layers": "blk",
}
"""llama.cpp's names of a Llama's weights."""


def write_gguf(file: Path, source: Path) -> None:
    """Write a small Llama's checkpoint as a GGUF file, as llama.cpp's converter does."""
    model = LlamaForCausalLM.from_pretrained(source)
    tokenizer = AutoTokenizer.from_pretrained(source)
    shape = model.config
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_context_length(shape.max_position_embeddings)
    writer.add_embedding_length(shape.hidden_size)
    writer.add_block_count(shape.num_hidden_layers)
    writer.add_feed_forward_length(shape.intermediate_size)
    writer.add_head_count(shape.num_attention_heads)
    writer.add_head_count_kv(shape.num_key_value_heads)
    writer.add_layer_norm_rms_eps(shape.rms_norm_eps)
    writer.add_rope_freq_base(shape.rope_parameters["rope_theta"])
    writer.add_vocab_size(shape.vocab_size)
    add_tokenizer(writer, tokenizer)
    for path, weight in model.state_dict().items():
        name = reduce(lambda known, pair: known.replace(*pair), NAMES.items(), path)
        heads = shape.num_attention_heads if ("attn_q" in name or "attn_k" in name) else 0
        writer.add_tensor(name, (interleaved(weight, heads) if heads else weight).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def interleaved(weight: Tensor, heads: int) -> Tensor:
    """Return the rows in the order of llama.cpp's rotation, which pairs neighbors where transformers pairs halves."""
    return (
        weight.view(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape).contiguous()
    )


def add_tokenizer(writer, tokenizer) -> None:
    """Write tokens, merges and chat template."""
    kept = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    special = set(tokenizer.all_special_tokens)
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in special else 1 for token in tokens])
    writer.add_token_merges([" ".join(pair) for pair in kept["merges"]])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_chat_template(tokenizer.chat_template)


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "source"
    build(folder, Shape(vocabulary=300), [TEXT])
    return folder


def test_a_gguf_file_becomes_a_checkpoint_of_the_same_model(tmp_path, source):
    write_gguf(tmp_path / "tiny.gguf", source)

    convert(tmp_path / "tiny.gguf", tmp_path / "made")

    tokenizers = [AutoTokenizer.from_pretrained(each) for each in (source, tmp_path / "made")]
    ids = [each(TEXT, add_special_tokens=False).input_ids for each in tokenizers]
    assert ids[0] == ids[1]
    assert tokenizers[0].chat_template == tokenizers[1].chat_template
    logits = [
        AutoModelForCausalLM.from_pretrained(each)(torch.tensor([ids[0]])).logits
        for each in (source, tmp_path / "made")
    ]
    torch.testing.assert_close(logits[0], logits[1])
    assert not (tmp_path / "made.part").exists()


def test_an_existing_output_folder_is_refused_and_not_touched(tmp_path, source):
    write_gguf(tmp_path / "tiny.gguf", source)
    (tmp_path / "mine").mkdir()
    with pytest.raises(UserError, match="exists; choose another folder"):
        convert(tmp_path / "tiny.gguf", tmp_path / "mine")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["mine", "tiny.gguf"]


def test_a_missing_gguf_file_is_reported_in_one_line(tmp_path, capsys):
    assert main([str(tmp_path / "none.gguf"), str(tmp_path / "made")]) == 2
    assert capsys.readouterr().err == f"from_gguf: {tmp_path / 'none.gguf'}: no such file\n"
