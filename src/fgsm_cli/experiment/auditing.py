"""``fgsm audit``."""

from dataclasses import replace

from ..audit import audit as run_checks
from ..config import AuditOptions
from ..data import load_images
from ..distribution import crew_of
from ..results import Audit
from .folders import output_folder, write
from .sources import data_source, model_source
from .subject import subject
from .watch import Watch


def audit(options: AuditOptions, watch: Watch) -> Audit:
    """Check whether the model's accuracy under attack can be trusted."""
    folder = output_folder(options.output, "audit", (options.model, options.data))
    classifier, images = subject(options, watch)
    findings = run_checks(
        classifier,
        images,
        load_images(options.data, "train", reading=replace(options.reading(), offset=0)),
        epsilon=options.epsilon,
        batch_size=options.batch_size,
        seed=options.seed,
        progress=watch.progress,
        crew=crew_of(options.devices, options.cluster),
    )
    record = Audit(
        model_source(classifier),
        data_source(images),
        options.epsilon,
        findings,
        warnings=(*classifier.notes, *images.notes),
    )
    if folder:
        write(folder, {"audit": options}, record.as_dict())
    return record
