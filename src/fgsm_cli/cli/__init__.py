"""argv in, screen out: the commands and their exit codes.

stdout is the result, stderr is everything else. Exit codes: 0 done, 1 a gate failed, 2 bad
usage or input, 130 interrupted, 138 another worker is gone. TensorFlow is imported only once a
command is sure to run.
"""

import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from .. import __version__
from ..config import (
    DEFAULT_MODEL,
    SECTIONS,
    AttackOptions,
    AuditOptions,
    CertifyOptions,
    CurveOptions,
    EvalOptions,
    Format,
    Options,
    RunOptions,
    ShowOptions,
    TrainOptions,
    TransferOptions,
    build,
    check_plot,
    check_text,
    command_of,
    experiment_schema,
    flag,
    names_function,
    parse_setting,
    read_experiment,
    resolve_experiment,
)
from ..errors import FgsmError, WorkerLostError
from ..files import check_readable
from .flags import command_class, keyword, once, signature
from .screen import Loudness, ReaderGoneError, complain, show, watched, write

if TYPE_CHECKING:
    from ..experiment import Record, Watch

Action = Callable[[dict[str, Any], Loudness], int]

DONE, GATE_FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE, BUG = 0, 1, 2, 130, 141, 70
WORKER_LOST = 138  # from 128 on, schedulers take a failure for one worth another try

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

SUMMARIES = {
    "train": "Train a network on an image set, clean or adversarially, and report its accuracy.",
    "attack": "Attack a model: clean accuracy, adversarial accuracy, success rate.",
    "eval": "Judge a model under several attacks and epsilons, or on a saved adversarial set.",
    "curve": "Accuracy at every epsilon, and where each image flips, from one gradient an image.",
    "audit": "Can the numbers be trusted? The checks the literature asks for, each with a verdict.",
    "transfer": "The accuracies of several models on examples crafted on each of them.",
    "show": "Show images of a saved adversarial set in the terminal, before and after.",
    "certify": "Robust accuracy from both sides: what is proved, and what attacks leave.",
    "run": "Run a whole experiment from a YAML file, its sections in order.",
}

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
    "curve": (
        "fgsm curve --epsilon-max 0.3 --points 31",
        "fgsm curve my_model.keras --attack fgm --epsilon-max 3 --format csv",
    ),
    "audit": ("fgsm audit", "fgsm audit my_model.keras --epsilon 8/255 --format json"),
    "transfer": (
        "fgsm transfer a.keras b.keras c.keras --epsilon 0.1",
        "fgsm transfer a.keras b.keras --attack pgd --ensemble --plot transfer.svg",
    ),
    "show": ("fgsm show adv.npz", "fgsm show adv.npz my_model.keras --only 4,9 --images grid.pdf"),
    "certify": (
        "fgsm certify --epsilon 0.005 --epsilon 0.01",
        "fgsm certify --epsilon 0.01 --limit 1000 --exact --time-limit 60s",
        "fgsm certify my_model.keras -e 1/255 -e 2/255 --bounds alpha-crown --plot bracket.svg",
    ),
    "run": (
        "fgsm run configs/quickstart.yaml",
        "fgsm run configs/quickstart.yaml --set attack.epsilon=0.2 --output runs/quick",
    ),
}

CONFIG = keyword(
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


QUIET = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No notes and no progress.", rich_help_panel="Output"),
]
VERBOSE = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="How long each stage took, and what the libraries have to say.",
        rich_help_panel="Output",
    ),
]


def _loudness(quiet: bool, verbose: bool) -> Loudness:
    if quiet and verbose:
        raise FgsmError("--quiet and --verbose exclude each other; expected only one")
    return "quiet" if quiet else "verbose" if verbose else "usual"


def _register(name: str, options: type[Options], action: Action, *more: inspect.Parameter) -> None:
    """Make ``fgsm name`` of an action that takes what its user gave."""

    def command(**values: Any) -> int:
        loudness = _loudness(bool(values.pop("quiet")), bool(values.pop("verbose")))
        given = {key.rstrip("_"): value for key, value in values.items() if value not in (None, [])}
        return action(once(options, given), loudness)

    loud = (keyword("quiet", QUIET), keyword("verbose", VERBOSE))
    command.__signature__ = signature(options, *more, *loud)  # type: ignore[attr-defined]
    command.__annotations__ = {
        parameter.name: parameter.annotation
        for parameter in command.__signature__.parameters.values()  # type: ignore[attr-defined]
    }
    examples = "\n\n".join(["Examples:", *EXAMPLES[name]])
    cls = command_class(options)
    app.command(name, cls=cls, help=SUMMARIES[name], epilog=examples)(command)


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


def _single(name: str) -> Action:
    """The action of a command that is one section: train, attack, eval."""

    def action(given: dict[str, Any], loudness: Loudness) -> int:
        options = _options(name, given)
        _check_files(options)
        with watched(loudness, wants_portrait=bool(options.reports)) as watch:
            record = _recorded(name, options, watch)
        if not _speaks(options):
            return _gate([record], told=False)
        _report(options, [(name, options, record)], record.as_dict())
        show([(name, record)], options.format, record.as_dict())
        return _gate([record])

    return action


def _show(given: dict[str, Any], loudness: Loudness) -> int:
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


def _run(given: dict[str, Any], loudness: Loudness) -> int:
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
        return _gate([record for _, record in records], told=False)
    if options.output:
        experiment.write_run(options.output, {"run": options, **resolved}, document)
    told = [(name, resolved[name], record) for name, record in records]
    _report(options, told, document, options)
    if options.format != "table":
        show(records, options.format, document)
    return _gate([record for _, record in records])


for _name, _class in (
    ("train", TrainOptions),
    ("attack", AttackOptions),
    ("eval", EvalOptions),
    ("curve", CurveOptions),
    ("audit", AuditOptions),
    ("transfer", TransferOptions),
    ("certify", CertifyOptions),
):
    _register(_name, _class, _single(_name), CONFIG)
_register("show", ShowOptions, _show)
_register(
    "run",
    RunOptions,
    _run,
    keyword(
        "file",
        Annotated[
            str | None,
            typer.Argument(
                metavar="FILE.yaml", help="The experiment (or --config).", show_default=False
            ),
        ],
    ),
    keyword(
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


FORMAT = Annotated[
    str,
    typer.Option(
        "--format",
        "-f",
        metavar="|".join(get_args(Format)),
        autocompletion=lambda incomplete: [
            one for one in get_args(Format) if one.startswith(incomplete)
        ],
        help="How the result is printed.",
    ),
]


@app.command(help="Two result folders side by side: who is right where, and whether by chance.")
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="Output folder of attack or eval.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another, of the same images.")],
    format: FORMAT = "table",
    quiet: QUIET = False,
    verbose: VERBOSE = False,
) -> int:
    """Compare two runs on the same images."""
    options = build(Options, {"format": format}, {"format": "--format"})
    with watched(_loudness(quiet, verbose)):
        from .. import comparison

        record = comparison.compare(check_text(a, "A"), check_text(b, "B"))
    show([("compare", record)], options.format, record.as_dict())
    return DONE


@app.command(help="Accuracy over epsilon of several finished runs in one figure.")
def plot(
    runs: Annotated[
        list[str], typer.Argument(metavar="DIR ...", help="Output folders of attack, eval, curve.")
    ],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Figure (.svg, .pdf or .png)."),
    ] = "curve.svg",
    format: FORMAT = "table",
    quiet: QUIET = False,
    verbose: VERBOSE = False,
) -> int:
    """Draw finished runs."""
    options = build(Options, {"format": format, "output": output}, {"format": "--format"})
    check_plot("--output", str(options.output))
    with watched(_loudness(quiet, verbose)):
        from .. import finished

        record = finished.plot([check_text(one, "DIR") for one in runs], str(options.output))
    show([("plot", record)], options.format, record.as_dict())
    return DONE


@app.command(help="Compute a finished run anew: exit code 1 unless it agrees to the digit.")
def verify(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Output folder of any command.")],
    format: FORMAT = "table",
    quiet: QUIET = False,
    verbose: VERBOSE = False,
) -> int:
    """Check a finished run against its own config.yaml."""
    options = build(Options, {"format": format}, {"format": "--format"})
    with watched(_loudness(quiet, verbose)) as watch:
        from .. import comparison

        record = comparison.verify(check_text(folder, "DIR"), watch)
    show([("verify", record)], options.format, record.as_dict())
    return DONE if record.agrees else GATE_FAILED


@app.command(help="Run experiments of the literature again, beside the published figures.")
def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME ...", help="Which; without any, those that take seconds."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All of them; the convolutional networks take long.")
    ] = False,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="Folder, with one for each.")
    ] = "runs/papers",
    format: FORMAT = "table",
    quiet: QUIET = False,
    verbose: VERBOSE = False,
) -> int:
    """Reproduce published figures; exit code 1 if one lies outside its range."""
    options = build(Options, {"format": format, "output": output}, {"format": "--format"})
    with watched(_loudness(quiet, verbose)) as watch:
        from .. import reproduction

        chosen = reproduction.names() if everything else (experiments or reproduction.QUICK)
        record = reproduction.reproduce(chosen, watch, str(options.output))
    show([("reproduce", record)], options.format, record.as_dict())
    return DONE if record.agrees else GATE_FAILED


@app.command()
def schema() -> int:
    """Print the JSON schema of an experiment file, for editors."""
    write(json.dumps(experiment_schema(), indent=2) + "\n")
    return DONE


def _version(wanted: bool) -> None:
    if wanted:
        write(f"fgsm {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def _speaks(options: Any) -> bool:
    """Whether this process prints and writes: alone it does, of several workers the chief."""
    from ..distribution import crew_of

    return crew_of(options.devices, options.cluster).is_chief


def _silent(*_: Any) -> None:
    pass


def _gate(records: "Sequence[Record]", *, told: bool = True) -> int:
    """The exit code that the records' own gates ask for, and on stderr why."""
    say = complain if told else _silent
    from ..results import Audit, Certification, Judgement

    code = DONE
    for record in records:
        if isinstance(record, Audit) and record.verdict == "fail":
            say("Gate failed: the audit found reasons not to trust the numbers")
            code = GATE_FAILED
        if isinstance(record, Certification) and record.passed is False:
            worst = min(record.brackets, key=lambda one: one.proved)
            say(
                f"Gate failed: certified accuracy {worst.proved / worst.n:.6g} (epsilon "
                f"{worst.epsilon:.4g}) is under {record.fail_under:.9g}"
            )
            code = GATE_FAILED
        if isinstance(record, Judgement) and record.passed is False:
            lowest = min(record.results, key=lambda result: result.adversarial_correct or 0)
            by = lowest.attack
            which = f" ({by.name}, epsilon {by.epsilon:.4g})" if by else ""
            reached = lowest.adversarial_accuracy or 0
            say(
                f"Gate failed: adversarial accuracy {reached:.6g}{which} is "
                f"under {record.fail_under:.9g}"
            )
            code = GATE_FAILED
    return code


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
        complain(f"Error: {error}")
        code = BAD_INPUT
    except WorkerLostError as error:
        complain(f"Error: {error}")
        code = WORKER_LOST
    except (BrokenPipeError, ReaderGoneError):
        # The reader has seen enough. Python would complain once more at exit: give it a sink.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = BROKEN_PIPE
    except Exception as error:
        if hasattr(error, "format_message"):  # typer's own, for a flag it does not know
            if message := error.format_message():  # empty after the help that no command gets
                complain(f"Error: {message}")
            code = BAD_INPUT
        elif isinstance(error, OSError):
            what = f"{error.filename}: " if error.filename else ""
            complain(f"Error: {what}{error.strerror or error}")
            code = BAD_INPUT
        else:
            traceback.print_exc()
            complain("This is a bug in fgsm, not in your input.")
            code = BUG
    if code == INTERRUPTED:
        complain("Interrupted")
    return int(code or DONE)
