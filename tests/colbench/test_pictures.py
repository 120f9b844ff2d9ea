"""Images sent to a model server: how they are encoded, made to fit, and rejected."""

from __future__ import annotations

import base64
import io
import random

import pytest
from PIL import Image

from colbench.errors import EndpointError, TooLongError
from colbench.messages import Message
from colbench.models.openai_chat import OpenAIChat
from colbench.models.pictures import MAX_BYTES, data_url, fit_pictures, from_data_url
from colbench.models.scripted_server import Fault, ScriptedServer


def picture(width: int, height: int, top: str = "red", bottom: str = "blue") -> bytes:
    """Return a PNG whose upper half has one color and whose lower half another."""
    image = Image.new("RGB", (width, height), top)
    image.paste(bottom, (0, height // 2, width, height))
    return as_png(image)


def as_png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def opened(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGB")


def shown(*pictures: bytes) -> list[Message]:
    return [Message(role="user", content="what is this?", images=pictures)]


async def ask(messages, *, fault=None, sees=True, **options):
    """Return the scripted server's reply and the messages that were sent to it."""
    async with ScriptedServer(
        lambda heard: f"{len(heard[-1].images)} pictures", fault=fault, sees=sees
    ) as server:
        async with OpenAIChat(f"scripted@{server.base_url}", **options) as chat:
            reply = await chat.chat(messages, temperature=0, max_tokens=7, seed=None)
    return reply.content, server.requests[-1]["messages"]


async def test_images_are_sent_before_the_text_in_the_protocol_format():
    first, second = picture(8, 8), picture(9, 9)
    reply, sent = await ask(shown(first, second))
    assert reply == "2 pictures"
    assert sent == [
        {
            "role": "user",
            "content": [
                {
                    "type": "image_url",
                    "image_url": {"url": "data:image/png;base64," + base64.b64encode(png).decode()},
                }
                for png in (first, second)
            ]
            + [{"type": "text", "text": "what is this?"}],
        }
    ]


async def test_messages_without_images_are_sent_as_plain_text():
    _, sent = await ask([Message(role="system", content="be brief"), *shown(picture(8, 8))])
    assert sent[0] == {"role": "system", "content": "be brief"}


@pytest.mark.parametrize("status", [400, 413, 415, 422])
async def test_a_rejected_image_raises_an_endpoint_error_with_the_servers_message(status):
    def fault(_):
        return Fault(status=status, body="cannot identify image file")

    refusal = rf"/completions rejects a request with pictures \(HTTP {status}: cannot identify"
    with pytest.raises(EndpointError, match=refusal):
        await ask(shown(picture(8, 8)), fault=fault)
    with pytest.raises(EndpointError, match=f"HTTP {status}: cannot identify image"):
        await ask([Message(role="user", content="no picture")], fault=fault)


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8 tokens",
        "The decoder prompt (length 9) is longer than the maximum model length of 8.",
    ],
)
async def test_images_that_exceed_the_context_length_raise_a_too_long_error(words):
    with pytest.raises(TooLongError, match=r"^HTTP 400: Th"):
        await ask(shown(picture(8, 8)), fault=lambda _: Fault(status=400, body=words))


async def test_a_text_only_model_rejects_images_but_accepts_text():
    with pytest.raises(EndpointError, match="scripted is not a multimodal model"):
        await ask(shown(picture(8, 8)), sees=False)
    reply, _ = await ask([Message(role="user", content="hello")], sees=False)
    assert reply == "0 pictures"


async def test_the_client_shrinks_images_to_its_maximum_edge():
    _, sent = await ask(shown(picture(400, 100)), max_image_edge=200)
    assert opened(from_data_url(sent[0]["content"][0]["image_url"]["url"])).size == (200, 50)


def test_images_that_fit_are_unchanged():
    pictures = (picture(100, 100), picture(100, 20))
    assert fit_pictures(pictures, 100) == pictures
    assert fit_pictures((), 100) == ()


def test_all_images_are_shrunk_by_the_same_scale():
    small, large = map(opened, fit_pictures((picture(100, 60), picture(100, 150)), 100))
    assert small.size == (67, 40)
    assert large.size == (67, 100)
    assert large.getpixel((30, 10)) == (255, 0, 0)
    assert large.getpixel((30, 90)) == (0, 0, 255)


def test_a_very_tall_image_is_cropped_at_the_bottom_to_stay_readable():
    (cut,) = map(opened, fit_pictures((picture(100, 1000),), 100))
    assert cut.size == (50, 100)
    assert {cut.getpixel((25, y)) for y in range(100)} == {(255, 0, 0)}, "all of the upper half"


def test_an_image_with_too_many_bytes_is_shrunk_below_the_limit():
    noise = Image.frombytes("RGB", (1200, 1200), random.Random(0).randbytes(1200 * 1200 * 3))
    assert len(as_png(noise)) > MAX_BYTES
    (fitted,) = fit_pictures((as_png(noise),), 1200)
    assert len(fitted) <= MAX_BYTES
    width, height = opened(fitted).size
    assert width == height
    assert width > 600


def test_a_data_url_preserves_its_image():
    assert from_data_url(data_url(picture(3, 3))) == picture(3, 3)
