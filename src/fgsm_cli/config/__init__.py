"""The options: one definition each, shared by command line, YAML and Python.

A command is a class, an option is a field: name, type, bounds, default and help
in one place. ``cli.py`` makes its flags from these fields, ``experiment_file.py`` checks a YAML
file against them and describes them to editors.

    >>> build(AttackOptions, {"epsilon": "8/255"}).epsilon == 8 / 255
    True

Values arrive as text from the command line and from YAML alike, and the field's type reads
them; so ``1e-3``, ``"0.1"`` and ``8/255`` are numbers, ``no`` is a name where a name is
expected, and both doors agree. No TensorFlow here.
"""

from .certifying import CertifyOptions
from .command_line import command_line
from .experiment_file import (
    command_of,
    dump_experiment,
    experiment_schema,
    parse_setting,
    read_experiment,
    resolve_experiment,
)
from .fields import (
    CERTIFICATES_FILE,
    CHECKPOINT_FILE,
    CONFIG_FILE,
    CURVE_FILE,
    DEFAULT_DIR,
    DEFAULT_MODEL,
    EXAMPLES_FILE,
    IMAGE_SETS,
    MODEL_FILE,
    OUTCOMES_FILE,
    REPORT_FILE,
    RESULTS_FILE,
    SHARDS_FOLDER,
    Cluster,
    Devices,
    Format,
    OutputKind,
    SaveFormat,
    check_text,
    flag,
    names_function,
)
from .judging import AttackOptions, AuditOptions, CurveOptions, EvalOptions, TransferOptions
from .model import LoadingOptions, ModelOptions
from .options import Options, RunOptions, SectionOptions, TrackedOptions
from .sections import SECTIONS, build, keys, schema_of
from .showing import ShowOptions, check_plot
from .training import ARCHITECTURES, TrainOptions

__all__ = [
    "ARCHITECTURES",
    "CERTIFICATES_FILE",
    "CHECKPOINT_FILE",
    "CONFIG_FILE",
    "CURVE_FILE",
    "DEFAULT_DIR",
    "DEFAULT_MODEL",
    "EXAMPLES_FILE",
    "IMAGE_SETS",
    "MODEL_FILE",
    "OUTCOMES_FILE",
    "REPORT_FILE",
    "RESULTS_FILE",
    "SECTIONS",
    "SHARDS_FOLDER",
    "AttackOptions",
    "AuditOptions",
    "CertifyOptions",
    "Cluster",
    "CurveOptions",
    "Devices",
    "EvalOptions",
    "Format",
    "LoadingOptions",
    "ModelOptions",
    "Options",
    "OutputKind",
    "RunOptions",
    "SaveFormat",
    "SectionOptions",
    "ShowOptions",
    "TrackedOptions",
    "TrainOptions",
    "TransferOptions",
    "build",
    "check_plot",
    "check_text",
    "command_line",
    "command_of",
    "dump_experiment",
    "experiment_schema",
    "flag",
    "keys",
    "names_function",
    "parse_setting",
    "read_experiment",
    "resolve_experiment",
    "schema_of",
]
