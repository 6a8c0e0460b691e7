"""The family of gradient-sign attacks: every attack a row of data.

All of them are one loop (``attacks.py``): take the gradient, mix in the velocity, step in
the steepest direction of the norm, project on the ball of radius epsilon, clip to the pixel
range. A row says how often, how far and with how much memory:

    >>> ROWS["bim"].steps
    10
    >>> attack_named("bim", epsilon=0.3, steps=40).step_size
    0.025

No TensorFlow here: the command line and the YAML files draw their choices from this table.
"""

from dataclasses import dataclass
from typing import Literal

import pydantic

from .errors import FgsmError
from .validation import Count, Decay, Epsilon, StepSize, explain

AttackName = Literal["fgsm", "bim", "mifgsm"]
Norm = Literal["linf"]
Loss = Literal["ce", "ce-float32"]


@dataclass(frozen=True)
class Row:
    """What makes one attack differ from FGSM, with the paper that defines it.

    ``reach`` is the length of the whole path, steps times step size, as a share of epsilon.
    """

    title: str
    source: str
    steps: int = 1
    reach: float = 1.0
    decay: float = 0.0


ROWS: dict[AttackName, Row] = {
    "fgsm": Row("FGSM", "Goodfellow et al. 2015, arXiv 1412.6572"),
    "bim": Row("BIM", "Kurakin et al. 2017, arXiv 1607.02533", steps=10),
    "mifgsm": Row("MI-FGSM", "Dong et al. 2018, arXiv 1710.06081", steps=10, decay=1.0),
}


@pydantic.dataclasses.dataclass(frozen=True)
class Attack:
    """One attack with every number settled.

    name: a key of ``ROWS``.
    norm: the norm of the ball.
    epsilon: the radius of the ball, on the pixel scale 0..1; at least 0.
    steps: number of gradients, at least 1.
    step_size: length of a step as a share of epsilon, above 0, at most 1.
    decay: weight of the velocity carried from step to step, at least 0 (0: none).
    loss: what is ascended, a key of ``gradients.LOSSES``.
    """

    name: AttackName
    norm: Norm
    epsilon: Epsilon
    steps: Count
    step_size: StepSize
    decay: Decay
    loss: Loss

    @property
    def title(self) -> str:
        """The name as the literature writes it."""
        return ROWS[self.name].title

    @property
    def is_direct(self) -> bool:
        """Whether one direction serves every epsilon: a single step from the image itself."""
        return self.steps == 1


def attack_named(
    name: AttackName = "fgsm",
    *,
    epsilon: float = 0.1,
    norm: Norm = "linf",
    steps: int | None = None,
    step_size: float | None = None,
    decay: float | None = None,
    loss: Loss = "ce",
) -> Attack:
    """The attack of that name; what is not given comes from its row.

    Without ``step_size`` the path keeps the row's length: ``step_size = reach / steps``,
    at most 1. Raises FgsmError for an unknown name or a number outside its range.
    """
    row = ROWS.get(name, ROWS["fgsm"])
    steps = row.steps if steps is None else steps
    try:
        return Attack(
            name=name,
            norm=norm,
            epsilon=epsilon,
            steps=steps,
            step_size=min(1.0, row.reach / max(1, steps)) if step_size is None else step_size,
            decay=row.decay if decay is None else decay,
            loss=loss,
        )
    except pydantic.ValidationError as error:
        schema = pydantic.TypeAdapter(Attack).json_schema(mode="serialization")
        raise FgsmError(explain(error, schema, {"name": "attack"})) from None
