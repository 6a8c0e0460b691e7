"""The documentation as a site: it builds without a warning, tells all there is, and asks no network."""

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlparse

import pytest
import typer.main

from fgsm_cli import __all__ as public
from fgsm_cli.cli import application
from fgsm_cli.config import SECTIONS
from fgsm_cli.config.sections import keys

ROOT = Path(__file__).parent.parent


class Page(HTMLParser):
    """Words of a page, and what it fetches or leads to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.text, self.fetched, self.links = "", [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        elif named.get("src"):
            self.fetched.append(named["src"])
        elif tag == "link" and named.get("rel") in ("stylesheet", "preload", "icon", "preconnect"):
            self.fetched.append(named["href"])

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    return folder


def test_nothing_is_fetched_from_anywhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        for target in Page(page).fetched:
            assert not urlparse(target).netloc, f"{page.name} asks for {target}"
            # 404.html stands for every path, so its links begin at the root.
            assert page.name == "404.html" or (page.parent / urlparse(target).path).exists()


def test_every_command_and_option_has_its_place(site):
    for name, command in typer.main.get_command(application()).commands.items():
        text = Page(site / f"reference/{name}.html").text
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert parameter.opts[0] in text, f"{name} {parameter.opts[0]}"
    sections = Page(site / "reference/experiment-file.html").text
    for options in SECTIONS.values():
        assert all(key in sections for key in keys(options))
    python = Page(site / "reference/python.html").text
    assert all(name in python for name in public)


def test_the_code_is_named_where_no_repository_is_to_be_linked(site):
    """In docs/ a link to the code leads out of the folder; no such link is left on the site."""
    for page in site.rglob("*.html"):
        assert not [link for link in Page(page).links if "../src/" in link or "../configs/" in link]
    assert "src/fgsm_cli/gradients.py" in Page(site / "gradients.html").text
