"""Commands of sections: options from flags and file, the work, its report, the exit code.

    action = single("attack")
    code = action({"epsilon": "0.1"}, "usual")

TensorFlow is imported only once a command is sure to run.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config import (
    DEFAULT_MODEL,
    SECTIONS,
    Options,
    ShowOptions,
    build,
    check_text,
    command_of,
    flag,
    names_function,
    parse_setting,
    read_experiment,
    resolve_experiment,
)
from ..errors import FgsmError
from ..files import check_readable
from .exits import DONE, gate
from .screen import Loudness, complain, show, watched, write

if TYPE_CHECKING:
    from ..experiment import Record, Watch

Action = Callable[[dict[str, Any], Loudness], int]


def _options(name: str, given: dict[str, Any]) -> Any:
    """What holds for a command: its flags, then the file's section, then the defaults."""
    file = given.pop("config", None)
    in_file: Mapping[str, Any] = {}
    if file is not None:
        sections = read_experiment(check_text(file, "--config"))
        if name not in sections:
            raise FgsmError(f"{file} has no section {name}. Received: {', '.join(sections)}")
        in_file = sections[name]
    names = {key: "MODEL" if key in ("model", "models") else flag(key) for key in given}
    return build(SECTIONS[name], {**in_file, **given}, names)


def _check_files(options: Any) -> None:
    """Say at once, before TensorFlow is loaded, that a file is not there or not a file."""
    if options.data != "mnist":
        from ..data.readers import check_source

        check_source(options.data)
    named = [("model", path) for path in getattr(options, "models", ())]
    named += [
        (what, getattr(options, name, None))
        for name, what in (("model", "model"), ("examples", "adversarial set"))
    ]
    for what, path in named:
        is_code = what == "model" and names_function(path or "")
        if path and path != DEFAULT_MODEL and not is_code:
            check_readable(path, what)


def single(name: str) -> Action:
    """The action of a command that is one section: train, attack, eval."""

    def action(given: dict[str, Any], loudness: Loudness) -> int:
        options = _options(name, given)
        _check_files(options)
        with watched(loudness, wants_portrait=bool(options.reports)) as watch:
            record = _recorded(name, options, watch)
        if not _speaks(options):
            return gate([record], told=False)
        _report(options, [(name, options, record)], record.as_dict())
        show([(name, record)], options.format, record.as_dict())
        return gate([record])

    return action


def show_images(given: dict[str, Any], loudness: Loudness) -> int:
    """The action of ``fgsm show``."""
    options = build(
        ShowOptions, given, {key: "SET" if key == "set" else flag(key) for key in given}
    )
    if options.set:
        check_readable(options.set, "adversarial set")
    _check_files(options)
    with watched(loudness) as watch:
        from .. import experiment

        record = experiment.show(options, watch)
    show([("show", record)], options.format, record.as_dict(), options.graphics)
    return DONE


def _recorded(name: str, options: Any, watch: "Watch") -> "Record":
    """The record of a section, once it is clear that its report can be written, too."""
    from .. import experiment

    if _speaks(options):
        _check_report(options)
    return experiment.COMMANDS[command_of(name)](options, watch)


def _check_report(options: Any, inputs: Sequence[str] = ()) -> None:
    """Refuse, before the work, a report that could not be written after it."""
    from ..experiment import check_apart
    from ..files import make_folder

    named = (getattr(options, name, None) for name in ("model", "data", "examples"))
    inputs = [*(one for one in named if one), *getattr(options, "models", ()), *inputs]
    if page := options.report:  # what --output may not overwrite, its folder knows
        check_apart("--report", page, inputs)
        if Path(page).is_dir():
            raise FgsmError(f"--report must name a file. Received: the folder {page}")
        make_folder(Path(page).parent)


def _report(
    options: Any,
    told: Sequence[tuple[str, Any, Any]],
    document: Mapping[str, Any],
    run: Options | None = None,
) -> None:
    """Write the report that the options ask for, if they ask for one."""
    if options.reports:
        from ..report import write_report

        write_report(options.reports, told, document, run)
    if options.report:
        complain(f"Report: {options.report}", "dim")


def run(given: dict[str, Any], loudness: Loudness) -> int:
    """The action of ``fgsm run``: the sections of a file, in order."""
    file, config = given.pop("file", None), given.pop("config", None)
    if (file is None) == (config is None):
        raise FgsmError(
            "fgsm run takes one YAML file. Received: " + ("two" if file is not None else "none")
        )
    path = check_text(config if file is None else file, "the YAML file")
    sections = read_experiment(path)
    for setting in given.pop("set", []):
        section, key, value = parse_setting(setting)
        sections.setdefault(section, {})[key] = value
    options, resolved = resolve_experiment(sections, given)
    if not resolved:
        raise FgsmError(f"{path} has nothing to run; expected train, attack or eval")
    records: list[tuple[str, Record]] = []
    for name, section_options in resolved.items():
        wanted = bool(options.reports or section_options.reports)
        # One a section: its bar is gone before its result is shown.
        with watched(loudness, wants_portrait=wanted) as watch:
            from .. import experiment

            speaks = _speaks(section_options)
            if not records and speaks:
                experiment.output_folder(options.output, "run")
                _check_report(options, [path])
            record = _recorded(name, section_options, watch)
        if speaks:
            _report(section_options, [(name, section_options, record)], record.as_dict())
        if options.format == "table" and speaks:
            if records:
                write("\n")
            show([(name, record)], "table", {})
        records.append((name, record))
    document = {name: record.as_dict() for name, record in records}
    if not speaks:
        return gate([record for _, record in records], told=False)
    if options.output:
        experiment.write_run(options.output, {"run": options, **resolved}, document)
    told = [(name, resolved[name], record) for name, record in records]
    _report(options, told, document, options)
    if options.format != "table":
        show(records, options.format, document)
    return gate([record for _, record in records])


def _speaks(options: Any) -> bool:
    """Whether this process prints and writes: alone it does, of several workers the chief."""
    from ..distribution import crew_of

    return crew_of(options.devices, options.cluster).is_chief
