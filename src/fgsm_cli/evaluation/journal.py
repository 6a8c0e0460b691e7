"""The journal: finished batches on disk, so that a judgement that was cut short can go on.

    journal = open_journal(Path("adv.shards"), asked)
    for task, found in journal.spread("first", crew, work, tasks, members): ...

Each batch is a shard, an .npz of the rows that it enters in the ledger and, where they are kept, of
its adversarial images. A shard appears whole or not at all. What it was asked for stands beside, in
``asked.json``: shards of other options, another model or other images are refused.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import open_arrays
from ..distribution import Crew, Found, Work
from ..errors import FgsmError
from ..files import digest_of, make_folder, whole_file

_ASKED = "asked.json"
_TASK = "task"
_DIGEST = "sha256"


@dataclass(frozen=True)
class Journal:
    """Where shards are kept; with no folder nowhere, so that everything is computed.

    written: whether any worker of the crew keeps them: it is the chief's, but all must ask for it.
    """

    folder: Path | None = None
    written: bool = False

    def spread(
        self,
        name: str,
        crew: Crew,
        work: Work,
        tasks: Sequence[NDArray[np.intp]],
        members: Sequence[Any],
    ) -> Iterator[tuple[NDArray[np.intp], Found]]:
        """As ``Crew.spread``; what is in the journal comes first and is not computed again."""
        if not self.written:
            yield from crew.spread(work, tasks, members)
            return
        held = [place for place in range(len(tasks)) if self._shard(name, place).exists()]
        held = [int(place) for place in crew.chiefs({"held": np.array(held, int)})["held"]]
        for place in held:
            mine = self._read(self._shard(name, place), tasks[place]) if crew.is_chief else {}
            yield tasks[place], crew.chiefs(mine)
        left = [place for place in range(len(tasks)) if place not in set(held)]
        finished = crew.spread(work, [tasks[place] for place in left], members)
        for place, (task, found) in zip(left, finished, strict=True):
            if self.folder:
                with whole_file(self._shard(name, place)) as path, path.open("wb") as file:
                    digest = np.array(digest_of(found))
                    np.savez(file, **{_TASK: task, _DIGEST: digest, **found})  # type: ignore[arg-type]
            yield task, found

    def part(self, name: str) -> "Journal":
        """A journal within this one, for a judgement of its own."""
        return Journal(self.folder and make_folder(self.folder / name), self.written)

    def close(self) -> None:
        """Take the shards away, once what they were for is written."""
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _shard(self, name: str, place: int) -> Path:
        return (self.folder or Path()) / f"{name}-{place:06}.npz"

    def _read(self, path: Path, task: NDArray[np.intp]) -> Found:
        with open_arrays(str(path)) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        if not np.array_equal(found.pop(_TASK, ()), task):
            raise FgsmError(f"{path} is damaged: it is not of the images it should be of")
        if str(found.pop(_DIGEST, "")) != digest_of(found):
            raise FgsmError(f"{path} is damaged: it does not hold what was written; delete it")
        return found


UNWRITTEN = Journal()


def open_journal(folder: Path, asked: Mapping[str, Any]) -> Journal:
    """The journal in a folder, made if absent; asked: all that the shards depend on.

    Raises FgsmError for a folder of other things, or of what was asked for otherwise.
    """
    note, wanted = folder / _ASKED, json.loads(json.dumps(asked))
    if note.exists():
        try:
            before = json.loads(note.read_text(encoding="utf-8"))
            differing = [key for key in {**before, **wanted} if before.get(key) != wanted.get(key)]
        except (ValueError, TypeError, AttributeError):
            raise FgsmError(
                f"{note} is damaged: not what the shards beside were made for"
            ) from None
        if differing:
            raise FgsmError(
                f"{folder} holds the shards of another attack, which differs in "
                f"{', '.join(differing)}; expected the same one, or no such folder"
            )
    elif folder.exists() and any(folder.iterdir()):
        raise FgsmError(f"{folder} holds other things than the shards of an attack")
    else:
        make_folder(folder)
        with whole_file(note) as path:
            path.write_text(json.dumps(wanted, indent=1) + "\n", encoding="utf-8")
    return Journal(folder, written=True)
