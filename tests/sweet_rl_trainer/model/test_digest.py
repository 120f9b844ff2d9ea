"""The digest of a checkpoint, and the check that a checkpoint is complete."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import UserError
from sweet_rl_trainer.model.digest import is_whole, model_digest


@pytest.fixture
def several(make_model, tmp_path):
    """Return the folder of a model in several files."""
    make_model().save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    return tmp_path


def test_a_model_in_several_files_is_complete_only_with_all_of_them(several):
    assert len(model_digest(several)) == 64
    max(several.glob("model-*.safetensors")).unlink()
    assert not is_whole(several)
    with pytest.raises(
        UserError, match="is not a complete checkpoint: .* and all files that it lists"
    ):
        model_digest(several)


def test_weight_files_without_their_index_are_not_complete(several):
    (several / "model.safetensors.index.json").unlink()
    assert not is_whole(several)


def test_an_index_of_another_format_is_ignored(make_model, tmp_path):
    make_model().save_pretrained(tmp_path)
    index = '{"weight_map": {"head": "pytorch_model-00001-of-00001.bin"}}'
    (tmp_path / "pytorch_model.bin.index.json").write_text(index)
    assert is_whole(tmp_path)


@pytest.mark.parametrize("content", ["{", '{"weight_map": []}'])
def test_a_checkpoint_with_a_damaged_index_is_not_complete(several, content):
    (several / "model.safetensors.index.json").write_text(content)
    assert not is_whole(several)
