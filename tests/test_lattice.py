"""Eight bits: the saved pixels stay in the ball, keep their sign and lose as little as may be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgsm_cli.examples.lattice import to_grey_levels

SIZES = {
    "linf": lambda move: np.abs(move).max(axis=1),
    "l2": lambda move: np.sqrt((move**2).sum(axis=1)),
    "l1": lambda move: np.abs(move).sum(axis=1),
}


def moved(seed: int, norm: str, epsilon: float, on_lattice: bool):
    """Clean images and adversarial ones within the ball."""
    draw = np.random.default_rng(seed)
    x = draw.random((3, 5, 5)).astype(np.float32)
    if on_lattice:
        x = np.rint(x * 255).astype(np.float32) / np.float32(255)
    step = draw.normal(size=x.shape)
    step *= epsilon / SIZES[norm](step.reshape(3, -1)).reshape(3, 1, 1)
    return np.clip(x + step, 0, 1).astype(np.float32), x


@given(
    st.integers(0, 10_000),
    st.sampled_from(sorted(SIZES)),
    st.floats(0, 3),
    st.booleans(),
)
def test_the_saved_image_is_in_the_ball_and_keeps_the_sign(seed, norm, epsilon, on_lattice):
    x_adv, x = moved(seed, norm, epsilon, on_lattice)
    levels = to_grey_levels(x_adv, x, epsilon=epsilon, norm=norm).astype(np.float64)
    move = (levels - np.rint(x.astype(np.float64) * 255)).reshape(3, -1)
    wanted = ((x_adv.astype(np.float64) - x) * 255).reshape(3, -1)
    assert np.all(SIZES[norm](move) <= epsilon * 255 + 1e-4)
    assert np.all(move * wanted >= 0)
    assert np.all(np.abs(move) <= np.abs(wanted) + 0.5 + 1e-3)


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [(8 / 255, 8), (0.1, 25), (1.9 / 255, 1), (1 / 255, 1), (0.9 / 255, 0), (0.001, 0)],
)
def test_a_sign_step_moves_whole_levels(epsilon, expected):
    x = np.full((1, 2, 2), 100 / 255, np.float32)
    x_adv = (x + np.float32(epsilon) * np.array([[1, -1], [0, 1]], np.float32)).astype(np.float32)
    levels = to_grey_levels(x_adv, x, epsilon=epsilon, norm="linf").astype(int)
    assert (levels - 100).tolist() == [[[expected, -expected], [0, expected]]]


def test_black_and_white_do_not_wrap():
    x = np.array([[[0.0, 1.0]]], np.float32)
    assert to_grey_levels(x, x, epsilon=0.5, norm="linf").tolist() == [[[0, 255]]]
    flipped = to_grey_levels(1 - x, x, epsilon=1, norm="linf")
    assert flipped.tolist() == [[[255, 0]]]


def test_l2_rounds_up_while_there_is_room():
    """Moves of .9, .6 and .4 levels; room for one whole level, and then for two."""
    x = np.full((1, 3), 100 / 255)
    x_adv = x + np.array([[0.9, 0.6, 0.4]]) / 255
    for room, expected in ((1.0, [1, 0, 0]), (1.5, [1, 1, 0]), (3, [1, 1, 0])):
        levels = to_grey_levels(x_adv, x, epsilon=room / 255, norm="l2").astype(int)
        assert (levels - 100).tolist() == [expected]
