"""``fgsm transfer``."""

from ..config import TransferOptions
from ..distribution import crew_of
from ..errors import FgsmError
from ..files import same_file
from ..plots import heat_map
from ..results import Crossing, Transfer
from ..transfer import ENSEMBLE, ensemble, transfer_matrix
from .folders import check_figure, output_folder, write
from .sources import data_source, model_source
from .subject import check_fit, loaded, read_images
from .watch import Watch

PLOT_FILE = "transfer.svg"


def transfer(options: TransferOptions, watch: Watch) -> Transfer:
    """Craft on each model, and on all of them together if asked to; judge on each."""
    inputs = (*options.models, options.data)
    folder = output_folder(options.output, "transfer", inputs)
    plots = [
        *([options.plot] if options.plot else ()),
        *([str(folder / PLOT_FILE)] if folder else ()),
    ]
    for plot in plots:
        check_figure("--plot", plot, inputs)
    for place, path in enumerate(options.models):
        for other in options.models[:place]:
            if same_file(path, other):
                raise FgsmError(f"transfer needs different models. Received: {other} and {path}")
    images = read_images(options)
    targets = []
    for path in options.models:
        classifier = loaded(path, options)
        check_fit(classifier, images)
        targets.append(classifier)
    sources = [*targets, ensemble(targets)] if options.ensemble else targets
    matrix = transfer_matrix(
        sources,
        targets,
        images,
        options.crafted(),
        batch_size=options.batch_size,
        seed=options.seed,
        progress=watch.progress,
        crew=crew_of(options.devices, options.cluster),
    )
    names = tuple(one.path for one in targets)
    rows = (*names, ENSEMBLE) if options.ensemble else names
    record = Transfer(
        models=tuple(model_source(one) for one in targets),
        data=data_source(images),
        attack=options.crafted(),
        n=len(images),
        sources=rows,
        targets=names,
        crossings=tuple(
            Crossing(
                source=row,
                target=column,
                n=len(images),
                clean_correct=result.clean_correct or 0,
                adversarial_correct=result.adversarial_correct or 0,
                flipped=result.flipped or 0,
            )
            for row, results in zip(rows, matrix, strict=True)
            for column, result in zip(names, results, strict=True)
        ),
        linf_max=max(result.linf_max or 0.0 for results in matrix for result in results),
        files=tuple(plots),
        warnings=tuple(
            dict.fromkeys(
                (*images.notes, *(note for classifier in targets for note in classifier.notes))
            )
        ),
    )
    if folder:
        write(folder, {"transfer": options}, record.as_dict())
    for plot in plots:
        heat_map(record, plot)
    return record
