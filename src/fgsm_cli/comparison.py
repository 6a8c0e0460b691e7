"""Finished runs looked at again: two side by side, or one computed anew.

compare("runs/a", "runs/b").pairs       # who is right where, with an exact McNemar test
verify("runs/a", Watch()).agrees        # whether config.yaml still gives results.json
"""

import json
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .config import (
    CONFIG_FILE,
    EXAMPLES_FILE,
    OUTCOMES_FILE,
    RESULTS_FILE,
    SECTIONS,
    LoadingOptions,
    build,
    command_of,
    read_experiment,
)
from .data import open_arrays
from .errors import FgsmError
from .experiment import COMMANDS, Watch
from .files import digest_of
from .finished import document_of, undamaged
from .results import Check, Comparison, Pair, Verification

# What a rerun cannot or need not repeat: where files went, and their bytes (which hold dates).
# Options that write outside of the output folder.
_ELSEWHERE = ("save", "plot", "report", "images", "tensorboard", "mlflow")
_NOT_COMPARED = ("files", "versions", "model", "models", "data")


def compare(a: str, b: str) -> Comparison:
    """Two folders of ``attack`` or ``eval`` on the same images: their answers, image by image.

    Results are paired by attack, norm and epsilon; the clean answers are compared too.
    Raises FgsmError for folders without such results, or from different images.
    """
    with undamaged(a, b):
        return _compared(a, b)


def _compared(a: str, b: str) -> Comparison:
    first, second = document_of(a), document_of(b)
    for document, folder in ((first, a), (second, b)):
        if document.get("command") not in ("attack", "eval"):
            raise FgsmError(
                f"{folder} must hold the results of attack or eval. "
                f"Received: {document.get('command')}"
            )
    same = ("sha256", "detail")
    if [first["data"][key] for key in same] != [second["data"][key] for key in same]:
        raise FgsmError(
            f"{a} and {b} must be of the same images. "
            f"Received: {_told(first['data'])} and {_told(second['data'])}"
        )
    if _reading(a, first["command"]) != _reading(b, second["command"]):
        raise FgsmError(
            f"{a} and {b} must be of the same images, but they were chosen or read differently "
            "(--offset, --only, --split, --data-range or the like)"
        )
    for document, folder in ((first, a), (second, b)):
        if document["clean_correct"] is None:
            raise FgsmError(
                f"{folder} is of images without labels, where nothing is right or wrong"
            )
    (right_a, still_a), (right_b, still_b) = _outcomes(a), _outcomes(b)
    if right_a.shape != right_b.shape or {len(right_a)} != {still_a.shape[1], still_b.shape[1]}:
        raise ValueError("outcomes of other lengths")
    names_a, names_b = _names(first), _names(second)
    shared = [name for name in names_a if name in names_b]
    pairs = [_pair("clean", right_a, right_b)]
    pairs += [
        _pair(name, still_a[names_a.index(name)], still_b[names_b.index(name)]) for name in shared
    ]
    alone = sorted({*names_a, *names_b} - {*shared})
    return Comparison(
        a, b, tuple(pairs), tuple(f"{name} is in one of the folders only" for name in alone)
    )


def _pair(what: str, a: NDArray[np.bool_], b: NDArray[np.bool_]) -> Pair:
    from scipy.stats import binomtest  # a second to import, which only this command needs

    only_a, only_b = int(np.sum(a & ~b)), int(np.sum(b & ~a))
    differ = only_a + only_b
    p_value = binomtest(only_a, differ).pvalue if differ else 1.0
    return Pair(what, int(np.sum(a & b)), only_a, only_b, int(np.sum(~a & ~b)), float(p_value))


def _names(document: Mapping[str, Any]) -> list[str]:
    attacks = [one["attack"] for one in document.get("results", [document])]
    return [_name(one) for one in attacks if one]


def _name(attack: Mapping[str, Any]) -> str:
    name = f"{attack['name']} {attack['norm']} {attack['epsilon']:.4g}"
    if attack.get("target") is not None:
        name += f" target {attack['target']}"
    return f"{name} on predicted labels" if attack.get("labels") == "predicted" else name


def _reading(folder: str, command: str) -> Any:
    """How the images of a run were chosen and read."""
    sections = read_experiment(str(Path(folder) / CONFIG_FILE))
    options = build(SECTIONS[command], sections[command])
    assert isinstance(options, LoadingOptions)
    return options.split, replace(options.reading(), input_range=None)  # that is of the model


def _told(data: Mapping[str, Any]) -> str:
    return f"{data['path']} ({data['detail']})"


def _outcomes(folder: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    path = Path(folder) / OUTCOMES_FILE
    if not path.exists():
        raise FgsmError(f"{folder} holds no {OUTCOMES_FILE}; expected the output of attack or eval")
    with open_arrays(str(path)) as arrays:
        return arrays["right"], arrays["still"]


def _differences(what: str, recorded: Any, found: Any) -> list[Check]:
    """One check where both agree; else one for each value inside that does not."""
    if recorded == found:
        return [Check(what, recorded, found)]
    inside: list[Check] = []
    if isinstance(recorded, dict) and isinstance(found, dict):
        for key in {**recorded, **found}:
            inside += _differences(f"{what}.{key}", recorded.get(key), found.get(key))
    elif isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        for place, (then, now) in enumerate(zip(recorded, found, strict=True)):
            inside += _differences(f"{what}[{place}]", then, now)
    return [check for check in inside if not check.agrees] or [Check(what, recorded, found)]


def _models(document: Mapping[str, Any]) -> list[Any]:
    return document["models"] if "models" in document else [document["model"]]


def verify(folder: str, watch: Watch) -> Verification:
    """Compute a finished run anew from its config.yaml, and say what agrees to the digit.

    The files it names are checked by sha256; every number of results.json and every array of the
    .npz files beside it is compared with a fresh run that writes nowhere near the old one. Other
    versions of the libraries are told.
    Raises FgsmError for a folder that holds no finished run.
    """
    with undamaged(folder):
        return _verified(folder, watch)


def _arrays(name: str, then: Path, now: Path, without: Collection[str]) -> Iterator[Check]:
    """The arrays that a run keeps beside its results, against those of the fresh run."""
    for fresh in sorted(one for one in now.glob("*.npz") if one.name not in without):
        digests = []
        for path in (then / fresh.name, fresh):
            try:
                with open_arrays(str(path)) as arrays:
                    digests.append(digest_of({one: arrays[one] for one in arrays.files}))
            except FgsmError:
                digests.append("damaged" if path.exists() else "missing")
        yield Check(f"{name}: arrays of {fresh.name}", *digests)


def _verified(folder: str, watch: Watch) -> Verification:
    document = document_of(folder)
    sections = read_experiment(str(Path(folder) / CONFIG_FILE))
    if not [name for name in sections if name != "run"]:
        raise FgsmError(f"{folder} holds nothing to verify: its {CONFIG_FILE} has no section")
    checks: list[Check] = []
    warnings: list[str] = []
    for name in (name for name in sections if name != "run"):
        command = command_of(name)
        recorded = document if document.get("command") == name else document.get(name)
        if not isinstance(recorded, dict):
            raise FgsmError(f"{folder} is damaged: {RESULTS_FILE} has no results of {name}")
        with tempfile.TemporaryDirectory() as elsewhere:
            values = {**sections[name], "output": elsewhere}
            for elsewhere_too in _ELSEWHERE:
                values.pop(elsewhere_too, None)
            record = COMMANDS[command](build(SECTIONS[command], values), watch)
            home = Path(folder) if document is recorded else Path(folder) / name
            kept = not sections[name].get("save")  # else the adversarial set went elsewhere
            checks += _arrays(name, home, Path(elsewhere), () if kept else (EXAMPLES_FILE,))
        fresh = json.loads(json.dumps(record.as_dict()))
        if command != "train":
            checks += [
                Check(f"{name}: sha256 of {then['path']}", then["sha256"], now["sha256"])
                for then, now in zip(_models(recorded), _models(fresh), strict=True)
            ]
        if recorded["data"]["sha256"] is not None:
            digests = (one["data"]["sha256"] for one in (recorded, fresh))
            checks.append(Check(f"{name}: sha256 of {recorded['data']['path']}", *digests))
        for key in {**recorded, **fresh}:
            if key not in _NOT_COMPARED:
                checks += _differences(f"{name}: {key}", recorded.get(key), fresh.get(key))
        warnings += [
            f"{library} was {before} then and is {fresh['versions'].get(library)} now"
            for library, before in recorded.get("versions", {}).items()
            if fresh["versions"].get(library) != before
        ]
    return Verification(folder, tuple(checks), tuple(dict.fromkeys(warnings)))
