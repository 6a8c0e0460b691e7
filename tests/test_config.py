"""Options: one definition, two doors, and a sentence for every mistake."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fgsm_cli import FgsmError
from fgsm_cli.cli.flags import _pairs_joined
from fgsm_cli.config import (
    SECTIONS,
    AttackOptions,
    EvalOptions,
    Options,
    RunOptions,
    TrainOptions,
    build,
    dump_experiment,
    experiment_schema,
    keys,
    parse_setting,
    read_experiment,
    resolve_experiment,
)

ROOT = Path(__file__).parent.parent


def written(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "x.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize(
    ("text", "number"), [("0.1", 0.1), ("1e-3", 1e-3), ("8/255", 8 / 255), (".25", 0.25), (0, 0.0)]
)
def test_numbers_as_people_write_them(text, number):
    assert build(AttackOptions, {"epsilon": text}).epsilon == number


@pytest.mark.parametrize(
    ("options", "key", "value", "sentence"),
    [
        (AttackOptions, "epsilon", "-0.1", "epsilon must be a number, at least 0. Received: '-0.1'"),
        (AttackOptions, "epsilon", "nan", "epsilon must be a number, at least 0. Received: 'nan'"),
        (AttackOptions, "epsilon", "inf", "epsilon must be a number, at least 0. Received: 'inf'"),
        (AttackOptions, "epsilon", "0,1", "epsilon must be a number, at least 0. Received: '0,1'"),
        (AttackOptions, "epsilon", "10%", "epsilon must be a number, at least 0. Received: '10%'"),
        (AttackOptions, "epsilon", "1/0", "epsilon must be a number, at least 0. Received: '1/0'"),
        (AttackOptions, "epsilon", "", "epsilon must be a number, at least 0. Received: ''"),
        (AttackOptions, "attack", "fgms", "attack must be one of fgsm, fgm, margin-fgsm, "),
        (AttackOptions, "limit", "0", "limit must be a whole number, at least 1. Received: '0'"),
        (AttackOptions, "limit", "1.5", "limit must be a whole number, at least 1. Received: '1.5'"),
        (AttackOptions, "seed", "-1", "seed must be a whole number, at least 0, at most 4294967295."),
        (AttackOptions, "seed", str(2**32), "at most 4294967295. Received: '4294967296'"),
        (AttackOptions, "batch_size", True, "batch_size must be a whole number, at least 1. Received: True"),
        (AttackOptions, "fail_under", "1.1", "fail_under must be a number, at least 0, at most 1."),
        (AttackOptions, "model", "a\nb", "model must be text without control characters."),
        (AttackOptions, "format", "xml", "format must be one of table, json, csv, markdown, junit. Received: 'xml'"),
        (EvalOptions, "epsilon", ["0.1", "x"], "epsilon must be a number, at least 0 (or a list of such). Received: 'x'"),
        (EvalOptions, "epsilon", [], "epsilon must be a number, at least 0 (or a list of such). Received: []"),
        (TrainOptions, "hidden", "128,x", "hidden must be a whole number, at least 1 (or a list of such). Received: 'x'"),
        (TrainOptions, "dropout", "1", "dropout must be a number, at least 0, below 1. Received: '1'"),
        (TrainOptions, "retrain", "maybe", "retrain must be true or false. Received: 'maybe'"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_told_with_what_was_expected(options, key, value, sentence):
    with pytest.raises(FgsmError) as caught:
        build(options, {key: value})
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "widths"),
    [
        ("128", (128,)),
        ("256,128", (256, 128)),
        (["256", "128"], (256, 128)),
        ("none", ()),
        ([], ()),
    ],
)
def test_hidden_widths(text, widths):
    assert build(TrainOptions, {"hidden": text}).hidden == widths


@pytest.mark.parametrize(
    "value", ["0,255", "0:255", "0 255", "0, 255", [0, 255], ["0", "255"], ["0,255"], (0, 255)]
)
def test_a_range_is_two_numbers_however_written(value):
    assert build(AttackOptions, {"data_range": value}).data_range == (0, 255)


def test_a_range_may_begin_below_zero():
    assert build(AttackOptions, {"data_range": "-1,1"}).data_range == (-1, 1)


@pytest.mark.parametrize(
    "value", ["5", "1,0", "0,0", "0,nan", "0,inf", "0,1,2", "", "a,b", ",", True, 3, [], [True, 2]]
)
def test_a_range_that_is_not_two_numbers_in_order_is_refused(value):
    with pytest.raises(FgsmError, match="data_range must be two finite numbers, the lower first"):
        build(AttackOptions, {"data_range": value})


@pytest.mark.parametrize(
    ("words", "read"),
    [
        (["--data-range", "0", "255"], ["--data-range=0,255"]),
        (["--data-range", "-1", "1", "m.keras"], ["--data-range=-1,1", "m.keras"]),
        (["--data-range=-1", "1"], ["--data-range=-1,1"]),
        (["--data-range", "0,255", "--limit", "5"], ["--data-range", "0,255", "--limit", "5"]),
        (["--data-range", "0:1", "m.keras"], ["--data-range", "0:1", "m.keras"]),
        (["--epsilon", "1", "2"], ["--epsilon", "1", "2"]),
        (["--data-range", "0"], ["--data-range", "0"]),
        (["--data-range"], ["--data-range"]),
    ],
)
def test_two_words_after_a_flag_of_a_range_are_one_value(words, read):
    assert _pairs_joined(words, {"--data-range"}) == read


def test_options_cannot_be_changed_after_they_were_checked():
    with pytest.raises(ValueError, match="frozen"):
        AttackOptions().epsilon = -1


@given(st.text(max_size=30))
def test_any_text_is_a_value_or_one_sentence(text):
    for command in (TrainOptions, AttackOptions, EvalOptions, RunOptions):
        for key in keys(command):
            try:
                build(command, {key: text})
            except FgsmError as error:
                assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("options", "values", "sentence"),
    [
        (AttackOptions, {"steps": 5}, "--steps does not fit fgsm: one step only. Expected an attack such as pgd"),
        (AttackOptions, {"restarts": 5, "attack": "bim"}, "--restarts does not fit bim: no random start"),
        (EvalOptions, {"restarts": 5, "attack": ["fgsm", "bim"]}, "--restarts does not fit fgsm, bim"),
        (EvalOptions, {"seeds": 5, "attack": ["fgsm", "bim"]}, "--seeds does not fit fgsm, bim: nothing random"),
    ],
)  # fmt: skip
def test_an_option_that_concerns_no_attack_is_refused(options, values, sentence):
    with pytest.raises(FgsmError, match=sentence):
        build(options, values)


def test_an_option_reaches_the_attacks_that_it_concerns():
    options = build(
        EvalOptions,
        {
            "attack": ["fgsm", "pgd"],
            "steps": 20,
            "restarts": 3,
            "epsilon": "8",
            "epsilon_unit": "pixel",
        },
    )
    (fgsm,), (pgd,) = options.contests()
    assert (fgsm.steps, fgsm.restarts) == (1, 1)
    assert (pgd.steps, pgd.restarts, pgd.step_size) == (20, 3, 0.125)
    assert fgsm.epsilon == pgd.epsilon == 8 / 255
    [worst] = build(EvalOptions, {"attack": ["fgsm", "pgd"], "worst": True}).contests()
    assert [attack.name for attack in worst] == ["fgsm", "pgd"]


# --- YAML -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "x.yaml is empty; expected one of the sections train, attack, eval, curve, audit, transfer, certify, run"),
        ("# epsilon: 0.1\n", "x.yaml is empty"),
        ("- attack\n", "x.yaml, line 1: expected sections as 'key: value'. Received: a list"),
        ("epsilon:0.1\n", "line 1: expected sections as 'key: value'. Received: 'epsilon:0.1'"),
        ("attack:\n\tepsilon: 0.1\n", "x.yaml, line 2, column 1: not valid YAML: found character '\\t'"),
        ("attack: {epsilon: [0.1, 0.2\n", "x.yaml, line 2, column 1: not valid YAML"),
        ("attack: {}\n---\neval: {}\n", "line 2, column 1: a second document begins; expected only one"),
        ("atack: {}\n", "line 1: unknown section 'atack'. Did you mean attack?"),
        ("attack:\n  epsilson: 0.3\n", "line 2: unknown key attack.epsilson. Did you mean epsilon?"),
        ("attack:\n  epsilon: 0.1\n  epsilon: 0.2\n", "line 3: the key 'epsilon' is given twice"),
        ("attack: {}\nattack: {}\n", "line 2: the key 'attack' is given twice"),
        ("attack: fgsm\n", "line 1: expected options under attack as 'key: value'. Received: 'fgsm'"),
        ("attack:\n  epsilon: -0.1\n", "line 2: attack.epsilon must be a number, at least 0. Received: '-0.1'"),
        ("attack:\n  epsilon: .nan\n", "line 2: attack.epsilon must be a number"),
        ("attack:\n  epsilon:\n", "line 2: attack.epsilon must be a number, at least 0. Received: nothing"),
        ("attack:\n  epsilon: {a: 1}\n", "line 2: expected a value. Received: a mapping"),
        ("eval:\n  epsilon: [[0.1]]\n", "line 2: expected a value or a list of values"),
        ("attack:\n  limit: 1:30\n", "attack.limit must be a whole number, at least 1. Received: '1:30'"),
        ("attack:\n  epsilon: !!python/object/apply:os.getcwd []\n", "python/object/apply:os.getcwd' is not allowed here"),
        ("attack: !!python/name:os.system\n", "is not allowed here"),
        ("attack:\n  ? [1]\n  : 2\n", "expected a plain key"),
        ('attack:\n  model: "C:\\new\\table.keras"\n', "attack.model must be text without control characters"),
        (b"attack:\n  data: na\xefve\n", "is not text in UTF-8 or UTF-16"),
        (b"attack: \x00\n", "is not text in UTF-8 or UTF-16"),
        (b"[" * 5000, "is nested too deeply"),
        (b"# " + b"x" * 1_000_001, "is larger than 1 MB"),
    ],
)  # fmt: skip
def test_a_broken_file_is_told_by_file_and_line(text, sentence, tmp_path):
    with pytest.raises(FgsmError) as caught:
        read_experiment(written(tmp_path, text))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["absent.yaml", "."])
def test_a_file_that_cannot_be_read_is_named(name, tmp_path):
    with pytest.raises(FgsmError, match="no experiment at|is a folder"):
        read_experiment(str(tmp_path / name))


def test_an_alias_bomb_does_not_go_off(tmp_path):
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    bomb = "eval:\n" + "".join(f"  {line}\n" for line in lines) + "  epsilon: *a9\n"
    with pytest.raises(FgsmError, match="unknown key"):
        read_experiment(written(tmp_path, bomb))


def test_a_list_that_holds_itself_is_refused(tmp_path):
    with pytest.raises(FgsmError, match="expected a value or a list of values"):
        read_experiment(written(tmp_path, "eval:\n  epsilon: &r [*r]\n"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_editors_write(encoding, tmp_path):
    path = written(tmp_path, "attack:\n  epsilon: 0.1\n".encode(encoding))
    assert read_experiment(path) == {"attack": {"epsilon": "0.1"}}


def test_a_name_that_yaml_takes_for_something_else_stays_a_name(tmp_path):
    for name in ("no", "2024-01-01", "1.10", "1e3", "on"):
        sections = read_experiment(written(tmp_path, f"attack:\n  data: {name}\n"))
        assert build(AttackOptions, sections["attack"]).data == name


@given(st.binary(max_size=200))
def test_any_bytes_are_an_experiment_or_one_sentence(content):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.yaml")
        path.write_bytes(content)
        try:
            read_experiment(str(path))
        except FgsmError as error:
            assert "\n" not in str(error).replace(str(path), "")


def test_yaml_yields_to_the_command_line(tmp_path):
    text = "run: {seed: 5, limit: 7}\nattack: {epsilon: 0.2, limit: 30}\neval: {}\n"
    sections = read_experiment(written(tmp_path, text))
    _, resolved = resolve_experiment(sections, {})
    assert (resolved["attack"].limit, resolved["attack"].seed) == (30, 5)
    assert (resolved["eval"].limit, resolved["eval"].epsilon) == (7, (0.1,))
    _, resolved = resolve_experiment(sections, {"limit": "3"})
    assert [options.limit for options in resolved.values()] == [3, 3]


def test_what_is_trained_is_what_is_attacked(tmp_path):
    text = "train: {output: here}\nattack: {}\neval: {model: other.keras}\n"
    _, resolved = resolve_experiment(read_experiment(written(tmp_path, text)), {})
    assert isinstance(resolved["attack"], AttackOptions)
    assert isinstance(resolved["eval"], EvalOptions)
    assert resolved["attack"].model == str(Path("here/model.keras"))
    assert resolved["eval"].model == "other.keras"


def test_a_run_with_an_output_gives_each_section_a_folder(tmp_path):
    text = "run: {output: all}\ntrain: {}\nattack: {output: mine}\neval: {}\n"
    _, resolved = resolve_experiment(read_experiment(written(tmp_path, text)), {})
    outputs = {name: options.output for name, options in resolved.items()}
    assert outputs == {
        "train": str(Path("all/train")),
        "attack": "mine",
        "eval": str(Path("all/eval")),
    }


def test_an_output_on_the_command_line_takes_every_section(tmp_path):
    sections = read_experiment(written(tmp_path, "train: {}\nattack: {output: mine}\n"))
    _, resolved = resolve_experiment(sections, {"output": "new"})
    outputs = [options.output for options in resolved.values()]
    assert outputs == [str(Path("new/train")), str(Path("new/attack"))]


def test_what_is_written_is_read_back_as_it_was(tmp_path):
    options: dict[str, Options] = {
        "train": build(
            TrainOptions, {"hidden": "none", "learning_rate": "1e-5", "data_range": "-1,1"}
        ),
        "eval": build(EvalOptions, {"epsilon": ["8/255", "1e-9"], "attack": "bim", "data": "no"}),
    }
    sections = read_experiment(written(tmp_path, dump_experiment(options)))
    assert {name: build(SECTIONS[name], values) for name, values in sections.items()} == options


@pytest.mark.parametrize(
    ("setting", "parsed"),
    [
        ("attack.epsilon=0.2", ("attack", "epsilon", "0.2")),
        ("eval.epsilon=[0.1, 0.2]", ("eval", "epsilon", ["0.1", "0.2"])),
        ("attack.limit=null", ("attack", "limit", None)),
        ("attack.data=a=b", ("attack", "data", "a=b")),
    ],
)
def test_a_setting_overrides_a_key(setting, parsed):
    assert parse_setting(setting) == parsed


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("epsilon=0.2", "--set must be section.key=value. Received: 'epsilon=0.2'"),
        ("attack.epsilon", "--set must be section.key=value"),
        ("atack.epsilon=1", "unknown section 'atack'. Did you mean attack?"),
        ("attack.eps=1", "unknown key attack.eps. Did you mean epsilon?"),
        ("attack.epsilson=1", "unknown key attack.epsilson. Did you mean epsilon?"),
        ("attack.epsilon=x", "attack.epsilon must be a number, at least 0. Received: 'x'"),
        ("attack.epsilon=", "attack.epsilon must be a number, at least 0. Received: nothing"),
        ("attack.epsilon=[", "not valid YAML"),
    ],
)
def test_a_setting_that_does_not_fit_is_told(setting, sentence):
    with pytest.raises(FgsmError) as caught:
        parse_setting(setting)
    assert sentence in str(caught.value)


# --- the schema -----------------------------------------------------------------------------


def test_a_labelled_section_is_its_command_once_more(tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(
        "train-plain: {epochs: 1}\nattack-plain: {}\n"
        "train-robust: {adversarial: rfgsm}\nattack-robust: {}\ncurve: {}\n"
    )
    _, resolved = resolve_experiment(read_experiment(str(path)), {"output": "out"})
    assert [type(options).__name__ for options in resolved.values()] == [
        "TrainOptions", "AttackOptions", "TrainOptions", "AttackOptions", "CurveOptions",
    ]  # fmt: skip
    assert resolved["attack-plain"].model == "out/train-plain/model.keras"
    assert resolved["curve"].model == "out/train-robust/model.keras"
    _, alone = resolve_experiment(read_experiment(str(path)), {})
    assert alone["train-robust"].output == "runs/train-robust"


@pytest.mark.parametrize(
    "name", ["train-", "train-Plain", "plain-train", "run-two", "train_2", "-"]
)
def test_a_label_follows_a_command_and_a_dash(name, tmp_path):
    path = tmp_path / "one.yaml"
    path.write_text(f"{name}: {{}}\n")
    with pytest.raises(FgsmError, match="unknown section"):
        read_experiment(str(path))


def test_the_shipped_schema_is_the_one_of_the_options():
    shipped = json.loads((ROOT / "docs/experiment.schema.json").read_text())
    assert shipped == experiment_schema(), "run: make schema"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.name
)
def test_the_schema_knows_every_shipped_key_and_value(path):
    jsonschema.validate(yaml.safe_load(path.read_text()), experiment_schema())


def test_every_option_has_help_and_a_panel():
    for command in SECTIONS.values():
        for name, field in command.model_fields.items():
            assert field.description, name
            assert isinstance(field.json_schema_extra, dict)
            assert field.json_schema_extra["group"], name


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"mean": "0.5"}, "--mean needs --std; expected both"),
        ({"std": "0.5"}, "--std needs --mean; expected both"),
        ({"mean": "0.5", "std": "0"}, "std must be a number, above 0"),
        ({"mean": "nan", "std": "1"}, "mean must be a number"),
        ({"mean": "1,2", "std": "1,2,3"}, "as many channels. Received: 2 and 3"),
        ({"mean": "1", "std": "1", "input_range": "0 1"}, "say the same; expected only one"),
        ({"output_kind": "argmax"}, "output_kind must be one of logits, softmax"),
    ],
)
def test_a_pixel_range_is_given_once_and_whole(values, sentence):
    with pytest.raises(FgsmError, match=sentence):
        build(AttackOptions, values)


@pytest.mark.parametrize("mean", ["0.485,0.456,0.406", ["0.485", "0.456", "0.406"], (0.485, 0.456, 0.406)])  # fmt: skip
def test_one_number_a_channel_in_one_word_or_several(mean):
    assert build(AttackOptions, {"mean": mean, "std": 1}).mean == (0.485, 0.456, 0.406)


def test_a_key_that_python_has_a_word_for_is_a_key_nevertheless(tmp_path):
    options = build(AttackOptions, {"import": "my.layers"})
    assert options.import_ == ("my.layers",)
    again = read_experiment(written(tmp_path, dump_experiment({"attack": options})))["attack"]
    assert build(AttackOptions, again) == options
    assert parse_setting("attack.import=[a, b]") == ("attack", "import", ["a", "b"])
    for wrong in ("import_", "imports"):
        with pytest.raises(FgsmError, match=f"unknown option '{wrong}'. Did you mean import"):
            build(AttackOptions, {wrong: "my.layers"})
