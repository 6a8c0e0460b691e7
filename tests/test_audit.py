"""The audit passes honest models and catches those built to hide their gradient."""

import numpy as np
import pytest

from fgsm_cli.audit import CHECKS, audit
from fgsm_cli.data import load_images
from masked import collapsed, noisy, robust, rounded, saturated, steep


@pytest.fixture(scope="module")
def training_images():
    return load_images("mnist", "train", limit=10_000)


@pytest.fixture
def verdicts(images, training_images):
    def run(classifier, epsilon=0.1):
        few = images.take(np.arange(300))
        findings = audit(
            classifier,
            few,
            training_images,
            epsilon=epsilon,
            batch_size=300,
            seed=0,
            progress=lambda *_: None,
        )
        assert len(findings) == len(CHECKS)
        return {finding.name: finding.verdict for finding in findings}

    return run


def test_a_plain_network_passes(classifier, verdicts):
    assert set(verdicts(classifier).values()) == {"pass"}


def test_a_network_trained_by_pgd_passes(training_images, verdicts):
    assert set(verdicts(robust(training_images)).values()) == {"pass"}


def test_a_network_that_collapsed_under_fgsm_training_is_caught(training_images, verdicts):
    assert verdicts(collapsed(training_images), epsilon=0.3)["one-step gap"] == "fail"


def test_rounding_is_caught(classifier, verdicts):
    found = verdicts(rounded(classifier))
    assert found["zero gradients"] == "fail"
    assert found["finite differences"] == "fail"
    assert found["whole range"] == "fail"
    assert "fail" in (found["transfer"], found["random search"])


def test_random_answers_are_caught(classifier, verdicts):
    assert verdicts(noisy(classifier))["repeatable"] == "fail"


def test_a_steep_scale_of_the_logits_is_caught(classifier, verdicts):
    found = verdicts(steep(classifier))
    assert found["saturation"] == "fail"
    assert found["iterations"] == "pass", "the attack itself is not misled"


def test_a_saturated_softmax_is_caught(classifier, verdicts):
    """Probabilities whose logits are gone: most of them are 0 or 1, and flat."""
    judged = saturated(classifier)
    assert judged.head == "probabilities"
    found = verdicts(judged)
    assert found["logits"] == "suspicious"
    assert found["zero gradients"] == "fail"
