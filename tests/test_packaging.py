"""The wheel, alone in an empty environment, does the main job."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
REPORT = ("page.html", "blocks.html", "style.css", "script.js")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True)
    [path] = folder.glob("*.whl")
    return path


def test_the_wheel_brings_data_types_and_licences(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "fgsm_cli/assets/mnist.npz" in names
    assert "fgsm_cli/py.typed" in names
    assert {f"fgsm_cli/assets/report/{name}" for name in REPORT} <= set(names)
    assert "fgsm_cli/assets/papers/goodfellow2015-softmax.yaml" in names
    assert {Path(name).name for name in names if "/licenses/" in name} == {"LICENSE", "NOTICE"}
    assert not [name for name in names if name.startswith(("tests", "benchmarks"))]


def test_the_wheel_alone_attacks(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    install = [python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel]
    subprocess.run(install, check=True, env=environment, capture_output=True)
    result = subprocess.run(
        [tmp_path / "env" / "bin" / "fgsm", "attack", "--epsilon", "0.1", "--format", "json"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["n"] == 10_000


def test_the_constraints_name_no_place():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert not [line for line in lines if "://" in line or "@" in line]
