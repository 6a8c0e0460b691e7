"""What no attack can say: which images nothing in the ball turns.

    certifier = certifier_of(classifier, (28, 28), "linf", "crown")
    certifier.least(images, 0.01, batch_size=1000) > 0       # the images that are proved robust

Bounds come from ``relaxation``; ``exact.py`` searches what they leave open, and ``bracket.py`` puts
both beside the attacks.
"""

from .bracket import Certifier, Known, Search, bracket, certifier_of, proved

__all__ = ["Certifier", "Known", "Search", "bracket", "certifier_of", "proved"]
