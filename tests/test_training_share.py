"""A step that several devices share: every image once, and the draws and means of one device."""

from functools import partial

import numpy as np
import pytest

from fgsm_cli.backend import tf
from fgsm_cli.norms import NORMS
from fgsm_cli.training.share import Share


@pytest.mark.parametrize("devices", [1, 2, 3, 8])
@pytest.mark.parametrize("total", [1, 2, 5, 8, 256])
def test_every_image_counts_once_and_the_weights_are_one(total, devices):
    shares = [Share.of(tf.constant(total), device, devices) for device in range(devices)]
    rows = [row for one in shares for row in one.rows.numpy()[: one.count]]
    assert sorted(rows) == list(range(total))
    assert all(len(one.rows) for one in shares)  # none goes through the network with no image
    assert sum(float(one.weight) for one in shares) == pytest.approx(1)


@pytest.mark.parametrize("norm", NORMS)
def test_a_share_draws_what_one_device_would_draw_for_its_images(norm):
    draw, seed = partial(NORMS[norm].draw, radius=0.5), tf.constant([0, 5])
    whole = draw(seed, tf.constant([7, 4, 4])).numpy()
    for device in range(3):
        share = Share.of(tf.constant(7), device, 3)
        own = share.drawn(draw, seed, tf.zeros((len(share.rows), 4, 4)))
        assert np.array_equal(own, whole[share.rows.numpy()])
