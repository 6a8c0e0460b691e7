"""The commands as functions: the same records as the commands', and a notebook that runs."""

import json
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import fgsm_cli
from fgsm_cli import FgsmError, attack, evaluate, load_data, load_model
from fgsm_cli.cli import main
from fgsm_cli.report import html
from test_formats import ALL
from test_gallery import gallery
from test_report import ATTACK

ROOT = Path(__file__).parent.parent


class Reader(HTMLParser):
    """What is in a fragment: tags, the text of its cells, and that every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.cells = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("img", "br"):
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


@pytest.mark.parametrize("name", ALL)
def test_every_record_shows_itself(name):
    cells = Reader(ALL[name]._repr_html_()).cells
    assert len(cells) > 2
    assert "".join(cells)


def test_a_name_is_shown_and_not_run():
    odd = '<script>alert("x")</script>'
    read = Reader(html(replace(ATTACK, warnings=(odd,), model=replace(ATTACK.model, path=odd))))
    assert "script" not in {tag for tag, _ in read.tags}
    read = Reader(html(gallery(class_names=("a", odd, "<img>", "&lt;"))))
    assert odd in "".join(read.cells)


def test_images_are_in_the_page_and_described():
    images = [found for tag, found in Reader(html(gallery())).tags if tag == "img"]
    assert [one["alt"] for one in images] == [
        "original of image 7", "perturbation of image 7", "adversarial of image 7",
    ]  # fmt: skip
    assert all(one["src"].startswith("data:image/png;base64,") for one in images)


def test_a_function_finds_what_its_command_finds(model_file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model, images = load_model(str(model_file)), load_data("mnist", limit=50)
    for found, command in (
        (attack(model, images, "bim", "8/255", steps=3), ["attack", "--steps=3", "-a", "bim"]),
        (evaluate(model, images, "bim", "8/255", steps=3), ["eval", "--steps=3", "-a", "bim"]),
    ):
        assert main([*command, str(model_file), "-e", "8/255", "-n", "50", "-f", "json"]) == 0
        assert json.loads(json.dumps(found.as_dict())) == json.loads(capsys.readouterr().out)


def test_a_keras_model_and_arrays_will_do(classifier, images):
    x, y = images.images[:40], images.known_labels[:40]
    by_arrays = attack(classifier.model, (x, y))
    assert by_arrays.results == attack(classifier, images.take(np.arange(40))).results
    assert len(by_arrays.gallery.images) == 5
    assert len(by_arrays.data.sha256) == 64


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda model: attack(model, load_data(limit=3), save="adv.npz"), "save is no option here"),
        (lambda model: attack(model, load_data(limit=3), epsilon=-1), "epsilon must be a number"),
        (lambda model: attack(model, load_data(limit=3), stepz=2), "unknown option 'stepz'"),
        (lambda model: attack(model, (np.ones((2, 5)), [0, 1])), "takes images of shape"),
        (lambda model: attack(model, (np.ones((2, 28, 28)), [0, 10])), "knows the labels 0..9"),
        (lambda model: load_data("mnist", offset=10_000), "--offset must be below"),
        (lambda model: load_model("absent.keras"), "no model at absent.keras"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence, classifier, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FgsmError, match=sentence):
        call(classifier)


def test_the_names_are_there_without_tensorflow():
    script = "import sys, fgsm_cli; dir(fgsm_cli); assert 'tensorflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert all(getattr(fgsm_cli, name) for name in fgsm_cli.__all__)


@pytest.mark.filterwarnings("default")
def test_the_example_notebook_runs(tmp_path):
    book = nbformat.read(ROOT / "examples" / "notebook.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells), "it is kept without its outputs"
    done = NotebookClient(book, timeout=240, resources={"metadata": {"path": tmp_path}}).execute()
    pages = [
        output["data"]["text/html"]
        for cell in done.cells
        for output in cell.get("outputs", ())
        if "text/html" in output.get("data", {})
    ]
    assert len(pages) == 2
    assert pages[0].count("<img") == 6
    assert "pgd" in pages[1]
