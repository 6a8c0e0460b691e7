"""Counting right answers under attack; norms, health and budget measured afresh.

    judged = judge(classifier, images, [(attack,)], batch_size=1000, seed=0, progress=progress)

The evaluator trusts no attack: it takes the clean and the adversarial images, asks the model
itself, and measures in float64 how far each image moved. A pixel outside the range or an image
beyond epsilon is an error; a logit, gradient or pixel that is not a finite number never counts as
a right answer.
"""

from .doubts import UNLABELLED
from .journal import UNWRITTEN, Journal, open_journal
from .judging import Contest, Judged, Keep, judge
from .measure import check_budget, gradient_of, look_at, parts, predicted, score_of
from .saved import judge_examples

__all__ = [
    "UNLABELLED",
    "UNWRITTEN",
    "Contest",
    "Journal",
    "Judged",
    "Keep",
    "check_budget",
    "gradient_of",
    "judge",
    "judge_examples",
    "look_at",
    "open_journal",
    "parts",
    "predicted",
    "score_of",
]
