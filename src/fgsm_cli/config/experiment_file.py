"""Experiments in YAML: read and checked, overridden, resolved, written back.

Scalars are kept as text and read by the option's own type, as on the command line; nothing is
constructed from a tag, and nothing is walked before its key is known, so that no file can run
code or grow in memory.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from ..errors import FgsmError, listed
from ..files import check_regular
from .fields import MODEL_FILE, flag
from .options import Options, RunOptions
from .sections import SECTIONS, build, keys, near
from .training import TrainOptions

_SIZE_LIMIT = 1_000_000
_LABEL = "[a-z0-9][a-z0-9-]*"
_SECTION_NAME = f"run|(?!run)[a-z]+(-{_LABEL})?"
_TAGS = {"str", "int", "float", "bool", "null", "timestamp", "seq", "map"}

Section = dict[str, Any]


def read_experiment(path: str) -> dict[str, Section]:
    """The sections of a YAML file in the file's order, each checked; values as text.

    Raises FgsmError naming the file and line for whatever is not a mapping of sections to
    options: bad syntax, a second document, a key unknown or given twice, a value of the
    wrong type or out of range, a tag that asks for an object.
    """
    check_regular(path, "experiment")
    with Path(path).open("rb") as file:
        content = file.read(_SIZE_LIMIT + 1)
    if len(content) > _SIZE_LIMIT:
        raise FgsmError(f"{path} is larger than 1 MB: not a file of options")
    root = _parse(content, path)
    if root is None:
        raise FgsmError(f"{path} is empty; expected one of the sections {', '.join(SECTIONS)}")
    sections: dict[str, Section] = {}
    for name, node in _pairs(root, path, "sections"):
        options = _options_of(name, f"{_place(path, node)}: ")
        sections[name] = {}
        names = {}
        for key, value in _pairs(node, path, f"options under {name}"):
            if key not in keys(options):
                hint = near(key, keys(options))
                raise FgsmError(f"{_place(path, value)}: unknown key {name}.{listed([key])}{hint}")
            sections[name][key] = _value(value, path)
            names[key] = f"{_place(path, value)}: {name}.{key}"
        build(options, sections[name], names, whole=False)
    return sections


def parse_setting(setting: str) -> tuple[str, str, Any]:
    """'attack.epsilon=0.2' as section, key and value; the value may be a YAML list."""
    where = f"--set {listed([setting])}"
    target, equals, text = setting.partition("=")
    section, dot, key = target.strip().partition(".")
    if not (equals and dot):
        raise FgsmError(f"--set must be section.key=value. Received: {listed([repr(setting)])}")
    options = _options_of(section, f"{where}: ")
    if key not in keys(options):
        hint = near(key, keys(options))
        raise FgsmError(f"{where}: unknown key {section}.{listed([key])}{hint}")
    node = _parse(text.encode(), where)
    value = None if node is None else _value(node, where)
    build(options, {key: value}, {key: where.partition("=")[0]}, whole=False)
    return section, key, value


def command_of(section: str) -> str:
    """The command that a section runs: its name, or what stands before a dash and a label.

    So ``train-plain`` and ``train-robust`` are two trainings of one experiment.
    """
    return section.partition("-")[0]


def _options_of(section: str, where: str) -> type[Options]:
    command = command_of(section)
    if command not in SECTIONS or not re.fullmatch(_SECTION_NAME, section):
        raise FgsmError(
            f"{where}unknown section {listed([repr(section)])}{near(section, SECTIONS)}"
        )
    return SECTIONS[command]


def _parse(content: bytes, path: str) -> yaml.Node | None:
    try:
        return yaml.compose(content, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        raise FgsmError(f"{path} is not text in UTF-8 or UTF-16: {error.reason}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{path}, line {mark.line + 1}, column {mark.column + 1}" if mark else path
        if "single document" in (error.context or ""):
            raise FgsmError(f"{place}: a second document begins; expected only one") from None
        raise FgsmError(f"{place}: not valid YAML: {error.problem}") from None
    except RecursionError:
        raise FgsmError(f"{path} is nested too deeply to be a file of options") from None


def _place(path: str, node: yaml.Node) -> str:
    return f"{path}, line {node.start_mark.line + 1}"


def _pairs(node: yaml.Node, path: str, what: str) -> Iterator[tuple[str, yaml.Node]]:
    """The keys and value nodes of a mapping; no key twice, nothing but plain keys."""
    _refuse_tag(node, path)
    if isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null"):
        return
    if not isinstance(node, yaml.MappingNode):
        kind = "a list" if isinstance(node, yaml.SequenceNode) else listed([repr(node.value)])
        raise FgsmError(f"{_place(path, node)}: expected {what} as 'key: value'. Received: {kind}")
    seen = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise FgsmError(f"{_place(path, key)}: expected a plain key")
        if key.value in seen:
            raise FgsmError(
                f"{_place(path, key)}: the key {listed([repr(key.value)])} is given twice"
            )
        seen.add(key.value)
        yield key.value, value


def _value(node: yaml.Node, path: str) -> Any:
    """A scalar as its text, null as None, a list of scalars as a list."""
    _refuse_tag(node, path)
    if isinstance(node, yaml.ScalarNode):
        return None if node.tag.endswith(":null") else node.value
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            if not isinstance(item, yaml.ScalarNode):
                raise FgsmError(f"{_place(path, item)}: expected a value or a list of values")
        return [_value(item, path) for item in node.value]
    raise FgsmError(f"{_place(path, node)}: expected a value. Received: a mapping")


def _refuse_tag(node: yaml.Node, path: str) -> None:
    prefix, _, kind = node.tag.rpartition(":")
    if prefix != "tag:yaml.org,2002" or kind not in _TAGS:
        raise FgsmError(
            f"{_place(path, node)}: the tag {listed([repr(node.tag)])} is not allowed here"
        )


def resolve_experiment(
    sections: Mapping[str, Section], given: Mapping[str, Any]
) -> tuple[RunOptions, dict[str, Options]]:
    """Each section's options, from the file's sections and what was given to ``fgsm run``.

    A value given on the command line beats the section's own, which beats the file's ``run``
    section. With an output given, each section goes to a folder of its name in it (an output in
    the file's ``run`` section yields to a section's own); a section without a model takes the
    one trained before it, a transfer without models all of them.
    """
    given_options = build(RunOptions, given, {key: flag(key) for key in given})
    run = build(RunOptions, {**sections.get("run", {}), **given})
    in_file = build(RunOptions, sections.get("run", {}))
    resolved: dict[str, Options] = {}
    trained: list[str] = []
    for name, own in sections.items():
        if name == "run":
            continue
        values = {**in_file.shared(), **own, **given_options.shared()}
        if run.output and ("output" in given or "output" not in own):
            values["output"] = str(Path(run.output) / name)
        if command_of(name) == "train":
            if name != "train":
                values.setdefault("output", f"runs/{name}")
        elif trained and command_of(name) == "transfer":
            values.setdefault("models", trained)
        elif trained:
            values.setdefault("model", trained[-1])
        options = build(_options_of(name, ""), values)
        for other, theirs in resolved.items():
            if options.output and options.output == theirs.output:
                raise FgsmError(
                    f"the sections {other} and {name} have one output; expected a folder for each. "
                    f"Received: {options.output}"
                )
        if isinstance(options, TrainOptions):
            trained.append(str(Path(options.output) / MODEL_FILE))
        resolved[name] = options
    return run, resolved


def dump_experiment(sections: Mapping[str, Options]) -> str:
    """The resolved options as YAML that ``fgsm run`` takes."""
    plain = {
        name: options.model_dump(mode="json", by_alias=True) for name, options in sections.items()
    }
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)


def experiment_schema() -> dict[str, Any]:
    """The JSON schema of an experiment file, for editors and validators."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fgsm experiment",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: _for_editors(command.model_json_schema(mode="validation"))
            for name, command in SECTIONS.items()
        },
        "patternProperties": {
            f"^{name}-{_LABEL}$": {"$ref": f"#/properties/{name}"}
            for name in SECTIONS
            if name != "run"
        },
    }


def _for_editors(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without what only the command line asks of a field."""
    for field in schema["properties"].values():
        field.pop("group", None)
        field.pop("short", None)
    return schema
