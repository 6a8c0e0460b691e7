"""argv in, screen out: the commands and their exit codes.

stdout is the result, stderr is everything else. Exit codes: 0 done, 1 a gate failed, 2 bad
usage or input, 130 interrupted, 138 another worker is gone. TensorFlow is imported only once a
command is sure to run.
"""

import inspect
import io
import json
import os
import sys
import traceback
from collections.abc import Collection, Sequence
from typing import Annotated, Any, get_args

import typer

from .. import __version__
from ..config import (
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
    experiment_schema,
)
from ..errors import FgsmError, WorkerLostError
from .acting import Action, run, show_images, single
from .exits import (
    BAD_INPUT,
    BROKEN_PIPE,
    BUG,
    DONE,
    GATE_FAILED,
    INTERRUPTED,
    WORKER_LOST,
)
from .flags import command_class, keyword, once, signature
from .screen import Loudness, ReaderGoneError, complain, show, watched, write
from .words import EXAMPLES, SUMMARIES

# Set by a shell that asks for completion; the words are elsewhere then.
COMPLETING = "_FGSM_COMPLETE"

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


FILE = keyword(
    "file",
    Annotated[
        str | None,
        typer.Argument(
            metavar="FILE.yaml", help="The experiment (or --config).", show_default=False
        ),
    ],
)
SET = keyword(
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
)

# The commands that are a class of options, and what else they take.
COMMANDS: dict[str, tuple[type[Options], Action, tuple[inspect.Parameter, ...]]] = {
    "train": (TrainOptions, single("train"), (CONFIG,)),
    "attack": (AttackOptions, single("attack"), (CONFIG,)),
    "eval": (EvalOptions, single("eval"), (CONFIG,)),
    "curve": (CurveOptions, single("curve"), (CONFIG,)),
    "audit": (AuditOptions, single("audit"), (CONFIG,)),
    "transfer": (TransferOptions, single("transfer"), (CONFIG,)),
    "certify": (CertifyOptions, single("certify"), (CONFIG,)),
    "show": (ShowOptions, show_images, ()),
    "run": (RunOptions, run, (FILE, SET, CONFIG)),
}


def _command(options: type[Options], action: Action, *more: inspect.Parameter) -> Any:
    """A function whose parameters are options, and which acts on what its user gave."""

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
    return command


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


def plot(
    runs: Annotated[
        list[str], typer.Argument(metavar="DIR", help="Output folders of attack, eval, curve.")
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


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Which; without any, those that take seconds."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All of them; some twenty minutes on two cores.")
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


def schema() -> int:
    """Print the JSON schema of an experiment file, for editors."""
    write(json.dumps(experiment_schema(), indent=2) + "\n")
    return DONE


def _version(wanted: bool) -> None:
    if wanted:
        write(f"fgsm {__version__}\n")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def application(words: Collection[str] = tuple(SUMMARIES)) -> typer.Typer:
    """The commands; those not among the words can only be listed, which spares their options."""
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
    app.callback()(_root)
    for name, (options, action, more) in COMMANDS.items():
        asked = name in words
        app.command(
            name,
            cls=command_class(options) if asked else None,
            help=SUMMARIES[name],
            epilog="\n\n".join(["Examples:", *EXAMPLES[name]]),
        )(_command(options, action, *more) if asked else lambda: None)
    for function in (compare, plot, verify, reproduce, schema):
        app.command(help=SUMMARIES[function.__name__])(function)
    return app


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    words = sys.argv[1:] if argv is None else argv
    app = application(SUMMARIES if COMPLETING in os.environ else words)
    try:
        code = app(args=words, prog_name="fgsm", standalone_mode=False)
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
