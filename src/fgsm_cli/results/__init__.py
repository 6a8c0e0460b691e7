"""What a run found: frozen records that hold counts; a rate is divided once, when asked for.

``as_dict`` gives the JSON document of a record. Rates are fractions 0..1; what is undefined,
such as the success rate where nothing was right to begin with, is None. No TensorFlow here.
"""

from .audit import Audit, Finding, Verdict
from .certification import Bracket, Certification
from .comparison import Check, Comparison, Pair, Verification
from .counts import ModelSource, Source, percent, rate, versions, wilson_interval
from .curve import QUANTILES, Curve
from .gallery import Exhibit, Gallery, Moved
from .judgement import AttackResult, GradientHealth, Judgement, OverSeeds, Worst
from .lines import Line, Plot, Point, lines_of
from .portrait import Answer, Course, Flow, Group, Picture, Portrait, Tally
from .reproduction import Figure, Reproduced, Reproduction
from .training import Epoch, Probe, Training
from .transfer import Crossing, Transfer

__all__ = [
    "QUANTILES",
    "Answer",
    "AttackResult",
    "Audit",
    "Bracket",
    "Certification",
    "Check",
    "Comparison",
    "Course",
    "Crossing",
    "Curve",
    "Epoch",
    "Exhibit",
    "Figure",
    "Finding",
    "Flow",
    "Gallery",
    "GradientHealth",
    "Group",
    "Judgement",
    "Line",
    "ModelSource",
    "Moved",
    "OverSeeds",
    "Pair",
    "Picture",
    "Plot",
    "Point",
    "Portrait",
    "Probe",
    "Reproduced",
    "Reproduction",
    "Source",
    "Tally",
    "Training",
    "Transfer",
    "Verdict",
    "Verification",
    "Worst",
    "lines_of",
    "percent",
    "rate",
    "versions",
    "wilson_interval",
]
