"""``fgsm certify``."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..certification import Known, Search, bracket, certifier_of
from ..config import CERTIFICATES_FILE, CertifyOptions
from ..errors import FgsmError
from ..evaluation import Contest
from ..examples import save_examples
from ..files import make_folder, whole_file
from ..plots import bracket_plot
from ..results import Bracket, Certification, Worst
from .folders import check_apart, output_folder, write
from .sources import data_source, model_source
from .subject import doubts, subject
from .watch import Watch

PLOT_FILE = "certify.svg"


def certify(options: CertifyOptions, watch: Watch) -> Certification:
    """Robust accuracy from both sides; keep every image's certificate if asked to."""
    inputs = (options.model, options.data)
    folder = output_folder(options.output, "certify", inputs)
    plots = [
        *([options.plot] if options.plot else ()),
        *([f"{folder / PLOT_FILE}"] if folder else ()),
    ]
    for plot in plots:
        check_apart("--plot", plot, inputs)
        if Path(plot).is_dir():
            raise FgsmError(f"--plot must name a file. Received: the folder {plot}")
        make_folder(Path(plot).parent)
    classifier, images = subject(options, watch)
    contests = options.contests()
    right, known, warnings = bracket(
        classifier,
        images,
        contests,
        certifier_of(classifier, images.shape, options.norm, options.bounds),
        search=Search(options.time_limit, options.jobs) if options.exact else None,
        batch_size=options.batch_size,
        seed=options.seed,
        progress=watch.progress,
    )
    correct = int(right.sum())
    files: list[str] = []
    if folder:
        files.append(str(folder / CERTIFICATES_FILE))
        with whole_file(files[0]) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                epsilons=[one.epsilon for one in known],
                right=right,
                robust=[one.robust for one in known],
                broken=[one.broken for one in known],
                lowest=[one.lowest for one in known],
            )
        for one, contest in zip(known, contests, strict=True):
            broken = np.flatnonzero(one.broken)
            if len(broken):
                files.append(str(folder / f"broken-{one.epsilon:g}.npz"))
                x_adv = np.stack([one.x_adv[i] for i in broken.tolist()])
                save_examples(
                    files[-1], "npz", x_adv, images.take(broken), contest[0], classifier.sha256
                )
    record = Certification(
        model=model_source(classifier),
        data=data_source(images),
        n=len(images),
        clean_correct=correct,
        norm=options.norm,
        bounds=options.bounds,
        seconds=options.time_limit if options.exact else None,
        brackets=_brackets(known, contests, correct),
        fail_under=options.fail_under,
        files=(*files, *plots),
        warnings=(*classifier.notes, *doubts(classifier, images, correct), *warnings),
    )
    if folder:
        write(folder, {"certify": options}, record.as_dict())
    for plot in plots:
        bracket_plot(record, plot)
    return record


def _brackets(
    known: Sequence[Known], contests: Sequence[Contest], correct: int
) -> tuple[Bracket, ...]:
    found = []
    for one, contest in zip(known, contests, strict=True):
        proved, broken = int(one.robust.sum()), int(one.broken.sum())
        left = np.isfinite(one.lowest) & ~one.robust & ~one.broken
        found.append(
            Bracket(
                epsilon=one.epsilon,
                n=len(one.robust),
                clean_correct=correct,
                proved=proved,
                broken=broken,
                undecided=correct - proved - broken,
                gap=max(0.0, float(-one.lowest[left].min())) if left.any() else None,
                searched=one.searched,
                settled=one.settled,
                attack=Worst(tuple(contest)),
            )
        )
    return tuple(found)
