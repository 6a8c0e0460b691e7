"""What the tests share: one small trained model, images, and the command as a subprocess."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis
import numpy as np
import pytest

from fgsm_cli.data import ImageSet, load_images
from fgsm_cli.models import Classifier, save_model
from masked import plain

# The same examples in every run, so that what fails has changed; FUZZ=5000 looks for new ones.
hypothesis.settings.register_profile(
    "the same everywhere", deadline=None, derandomize="FUZZ" not in os.environ, database=None
)
hypothesis.settings.load_profile("the same everywhere")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def images() -> ImageSet:
    """The first 1000 MNIST test images."""
    return load_images("mnist", "test", limit=1000)


@pytest.fixture(scope="session")
def classifier() -> Classifier:
    """A 784-64-10 MLP after two epochs on 20,000 images: good, and not yet saturated."""
    return plain(load_images("mnist", "train", limit=20_000))


@pytest.fixture(scope="session")
def model_file(classifier: Classifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That model as a .keras file."""
    path = tmp_path_factory.mktemp("model") / "small.keras"
    save_model(classifier.model, path)
    return path


@pytest.fixture
def fgsm(tmp_path: Path) -> Run:
    """Run ``fgsm ARGUMENTS`` in an empty folder, as its user would."""

    def run(*arguments: object, **keywords: object) -> subprocess.CompletedProcess[str]:
        changes = keywords.pop("env", {})
        settings: dict[str, object] = {
            "cwd": tmp_path,
            "capture_output": True,
            "text": True,
            "timeout": 240,
            "env": {**os.environ, "COLUMNS": "100", **changes},  # type: ignore[dict-item]
            **keywords,
        }
        command = [sys.executable, "-m", "fgsm_cli", *map(str, arguments)]
        return subprocess.run(command, check=False, **settings)  # type: ignore[call-overload,no-any-return]

    return run


@pytest.fixture
def small_set(tmp_path: Path) -> Path:
    """Fifty MNIST test images as an .npz in the layout of keras.datasets."""
    images = load_images("mnist", "test", limit=50)
    path = tmp_path / "small.npz"
    np.savez(path, x_test=images.images, y_test=images.labels.astype(np.uint8))
    return path
