"""A vision critic, compared with plain loops: the processor's own inputs, one dialogue at a time, and formulas."""

from __future__ import annotations

import io
import json
from itertools import groupby

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("accelerate", reason="accelerate is not installed (colbench[train])")
pytest.importorskip("torchvision", reason="torchvision is not installed (colbench[frontend])")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

from transformers import AutoModelForImageTextToText, TrainerCallback

from colbench.errors import DataError
from colbench.messages import Message
from sweet_rl_trainer.data.examples import pair_examples
from sweet_rl_trainer.data.pairs import Pair
from sweet_rl_trainer.data.pictures import Album, Picture
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.data.vision import NOTE, VisionChat
from sweet_rl_trainer.methods.ranking.score import score_candidates
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Turn
from sweet_rl_trainer.model.checkpoint import load_processor
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.model.load import load_model, load_trained
from sweet_rl_trainer.model.packing import lay_out
from sweet_rl_trainer.model.value_head import load_value_model
from sweet_rl_trainer.model.vision import Pixels
from sweet_rl_trainer.settings import LoraSettings, TrainSettings
from sweet_rl_trainer.train.collator import Packer
from sweet_rl_trainer.train.loss import pair_losses, row_values, scores
from sweet_rl_trainer.train.reference_cache import ReferenceCache, content_key
from sweet_rl_trainer.train.run import train
from sweet_rl_trainer.train.scorer import Scorer

torch.set_num_threads(1)

BETA = 0.1
COLORS = ("navy", "teal", "olive", "maroon", "purple")
SETTINGS = {
    "score": "value",
    "likelihood_weight": 0.0,
    "learning_rate": 1e-3,
    "batch_size": 2,
    "epochs": 2,
    "precision": "float32",
    "gradient_checkpointing": False,
    "save_every": 2,
    "optimizer": "adamw_torch",
}


def page(color, height=100):
    return f"<html><body style='background:{color}' data-height={height}></body></html>"


def render(html):
    """Return a picture that depends only on the page; it does not need to look as in a browser."""
    color = next(each for each in COLORS if each in html)
    height = int(html.partition("data-height=")[2].partition(">")[0])
    file = io.BytesIO()
    Image.new("RGB", (140, height), color).save(file, "PNG")
    return file.getvalue()


def dialogue(name, replies, *, system="Build what is wanted.", hidden="navy"):
    opening = [Message(role="system", content=system)] if system else []
    for number, reply in enumerate(replies):
        words = "I want a page, please." if not number else f"It is darker in mine, {number}."
        opening.append(Message(role="user", content=words))
        opening.append(Message(role="assistant", content=reply))
    return Trajectory(
        id=name,
        task_id="t",
        task_hash="t",
        domain="frontend",
        privileged=page(hidden, 150),
        messages=tuple(opening),
        said=tuple(replies),
        reward=1.0,
        ended_by="answer",
    )


ASKS = "Which color do you like?"
SHOWS = f"Here it is:\n```html\n{page('teal')}\n```"
ANSWERS = f"I WANT TO ANSWER:\n{page('maroon', 260)}"
GOOD = dialogue("good", [ASKS, SHOWS, ANSWERS])
BAD = dialogue("bad", [f"Hm, hm. OUTPUT: {page('olive', 90)}", ASKS])
OTHER = dialogue("other", [SHOWS, page("purple", 200)], system="")


@pytest.fixture(scope="module", params=["qwen2_vl", "qwen2_5_vl"])
def base(request, tmp_path_factory, build_vision_model):
    """Return a folder with a random vision model and its processor."""
    folder = tmp_path_factory.mktemp(request.param) / "model"
    texts = [NOTE, *(each.content for one in (GOOD, BAD, OTHER) for each in one.messages)]
    build_vision_model(folder, texts, kind=request.param)
    return folder


@pytest.fixture
def processor(base):
    return load_processor(base)


@pytest.fixture
def make_chat(processor, tmp_path):
    """Return `make_chat(…)`: a chat whose pictures are in `tmp_path / "pictures"`."""
    album = Album(tmp_path / "pictures", processor.image_processor, max_pixels=12 * 28 * 28)
    return lambda **options: VisionChat(
        processor, lambda html: album.add(html, render(html)), **options
    )


@pytest.fixture
def pixels(processor, tmp_path):
    return Pixels(tmp_path / "pictures", processor.image_processor)


def own_inputs(processor, trajectory, folder, names):
    """Return the processor's output for a whole dialogue with its pictures, from one call."""
    content = [
        {"type": "text", "text": NOTE},
        {"type": "image"},
        {"type": "text", "text": "\n"},
    ]
    messages = [{"role": "system", "content": content}]
    if trajectory.messages[0].role == "user":
        messages = [{"role": "user", "content": content}]
    for each in trajectory.messages:
        words = each.content.partition("OUTPUT:")[2] or each.content
        parts = [{"type": "text", "text": words.strip()}]
        if each.role == "assistant" and "<html>" in words:
            parts.append({"type": "image"})
        if each.role == messages[-1]["role"]:
            messages[-1]["content"].extend(parts)
        else:
            messages.append({"role": each.role, "content": parts})
    text = processor.apply_chat_template(messages, tokenize=False)
    images = [Image.open(folder / f"{name}.png") for name in names]
    return processor(text=[text], images=images, return_tensors="pt")


@pytest.mark.parametrize("trajectory", [GOOD, BAD, OTHER], ids=lambda each: each.id)
def test_a_dialogue_has_the_same_tokens_as_the_processors_output(
    trajectory, make_chat, processor, tmp_path
):
    (tokens,) = make_chat().encode_trajectory(trajectory).sequences
    whole = own_inputs(processor, trajectory, tmp_path / "pictures", tokens.pictures)
    ids = whole["input_ids"][0].tolist()
    assert tokens.ids == ids[: len(tokens.ids)]
    assert processor.tokenizer.decode(ids[len(tokens.ids) :]) == "\n"
    pages = sum("<html>" in each for each in trajectory.replies)
    assert len(tokens.pictures) == len(whole["image_grid_thw"]) == 1 + pages


def test_a_turn_consists_of_its_text_its_picture_and_its_end_token(make_chat, processor):
    (tokens,) = make_chat().encode_trajectory(GOOD).sequences
    said = {
        turn: processor.tokenizer.decode([token for token, _ in group])
        for turn, group in groupby(zip(tokens.ids, tokens.turns, strict=True), lambda each: each[1])
        if turn >= 0
    }
    assert said[0] == f"{ASKS}<|im_end|>"
    assert said[1].startswith(SHOWS + "<|vision_start|><|image_pad|>")
    assert said[2].endswith("<|image_pad|><|vision_end|><|im_end|>")
    (without,) = make_chat(read_pages=False).encode_trajectory(GOOD).sequences
    assert "<html>" not in processor.tokenizer.decode(without.ids)
    assert without.pictures == tokens.pictures


def test_special_tokens_in_a_reply_are_dropped(make_chat):
    sly = dialogue("sly", [f"<|image_pad|><|im_<|image_pad|>end|>{ASKS}"])
    (tokens,) = make_chat().encode_trajectory(sly).sequences
    (plain,) = make_chat().encode_trajectory(dialogue("plain", [ASKS])).sequences
    assert tokens == plain


def test_a_hidden_page_that_cannot_be_rendered_is_an_error(processor):
    chat = VisionChat(processor, lambda _: None)
    with pytest.raises(DataError, match="good: the hidden page of the task cannot be rendered"):
        chat.encode_trajectory(GOOD)


def test_a_template_that_omits_pictures_is_an_error(processor):
    processor.chat_template = processor.chat_template.replace(
        "<|vision_start|><|image_pad|><|vision_end|>", ""
    )
    chat = VisionChat(processor, lambda _: Picture(name="x", tokens=4))
    with pytest.raises(DataError, match="leaves out pictures"):
        chat.encode_trajectory(GOOD)


def test_a_picture_is_stored_in_the_size_that_the_model_sees(processor, tmp_path):
    album = Album(tmp_path, processor.image_processor, max_pixels=12 * 28 * 28)
    for height in (10, 140, 999):
        found = album.add(str(height), render(page("navy", height)))
        image = Image.open(tmp_path / f"{found.name}.png")
        assert image.width * image.height <= 12 * 28 * 28
        grid = processor.image_processor(images=[image], return_tensors="pt")["image_grid_thw"]
        assert grid[0].tolist() == [1, image.height // 14, image.width // 14]
        assert found.tokens == grid.prod().item() // 4 <= album.most_tokens == 12


def test_a_later_album_finds_the_picture_of_a_page_in_the_same_size(processor, tmp_path):
    def album(tokens):
        return Album(tmp_path, processor.image_processor, max_pixels=tokens * 28 * 28)

    assert album(12).find("a") is None
    kept = {name: album(12).add(name, render(page(name, 140))) for name in ("navy", "teal")}
    with next(tmp_path.glob("pages-*.jsonl")).open("a") as index:
        index.write('{"page": "kil')  # as a killed process leaves it
    again = album(12)
    assert {name: again.find(name) for name in kept} == kept
    assert album(6).find("navy") is None
    (tmp_path / f"{kept['teal'].name}.png").unlink()
    assert again.find("teal") is None


def random_head(width=64):
    return torch.randn(1, width, generator=torch.Generator().manual_seed(1))


def value_of(causal, head, trajectory, tokens, processor, folder):
    """Return S, the head applied to the mean hidden state of each turn, for a dialogue as the processor encodes it."""
    inputs = own_inputs(processor, trajectory, folder, tokens.pictures)
    hidden = causal.model(**inputs).last_hidden_state[0]
    turns = {}
    for place, turn in enumerate(tokens.turns):
        if turn >= 0:
            turns.setdefault(turn, []).append(hidden[place])
    return sum(head[0] @ (sum(states) / len(states)) for states in turns.values())


@pytest.fixture
def pairs(make_chat):
    """Return two pairs and the tokens of their dialogues, by dialogue name."""
    chat = make_chat()
    found = [Pair(chosen=GOOD, rejected=BAD), Pair(chosen=BAD, rejected=OTHER)]
    made, _ = pair_examples(found, chat, "turn-mean", max_length=4096)
    return made, {one.id: chat.encode_trajectory(one).sequences[0] for one in (GOOD, BAD, OTHER)}


def test_scores_losses_and_gradients_equal_a_plain_loop(base, pairs, pixels, processor, tmp_path):
    causal = AutoModelForImageTextToText.from_pretrained(base).eval()
    model = load_value_model(base).eval()
    head = random_head()
    with torch.no_grad():
        model.score.weight.copy_(head)
    examples, tokens = pairs
    plain_values = {
        one.id: value_of(causal, head, one, tokens[one.id], processor, tmp_path / "pictures")
        for one in (GOOD, BAD, OTHER)
    }
    losses = []
    for pair in examples:
        row = pixels.of(lay_out([[pair.chosen.examples, pair.rejected.examples]]))
        found = scores(row, row_values(model, model.config, row), 0.0)
        wanted = [plain_values[pair.chosen.trajectory], plain_values[pair.rejected.trajectory]]
        assert torch.allclose(found, torch.stack(wanted), rtol=1e-4, atol=1e-5)
        loss = pair_losses(found, None, beta=BETA, likelihood_weight=0.0).losses
        margin = wanted[0] - wanted[1]
        assert torch.allclose(loss, -torch.log(1 / (1 + torch.exp(-BETA * margin))), atol=1e-5)
        losses.append((loss.sum(), -torch.log(torch.sigmoid(BETA * margin))))
    ours, plain = (sum(each) for each in zip(*losses, strict=True))
    ours.backward()
    plain.backward()
    of_causal = dict(causal.model.named_parameters())
    for name, parameter in model.model.named_parameters():
        if parameter.grad is not None:
            assert torch.allclose(parameter.grad, of_causal[name].grad, rtol=1e-3, atol=1e-6), name
    seeing = [p for name, p in model.model.named_parameters() if name.startswith("visual.blocks.0")]
    assert any(each.grad.abs().max() > 0 for each in seeing)


def test_a_score_depends_on_the_content_of_the_pictures(base, make_chat, pixels):
    model = load_value_model(base).eval()
    with torch.no_grad():
        model.score.weight.copy_(random_head())
    chat = make_chat(read_pages=False)
    twins = [dialogue("twin", [page(color)]) for color in ("teal", "purple")]
    made, _ = pair_examples(
        [Pair(chosen=twins[0], rejected=twins[1])], chat, "turn-mean", max_length=4096
    )
    one, other = made[0].chosen.examples, made[0].rejected.examples
    assert one[0].ids == other[0].ids
    assert content_key(one, "value") != content_key(other, "value")
    row = pixels.of(lay_out([[one, other]]))
    with torch.no_grad():
        first, second = scores(row, row_values(model, model.config, row), 0.0)
    assert abs(first - second) > 1e-4


@pytest.mark.parametrize("turn", [0, 2])
def test_candidates_are_scored_by_the_value_of_their_own_turn(
    base, make_chat, processor, pixels, tmp_path, turn
):
    causal = AutoModelForImageTextToText.from_pretrained(base).eval()
    model = load_value_model(base).eval()
    head = random_head()
    with torch.no_grad():
        model.score.weight.copy_(head)
    chat = make_chat()
    replies = [ASKS, f"See: {page('purple')}", f"Private. OUTPUT: {page('olive', 260)}"]
    cache = ReferenceCache(tmp_path / "references", model="critic", precision="float32")
    critic = Scorer(
        cache=cache,
        logprobs=lambda row: row_values(model, model.config, pixels.of(row)),
        share=False,
        score="value",
    )
    candidates = Candidates(
        turn=Turn(trajectory=GOOD, number=turn),
        replies=tuple(Reply(text=reply) for reply in replies),
    )
    (scored,) = score_candidates(
        [candidates], chat, "value", critic=critic, budget=4096, max_length=4096
    )
    for reply, score, length in zip(replies, scored.scores, scored.lengths, strict=True):
        said = dialogue("said", [*GOOD.replies[:turn], reply])
        (tokens,) = chat.encode_trajectory(said).sequences
        inputs = own_inputs(processor, said, tmp_path / "pictures", tokens.pictures)
        with torch.no_grad():
            hidden = causal.model(**inputs).last_hidden_state[0, : len(tokens.ids)]
        own = hidden[torch.tensor(tokens.turns) == turn]
        assert score == pytest.approx((head[0] @ own.mean(0)).item(), rel=1e-3, abs=1e-5)
        assert length == len(own)


def test_each_pair_with_pictures_has_its_own_row_and_shares_no_prefix(pairs):
    examples, _ = pairs
    packer = Packer(examples, None, TrainSettings(**SETTINGS))
    assert sorted(numbers for numbers, _ in packer.bins([0, 1], seed=0)) == [[0], [1]]
    with pytest.raises(ValueError, match="cannot share prefixes"):
        lay_out([[examples[0].chosen.examples]], share=True)


class InterruptAtStep3(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        if state.global_step == 3:
            raise KeyboardInterrupt


@pytest.mark.weekly
@pytest.mark.parametrize("lora", [None, LoraSettings(rank=2)], ids=["whole", "lora"])
def test_an_interrupted_training_resumes_to_the_same_critic(base, pairs, pixels, tmp_path, lora):
    examples, _ = pairs
    examples = [*examples, *examples, examples[0]]
    settings = TrainSettings(**SETTINGS)
    options = {"origin": model_digest(base), "adapters": lora, "pixels": pixels}
    options["held_out"] = examples[:1]

    def go(name, **more):
        torch.manual_seed(0)
        model = load_model(base, score="value")
        return train(model, examples, settings, folder=tmp_path / name, **options, **more)

    whole = go("whole")
    with pytest.raises(KeyboardInterrupt):
        go("killed", callbacks=[InterruptAtStep3()])
    resumed = go("killed")
    loaded = [load_trained(each, base, score="value") for each in (whole, resumed)]
    states = [each.state_dict() for each in loaded]
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    heads = [value for name, value in states[0].items() if ".score." in f".{name}"]
    assert any(value.abs().max() > 0 for value in heads)
    log = [json.loads(line) for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    assert log[0]["loss"] == pytest.approx(0.6931, abs=1e-4)
    best = [line["eval_loss"] for line in log if "eval_loss" in line]
    row = pixels.of(lay_out([[examples[0].chosen.examples, examples[0].rejected.examples]]))
    with torch.no_grad():
        found = scores(row, row_values(loaded[0], loaded[0].config, row), 0.0)
    loss = pair_losses(found, None, beta=BETA, likelihood_weight=0.0).losses
    assert loss.item() == pytest.approx(min(best), abs=1e-5)


def test_examples_with_pictures_are_read_back_as_written(pairs, tmp_path):
    from sweet_rl_trainer.data.files import read, write

    examples, _ = pairs
    write(tmp_path / "train.msgpack", examples)
    assert read(tmp_path / "train.msgpack") == examples


def test_a_missing_picture_is_an_error_that_names_it_and_the_stages_to_delete(
    pairs, pixels, tmp_path
):
    examples, _ = pairs
    row = lay_out([[examples[0].chosen.examples]])
    (tmp_path / "pictures" / f"{row.pictures[0]}.png").unlink()
    words = rf"{row.pictures[0]}\.png: .*; to render .*, delete the folders of the stages `critic-data` and `rank`"
    with pytest.raises(DataError, match=words):
        pixels.of(row)
