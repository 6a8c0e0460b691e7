"""What no attack can say: which images nothing in the ball turns.

    certifier = certifier_of(classifier, (28, 28), "linf", "crown")
    certifier.least(images, 0.01, batch_size=1000) > 0       # the images that are proved robust

``network.py`` takes a classifier apart into linear maps and rectifiers, ``bounds.py`` bounds
these over a ball, ``rounding.py`` what float32 may add to it, ``exact.py`` searches what bounds
leave open, and ``bracket.py`` puts all of it beside the attacks.
"""

from .bounds import BOUNDS
from .bracket import Certifier, Known, Search, bracket, certifier_of
from .network import network_of

__all__ = ["BOUNDS", "Certifier", "Known", "Search", "bracket", "certifier_of", "network_of"]
