from __future__ import annotations

import hashlib
import json
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import open_clip
import pytest
import torch
from msgspec.structs import replace
from safetensors.torch import load_file, save_file

from colbench.domains.frontend.weights import (
    MODEL,
    SHA256,
    MissingWeightsError,
    Weights,
    fetch,
    find_weights,
    load_tower,
    read_archive,
)
from colbench.errors import UserError

NOWHERE = "http://127.0.0.1:9/clip/models/ViT-B-32.pt"


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def weights_file(tiny_clip):
    return tiny_clip / "open_clip_model.safetensors"


@pytest.fixture
def served(tmp_path):
    """Yield a folder and the address at which it is served."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(SilentHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class SilentHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def test_the_pinned_hash_is_in_the_address_that_open_clip_uses():
    known = open_clip.get_pretrained_url(MODEL, "openai")
    assert SHA256 in known
    assert known.endswith("/ViT-B-32.pt")


def test_a_folder_with_weights_and_their_architecture_is_loaded(tiny_clip, weights_file):
    found = find_weights(tiny_clip, allow_unpinned=True)
    assert found.identity == f"custom@{sha256(weights_file)[:8]}"
    tower = load_tower(found).state_dict()
    for name, tensor in load_file(weights_file).items():
        if name.startswith("visual."):
            assert torch.equal(tower.pop(name.removeprefix("visual.")), tensor)
    assert not tower


def test_weights_that_differ_from_the_papers_must_be_allowed(tiny_clip, weights_file):
    with pytest.raises(UserError, match="not the paper's CLIP weights") as caught:
        find_weights(tiny_clip)
    assert str(weights_file) in str(caught.value)
    assert sha256(weights_file) in str(caught.value)
    assert SHA256 in str(caught.value)


def test_a_weights_file_must_have_the_papers_architecture(weights_file):
    found = find_weights(weights_file, allow_unpinned=True)
    assert found.identity.startswith("ViT-B-32-quickgelu@")
    with pytest.raises(
        UserError, match="weights for a different architecture than ViT-B-32-quickgelu"
    ):
        load_tower(found)


def test_only_weights_with_the_papers_hash_are_pinned(tmp_path):
    pinned = Weights(file=tmp_path / "weights.pt", sha256=SHA256)
    assert pinned.pinned
    assert pinned.identity == "ViT-B-32-quickgelu@40d36571"
    assert not replace(pinned, sha256="0" * 64).pinned


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.pop("visual.proj"),
        lambda state: state.update({"visual.extra": torch.zeros(1)}),
        lambda state: state.update({"visual.proj": torch.zeros(64, 31)}),
        lambda state: state.clear() or state.update({"encoder.weight": torch.zeros(1)}),
    ],
    ids=["too few", "too many", "wrong shape", "not CLIP"],
)
def test_weights_that_do_not_fit_the_architecture_are_refused(tiny_clip, tmp_path, change):
    folder = shutil.copytree(tiny_clip, tmp_path / "changed")
    state = load_file(folder / "open_clip_model.safetensors")
    change(state)
    save_file(state, folder / "open_clip_model.safetensors")
    with pytest.raises(UserError, match="weights for a different architecture"):
        load_tower(find_weights(folder, allow_unpinned=True))


@pytest.mark.parametrize("name", ["broken.safetensors", "broken.pt", "broken.bin"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not really", b"\x80\x02cos\nsystem\n."])
def test_a_file_without_weights_is_refused(tmp_path, name, content):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(UserError, match=f"{name}: cannot be read as CLIP weights"):
        load_tower(find_weights(file, allow_unpinned=True))


def test_a_checkpoint_with_a_python_object_is_not_unpickled(tmp_path):
    file = tmp_path / "weights.pt"
    torch.save({"state_dict": SilentHandler}, file)
    with pytest.raises(UserError, match="cannot be read as CLIP weights"):
        load_tower(find_weights(file, allow_unpinned=True))


@pytest.mark.parametrize("config", ["{", "[]", "{}", '{"model_cfg": {"embed_dim": 3}}'])
def test_an_invalid_clip_configuration_is_refused(tiny_clip, tmp_path, config):
    folder = shutil.copytree(tiny_clip, tmp_path / "changed")
    (folder / "open_clip_config.json").write_text(config)
    with pytest.raises(UserError, match="not a standard CLIP configuration"):
        load_tower(find_weights(folder, allow_unpinned=True))


def test_a_missing_file_and_an_incomplete_folder_are_refused(tmp_path):
    with pytest.raises(UserError, match="no such file or folder"):
        find_weights(tmp_path / "absent.pt")
    with pytest.raises(UserError, match="no open_clip_config.json in this folder"):
        find_weights(tmp_path)
    (tmp_path / "open_clip_config.json").write_text(json.dumps({"model_cfg": {}}))
    with pytest.raises(UserError, match="no weights in this folder"):
        find_weights(tmp_path)


@pytest.mark.filterwarnings("ignore:`torch.jit:FutureWarning")
def test_a_torchscript_archive_is_readable_but_refused_unless_it_is_pinned(tmp_path):
    module = torch.nn.Linear(3, 2).half()
    file = tmp_path / "ViT-B-32.pt"
    torch.jit.script(module).save(file)
    state = read_archive(file)
    assert torch.equal(state["weight"], module.weight)
    with pytest.raises(UserError, match="cannot be read as CLIP weights"):
        load_tower(find_weights(file, allow_unpinned=True))


def test_the_file_is_downloaded_once_and_then_read_from_the_cache(served, tmp_path):
    folder, address = served
    (folder / "ViT-B-32.pt").write_bytes(b"weights")
    cache = tmp_path / "cache"
    file = fetch(f"{address}/ViT-B-32.pt", cache)
    assert file.read_bytes() == b"weights"
    assert fetch(NOWHERE, cache) == file
    assert list(cache.iterdir()) == [file]


@pytest.mark.parametrize("address", [NOWHERE, "http://no-such-host.invalid/ViT-B-32.pt"])
def test_an_unreachable_address_raises_an_error_and_leaves_no_file(tmp_path, address):
    with pytest.raises(MissingWeightsError, match="no CLIP weights: .*ViT-B-32.pt does not exist"):
        fetch(address, tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_address_without_the_file_raises_an_error_with_the_status(served, tmp_path):
    with pytest.raises(MissingWeightsError, match="404"):
        fetch(f"{served[1]}/ViT-B-32.pt", tmp_path / "cache")


def test_no_file_is_fetched_in_offline_mode(served, tmp_path, monkeypatch):
    (served[0] / "ViT-B-32.pt").write_bytes(b"weights")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(MissingWeightsError, match="HF_HUB_OFFLINE is set"):
        fetch(f"{served[1]}/ViT-B-32.pt", tmp_path / "cache")
