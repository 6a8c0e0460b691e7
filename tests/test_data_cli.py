"""Image sets on the command line: flags reach the reader, and mistakes end with exit code 2."""

import json

import numpy as np
import pytest
from PIL import Image

from image_files import digits, table

X, Y = digits(100)


def test_a_folder_of_pictures_is_attacked_and_its_saved_set_judged(fgsm, model_file, tmp_path):
    for number, (image, label) in enumerate(zip(X, Y, strict=True)):
        (tmp_path / "digits" / str(label)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(tmp_path / "digits" / str(label) / f"{number}.png")
    (tmp_path / "digits" / ".DS_Store").write_bytes(b"\0")
    options = ["--data", "digits", "--balanced", "--limit", "20", "--offset", "1"]
    attacked = fgsm("attack", model_file, *options, "--save", "adv.npz", "--format", "json")
    assert attacked.returncode == 0, attacked.stderr
    record = json.loads(attacked.stdout)
    assert record["n"] == 20
    assert record["data"]["path"] == "digits"
    assert len(record["data"]["sha256"]) == 64
    assert ".DS_Store" in record["warnings"][0]
    judged = fgsm("eval", model_file, "--examples", "adv.npz", "--format", "json")
    assert judged.returncode == 0, judged.stderr
    assert json.loads(judged.stdout)["clean_correct"] == record["clean_correct"]


def test_a_scale_below_zero_is_two_words_on_the_command_line(fgsm, model_file, tmp_path):
    np.savez(tmp_path / "unit.npz", x=X, y=Y)
    np.savez(tmp_path / "wide.npz", x=(X / 255 * 2 - 1).astype(np.float32), y=Y)
    unit = fgsm("attack", model_file, "--data", "unit.npz", "--format", "json")
    wide = fgsm("attack", model_file, "--data", "wide.npz", "--data-range", "-1", "1", "-f", "json")
    assert wide.returncode == 0, wide.stderr
    unit, wide = json.loads(unit.stdout), json.loads(wide.stdout)
    assert wide["clean_correct"] == unit["clean_correct"]
    assert wide["adversarial_correct"] == unit["adversarial_correct"]


def test_a_table_is_trained_on(fgsm, tmp_path):
    (tmp_path / "train.csv").write_text(table(X, Y))
    result = fgsm("train", "--data", "train.csv", "--epochs", "1", "--format", "json")
    assert result.returncode == 0, result.stderr
    assert "accuracy is overstated" in json.loads(result.stdout)["warnings"][0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--data", "absent"], "no image set at absent, and none is named so: mnist, fashion-mnist, cifar10, cifar100"),
        (["--data", "absent.npz"], "no image set at absent.npz"),
        (["--data-range", "1", "0"], "--data-range must be two finite numbers, the lower first. Received: '1,0'"),
        (["--split", "all"], "--split must be one of train, test. Received: 'all'"),
        (["--offset", "10000"], "--offset must be below 10000, the images of mnist. Received: 10000"),
        (["--label", "3"], "--label is for images without labels, and mnist has its own"),
        (["--x-key", "a"], "--x-key does not fit mnist"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_and_exit_code_2(options, sentence, fgsm, model_file):
    result = fgsm("attack", model_file, *options)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1
