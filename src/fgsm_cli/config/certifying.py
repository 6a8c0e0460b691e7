"""The options of ``fgsm certify``."""

from pathlib import Path
from typing import Literal

from ..errors import FgsmError
from ..family import Attack, Norm, attack_named
from ..validation import Count, Rate, Seconds
from .fields import Epsilons, Text, option
from .model import ModelOptions

BoundsName = Literal["ibp", "crown-ibp", "crown", "alpha-crown"]


class CertifyOptions(ModelOptions):
    """fgsm certify"""

    epsilon: Epsilons = option(
        (0.01,),
        "How far a pixel (an image, in l2 or l1) may move on the 0..1 pixel scale, such as 0.01 or "
        "2/255; repeat for more.",
        group="Attack",
        short="-e",
    )
    norm: Norm = option("linf", "Norm of the ball.", group="Attack")
    restarts: Count = option(3, "Tries of PGD at the images not proved.", group="Attack")
    bounds: BoundsName = option(
        "crown",
        "What proves: intervals, linear bounds of the margins over them, linear bounds "
        "throughout, or those with slopes that are optimised.",
        group="Certificate",
    )
    exact: bool = option(
        False, "Search what is left undecided by mixed-integer programming.", group="Certificate"
    )
    time_limit: Seconds = option(
        60.0, "With --exact: how long an image is searched, such as 60s or 5m.", group="Certificate"
    )
    jobs: Count | None = option(
        None, "With --exact: processes. Default: one a processor.", group="Certificate"
    )
    fail_under: Rate | None = option(
        None, "Exit with 1 if a certified accuracy is below this.", group="Output"
    )
    plot: Text | None = option(
        None, "File for the bracket over epsilon (.svg, .pdf or .png).", group="Output"
    )

    @property
    def need_of_labels(self) -> str | None:
        """A certificate as a whole."""
        return "a certificate"

    def contests(self) -> tuple[tuple[Attack, ...], ...]:
        """The strongest of the family at each epsilon, which rise."""
        return tuple(
            (
                attack_named("pgd", epsilon=epsilon, norm=self.norm, restarts=self.restarts),
                attack_named("apgd", epsilon=epsilon, norm=self.norm),
                attack_named("pgd", epsilon=epsilon, norm=self.norm, loss="margin"),
            )
            for epsilon in sorted(set(self.epsilon))
        )

    def check(self) -> None:
        """Raise FgsmError for options that do not go together."""
        super().check()
        if self.exact and self.norm != "linf":
            raise FgsmError(f"--exact searches boxes, --norm linf. Received: {self.norm}")
        for name in ("time_limit", "jobs"):
            if not self.exact and getattr(self, name) != type(self).model_fields[name].default:
                raise FgsmError(f"--{name.replace('_', '-')} needs --exact")
        if self.plot and Path(self.plot).suffix not in (".svg", ".pdf", ".png"):
            raise FgsmError(f"--plot must name a .svg, .pdf or .png file. Received: {self.plot!r}")
