"""Hard cases, command and all: one classifier in every guise gives one list of numbers.

It is linear (``linear.py``), so that what FGSM leaves of its right answers is known by algebra.
A row is a model or an image set as people really have them, the flags that it needs, and either
the images that it comes down to or the one sentence that refuses it.
"""

import gzip
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fgsm_cli.backend import keras
from fgsm_cli.cli import main
from fgsm_cli.data import Reading, load_images
from image_files import KAGGLE, idx_bytes, idx_pair, table, write_idx
from linear import fitted, network, right_after, stack, weights

pytestmark = pytest.mark.filterwarnings("ignore")  # Keras on its own legacy formats

layers = keras.layers
EPSILONS = (0, 0.01, 0.02, 0.05, 0.1, 0.2)
FIFTY = load_images("mnist", "test", limit=50, reading=Reading(balanced=True))
X, Y = FIFTY.images, FIFTY.known_labels
UNIT = X / 255
R1 = right_after(UNIT, Y, EPSILONS)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of its own for each row, with the fifty digits and, where asked for, the model."""
    monkeypatch.chdir(tmp_path)
    np.savez("fifty.npz", x_test=X, y_test=Y.astype(np.uint8))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The classifier as a .keras file of pixels in 0..1."""
    path = tmp_path_factory.mktemp("plain") / "plain.keras"
    network(activation="softmax").save(path)
    return path


def judged(capsys, model, *options):
    """The record of fgsm eval, and the right answers at each epsilon."""
    epsilons = [word for epsilon in EPSILONS for word in ("--epsilon", epsilon)]
    code = main([*map(str, ("eval", model, *epsilons, *options)), "--format", "json"])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    record = json.loads(shown.out)
    return record, [result["adversarial_correct"] for result in record["results"]]


def refused(capsys, sentence, *arguments):
    """fgsm attack ends with exit code 2 and one sentence; nothing is printed, nothing is made."""
    before = sorted(Path.cwd().rglob("*"))
    code = main([*map(str, ("attack", *arguments)), "--save", "adv.npz"])
    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert shown.err.startswith("Error: ")
    assert shown.err.count("\n") == 1
    assert sentence in shown.err
    assert sorted(Path.cwd().rglob("*")) == before


# --- models --------------------------------------------------------------------------------


def saved(model, name="model.keras", suffix=""):
    """A model file, written under its format's own ending and then named."""
    own = Path(f"own{suffix or Path(name).suffix}")
    model.save(own)
    own.rename(name)
    return name


def compiled(model, **options):
    model.compile(**options)
    return model


def of_other_scale(width, low):
    """The network for pixels low..low + width, whose first layer does not say so."""
    kernel, bias = weights()
    model = network(activation="softmax")
    return fitted(model, kernel / width, bias - (low / width) * kernel.sum(axis=0))


def at_rest():
    """A network that would answer otherwise while it is trained."""
    entry = [layers.Reshape((28, 28, 1)), layers.BatchNormalization(epsilon=1e-9), layers.Dropout(0.5)]  # fmt: skip
    return network(activation="softmax", before=entry)


def one_of(structure):
    entry = keras.Input((28, 28))
    x = entry
    for layer in stack(activation="softmax")[1:]:
        x = layer(x)
    other = layers.Dense(2, name="is_big")(layers.Flatten()(entry))
    return fitted(keras.Model(entry, structure(x, other)))


def two_inputs():
    image, hint = keras.Input((28, 28), name="image"), keras.Input((4,), name="hint")
    x = image
    for layer in stack(activation=None)[1:]:
        x = layer(x)
    return fitted(keras.Model([image, hint], x + layers.Dense(10, use_bias=False)(hint)))


def exported():
    network(activation="softmax").export("export", verbose=False)
    return "export"


def of_own_class():
    Path("own_layer_of_cases.py").write_text(
        "import keras\nclass Halving(keras.layers.Layer):\n    def call(self, x):\n        return x / 2\n"
    )

    class Halving(layers.Layer):
        def call(self, x):
            return x / 2

    return saved(network(before=[layers.Rescaling(2.0), Halving()]))


def with_lambda():
    return network(before=[layers.Lambda(lambda x: x * 1.0)])


MODELS = {
    "softmax": lambda: (saved(network(activation="softmax")),),
    "logits": lambda: (saved(network()),),
    "softmax, compiled as logits": lambda: (saved(compiled(network(activation="softmax"), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))),),
    "0..255 by its Rescaling": lambda: (saved(network(before=[layers.Rescaling(1 / 255)])),),
    "0..255, not said": lambda: (saved(of_other_scale(255, 0)), "--input-range", 0, 255),
    "-1..1, not said": lambda: (saved(of_other_scale(2, -1)), "--input-range", -1, 1),
    "standardised": lambda: (saved(of_other_scale(1 / 0.3081, -0.1307 / 0.3081)), "--mean", 0.1307, "--std", 0.3081),
    "(28, 28, 1)": lambda: (saved(network(entry=(28, 28, 1))),),
    "(784,)": lambda: (saved(network(entry=(784,))),),
    "(1, 28, 28)": lambda: (saved(network(entry=(1, 28, 28))),),
    "batch normalisation and dropout": lambda: (saved(at_rest()),),
    "one of two outputs by name": lambda: (saved(one_of(lambda x, other: {"digit": x, "big": other})), "--output-name", "digit"),
    "one of a list of outputs": lambda: (saved(one_of(lambda x, other: [other, x])), "--output-name", "scores"),
    "one of two inputs": lambda: (saved(two_inputs()), "--input-name", "image"),
    "mixed_float16": lambda: (saved(network(dtype="mixed_float16", activation="softmax")),),
    "mixed_bfloat16": lambda: (saved(network(dtype="mixed_bfloat16")),),
    ".h5": lambda: (saved(network(activation="softmax"), "model.h5"),),
    ".h5 of a regression's loss": lambda: (saved(compiled(network(activation="softmax"), loss="mse", metrics=["mae"]), "model.h5"),),
    ".h5 named .keras": lambda: (saved(network(), "model.keras", ".h5"),),
    ".keras named .h5": lambda: (saved(network(), "model.h5", ".keras"),),
    "without an ending": lambda: (saved(network(), "model", ".keras"),),
    "SavedModel": lambda: (exported(),),
    "SavedModel, serving_default": lambda: (exported(), "--endpoint", "serving_default"),
    "names that no graph takes": lambda: (saved(network(before=[layers.Rescaling(1.0, name="_über: all")])),),
    "Lambda, allowed": lambda: (saved(with_lambda()), "--allow-code"),
    "class of its own, imported": lambda: (of_own_class(), "--import", "own_layer_of_cases"),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_one_classifier_in_every_guise_has_one_robustness(name, capsys):
    record, correct = judged(capsys, *MODELS[name](), "--data", "fifty.npz")
    assert (record["clean_correct"], correct) == (R1[0], R1)


def cut(name, share):
    content = Path(name).read_bytes()
    Path(name).write_bytes(content[: int(share * len(content))])
    return name


def written(name, content):
    Path(name).write_bytes(content)
    return name


def rounding():
    entry = keras.Input((28, 28))
    x = keras.ops.round(entry)
    for layer in stack()[1:]:
        x = layer(x)
    return fitted(keras.Model(entry, x))


def head(units, activation=None, **options):
    model = keras.Sequential(stack(units=units, activation=activation))
    return compiled(model, **options) if options else model


def tokens():
    entry = keras.Input((784,), dtype="int32")
    x = layers.Flatten()(layers.Embedding(256, 2)(entry))
    return keras.Model(entry, layers.Dense(10)(x))


def words():
    entry = keras.Input((1,), dtype="string")
    x = layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot")(entry)
    return keras.Model(entry, layers.Dense(10)(x))


def not_finite():
    kernel, bias = weights()
    return fitted(network(), np.full_like(kernel, np.nan), bias)


def weights_only():
    network().save_weights("own.weights.h5")
    return "own.weights.h5"


NO_CLASSIFIERS = {
    "rounding inside": (lambda: saved(rounding()), "the model's output does not depend differentiably on its input"),
    "regression": (lambda: saved(head(1, loss="mse")), "model.keras gives one number and was trained with mse"),
    "softmax over one class": (lambda: saved(head(1, "softmax")), "model.keras gives a softmax over one class"),
    "two outputs, dict": (lambda: saved(one_of(lambda x, other: {"digit": x, "big": other})), "model.keras has 2 outputs; expected --output-name with one of them. Received: digit, big"),
    "two outputs, list": (lambda: saved(one_of(lambda x, other: [x, other])), "model.keras has 2 outputs; expected --output-name"),
    "ten sigmoids": (lambda: saved(head(10, "sigmoid")), "model.keras gives 10 independent probabilities"),
    "two inputs": (lambda: saved(two_inputs()), "model.keras has 2 inputs; expected --input-name with one of them. Received: image, hint"),
    "tokens": (lambda: saved(tokens()), "model.keras takes int32, which has no gradient"),
    "words": (lambda: saved(words()), "model.keras takes text, which has no gradient"),
    "Lambda": (lambda: saved(with_lambda()), "model.keras cannot be loaded as a Keras model: it holds code"),
    "Lambda, .h5": (lambda: saved(with_lambda(), "model.h5"), "model.h5 cannot be loaded as a Keras model: it holds code"),
    "class of its own": (of_own_class, "model.keras cannot be loaded as a Keras model: it needs the class Halving"),
    "weights only": (weights_only, "own.weights.h5 holds weights only"),
    "architecture only": (lambda: written("model.json", network().to_json().encode()), "model.json holds a network's architecture only"),
    "cut": (lambda: cut(saved(network()), 0.6), "model.keras is damaged"),
    "empty": (lambda: written("model.keras", b""), "the model model.keras is empty: 0 bytes"),
    "text": (lambda: written("model.keras", b"hello"), "model.keras is not a Keras model but a text file"),
    "absent": (lambda: "model.keras", "no model at model.keras"),
    "NaN in the weights": (lambda: saved(not_finite()), "model.keras holds weights that are not finite numbers, in scores/kernel"),
    "images of another size": (lambda: saved(network(entry=(32, 32), before=[layers.Cropping1D(2), layers.Permute((2, 1)), layers.Cropping1D(2)])), "model.keras takes images of shape (32, 32). Received: (28, 28)"),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_CLASSIFIERS)
def test_what_is_no_classifier_ends_the_command_with_one_sentence(name, capsys):
    make, sentence = NO_CLASSIFIERS[name]
    refused(capsys, sentence, make(), "--data", "fifty.npz")


# --- image sets ----------------------------------------------------------------------------


def npz(x=X, y=Y, names=("x_test", "y_test")):
    np.savez("set.npz", **{name: one for name, one in zip(names, (x, y), strict=True) if one is not None})  # fmt: skip
    return "set.npz"


def npy(x, y=None):
    np.save("x.npy", x)
    if y is not None:
        np.save("y.npy", y)
    return "x.npy"


def csv(n=20, encoding="utf-8", **options):
    written("set.csv", table(X[:n], Y[:n], **options).encode(encoding))
    return "set.csv"


def pictures(convert=lambda image: image, n=20, names=str):
    for place, (x, y) in enumerate(zip(X[:n], Y[:n], strict=True)):
        Path("set", names(y)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(convert(x)).save(Path("set", names(y), f"{place}.png"))
    return "set"


def with_junk():
    pictures()
    for name in (".DS_Store", "0/Thumbs.db", "notes.txt"):
        written(f"set/{name}", b"\0")
    return "set"


def inverted(n=20):
    return right_after((255 - X[:n]) / 255, Y[:n], EPSILONS)


def seen(x, y=Y):
    return right_after(x, y, EPSILONS)


def emnist():
    Path("set").mkdir()
    write_idx(Path("set/emnist-digits-test-images-idx3-ubyte.gz"), np.ascontiguousarray(X.swapaxes(1, 2)))  # fmt: skip
    write_idx(Path("set/emnist-digits-test-labels-idx1-ubyte.gz"), Y.astype(np.uint8))
    return "set"


def idx(images, labels):
    write_idx(Path(labels), Y.astype(np.uint8))
    return write_idx(Path(images), X)


SHUFFLED = np.random.default_rng(0).permutation(785)
TWENTY = right_after(UNIT[:20], Y[:20], EPSILONS)
BINARY = (X > 127).astype(np.uint8)

SETS = {
    "uint8": (lambda: (npz(),), R1),
    "floats in 0..1": (lambda: (npz(UNIT),), R1),
    "float32 in 0..255": (lambda: (npz(X.astype(np.float32)), "--data-range", 0, 255), R1),
    "-1..1": (lambda: (npz(UNIT * 2 - 1), "--data-range", -1, 1), R1),
    "(n, 28, 28, 1)": (lambda: (npz(X[..., None]),), R1),
    "(n, 784)": (lambda: (npz(X.reshape(-1, 784)),), R1),
    "(n, 1, 28, 28)": (lambda: (npz(X[:, None]),), R1),
    "0 and 1 in bytes": (lambda: (npz(BINARY), "--data-range", 0, 1), seen(BINARY)),
    "0 and 1 in bytes, taken for grey levels": (lambda: (npz(BINARY),), seen(BINARY / 255)),
    "truth values": (lambda: (npz(X > 127),), seen(BINARY)),
    "all black": (lambda: (npz(np.zeros_like(X)),), seen(np.zeros(X.shape))),
    "13 images": (lambda: (npz(X[:13], Y[:13]), "--batch-size", 5), seen(UNIT[:13], Y[:13])),
    "one image": (lambda: (npz(X[:1], Y[:1]),), seen(UNIT[:1], Y[:1])),
    "x and y": (lambda: (npz(names=("x", "y")),), R1),
    "other names": (lambda: (npz(names=("a", "b")), "--x-key", "a", "--y-key", "b"), R1),
    "one-hot labels": (lambda: (npz(y=np.eye(10)[Y]),), R1),
    "labels in a column": (lambda: (npz(y=Y[:, None].astype(np.int8)),), R1),
    "big-endian": (lambda: (npz(UNIT.astype(">f8")),), R1),
    "by columns": (lambda: (npz(np.asfortranarray(X)),), R1),
    "half precision": (lambda: (npz(UNIT.astype(np.float16)),), R1),
    ".npy": (lambda: (npy(X, Y),), R1),
    "IDX, gzipped": (lambda: (idx("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),), R1),
    "IDX, dotted": (lambda: (idx("t10k-images.idx3-ubyte", "t10k-labels.idx1-ubyte"),), R1),
    "EMNIST": (lambda: (emnist(), "--transpose"), R1),
    "EMNIST as stored": (lambda: (emnist(),), seen(UNIT.swapaxes(1, 2))),
    "Kaggle's CSV": (lambda: (csv(names=KAGGLE),), TWENTY),
    "CSV without a header": (lambda: (csv(),), TWENTY),
    "CSV, label last": (lambda: (csv(names=KAGGLE, order=[*range(1, 785), 0]),), TWENTY),
    "CSV, BOM and CRLF": (lambda: (csv(names=KAGGLE, end="\r\n", encoding="utf-8-sig"),), TWENTY),
    "CSV, 1x1": (lambda: (csv(names=("label", *(f"{i}x{j}" for i in range(1, 29) for j in range(1, 29)))),), TWENTY),
    "CSV, shuffled": (lambda: (csv(names=KAGGLE, order=SHUFFLED),), TWENTY),
    "PNG": (lambda: (pictures(),), TWENTY),
    "PNG, RGB": (lambda: (pictures(lambda x: np.stack([x] * 3, -1)),), TWENTY),
    "PNG, RGBA": (lambda: (pictures(lambda x: np.stack([x, x, x, np.full_like(x, 255)], -1)),), TWENTY),
    "PNG, 16 bits": (lambda: (pictures(lambda x: x.astype(np.uint16) * 257),), TWENTY),
    "PNG with junk": (lambda: (with_junk(),), TWENTY),
    "PNG, inverted": (lambda: (pictures(lambda x: 255 - x),), inverted()),
    "PNG, named classes": (lambda: (pictures(names="class {}".format), "--classes", ",".join(f"class {y}" for y in range(10))), TWENTY),
}  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_one_image_set_in_every_form_has_one_robustness(name, plain, capsys):
    make, expected = SETS[name]
    record, correct = judged(capsys, plain, "--data", *make())
    assert (record["clean_correct"], correct) == (expected[0], expected)


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: (npz(BINARY),), "--data-range 0 1 reads 1 as white"),
        (lambda: (npz(np.zeros_like(X)),), "every pixel of set.npz is 0"),
        (lambda: (emnist(),), "--transpose puts them upright"),
        (lambda: (pictures(lambda x: 255 - x),), "a model of those takes them inverted"),
        (lambda: (with_junk(),), "were left out: .DS_Store"),
    ],
)
def test_what_is_likely_wrong_is_said_in_the_record(make, hint, plain, capsys):
    record, _ = judged(capsys, plain, "--data", *make())
    assert any(hint in warning for warning in record["warnings"]), record["warnings"]


def test_standardised_images_fit_a_standardised_model(capsys):
    mean, std = 0.1307, 0.3081
    model = saved(of_other_scale(1 / std, -mean / std))
    data = npz(((UNIT - mean) / std).astype(np.float32))
    record, correct = judged(capsys, model, "--data", data, "--mean", mean, "--std", std)
    assert correct == R1
    assert "taken to be on the model's own scale" in record["warnings"][0]


@pytest.mark.parametrize(
    "make", [lambda: npz(y=None), lambda: csv_without_labels(), lambda: flat()]
)
def test_without_labels_no_accuracy_is_told(make, plain, capsys):
    code = main(["attack", str(plain), "--data", make(), "--format", "json"])
    record = json.loads(capsys.readouterr().out)
    assert (code, record["clean_accuracy"], record["adversarial_accuracy"]) == (0, None, None)
    assert record["changed"] > 0


def csv_without_labels():
    written("set.csv", table(X, names=KAGGLE[1:]).encode())
    return "set.csv"


def flat():
    pictures(names=lambda _: "")
    return "set"


def edited(name, row, column, cell):
    """A table with one cell changed; None leaves it out."""
    lines = [line.split(",") for line in table(X[:20], Y[:20], names=KAGGLE).splitlines()]
    lines[row + 1][column : column + 1] = [] if cell is None else [cell]
    return written(name, "\n".join(map(",".join, lines)).encode())


def half_packed():
    idx_pair(Path(), n=50)
    return cut("t10k-images-idx3-ubyte.gz", 0.5)


def promising():
    idx_pair(Path(), n=50)
    content = idx_bytes(X)
    lying = content[:4] + (60_000).to_bytes(4, "big") + content[8:]
    return written("t10k-images-idx3-ubyte.gz", gzip.compress(lying))


def not_packed():
    idx_pair(Path(), n=50)
    return written("t10k-images-idx3-ubyte.gz", idx_bytes(X))


def exchanged():
    idx_pair(Path(), n=50)
    write_idx(Path("t10k-labels-idx1-ubyte.gz"), X)
    return "t10k-images-idx3-ubyte.gz"


def flipped():
    np.savez_compressed("set.npz", x_test=X, y_test=Y)
    with zipfile.ZipFile("set.npz") as archive:
        place = archive.getinfo("x_test.npy").header_offset + 3000
    content = bytearray(Path("set.npz").read_bytes())
    content[place] ^= 0xFF
    return written("set.npz", content)


def objects():
    np.savez("set.npz", x_test=X.astype(object), y_test=Y)
    return "set.npz"


def of_two_sizes():
    pictures()
    Image.fromarray(X[0][:, :20]).save("set/0/odd.png")
    return "set"


NO_SETS = {
    "no images": (lambda: npz(X[:0], Y[:0]), "set.npz must hold images (n, ...)"),
    "too few labels": (lambda: npz(y=Y[:49]), "set.npz must hold a label for each of 50 images. Received: shape (49,)"),
    "label 10 of 10": (lambda: npz(y=np.where(np.arange(50) == 7, 10, Y)), "plain.keras knows the labels 0..9. Received: 10 in row 7 of set.npz"),
    "label -1": (lambda: npz(y=np.where(np.arange(50) == 7, -1, Y)), "the labels of set.npz must be at least 0. Received: -1 in row 7"),
    "other names": (lambda: npz(names=("a", "b")), "set.npz must hold an array named x_test or x (or another, named by --x-key). Received: a, b"),
    "32 by 32": (lambda: npz(np.pad(X, ((0, 0), (2, 2), (2, 2)))), "plain.keras takes images of shape (28, 28). Received: (32, 32)"),
    "complex": (lambda: npz(X + 0j), "the pixels of set.npz must be real numbers. Received: complex128"),
    "NaN": (lambda: npz(np.where(X > 250, np.nan, UNIT)), "the pixels of set.npz must be finite. Received: nan in row"),
    "floats in 0..255": (lambda: npz(X.astype(float)), "the pixels of set.npz (float64) must lie in 0..1 (--data-range 0 255 reads them on another scale)"),
    "objects": (objects, "x_test of set.npz holds Python objects, which are not read"),
    "cut": (lambda: cut(npz(), 0.5), "set.npz is damaged"),
    "a bit flipped": (flipped, "set.npz is damaged"),
    "web page": (lambda: written("set.npz", b"<html>404</html>"), "set.npz is not an .npz archive. Received: a file that begins with b'<html>"),
    ".npy renamed": (lambda: str(Path(npy(X)).rename("set.npz")), "set.npz is not an .npz archive. Received: a NumPy array"),
    "IDX of false promises": (promising, "t10k-images-idx3-ubyte.gz is damaged: its header tells of shape (60000, 28, 28), 47040000 bytes. Received: 39200"),
    "IDX, cut": (half_packed, "t10k-images-idx3-ubyte.gz is damaged"),
    "IDX, not gzipped": (not_packed, "t10k-images-idx3-ubyte.gz is named .gz but is not gzipped"),
    "IDX, images for labels": (exchanged, "t10k-labels-idx1-ubyte.gz must hold labels, an array of 1 axes. Received: 3 axes"),
    "CSV, a short row": (lambda: edited("set.csv", 3, 9, None), "row 3 (line 5) of set.csv must have 785 columns. Received: 784"),
    "CSV, an empty cell": (lambda: edited("set.csv", 3, 9, ""), "column pixel8 in row 3 (line 5) of set.csv must be a grey level of 0..255"),
    "CSV, 300": (lambda: edited("set.csv", 3, 9, "300"), "column pixel8 in row 3 (line 5) of set.csv must be a grey level of 0..255"),
    "CSV, a header alone": (lambda: written("set.csv", ",".join(KAGGLE).encode()), "set.csv must hold rows of pixels. Received: a header and no rows"),
    "PNG, cut": (lambda: pictures() and cut("set/0/" + next(iter(sorted(Path("set/0").iterdir()))).name, 0.8) and "set", "is damaged: image file is truncated"),
    "PNG, two sizes": (of_two_sizes, "the pictures of set must be of one size"),
    "absent": (lambda: "set.npz", "no image set at set.npz"),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_SETS)
def test_what_is_no_image_set_ends_the_command_with_one_sentence(name, plain, capsys):
    make, sentence = NO_SETS[name]
    refused(capsys, sentence, plain, "--data", make())


def test_folders_named_by_numbers_keep_them(plain, capsys):
    """0, 1, 2, 10, 11 in the order of the alphabet would be 0, 1, 3, 4, 2."""
    pictures(names=lambda y: {3: "10", 4: "11"}.get(int(y), str(min(int(y), 2))), n=50)
    refused(capsys, "knows the labels 0..9. Received: 11", plain, "--data", "set")


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_a_set_made_elsewhere_is_judged_as_it_is(dtype, plain, capsys):
    moved = np.clip(UNIT + 0.1 * np.random.default_rng(0).choice((-1, 1), UNIT.shape), 0, 1)
    stored = moved.astype(np.float32) if dtype is np.float32 else np.rint(moved * 255).astype(np.uint8)  # fmt: skip
    np.savez("adv.npz", x_adv=stored, y=Y, x_clean=X, epsilon=0.1)
    code = main(["eval", str(plain), "--examples", "adv.npz", "--format", "json"])
    record = json.loads(capsys.readouterr().out)
    [result] = record["results"]
    shown = stored if dtype is np.float32 else stored / 255
    assert code == 0
    assert result["adversarial_correct"] == right_after(shown, Y, (0,))[0]
    assert result["clean_correct"] == R1[0]
    assert abs(result["linf_max"] - 0.1) < (1e-6 if dtype is np.float32 else 0.501 / 255)
