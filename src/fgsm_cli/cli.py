"""argv in, screen out: flags made from the options' fields, progress, exit codes.

stdout is the result, stderr is everything else. Exit codes: 0 done, 1 a gate failed, 2 bad
usage or input, 130 interrupted. TensorFlow is imported only once a command is sure to run.
"""

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import __version__
from .config import (
    SECTIONS,
    AttackOptions,
    EvalOptions,
    Options,
    RunOptions,
    TrainOptions,
    build,
    experiment_schema,
    parse_setting,
    read_experiment,
    resolve_experiment,
)
from .errors import FgsmError
from .validation import expected

if TYPE_CHECKING:
    from rich.console import Console

    from .experiment import Record, Watch

DONE, GATE_FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141

PANELS = ("Attack", "Model", "Training", "Data", "Computation", "Output")

app = typer.Typer(
    name="fgsm",
    help="Adversarial examples for Keras classifiers, and accuracies to trust.",
    epilog="Start with: fgsm attack --epsilon 0.1",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

EXAMPLES = {
    "train": ("fgsm train", "fgsm train --hidden 256,128 --epochs 10 --output runs/wide"),
    "attack": (
        "fgsm attack --epsilon 0.1",
        "fgsm attack my_model.keras --data my_set.npz -e 8/255 --save adv.npz",
        "fgsm attack --attack bim --steps 20 --format json",
    ),
    "eval": (
        "fgsm eval --epsilon 0.05 --epsilon 0.1 --attack fgsm --attack bim",
        "fgsm eval other.keras --examples adv.npz",
        "fgsm eval --epsilon 0.1 --fail-under 0.5",
    ),
    "run": (
        "fgsm run configs/quickstart.yaml",
        "fgsm run configs/quickstart.yaml --set attack.epsilon=0.2 --limit 1000",
    ),
}


# --- flags from fields ----------------------------------------------------------------------


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _parameter(name: str, field: Any, schema: Mapping[str, Any]) -> inspect.Parameter:
    """A field as a typer parameter. Values stay text: the field's own type reads them."""
    flags = [_flag(name)]
    if short := field.json_schema_extra["short"]:
        flags.append(short)
    if schema.get("type") == "boolean":
        annotation: Any = bool | None
    else:
        annotation = list[str] | None if schema.get("type") == "array" else str | None
    if name == "model":
        declared: Any = typer.Argument(
            help=field.description, show_default=field.default, metavar="MODEL"
        )
    else:
        declared = typer.Option(
            *flags,
            help=_help(field, schema),
            show_default=False,
            metavar=_metavar(schema),
            rich_help_panel=field.json_schema_extra["group"],
        )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[annotation, declared],
    )


def _help(field: Any, schema: Mapping[str, Any]) -> str:
    """The field's help, its range and its default."""
    text = str(field.description)
    if schema.get("type") == "boolean":
        return text
    kind = expected(schema)
    bounds = kind.partition(", ")[2] if kind.startswith(("a number", "a whole")) else ""
    bounds = bounds.removesuffix(" (or a list of such)")
    default = field.default
    if isinstance(default, tuple):
        default = ",".join(f"{one:g}" if isinstance(one, float) else str(one) for one in default)
    notes = [bounds, f"default: {default}" if default is not None else ""]
    shown = "; ".join(note for note in notes if note)
    return f"{text} [dim]({shown})[/dim]" if shown else text


def _metavar(schema: Mapping[str, Any]) -> str | None:
    if "anyOf" in schema:
        return _metavar(next(one for one in schema["anyOf"] if one["type"] != "null"))
    if schema["type"] == "array":
        return _metavar(schema["items"])
    if "enum" in schema:
        return "|".join(schema["enum"])
    return {"integer": "N", "number": "X", "string": "TEXT", "boolean": None}[schema["type"]]


def _signature(options: type[Options], *more: inspect.Parameter) -> inspect.Signature:
    schema = options.model_json_schema(mode="serialization")["properties"]
    fields = sorted(
        options.model_fields.items(),
        key=lambda item: _place(item[1].json_schema_extra),
    )
    return inspect.Signature(
        [*(_parameter(name, field, schema[name]) for name, field in fields), *more]
    )


def _place(extra: Any) -> tuple[int, bool]:
    """Where an option stands in the help: by panel, those with a short name first."""
    return PANELS.index(extra["group"]), extra["short"] is None


def _keyword(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


CONFIG = _keyword(
    "config",
    Annotated[
        str | None,
        typer.Option(
            "--config",
            "-c",
            metavar="FILE.yaml",
            help="Options from this command's section of a YAML file; flags beat it.",
            rich_help_panel="Data",
            show_default=False,
        ),
    ],
)


def _register(
    name: str, options: type[Options], action: Callable[..., int], *more: inspect.Parameter
) -> None:
    """Make ``fgsm name`` of an action that takes what its user gave."""

    def command(**values: Any) -> int:
        return action({key: value for key, value in values.items() if value not in (None, [])})

    command.__signature__ = _signature(options, *more)  # type: ignore[attr-defined]
    command.__annotations__ = {
        parameter.name: parameter.annotation
        for parameter in command.__signature__.parameters.values()  # type: ignore[attr-defined]
    }
    examples = "\n\n".join(["Examples:", *EXAMPLES[name]])
    app.command(name, help=f"{SUMMARIES[name]}", epilog=examples)(command)


SUMMARIES = {
    "train": "Train the MLP on an image set and report its clean accuracy.",
    "attack": "Attack a model: clean accuracy, adversarial accuracy, success rate.",
    "eval": "Judge a model under several attacks and epsilons, or on a saved adversarial set.",
    "run": "Run a whole experiment from a YAML file, its sections in order.",
}


# --- the commands ---------------------------------------------------------------------------


def _options(name: str, given: dict[str, Any]) -> Any:
    """What holds for a command: its flags, then the file's section, then the defaults."""
    file = given.pop("config", None)
    in_file: Mapping[str, Any] = {}
    if file:
        sections = read_experiment(file)
        if name not in sections:
            raise FgsmError(f"{file} has no section {name}. Received: {', '.join(sections)}")
        in_file = sections[name]
    names = {key: "MODEL" if key == "model" else _flag(key) for key in given}
    return build(SECTIONS[name], {**in_file, **given}, names)


def _single(name: str) -> Callable[[dict[str, Any]], int]:
    """The action of a command that is one section: train, attack, eval."""

    def action(given: dict[str, Any]) -> int:
        options = _options(name, given)
        with _watched() as watch:
            from . import experiment

            [(_, record)] = experiment.run({name: options}, watch)
        _show([(name, record)], options.format, record.as_dict())
        return _gate([record])

    return action


def _run(given: dict[str, Any]) -> int:
    file, config = given.pop("file", None), given.pop("config", None)
    if (file is None) == (config is None):
        raise FgsmError("fgsm run takes one YAML file. Received: " + ("two" if file else "none"))
    sections = read_experiment(file or config)
    for setting in given.pop("set", []):
        section, key, value = parse_setting(setting)
        sections.setdefault(section, {})[key] = value
    options, resolved = resolve_experiment(sections, given)
    if not resolved:
        raise FgsmError(f"{file or config} has nothing to run; expected train, attack or eval")
    records: list[tuple[str, Record]] = []
    with _watched() as watch:
        from . import experiment

        for name, record in experiment.run(resolved, watch):
            records.append((name, record))
            if options.format == "table":
                _show([(name, record)], "table", {})
        document = {name: record.as_dict() for name, record in records}
        if options.output:
            experiment.write_run(options.output, {"run": options, **resolved}, document)
    if options.format != "table":
        _show(records, options.format, document)
    return _gate([record for _, record in records])


for _name, _class in (("train", TrainOptions), ("attack", AttackOptions), ("eval", EvalOptions)):
    _register(_name, _class, _single(_name), CONFIG)
_register(
    "run",
    RunOptions,
    _run,
    _keyword(
        "file",
        Annotated[
            str | None,
            typer.Argument(metavar="FILE.yaml", help="The experiment.", show_default=False),
        ],
    ),
    _keyword(
        "set",
        Annotated[
            list[str] | None,
            typer.Option(
                "--set",
                metavar="SECTION.KEY=VALUE",
                help="Override a value of the file; repeat for more.",
                rich_help_panel="Data",
                show_default=False,
            ),
        ],
    ),
    CONFIG,
)


@app.command()
def schema() -> int:
    """Print the JSON schema of an experiment file, for editors."""
    _write(json.dumps(experiment_schema(), indent=2) + "\n")
    return DONE


def _version(wanted: bool) -> None:
    if wanted:
        _write(f"fgsm {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


# --- the screen -----------------------------------------------------------------------------


def _console(*, stderr: bool = False, file: Any = None) -> "Console":
    from rich.console import Console

    return Console(stderr=stderr, file=file, highlight=False, markup=False, emoji=False)


def _own_stderr() -> Any:
    """Standard error on a descriptor of its own, seen even while TensorFlow's is held back."""
    try:
        return os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, errors="backslashreplace")
    except OSError:
        return None


@contextmanager
def _watched() -> "Iterator[Watch]":
    """Notes and a progress bar on stderr; the bar only where a person watches."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    console = _console(stderr=True, file=_own_stderr())
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        tasks: dict[str, Any] = {}

        def progress(stage: str, done: int, total: int, detail: str) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, detail="")
            bar.update(tasks[stage], completed=done, total=total, detail=detail)

        def note(text: str) -> None:
            from rich.text import Text

            console.print(Text(text, "dim"), soft_wrap=True)

        waiting = bar.add_task("Loading TensorFlow", total=None, detail="")
        from .experiment import Watch

        bar.remove_task(waiting)
        yield Watch(note, progress)


def _show(records: "Sequence[tuple[str, Record]]", format: str, document: Any) -> None:
    from . import report

    if format == "json":
        _write(report.as_json(document))
    elif format == "csv":
        _write(report.as_csv(records))
    else:
        console = _console()
        for _, record in records:
            report.print_table(record, console)
        sys.stdout.flush()


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _gate(records: "Sequence[Record]") -> int:
    from .results import Judgement

    code = DONE
    for record in records:
        if isinstance(record, Judgement) and record.passed is False:
            lowest = min(result.adversarial_accuracy for result in record.results)
            _complain(
                f"Gate failed: adversarial accuracy {lowest:.4f} is under {record.fail_under:g}"
            )
            code = GATE_FAILED
    return code


def _complain(sentence: str) -> None:
    from rich.text import Text

    try:
        _console(stderr=True).print(Text(sentence, "red"), soft_wrap=True)
    except OSError:
        pass


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = app(args=argv, prog_name="fgsm", standalone_mode=False)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except FgsmError as error:
        _complain(f"Error: {error}")
        code = BAD_INPUT
    except BrokenPipeError:
        # The reader has seen enough. Python would complain once more at exit: give it a sink.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = BROKEN_PIPE
    except OSError as error:
        _complain(f"Error: cannot write the result: {error.strerror}")
        code = BAD_INPUT
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        _complain(f"Error: {error.format_message()}")
        code = BAD_INPUT
    if code == INTERRUPTED:
        _complain("Interrupted")
    return int(code or DONE)
