"""Models: the MLP; any Keras classifier, loaded and judged; its logits; saving.

A softmax hides how sure a network is: in float32 its cross-entropy rounds to nothing, and the
gradient with it. So every classifier is used through its logits:

    logits(model, x)                      # of a softmax head, what went into the softmax
    load_classifier("model.keras")(x)     # the same, and checked

``loading.py`` reads what is named on the command line (``formats.py``, ``hdf5.py``, ``code.py``),
``inspection.py`` finds out what it is (``heads.py``, ``preprocessing.py``), ``classifier.py``
is what every other room works with.
"""

from .architectures import build_cnn, build_mlp, build_network, save_model
from .classifier import Classifier, Model, logits
from .code import is_of_keras
from .inspection import inspect
from .loading import Loading, load_classifier

__all__ = [
    "Classifier",
    "Loading",
    "Model",
    "build_cnn",
    "build_mlp",
    "build_network",
    "inspect",
    "is_of_keras",
    "load_classifier",
    "logits",
    "save_model",
]
