"""Pictures on their way to a model server: how they are written, made to fit, and refused."""

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


async def test_pictures_are_sent_before_the_words_as_the_protocol_has_it():
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


async def test_messages_without_pictures_stay_plain_beside_one_with_a_picture():
    _, sent = await ask([Message(role="system", content="be brief"), *shown(picture(8, 8))])
    assert sent[0] == {"role": "system", "content": "be brief"}


@pytest.mark.parametrize("status", [400, 413, 415, 422])
async def test_a_refused_picture_is_the_servers_failure_in_its_own_words(status):
    def fault(_):
        return Fault(status=status, body="cannot identify image file")

    refusal = rf"/v1/chat/completions: the server rejects images \(HTTP {status}: cannot identify"
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
async def test_pictures_that_make_a_dialogue_too_long_are_the_askers_failure(words):
    with pytest.raises(TooLongError, match=r"^HTTP 400: Th"):
        await ask(shown(picture(8, 8)), fault=lambda _: Fault(status=400, body=words))


async def test_a_model_of_text_refuses_pictures_and_nothing_else():
    with pytest.raises(EndpointError, match="scripted is not a multimodal model"):
        await ask(shown(picture(8, 8)), sees=False)
    reply, _ = await ask([Message(role="user", content="hello")], sees=False)
    assert reply == "0 pictures"


async def test_the_client_makes_pictures_fit():
    _, sent = await ask(shown(picture(400, 100)), max_image_edge=200)
    assert opened(from_data_url(sent[0]["content"][0]["image_url"]["url"])).size == (200, 50)


def test_pictures_that_fit_stay_as_they_are():
    pictures = (picture(100, 100), picture(100, 20))
    assert fit_pictures(pictures, 100) == pictures
    assert fit_pictures((), 100) == ()


def test_all_pictures_are_shrunk_by_the_same_scale():
    small, large = map(opened, fit_pictures((picture(100, 60), picture(100, 150)), 100))
    assert small.size == (67, 40)
    assert large.size == (67, 100)
    assert large.getpixel((30, 10)) == (255, 0, 0)
    assert large.getpixel((30, 90)) == (0, 0, 255)


def test_what_would_become_too_small_to_read_is_cut_off_at_the_bottom():
    (cut,) = map(opened, fit_pictures((picture(100, 1000),), 100))
    assert cut.size == (50, 100)
    assert {cut.getpixel((25, y)) for y in range(100)} == {(255, 0, 0)}, "all of the upper half"


def test_a_picture_of_too_many_bytes_is_shrunk_until_it_has_few_enough():
    noise = Image.frombytes("RGB", (1200, 1200), random.Random(0).randbytes(1200 * 1200 * 3))
    assert len(as_png(noise)) > MAX_BYTES
    (fitted,) = fit_pictures((as_png(noise),), 1200)
    assert len(fitted) <= MAX_BYTES
    width, height = opened(fitted).size
    assert width == height
    assert width > 600


def test_a_picture_comes_out_of_its_address_as_it_went_in():
    assert from_data_url(data_url(picture(3, 3))) == picture(3, 3)
