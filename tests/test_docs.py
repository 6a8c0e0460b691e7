"""Every snippet of README and docs runs, and every pasted screen is what the command prints."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fgsm_cli.cli import main
from fgsm_cli.config import SECTIONS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def screens(page: Path) -> list[tuple[str, str]]:
    """The commands of the page's console blocks, each with the screen pasted below it."""
    found = []
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, screen = part.partition("\n")
            found.append((command, screen))
    return found


def shape(text: str) -> str:
    """The text with numbers and white space made alike, which may differ between machines."""
    masked = re.sub(r"\d[\d,.]*(e-?\d+)?", "#", text)
    return re.sub(r"\s+", " ", masked).strip()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_snippets_run_in_order(page, tmp_path, monkeypatch, model_file):
    monkeypatch.chdir(tmp_path)
    Path("runs/mnist-mlp").mkdir(parents=True)
    Path("runs/mnist-mlp/model.keras").write_bytes(model_file.read_bytes())
    namespace: dict[str, object] = {}
    for number, code in enumerate(blocks(page, "python")):
        exec(compile(code, f"{page.name}, python block {number + 1}", "exec"), namespace)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if screens(page)], ids=lambda page: page.name
)
def test_console_snippets_print_what_is_pasted(page, tmp_path, monkeypatch):
    """In one folder that holds configs/; `make` itself is what CI runs."""
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    for command, screen in screens(page):
        if command.startswith(("make", "python3 -m pip", "pip ")):
            continue
        code, shown = entered(command)
        assert code == (1 if "--fail-under" in command else 0), shown
        print(shown)
        if screen.strip():
            assert shape(shown) == shape(screen), command


def entered(command):
    """What a command ends with and prints: by the shell, or without it where it has no part.

    Without it TensorFlow is imported once and not by each of thirty commands.
    """
    words = shlex.split(command)
    if words[0] != "fgsm" or set(command) & set("|&;<>$"):
        result = subprocess.run(
            ["bash", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return result.returncode, result.stdout
    with tempfile.TemporaryFile() as file:
        before = os.dup(2)
        os.dup2(file.fileno(), 2)  # where notes go, whatever sys.stderr is
        try:
            shown = io.TextIOWrapper(file, "utf-8", write_through=True)
            with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
                code = main(words[1:])
        finally:
            os.dup2(before, 2)
            os.close(before)
        file.seek(0)
        return code, file.read().decode()


def test_every_command_is_in_the_readme():
    text = (ROOT / "README.md").read_text()
    for command in (*SECTIONS, "compare", "verify", "schema", "show", "plot"):
        assert f"fgsm {command}" in text
    for command in ("make attack", "make test"):
        assert command in text


def test_links_within_the_docs_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
