from __future__ import annotations

import asyncio
import io
import warnings

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image, ImageDraw

from colbench.domains.frontend.clip import ClipEncoder
from colbench.domains.frontend.pictures import frame
from colbench.domains.frontend.weights import MODEL
from colbench.errors import ScorerError, UserError

SIZES = [
    (1280, 720),
    (1280, 2300),
    (1354, 2301),
    (1280, 1277),
    (224, 224),
    (1000, 1000),
    (300, 4000),
    (50, 60),
]
MEAN, STD = (
    np.array(each) for each in (open_clip.OPENAI_DATASET_MEAN, open_clip.OPENAI_DATASET_STD)
)

ROUNDING = 1e-5
"""Tolerance of normalized values in float32; one level of a color is 0.014."""


def drawing(width, height, seed=0):
    """Return a picture with edges, colors and noise."""
    draws = np.random.default_rng(seed)
    noise = draws.integers(0, 256, (height // 8 + 1, width // 8 + 1, 3), dtype=np.uint8)
    image = Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(image)
    for _ in range(20):
        x, y = draws.integers(0, width), draws.integers(0, height)
        color = tuple(draws.integers(0, 256, 3).tolist())
        draw.rectangle((x, y, x + width // 5, y + 20), fill=color)
    return image


def png(image):
    content = io.BytesIO()
    image.save(content, "PNG", compress_level=1)
    return content.getvalue()


def normalized(pixels):
    return torch.tensor(((pixels / 255.0 - MEAN) / STD).transpose(0, 3, 1, 2), dtype=torch.float32)


@pytest.fixture(scope="module")
def real_clip(tmp_path_factory):
    """Return the paper's architecture with random weights: the model and its file."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = open_clip.CLIP(**open_clip.get_model_config(MODEL)).eval()
    file = tmp_path_factory.mktemp("real") / "weights.pt"
    torch.save(model.state_dict(), file)
    return model, file


@pytest.fixture
async def tiny(tiny_clip):
    async with ClipEncoder(tiny_clip, allow_unpinned=True, device="cpu") as encoder:
        yield encoder


@pytest.mark.parametrize("size", SIZES)
def test_the_crop_equals_that_of_open_clip(size):
    transform = open_clip.image_transform(224, is_train=False)
    image = drawing(*size)
    crop = frame(png(image), ("crop",), 224)
    assert (transform(image)[None] - normalized(crop)).abs().max() < ROUNDING


@pytest.mark.parametrize("size", SIZES)
def test_the_page_view_equals_the_squashed_picture_of_open_clip(size):
    transform = open_clip.image_transform(224, is_train=False, resize_mode="squash")
    image = drawing(*size)
    page = frame(png(image), ("page",), 224)
    assert (transform(image)[None] - normalized(page)).abs().max() < ROUNDING


def test_the_bottom_of_a_tall_page_is_in_the_page_view_and_not_in_the_crop():
    image = drawing(1280, 2300)
    changed = image.copy()
    changed.paste("red", (0, 2000, 1280, 2300))
    before, after = (frame(png(each), ("crop", "page"), 224) for each in (image, changed))
    assert np.array_equal(before[0], after[0])
    assert not np.array_equal(before[1], after[1])


@pytest.mark.parametrize(
    ("size", "offset"), [((1280, 2300), 0), ((1280, 720), 0), ((1280, 1298), 1)]
)
def test_the_crop_equals_that_of_transformers_except_for_one_pixel_at_odd_heights(size, offset):
    from transformers import CLIPImageProcessorPil

    image = drawing(*size)
    theirs = CLIPImageProcessorPil()(image, return_tensors="np")["pixel_values"]
    mine = normalized(frame(png(image), ("crop",), 224)).numpy()
    apart = np.abs(mine[:, :, : 224 - offset] - theirs[:, :, offset:])
    assert apart.max() < ROUNDING


@pytest.mark.slow
async def test_the_vectors_equal_those_of_transformers_with_the_same_weights(real_clip):
    from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel

    model, file = real_clip
    config = CLIPConfig(
        projection_dim=512,
        vision_config={"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
                       "num_attention_heads": 12, "patch_size": 32, "hidden_act": "quick_gelu"},
        text_config={"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2},
    )  # fmt: skip
    theirs = CLIPModel(config).eval()
    missing, unexpected = theirs.load_state_dict(
        renamed(model.visual.state_dict(), layers=12), strict=False
    )
    assert not unexpected
    assert all(name.startswith(("text_", "logit_scale")) for name in missing)
    images = [drawing(1280, height) for height in (720, 1280, 2300, 3001)]
    async with ClipEncoder(file, allow_unpinned=True, device="cpu") as encoder:
        mine = await asyncio.gather(*(encoder.embed(png(image), "crop") for image in images))
    with torch.inference_mode():
        pixels = CLIPImageProcessorPil()(images, return_tensors="pt")["pixel_values"]
        expected = theirs.get_image_features(pixel_values=pixels).pooler_output
    expected = torch.nn.functional.normalize(expected, dim=-1).numpy()
    assert np.abs(np.concatenate(mine) - expected).max() < 1e-5 * np.abs(expected).max()


def renamed(state, layers):
    """Return the tensors of open_clip's image tower under the names of transformers."""
    new = {
        "vision_model.embeddings.class_embedding": state["class_embedding"],
        "vision_model.embeddings.patch_embedding.weight": state["conv1.weight"],
        "vision_model.embeddings.position_embedding.weight": state["positional_embedding"],
        "visual_projection.weight": state["proj"].T,
    }
    pairs = [("vision_model.pre_layrnorm", "ln_pre"), ("vision_model.post_layernorm", "ln_post")]
    for layer in range(layers):
        there, here = f"vision_model.encoder.layers.{layer}", f"transformer.resblocks.{layer}"
        pairs += [
            (f"{there}.layer_norm1", f"{here}.ln_1"),
            (f"{there}.layer_norm2", f"{here}.ln_2"),
            (f"{there}.mlp.fc1", f"{here}.mlp.c_fc"),
            (f"{there}.mlp.fc2", f"{here}.mlp.c_proj"),
            (f"{there}.self_attn.out_proj", f"{here}.attn.out_proj"),
        ]
        for kind in ("weight", "bias"):
            parts = state[f"{here}.attn.in_proj_{kind}"].chunk(3)
            for name, part in zip("qkv", parts, strict=True):
                new[f"{there}.self_attn.{name}_proj.{kind}"] = part
    for there, here in pairs:
        for kind in ("weight", "bias"):
            new[f"{there}.{kind}"] = state[f"{here}.{kind}"]
    return new


@pytest.mark.slow
async def test_the_vectors_differ_from_those_with_the_activation_of_plain_vit_b_32(real_clip):
    model, file = real_clip
    plain = open_clip.CLIP(**open_clip.get_model_config("ViT-B-32")).eval()
    plain.load_state_dict(model.state_dict())
    picture = png(drawing(1280, 2300))
    with torch.inference_mode():
        wrong = plain.encode_image(normalized(frame(picture, ("crop",), 224)), normalize=True)
    async with ClipEncoder(file, allow_unpinned=True, device="cpu") as encoder:
        right = await encoder.embed(picture, "crop")
    assert np.abs(right - wrong.numpy()).max() > 1e-3 * np.abs(right).max()


async def test_vectors_have_length_one_and_the_order_of_the_views(tiny):
    picture = png(drawing(1280, 2300))
    both, swapped = await asyncio.gather(
        tiny.embed(picture, "crop", "page"), tiny.embed(picture, "page", "crop")
    )
    assert both.dtype == np.float32
    assert both.shape == (2, 32)
    assert np.linalg.norm(both, axis=1) == pytest.approx([1, 1], abs=1e-6)
    assert both == pytest.approx(swapped[::-1], abs=1e-6)
    assert np.abs(both[0] - both[1]).max() > 1e-3


async def test_batches_give_the_same_vectors_as_single_pictures(tiny_clip):
    pictures = [png(drawing(300, 200 + 10 * number, seed=number)) for number in range(30)]
    async with ClipEncoder(tiny_clip, allow_unpinned=True, device="cpu", batch=1) as alone:
        expected = [await alone.embed(picture, "crop", "page") for picture in pictures]
    async with ClipEncoder(tiny_clip, allow_unpinned=True, device="cpu", batch=7) as encoder:
        found = await asyncio.gather(
            *(encoder.embed(picture, "crop", "page") for picture in pictures)
        )
    assert np.abs(np.array(found) - np.array(expected)).max() < 3e-6


async def test_a_picture_is_embedded_once_for_all_callers(tiny):
    picture = png(drawing(300, 200))
    first, second = await asyncio.gather(tiny.embed(picture, "crop"), tiny.embed(picture, "crop"))
    assert first is second
    assert await tiny.embed(picture, "crop") is first


async def test_invalid_picture_bytes_raise_a_scorer_error_and_the_encoder_still_works(tiny):
    with pytest.raises(ScorerError, match="cannot identify"):
        await tiny.embed(b"no picture", "crop")
    assert (await tiny.embed(png(drawing(300, 200)), "crop")).shape == (1, 32)


async def test_a_canceled_caller_does_not_affect_the_others(tiny):
    picture = png(drawing(1280, 2300))
    impatient = asyncio.create_task(tiny.embed(picture, "crop"))
    patient = asyncio.create_task(tiny.embed(picture, "crop"))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).shape == (1, 32)
    with pytest.raises(asyncio.CancelledError):
        await impatient


def test_an_encoder_serves_one_event_loop_after_another(tiny_clip):
    encoder = ClipEncoder(tiny_clip, allow_unpinned=True, device="cpu")
    picture, other = png(drawing(300, 200)), png(drawing(200, 300))
    known = asyncio.run(encoder.embed(picture, "crop"))
    assert asyncio.run(encoder.embed(picture, "crop")) is known
    assert asyncio.run(encoder.embed(other, "crop")).shape == (1, 32)
    encoder._batches.close()


def test_the_encoder_does_not_change_the_number_of_torch_threads(tiny_clip):
    before = torch.get_num_threads()

    async def use():
        async with ClipEncoder(tiny_clip, allow_unpinned=True, device="cpu") as encoder:
            await encoder.embed(png(drawing(300, 200)), "crop")

    asyncio.run(use())
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("device", ["abacus", "cuda:99"])
def test_an_unavailable_device_is_refused(tiny_clip, device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(UserError, match=f"cannot run on the device '{device}'"):
            ClipEncoder(tiny_clip, allow_unpinned=True, device=device)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no CUDA device")
async def test_a_gpu_gives_the_same_vectors_as_the_cpu(real_clip):
    _, file = real_clip
    pictures = [png(drawing(1280, 700 + 100 * number, seed=number)) for number in range(40)]
    found = []
    for device in ("cpu", "cuda"):
        async with ClipEncoder(file, allow_unpinned=True, device=device) as encoder:
            found.append(await asyncio.gather(*(encoder.embed(each, "page") for each in pictures)))
    assert np.abs(np.array(found[0]) - np.array(found[1])).max() < 3e-6
