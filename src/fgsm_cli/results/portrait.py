"""What a report shows of a model under attack beyond the counts: classes, courses, pictures."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..family import Attack

if TYPE_CHECKING:
    from .judgement import Worst

Group = Literal["hardest", "easiest", "random"]


@dataclass(frozen=True)
class Tally:
    """The right answers on the n images of one class, before and after the attack."""

    label: int
    n: int
    clean_correct: int
    adversarial_correct: int


@dataclass(frozen=True)
class Flow:
    """How many images were given one class before the attack and another, or the same, after."""

    before: int
    after: int
    n: int


@dataclass(frozen=True)
class Course:
    """Right answers along one direction an image, and along a random one of the same length.

    n: images followed, evenly spaced over those that were judged. attack: whose direction.
    correct, noise_correct: at each epsilon; noise is the steepest step of a random gradient, for
        Linf a random sign in every pixel.
    fallen: of the images right at epsilon 0, how many first turn between each epsilon and the
        next; never: how many no epsilon turns.
    """

    attack: Attack
    n: int
    epsilons: tuple[float, ...]
    correct: tuple[int, ...]
    noise_correct: tuple[int, ...]
    fallen: tuple[int, ...]
    never: int

    @property
    def middle(self) -> float | None:
        """Half of the images right at epsilon 0 have turned at this epsilon of the course."""
        standing = sum(self.fallen) + self.never
        for epsilon, turned in zip(self.epsilons[1:], self._turned(), strict=True):
            if standing and turned >= standing / 2:
                return epsilon
        return None

    def _turned(self) -> list[int]:
        return [sum(self.fallen[: place + 1]) for place in range(len(self.fallen))]


@dataclass(frozen=True)
class Answer:
    """A class, and the probability that the model gives it."""

    label: int
    confidence: float


@dataclass(frozen=True, eq=False)
class Picture:
    """One image of the gallery.

    index: where it stands in its source. label: None where it has none.
    smallest: the smallest epsilon along its direction at which it is wrong; 0 if it is wrong to
        begin with, None if none of the course turns it.
    x, x_adv: pixels in 0..1, the image's own shape; direction: the step of norm 1 that is followed.
    clean, adversarial: the answers to both; along: the answers at each epsilon of the course.
    """

    group: Group
    index: int
    label: int | None
    smallest: float | None
    x: Any
    x_adv: Any
    direction: Any
    clean: Answer
    adversarial: Answer
    along: tuple[Answer, ...]


@dataclass(frozen=True, eq=False)
class Portrait:
    """What a report shows of a model under one attack beyond the counts of a record.

    attack: the one that is portrayed; of several that which leaves fewest right answers.
    classes: the names of the labels. labelled: whether the images have labels; without, right
        means as before. tallies: those of the classes that occur. flows: none that is 0.
    """

    attack: "Attack | Worst"
    classes: tuple[str, ...]
    labelled: bool
    tallies: tuple[Tally, ...]
    flows: tuple[Flow, ...]
    course: Course
    gallery: tuple[Picture, ...] = field(default=(), repr=False)
