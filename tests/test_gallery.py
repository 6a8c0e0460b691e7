"""Images before and after an attack, in the terminal and as a grid."""

import base64
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from fgsm_cli.cli import main
from fgsm_cli.images import levels, stretched
from fgsm_cli.plots import grid
from fgsm_cli.report import as_csv, as_json, print_table
from fgsm_cli.report.gallery import strip_of
from fgsm_cli.results import Answer, Exhibit, Gallery, Moved, Source
from terminal import KITTY, SIXEL, screen_of

RNG = np.random.default_rng(0)


def gallery(shape=(28, 28), *, clean=True, attacks=1, **changes):
    x = RNG.random(shape, np.float32)
    x_adv = np.clip(x + 0.1 * RNG.choice([-1, 0, 1], shape), 0, 1).astype(np.float32)
    moved = [
        Moved(f"FGSM {place}", x_adv, Answer(3, 0.912), 0.1 if clean else None, 2.0)
        for place in range(attacks)
    ]
    one = Exhibit(7, 1, x if clean else None, Answer(1, 0.99) if clean else None, tuple(moved))
    whole = Gallery(Source("adv.npz", "00", "9 adversarial images"), None, 9, (one,))
    return replace(whole, **changes)


def printed(record, graphics="auto", width=100, **keywords):
    screen = io.StringIO()
    console = Console(file=screen, width=width, **keywords)
    print_table(record, console, graphics)
    return screen.getvalue()


@pytest.mark.parametrize("size", [1e-6, 0.1, 1.0])
def test_a_perturbation_is_stretched_to_the_whole_range_around_grey(size):
    found = stretched(np.array([[-size, 0], [size / 2, size]]))
    assert found.tolist() == [[0, 128], [191, 255]]


def test_no_perturbation_is_grey():
    assert (stretched(np.zeros((2, 2))) == 128).all()


@pytest.mark.parametrize(
    ("shape", "picture"),
    [
        ((28, 28), (28, 28)),
        ((28, 28, 1), (28, 28)),
        ((784,), (28, 28)),
        ((8, 9, 3), (8, 9, 3)),
        ((3, 8, 9), (8, 9, 3)),
    ],
)
def test_images_of_any_arrangement_become_pictures(shape, picture):
    assert levels(np.ones(shape)).shape == picture


def test_half_blocks_show_every_pixel():
    """A cell is two pixels, the upper one in front, the lower one behind."""
    record = gallery()
    text = printed(record, "blocks", force_terminal=True, color_system="truecolor")
    lines = [line for line in text.splitlines() if "▀" in line]
    cells = [
        re.findall(r"\x1b\[38;2;(\d+);\d+;\d+;48;2;(\d+);\d+;\d+m(▀+)", line) for line in lines
    ]
    found = np.array(
        [
            [int(pair[half]) for *pair, blocks in row for _ in blocks]
            for row in cells
            for half in (0, 1)
        ]
    )
    [one] = record.images
    [moved] = one.moved
    expected = [levels(one.clean), stretched(moved.pixels - one.clean), levels(moved.pixels)]
    assert found.tolist() == np.hstack(expected).tolist()


@pytest.mark.parametrize("width", [28, 40, 80, 200])
@pytest.mark.parametrize("shape", [(28, 28), (8, 9, 3), (64, 32)])
def test_images_fit_the_screen(shape, width):
    text = printed(gallery(shape), "shades", width)
    assert max(map(len, text.splitlines()[4:])) <= width


def test_a_pipe_gets_the_table_and_no_escape_codes():
    text = printed(gallery(class_names=("cat", "dog", "eel", "fox")))
    assert "\x1b" not in text
    assert "dog (99.0 %)  fox (91.2 %)" in text


def test_without_clean_images_only_the_adversarial_one_is_shown():
    text = printed(gallery(clean=False), "shades")
    assert "adversarial" in text
    assert "perturbation" not in text


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
@pytest.mark.parametrize("clean", [True, False])
def test_a_grid_is_the_same_file_every_time(suffix, clean, tmp_path):
    record = gallery(clean=clean, attacks=2, class_names=("a", "$x_1$", "c", "<d>"))
    paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    for path in paths:
        grid(record, str(path))
    assert paths[0].read_bytes() == paths[1].read_bytes() != b""


def test_a_gallery_is_told_to_programs_without_its_pixels():
    record = gallery()
    document = json.loads(as_json(record.as_dict()))
    [row] = document["images"]
    assert (row["index"], row["clean_prediction"], row["adversarial_prediction"]) == (7, 1, 3)
    assert as_csv([("show", record)]).splitlines()[0] == ",".join(row)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in, and ``fgsm`` in this process: the exit code and both streams."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def fgsm_here(here, capsys):
    def run(*arguments):
        code = main([str(one) for one in arguments])
        found = capsys.readouterr()
        assert code == 0, found.err
        return found.out

    return run


@pytest.fixture(scope="module")
def saved(model_file, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "adv.npz"
    assert main(["attack", str(model_file), "-n", "60", "--save", str(path), "-f", "csv"]) == 0
    return path


def test_a_saved_set_is_shown_as_the_attack_showed_it(saved, fgsm_here, model_file, classifier):
    attacked = fgsm_here("attack", model_file, "-n", 60, "--show", "--images", "g.png")
    with Image.open("g.png") as image:
        assert image.width > 500
    assert fgsm_here("show", saved, model_file).split("\n\n")[1] in attacked
    found = json.loads(fgsm_here("show", saved, model_file, "--format", "json"))
    with np.load(saved) as arrays:
        answers = np.argmax(classifier(arrays["x_adv"][:5]), axis=1)
        assert [one["label"] for one in found["images"]] == arrays["y"][:5].tolist()
    assert [one["adversarial_prediction"] for one in found["images"]] == answers.tolist()
    assert all(0 < one["linf"] <= 0.1 + 1e-6 for one in found["images"])


def test_the_images_are_chosen_by_label_and_place(saved, fgsm_here):
    shown = fgsm_here("show", saved, "--only", "4,9", "--offset", 1, "-n", 3, "-f", "json")
    rows = json.loads(shown)["images"]
    with np.load(saved) as arrays:
        expected = np.flatnonzero(np.isin(arrays["y"], [4, 9]))[1:4]
    assert [one["index"] for one in rows] == expected.tolist()
    assert {one["adversarial_prediction"] for one in rows} == {None}, "no model is named"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["show"], "fgsm show takes an adversarial set, such as adv.npz. Received: none"),
        (["show", "absent.npz"], "no adversarial set at absent.npz"),
        (["show", "adv.npz", "--offset", "60"], "expected --offset below that. Received: 60"),
        (["show", "adv.npz", "--images", "x.gif"], "--images must name a .svg, .pdf or .png file"),
        (["show", "adv.npz", "--output", "x"], "No such option: --output"),
        (["attack", "--show", "--format", "json"], "--show needs --format table. Received: json"),
        (["attack", "--images", "adv.npz/x.png", "--data", "adv.npz"], "must not overwrite"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(arguments, sentence, here, capsys):
    np.savez("adv.npz", x_adv=RNG.random((60, 28, 28), np.float32), y=np.zeros(60, int))
    assert main(arguments) == 2
    assert sentence in re.sub(r"\s+", " ", capsys.readouterr().err)


def test_several_attacks_are_shown_beside_each_other(fgsm_here, model_file):
    two = ["--epsilon", "0.05", "--epsilon", "0.1", "--pictures", "2"]
    shown = fgsm_here("eval", model_file, "-n", "20", *two, "--show", "--images", "grid.svg")
    assert len(re.findall(r"FGSM, Linf, epsilon 0\.\d+", shown)) >= 4
    assert Path("grid.svg").read_text().count("<image") == 10


def test_a_judged_set_can_be_shown(saved, fgsm_here, model_file):
    judged = fgsm_here("eval", model_file, "--examples", saved, "--show")
    assert fgsm_here("show", saved, model_file) in judged


def test_images_without_labels_are_shown(fgsm_here, model_file, images):
    np.save("x.npy", images.pixels(0, 9))
    fgsm_here("attack", model_file, "-d", "x.npy", "--save", "adv.npz")
    shown = fgsm_here("show", "adv.npz", model_file, "--format", "json")
    assert [one["label"] for one in json.loads(shown)["images"]] == [None] * 5


@pytest.mark.parametrize("protocol", ["sixel", "kitty"])
def test_a_terminal_is_asked_what_it_can(protocol, saved, tmp_path):
    can = {"sixel": [SIXEL], "kitty": [KITTY]}[protocol]
    code, shown = screen_of("show", saved, "-n", "1", cwd=tmp_path, answers=can)
    assert code == 0, shown
    if protocol == "sixel":
        assert shown.count(b"\x1bP") == 1
        return
    chunks = re.findall(rb"\x1b_G[^;]*;([A-Za-z0-9+/=]{8,})\x1b\\", shown)
    with Image.open(io.BytesIO(base64.b64decode(b"".join(chunks)))) as strip:
        assert strip.mode == "RGBA"
        assert strip.getchannel("A").getextrema() == (0, 255), "the gaps let the screen through"


def test_a_strip_holds_the_images_enlarged():
    pictures = [RNG.integers(0, 256, (28, 28), np.uint8) for _ in range(3)]
    strip = np.asarray(strip_of(pictures, 28))
    times = strip.shape[0] // 28
    assert strip[::times, : 28 * times : times, 0].tolist() == pictures[0].tolist()
    assert strip[::times, -28 * times :: times, 0].tolist() == pictures[2].tolist()
