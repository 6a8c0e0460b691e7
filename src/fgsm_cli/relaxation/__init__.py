"""A classifier taken apart into affine steps and rectifiers, and bounds on these over a ball.

    network = network_of(classifier, (28, 28))
    found, boxes = BOUNDS["crown"](network, Region.around(x, 0.01, "linf"), y)

``network.py`` takes apart, ``bounds.py`` bounds, ``rounding.py`` says what float32 may add to it.
"""

from .bounds import BOUNDS, ROOM, Box, Region, intervals, least, margins, others_of, refined
from .network import Linear, Network, Rectifier, network_of
from .rounding import slack

__all__ = [
    "BOUNDS",
    "ROOM",
    "Box",
    "Linear",
    "Network",
    "Rectifier",
    "Region",
    "intervals",
    "least",
    "margins",
    "network_of",
    "others_of",
    "refined",
    "slack",
]
