"""The report as people meet it: the text of the page, and the page in a real Chromium."""

import base64
import io
import json
import os
import re
import shutil
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fgsm_cli.config import AttackOptions, CurveOptions, EvalOptions, TrainOptions, build
from fgsm_cli.experiment import Watch, attack, curve, evaluate, train
from fgsm_cli.family import attack_named
from fgsm_cli.report import write_report
from fgsm_cli.report.page.pictures import as_grid, change, picture, steps
from fgsm_cli.results import Audit, Crossing, Finding, ModelSource, Source, Transfer

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
in_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium here: apt-get install chromium"
)
NASTY = '<script>document.title="run"</script>'
LOOKS = Watch(wants_portrait=True)


def levels(uri):
    assert uri.startswith("data:image/png;base64,")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))))


@pytest.fixture(scope="module")
def told(model_file):
    """A default attack on all of MNIST's test images: its options and its record."""
    options = build(AttackOptions, {"model": str(model_file)})
    return options, attack(options, LOOKS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def page(told, folder):
    options, record = told
    path = folder / "attack.html"
    write_report([str(path)], [("attack", options, record)], record.as_dict())
    return path


@pytest.fixture(scope="module")
def whole_run(model_file, folder):
    """A page of every kind of record, with names that would run if they were markup."""
    model = {"model": str(model_file), "limit": 100}
    trained = build(TrainOptions, {"limit": 400, "epochs": 2, "output": str(folder / "model")})
    judged = build(EvalOptions, {**model, "attack": ["fgsm", "bim", "pgd"], "steps": 3})
    traced = build(CurveOptions, {**model, "attack": "fgm", "points": 7, "epsilon_max": 2})
    named = build(AttackOptions, {**model, "classes": [NASTY, *"bcdefghij"], "target": "next"})
    attacked = attack(named, LOOKS)
    source, data = ModelSource(NASTY, "ab" * 32, "logits"), Source("mnist", "cd" * 32, "100 images")
    findings = (
        Finding("logits", "the model gives logits", "nothing", "pass"),
        Finding("zero gradients", "12 % are zero", "they are masked", "fail"),
        Finding("one-step gap", "a gap of 9 %", "overfitting", "suspicious"),
    )
    both = ("a.keras", NASTY)
    crossings = tuple(
        Crossing(row, column, 100, 97, 20 + 30 * (row != column), 60)
        for row in both
        for column in both
    )
    records = [
        ("train", trained, train(trained, LOOKS)),
        ("attack", named, replace(attacked, model=replace(attacked.model, path=NASTY))),
        ("eval", judged, evaluate(judged, LOOKS)),
        ("curve", traced, curve(traced, LOOKS)),
        ("audit", named, Audit(source, data, 0.1, findings, warnings=(NASTY,))),
        (
            "transfer",
            named,
            Transfer((source,), data, attack_named(epsilon=0.1), 100, both, both, crossings, 0.1),
        ),
    ]
    path = folder / "run.html"
    write_report([str(path)], records, {name: one.as_dict() for name, _, one in records}, trained)
    return path


class Elements(HTMLParser):
    """The elements of a page, each with its attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_the_default_report_is_small(page):
    assert page.stat().st_size < 400_000  # far below the 1.5 MB that are allowed


def test_the_page_names_nothing_outside_itself(page, whole_run):
    for path in (page, whole_run):
        for tag, attributes in Elements(path.read_text()).found:
            assert tag not in {"iframe", "object", "embed", "base", "form"}
            for name in ("src", "href", "data", "action", "srcset", "poster"):
                if name in attributes:
                    assert attributes[name].startswith(("#", "data:")), (tag, attributes[name])
            assert "style" not in attributes  # which the policy would not let through
            assert not [name for name in attributes if name.startswith("on")]


def test_a_name_is_shown_and_never_markup(page, whole_run):
    """As many scripts as without it: the page's own, and one of data for each slider."""
    scripts = [one for one in Elements(page.read_text()).found if one[0] == "script"]
    assert [attributes.get("type") for _, attributes in scripts] == ["application/json", None]
    text = whole_run.read_text()
    scripts = [one for one in Elements(text).found if one[0] == "script"]
    assert len(scripts) == 3 + 1
    assert NASTY not in text
    assert "&lt;script&gt;document.title" in text


def test_the_same_run_makes_the_same_page(told, page, folder):
    options, record = told
    again = folder / "again.html"
    write_report([str(again)], [("attack", options, record)], record.as_dict())
    assert again.read_bytes() == page.read_bytes()


def test_the_page_tells_the_counts_and_how_to_run_again(told, page):
    options, record = told
    [result] = record.results
    text = page.read_text().replace("\N{NO-BREAK SPACE}", " ")
    for part in (record.clean_correct, result.adversarial_correct):
        assert f"{part:,}/10,000 right" in text
    assert f"{100 * result.adversarial_accuracy:.1f} %" in text
    assert f"fgsm attack {options.model}" in text
    assert record.model.sha256 in text
    assert record.data.sha256 in text


def test_a_warning_withdraws_the_trust(told, folder):
    options, record = told
    [result] = record.results
    doubtful = replace(record, results=(replace(result, warnings=("most gradients are zero",)),))
    path = folder / "doubt.html"
    write_report([str(path)], [("attack", options, doubtful)], record.as_dict())
    assert "Do not rely on it" in path.read_text()
    assert "most gradients are zero." in path.read_text()


def test_a_page_needs_no_portrait(told, folder):
    options, record = told
    bare = replace(record, portrait=None)
    path = folder / "bare.html"
    write_report([str(path)], [("attack", options, bare)], record.as_dict())
    assert "Adversarial accuracy" in path.read_text()
    assert "What it looks like" not in path.read_text()


def test_signs_come_back_from_their_picture_exactly():
    signs = np.random.default_rng(0).integers(-1, 2, (9, 7, 3)).astype(np.float32)
    uri, size = steps(signs)
    np.testing.assert_array_equal((levels(uri).astype(int) - 128) / 127 * size, signs)


def test_pixels_come_back_from_their_picture_to_half_a_level():
    x = np.random.default_rng(0).random((8, 8))
    np.testing.assert_allclose(levels(picture(x)) / 255, x, atol=0.5001 / 255)
    grey = np.arange(256).reshape(16, 16)
    np.testing.assert_array_equal(levels(picture(grey / 255)), grey)


def test_no_change_is_paper_and_more_is_another_colour():
    painted, size = change(np.array([[-0.1, 0.0, 0.1]]))
    (lower, same, higher) = levels(painted)[0].astype(int)
    assert size == 0.1
    assert lower[2] > lower[0]
    assert higher[0] > higher[2]
    assert same.min() > 240
    assert change(np.zeros((2, 2)))[1] == 0


@pytest.mark.parametrize(
    ("shape", "grid"),
    [
        ((28, 28), (28, 28)),
        ((28, 28, 1), (28, 28)),
        ((1, 28, 28), (28, 28)),
        ((3, 8, 9), (8, 9, 3)),
        ((8, 9, 4), (8, 9, 3)),
        ((784,), (28, 28)),
        ((20,), (1, 20)),
        ((8, 8, 7), None),
        ((2, 3, 4, 5), None),
    ],
)
def test_what_can_be_shown(shape, grid):
    shown = as_grid(np.zeros(shape))
    assert (None if shown is None else shown.shape) == grid


def test_the_command_writes_its_report(fgsm, tmp_path, model_file):
    done = fgsm(
        "attack", model_file, "--limit", 60, "--report", "a/b.html", "--output", "out", "-f", "json"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "Report: a/b.html\n"
    text = (tmp_path / "a/b.html").read_text()
    assert (tmp_path / "out/report.html").read_text() == text
    [uri] = re.findall(r'download="results.json" href="data:application/json;base64,([^"]+)"', text)
    assert base64.b64decode(uri).decode() == (tmp_path / "out/results.json").read_text()
    assert json.loads(base64.b64decode(uri)) == json.loads(done.stdout)
    [uri] = re.findall(r'download="config.yaml" href="data:application/yaml;base64,([^"]+)"', text)
    assert base64.b64decode(uri).decode() == (tmp_path / "out/config.yaml").read_text()


def test_a_saved_set_hangs_too_and_is_not_taken_for_an_attack(fgsm, tmp_path, model_file):
    fgsm("attack", model_file, "--limit", "30", "--save", "adv.npz")
    fgsm("eval", model_file, "--examples", "adv.npz", "--report", "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "on the saved adversarial set, made by FGSM at epsilon 0.1" in text
    assert "True of these images" in text
    assert "Gradients are sound" not in text
    assert text.count('class="card"') == 24
    assert '<div class="wide lab"' not in text


def test_a_run_writes_one_report_for_all_and_one_for_each(fgsm, tmp_path, model_file):
    (tmp_path / "two.yaml").write_text(
        f"attack: {{model: {model_file}, limit: 30}}\ncurve: {{model: {model_file}, limit: 30}}\n"
    )
    done = fgsm("run", "two.yaml", "--output", "out")
    assert done.returncode == 0, done.stderr
    for name in ("report.html", "attack/report.html", "curve/report.html"):
        assert (tmp_path / "out" / name).exists()
    assert "2 sections" in (tmp_path / "out/report.html").read_text()


@pytest.mark.parametrize("target", ["report.txt", "there.html", "model.keras"])
def test_a_report_goes_where_it_may(fgsm, tmp_path, model_file, target):
    (tmp_path / "there.html").mkdir()
    shutil.copy(model_file, tmp_path / "model.keras")
    done = fgsm("attack", "model.keras", "--limit", 10, "--report", target)
    assert done.returncode == 2
    assert "--report" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        yield browser
        browser.close()


@contextmanager
def opened(browser, path, ready=True, **settings):
    """The page from disk; whatever it logs or asks the network for fails the test."""
    context = browser.new_context(**settings)
    context.set_default_timeout(20_000)
    tab = context.new_page()
    said, asked = [], []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(Path(path).as_uri())
    if ready:
        tab.wait_for_selector("[data-ready]")
    yield tab
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [Path(path).as_uri()]
    context.close()


def pixels(tab, selector, place):
    """The pixels of a canvas or a picture on the page, as they are drawn."""
    drawn = tab.evaluate(
        """([selector, place]) => {
            const from = document.querySelectorAll(selector)[place];
            const canvas = document.createElement("canvas");
            canvas.width = from.naturalWidth || from.width;
            canvas.height = from.naturalHeight || from.height;
            const context = canvas.getContext("2d");
            context.drawImage(from, 0, 0);
            return Array.from(context.getImageData(0, 0, canvas.width, canvas.height).data);
        }""",
        [selector, place],
    )
    return np.array(drawn).reshape(28, 28, 4)[..., 0]


def move(tab, stop):
    """Set the slider as a hand would."""
    tab.locator("input[type=range]").first.fill(str(stop))


@in_chromium
def test_the_slider_shows_each_image_at_each_epsilon_and_its_answer(browser, page, told):
    portrait = told[1].portrait
    course = portrait.course
    with opened(browser, page) as tab:
        for stop in (0, 5, 10, 20):
            move(tab, stop)
            epsilon = course.epsilons[stop]
            assert tab.locator("output").inner_text() == f"{epsilon:.4g}"
            told_below = tab.locator(".live").inner_text().replace("\N{NO-BREAK SPACE}", " ")
            assert told_below.startswith(f"{course.correct[stop]:,} of 10,000 images")
            assert f"{100 * course.noise_correct[stop] / course.n:.1f} %" in told_below
            tiles = tab.locator(".tiles li p").all_inner_texts()
            for place in (0, 9, 23):
                one = portrait.gallery[place]
                wanted = np.clip(one.x + epsilon * one.direction, 0, 1)
                np.testing.assert_allclose(
                    pixels(tab, ".tiles canvas", place), 255 * wanted, atol=1
                )
                mark = "✓" if one.along[stop].label == one.label else "✗"
                assert f"label {one.label}\n{mark} {one.along[stop].label}," in tiles[place]
        move(tab, 0)
        first = pixels(tab, "img[data-x]", 0)
        np.testing.assert_array_equal(pixels(tab, ".tiles canvas", 0), first)


@in_chromium
def test_the_slider_obeys_the_keyboard_and_tells_a_screen_reader(browser, page):
    with opened(browser, page) as tab:
        slider = tab.locator("input[type=range]")
        slider.focus()
        before = slider.get_attribute("aria-valuetext")
        tab.keyboard.press("ArrowRight")
        assert slider.get_attribute("aria-valuetext") != before
        assert tab.locator("output").inner_text() == "0.11"
        name = tab.locator(".tiles canvas").first.get_attribute("aria-label")
        assert name.startswith("Image ")
        assert "at epsilon 0.11" in name


@in_chromium
def test_the_results_come_out_of_the_page(browser, page, told):
    with opened(browser, page, accept_downloads=True) as tab:
        taken = {}
        for name in ("results.json", "results.csv", "config.yaml"):
            with tab.expect_download() as started:
                tab.get_by_role("link", name=name).click()
            taken[started.value.suggested_filename] = Path(started.value.path()).read_text()
    assert json.loads(taken["results.json"]) == json.loads(json.dumps(told[1].as_dict()))
    assert taken["results.csv"].splitlines()[0].startswith("command,attack,norm,epsilon")
    assert "\nattack:\n" in taken["config.yaml"]


@in_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["page", "whole_run"])
def test_nothing_bars_anybody(browser, which, scheme, request):
    """axe-core: headings, names, contrast, tables and all else it can see."""
    from axe_playwright_python.sync_playwright import Axe

    with opened(browser, request.getfixturevalue(which), color_scheme=scheme) as tab:
        tab.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        found = Axe().run(tab).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []


@in_chromium
def test_without_javascript_all_but_the_slider_is_there(browser, page):
    with opened(browser, page, ready=False, java_script_enabled=False) as tab:
        assert not tab.locator("[data-lab]").is_visible()
        assert tab.locator("noscript p").is_visible()
        assert tab.locator(".card").count() == 24
        assert tab.locator(".card").first.is_visible()
        assert tab.locator(".chart svg[role=img]").count() == 2


@in_chromium
def test_a_script_in_a_name_is_read_and_not_run(browser, whole_run):
    with opened(browser, whole_run) as tab:
        assert tab.title() != "run"
        assert NASTY in tab.locator("body").inner_text()


@in_chromium
@pytest.mark.parametrize("width", [360, 800, 1400])
def test_the_page_fits_its_screen(browser, page, whole_run, width):
    for path in (page, whole_run):
        with opened(browser, path, viewport={"width": width, "height": 900}) as tab:
            assert tab.evaluate("document.documentElement.scrollWidth") <= width


@in_chromium
def test_paper_has_no_slider(browser, page):
    with opened(browser, page) as tab:
        tab.emulate_media(media="print")
        assert not tab.locator("[data-lab]").is_visible()
        assert tab.locator(".card").first.is_visible()
