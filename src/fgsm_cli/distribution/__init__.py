"""Who computes: one device, several of this machine, or the workers of a cluster.

    crew = crew_of("auto", "tf-config")
    for task, found in crew.spread(work, tasks, members):
        ...                                  # the same on every worker

What is spread are whole batches, each computed by one device as it would be alone. So where a
batch is computed changes nothing in it, and the results are those of one device bit for bit.
Attacks that stop early do not walk in step, so every device has the network for itself and takes
the next batch when it is free; only training, whose gradients are summed at each step, runs inside
``tf.distribute``: ``MirroredStrategy`` on one machine, ``MultiWorkerMirroredStrategy`` on several.
"""

from .cluster import crew_of, lost_workers_told
from .crew import ALONE, Crew, Found, Work, note_of_fitting

__all__ = ["ALONE", "Crew", "Found", "Work", "crew_of", "lost_workers_told", "note_of_fitting"]
