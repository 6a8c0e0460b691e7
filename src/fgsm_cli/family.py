"""The family of gradient attacks: every attack a row of data.

All of them are one loop (``attacks.py``): start, take the gradient, mix in the velocity, step in
the steepest direction of the norm, project on the ball of radius epsilon, clip to the pixel
range. A row says from where, how often, how far and with how much memory:

    >>> ROWS["bim"].steps
    10
    >>> attack_named("pgd", epsilon=0.3, steps=100).step_size
    0.025

No TensorFlow here: the command line and the YAML files draw their choices from this table.
"""

from dataclasses import dataclass
from typing import Literal

import pydantic

from .errors import FgsmError
from .validation import Count, Decay, Epsilon, StepSize, Target, explain

AttackName = Literal[
    "fgsm",
    "fgm",
    "margin-fgsm",
    "rfgsm",
    "rfgsm-tramer",
    "bim",
    "mifgsm",
    "nifgsm",
    "pgd",
    "apgd",
    "apgd-dlr",
]
Norm = Literal["linf", "l2", "l1"]
Loss = Literal["ce", "ce-float32", "margin", "dlr"]
Start = Literal["image", "ball", "corner"]
Labels = Literal["true", "predicted"]


@dataclass(frozen=True)
class Row:
    """What makes one attack differ from FGSM, with the paper that defines it.

    reach: length of the whole path, steps times step size, as a share of epsilon; of an attack
        that adapts its step, the first step's.
    decay: weight of the velocity; looks_ahead takes the gradient where the velocity leads.
    start: the image itself, uniform in the ball, or a random corner of the ball of half its size.
    keeps: a sample stays where it first succeeded, so that no later step undoes it.
    adapts: step size and restarting point are APGD's.
    """

    title: str
    source: str
    steps: int = 1
    reach: float = 1.0
    decay: float = 0.0
    looks_ahead: bool = False
    start: Start = "image"
    norm: Norm = "linf"
    loss: Loss = "ce"
    keeps: bool = False
    adapts: bool = False


_MADRY = "Madry et al. 2018, arXiv 1706.06083"
_CROCE = "Croce & Hein 2020, arXiv 2003.01690"

ROWS: dict[AttackName, Row] = {
    "fgsm": Row("FGSM", "Goodfellow et al. 2015, arXiv 1412.6572"),
    "fgm": Row("FGM", "Miyato et al. 2017, arXiv 1605.07725", norm="l2"),
    "margin-fgsm": Row(
        "FGSM on the margin", "Carlini & Wagner 2017, arXiv 1608.04644", loss="margin"
    ),
    "rfgsm": Row("R+FGSM", "Wong et al. 2020, arXiv 2001.03994", reach=1.25, start="ball"),
    "rfgsm-tramer": Row(
        "R+FGSM (Tramèr)", "Tramèr et al. 2018, arXiv 1705.07204", reach=0.5, start="corner"
    ),
    "bim": Row("BIM", "Kurakin et al. 2017, arXiv 1607.02533", steps=10),
    "mifgsm": Row("MI-FGSM", "Dong et al. 2018, arXiv 1710.06081", steps=10, decay=1.0),
    "nifgsm": Row(
        "NI-FGSM", "Lin et al. 2020, arXiv 1908.06281", steps=10, decay=1.0, looks_ahead=True
    ),
    "pgd": Row("PGD", _MADRY, steps=40, reach=2.5, start="ball", keeps=True),
    "apgd": Row("APGD", _CROCE, steps=100, reach=2.0, start="ball", keeps=True, adapts=True),
    "apgd-dlr": Row(
        "APGD-DLR", _CROCE, steps=100, reach=2.0, start="ball", loss="dlr", keeps=True, adapts=True
    ),
}


@pydantic.dataclasses.dataclass(frozen=True)
class Attack:
    """One attack with every number settled.

    name: a key of ``ROWS``.
    norm: the norm of the ball.
    epsilon: the radius of the ball, on the pixel scale 0..1; at least 0.
    steps: number of gradients, at least 1.
    step_size: length of a step as a share of epsilon, above 0; of APGD the first step's.
    decay: weight of the velocity carried from step to step, at least 0 (0: none).
    loss: what is ascended, a key of ``gradients.LOSSES``.
    restarts: how often an attack with a random start tries, at least 1; the best try counts.
    target: None, or the class aimed at: a label, "next" (the label after the true one),
        "least-likely" or "random" (any but the true one).
    labels: whose loss is raised: the true labels', or those that the model predicts.
    """

    name: AttackName
    norm: Norm
    epsilon: Epsilon
    steps: Count
    step_size: StepSize
    decay: Decay
    loss: Loss
    restarts: Count
    target: Target | None
    labels: Labels

    @property
    def row(self) -> Row:
        """The attack's row of the table."""
        return ROWS[self.name]

    @property
    def title(self) -> str:
        """What the reports call it, without its epsilon."""
        return f"{self.row.title}, {self.norm.capitalize()}"

    @property
    def is_random(self) -> bool:
        """Whether the seed has a part in it."""
        return self.row.start != "image" or self.target == "random"

    @property
    def is_direct(self) -> bool:
        """Whether one direction serves every epsilon: a single step from the image itself."""
        return self.steps == 1 and self.row.start == "image" and self.step_size <= 1


def attack_named(
    name: AttackName = "fgsm",
    *,
    epsilon: float = 0.1,
    norm: Norm | None = None,
    steps: int | None = None,
    step_size: float | None = None,
    decay: float | None = None,
    loss: Loss | None = None,
    restarts: int = 1,
    target: Target | None = None,
    labels: Labels = "true",
) -> Attack:
    """The attack of that name; what is not given comes from its row.

    Without ``step_size`` the path keeps the row's length: ``step_size = reach / steps``
    (APGD's first step is ``reach``).
    Raises FgsmError for an unknown name or a number outside its range.
    """
    row = ROWS[name] if isinstance(name, str) and name in ROWS else ROWS["fgsm"]
    steps = row.steps if steps is None else steps
    whole = steps if isinstance(steps, int) and steps > 1 else 1
    reach = row.reach if row.adapts else row.reach / whole
    try:
        return Attack(
            name=name,
            norm=row.norm if norm is None else norm,
            epsilon=epsilon,
            steps=steps,
            step_size=reach if step_size is None else step_size,
            decay=row.decay if decay is None else decay,
            loss=row.loss if loss is None else loss,
            restarts=restarts,
            target=target,
            labels=labels,
        )
    except pydantic.ValidationError as error:
        schema = pydantic.TypeAdapter(Attack).json_schema(mode="serialization")
        raise FgsmError(explain(error, schema, {"name": "attack"})) from None
