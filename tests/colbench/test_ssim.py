from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw

from colbench.domains.frontend.ssim import picture_ssim, ssim


def png(image):
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def solid(width, height, color):
    return png(Image.new("RGB", (width, height), color))


def drawn(width=640, height=400, shift=0):
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((40 + shift, 60, 300 + shift, 180), "navy")
    draw.ellipse((350, 200 + shift, 500, 350 + shift), "orange")
    return image


def plain_ssim(x, y):
    """Compute equations 13 to 16, pixel by pixel, with an explicit 11 x 11 window over mirrored arrays."""
    offsets = np.arange(-5, 6)
    window = np.exp(-(offsets[:, None] ** 2 + offsets[None] ** 2) / (2 * 1.5**2))
    window /= window.sum()
    x, y = np.pad(x, 5, "symmetric"), np.pad(y, 5, "symmetric")
    values = []
    for row in range(x.shape[0] - 10):
        for column in range(x.shape[1] - 10):
            a, b = (each[row : row + 11, column : column + 11] for each in (x, y))
            mean_a, mean_b = (window * a).sum(), (window * b).sum()
            var_a = (window * (a - mean_a) ** 2).sum()
            var_b = (window * (b - mean_b) ** 2).sum()
            both = (window * (a - mean_a) * (b - mean_b)).sum()
            numerator = (2 * mean_a * mean_b + 2.55**2) * (2 * both + 7.65**2)
            values.append(
                numerator / ((mean_a**2 + mean_b**2 + 2.55**2) * (var_a + var_b + 7.65**2))
            )
    return np.mean(values)


def test_ssim_equals_a_plain_computation_of_its_equations():
    draws = np.random.default_rng(0)
    x = draws.uniform(0, 255, (20, 30))
    for y in (x, 255 - x, x + draws.normal(0, 20, x.shape), np.full_like(x, 128.0)):
        assert ssim(x, y) == pytest.approx(plain_ssim(x, y), abs=1e-9)


def test_ssim_equals_that_of_scikit_image():
    metrics = pytest.importorskip("skimage.metrics", reason="scikit-image is not installed")
    draws = np.random.default_rng(1)
    x = draws.uniform(0, 255, (80, 120)).round()
    y = (x + draws.normal(0, 30, x.shape)).clip(0, 255).round()
    _, everywhere = metrics.structural_similarity(
        x,
        y,
        data_range=255,
        gaussian_weights=True,
        sigma=1.5,
        use_sample_covariance=False,
        full=True,
    )
    assert ssim(x, y) == pytest.approx(everywhere.mean(), abs=1e-9)


def test_equal_pictures_have_an_ssim_of_1():
    assert picture_ssim(png(drawn()), png(drawn())) == 1.0
    assert picture_ssim(solid(1280, 720, "black"), solid(1280, 720, "black")) == 1.0


def test_ssim_falls_as_shapes_move_away_from_the_target():
    target = png(drawn())
    near, far = (picture_ssim(png(drawn(shift=shift)), target) for shift in (5, 60))
    assert far < near < 1


def test_ssim_is_symmetric():
    first, second = png(drawn(640, 400)), png(drawn(700, 300, shift=20))
    assert picture_ssim(first, second) == pytest.approx(picture_ssim(second, first), abs=1e-12)


def test_the_background_of_a_short_page_fills_the_rest_of_the_canvas():
    short, tall = drawn(640, 400), Image.new("RGB", (640, 900), "white")
    tall.paste(drawn(640, 400))
    assert picture_ssim(png(short), png(tall)) == 1.0
    assert picture_ssim(png(short), png(tall), my_background="#000000") < 0.7
    assert picture_ssim(png(tall), png(short), their_background="#000000") < 0.7


def test_one_pixel_pictures_can_be_compared():
    assert picture_ssim(solid(1, 1, "white"), solid(1, 1, "white")) == 1.0
    assert picture_ssim(solid(1, 1, "white"), solid(3, 1, "black"), "#ffffff", "#000000") < 0.01
