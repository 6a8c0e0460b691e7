"""What a command may write over, and what it must leave alone; each refused before the work."""

import numpy as np
import pytest

from fgsm_cli import FgsmError
from fgsm_cli.config import AttackOptions, TransferOptions, read_experiment, resolve_experiment
from fgsm_cli.experiment import attack
from fgsm_cli.experiment.folders import check_apart, check_target, output_folder
from fgsm_cli.experiment.transferring import transfer
from fgsm_cli.experiment.watch import Watch


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["curve.npz", "outcomes.npz", "checkpoint.npz", "model.keras"])
def test_an_input_under_a_name_of_ours_is_not_overwritten(name, here):
    (here / "out").mkdir()
    (here / "out" / name).write_text("data")
    with pytest.raises(FgsmError, match="--output must not overwrite an input"):
        output_folder("out", "curve", (f"out/{name}",))


def test_a_config_of_ones_own_is_not_overwritten(here):
    (here / "out").mkdir()
    (here / "out/config.yaml").write_text("# mine\ntrain: {}\n")
    with pytest.raises(FgsmError, match="was not written by fgsm"):
        output_folder("out", "attack")
    (here / "out/config.yaml").write_text("# fgsm 0.1.0; run again with: fgsm run FILE\n")
    assert output_folder("out", "attack") is not None


@pytest.mark.parametrize(
    ("holds", "command"),
    [
        ('{"command": "attack"}', "run"),
        ('{"train": {}}', "attack"),
        ('{"command": "eval"}', "attack"),
    ],
)
def test_another_commands_results_are_not_overwritten(holds, command, here):
    (here / "out").mkdir()
    (here / "out/results.json").write_text(holds)
    with pytest.raises(FgsmError, match=f"expected a folder for {command}"):
        output_folder("out", command)


@pytest.mark.parametrize(
    ("target", "one"),
    [("a.png", "a.png"), ("pics/a.png", "pics"), ("set", "set/model.keras"), ("set", "./set")],
)
def test_a_target_is_apart_from_the_inputs(target, one, here):
    for name in ("a.png", "pics/b.png", "set/model.keras"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text("x")
    with pytest.raises(FgsmError, match="must not overwrite an input"):
        check_apart("--plot", target, [one])
    check_apart("--plot", "elsewhere.png", [one])


def test_a_folder_with_a_manifest_of_somebody_else_is_not_a_saved_set(here):
    """Web applications have one, too."""
    (here / "app").mkdir()
    (here / "app/manifest.json").write_text('{"name": "app", "files": [], "format": "web"}')
    (here / "app/index.html").write_text("years of work")
    with pytest.raises(FgsmError, match="it holds other things than a saved set"):
        check_target("app", "png", ())
    assert (here / "app/index.html").exists()


def test_one_model_under_two_names_is_refused(here):
    (here / "a.keras").write_text("x")
    (here / "b.keras").symlink_to(here / "a.keras")
    with pytest.raises(FgsmError, match="needs different models"):
        transfer(TransferOptions(models=("a.keras", "b.keras")), Watch())


def test_a_plot_that_cannot_be_drawn_is_refused_before_the_work(here):
    for name in ("a.keras", "b.keras", "file"):
        (here / name).write_text(name)
    options = TransferOptions(models=("a.keras", "b.keras"), plot="file/heat.svg")
    with pytest.raises(FgsmError, match="cannot make the folder"):
        transfer(options, Watch())


@pytest.mark.parametrize("choice", [{}, {"offset": 30}, {"balanced": True}], ids=str)
def test_pictures_of_any_part_of_a_set_are_measured_again(choice, here, model_file):
    options = AttackOptions(
        model=str(model_file), limit=20, epsilon=0.1, save="adv", save_format="png", **choice
    )
    record = attack(options, Watch())
    again, [made] = record.saved, record.results
    assert again.n == 20
    assert again.linf_max == pytest.approx(25 / 255)
    assert again.clean_correct == made.clean_correct
    assert abs(again.adversarial_correct - made.adversarial_correct) <= 2


def test_two_sections_do_not_share_a_folder(here):
    (here / "two.yaml").write_text("attack: {output: out}\nattack-b: {output: out}\n")
    with pytest.raises(FgsmError, match="attack and attack-b have one output"):
        resolve_experiment(read_experiment("two.yaml"), {})


def test_test_labels_that_were_never_learned_are_refused(here, fgsm):
    x = np.zeros((6, 4, 4), np.uint8)
    np.savez("a.npz", x_train=x, y_train=[0, 1] * 3, x_test=x, y_test=[0, 1, 2] * 2)
    done = fgsm("train", "--data", "a.npz", "--epochs", "1", "--output", "m")
    assert done.returncode == 2
    assert "have the label 2, which none of its training images has" in done.stderr
