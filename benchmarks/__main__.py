"""Measure and tell: ``python -m benchmarks [--quick] [--only NAME] [--output FILE.json]``."""

import argparse
import importlib
import json
import sys
import tempfile
from pathlib import Path

from .commands import FGSM
from .measure import Plan, Row, run_process
from .plot import draw
from .report import as_document, print_rows

# A benchmark is a module of its own with a function run(plan) -> rows. Those that start
# processes stand first: they must be done before this process loads TensorFlow.
BENCHMARKS = (
    "help",
    "imports",
    "process",
    "sizes",
    "fgsm",
    "pgd",
    "mifgsm",
    "restarts",
    "curve",
    "minimal",
    "training",
    "adversarial",
    "certify",
)

# Under two minutes in all.
QUICK = ("help", "fgsm", "pgd", "curve")

BATCH_SIZES = (500, 1000, 2000, 5000, 10_000)


def main() -> None:
    """Read the flags, measure, print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure fgsm beside plain Keras and its peers."
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"fewer repeats, images, sizes; without --only just {', '.join(QUICK)}",
    )
    parser.add_argument(
        "--only",
        choices=BENCHMARKS,
        metavar="NAME",
        action="append",
        help=", ".join(BENCHMARKS) + "; repeat for more",
    )
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="also write all samples")
    parser.add_argument("--markdown", action="store_true", help="print a table to paste")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw it (.svg, .pdf, .png)")
    flags = parser.parse_args()

    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        tell("Training the default model")
        run_process(FGSM, "train", "--output", folder)
        plan = Plan(
            model=Path(folder) / "model.keras",
            repeats=3 if flags.quick else 5,
            batch_sizes=BATCH_SIZES[:4:3] if flags.quick else BATCH_SIZES,
            images=1000 if flags.quick else 10_000,
        )
        usual = QUICK if flags.quick else BENCHMARKS
        for name in flags.only or usual:
            tell(f"Measuring {name}")
            rows += importlib.import_module(f".{name}", __package__).run(plan)
    print_rows(rows, plan.repeats, markdown=flags.markdown)
    if flags.plot:
        draw(rows, flags.plot)
    if flags.output:
        document = as_document(rows, plan.repeats)
        flags.output.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def tell(what: str) -> None:
    """A line for whoever waits; the results alone go to stdout."""
    print(f"{what} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
