"""What a script waits for before its first line: the import of each library, in a new process.

Each with Keras, which all need before they can attack one of its models. ``fgsm_cli`` itself loads
it with the first name that needs it.
"""

import sys

from .measure import Plan, Row, compare, interleaved, process

STATEMENTS = {
    "fgsm, ready to attack": "from fgsm_cli import perturb",
    "fgsm, imported": "import fgsm_cli",
    "keras": "import keras",
    "CleverHans": "import keras, cleverhans.tf2.attacks.fast_gradient_method",
    "Foolbox": "import keras, foolbox.attacks",
    "ART": "import keras, art.attacks.evasion, art.estimators.classification",
}


def run(plan: Plan) -> list[Row]:
    """Time every import, each once beforehand for the disk's sake."""
    contestants = {
        name: process(sys.executable, "-W", "ignore", "-c", statement)
        for name, statement in STATEMENTS.items()
    }
    interleaved(contestants, 1)
    samples = interleaved(contestants, plan.repeats)
    return compare("imports", samples, ours="fgsm, ready to attack")
