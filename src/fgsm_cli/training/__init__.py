"""Training: one compiled loop over images that stay on the device.

    epochs = train(model, images, options, progress)

``Model.fit`` comes back to Python after every batch; for a small MLP that is most of the time.
Here a single call runs a stretch of many steps, and Python only draws the progress between
stretches. The loss is cross-entropy on the logits, the optimizer Adam (Kingma & Ba 2015, arXiv
1412.6980), the images held out for validation never take part in a step.

What a step minimises is an objective (``objectives.py``): clean, adversarial, TRADES and others are
options of the one loop. A monitor watches for catastrophic overfitting, a checkpoint lets a
training that was killed go on to the same weights.
"""

from .loop import STRETCH, Progress, count_correct, learning_rate, split_indices, train
from .monitor import best_epoch, has_collapsed

__all__ = [
    "STRETCH",
    "Progress",
    "best_epoch",
    "count_correct",
    "has_collapsed",
    "learning_rate",
    "split_indices",
    "train",
]
