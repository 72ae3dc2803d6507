"""What was ingested from which folder, so that `--prune` deletes what is gone from it and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast


@dataclass(frozen=True, slots=True)
class RootRecord:
    """The sources that came from one folder, for one tenant and source type; a file in the home.

    A source id does not tell the folder it came from, and must not: another machine's copy of the folder is the
    same sources. So the home keeps note.
    """

    home: Path
    tenant: str
    source_type: str
    root: Path  # absolute

    def files(self) -> dict[str, str]:
        """Source id → file below the root, of everything recorded so far."""
        return _read(self._path)

    def gone(self, present: Iterable[str], scopes: Sequence[str]) -> list[str]:
        """Recorded sources of the scopes that are not present, nor recorded for another root; sorted.

        Args:
            present: Ids that the root has now.
            scopes: Parts of the root that were read: "" for all of it, else a file or folder below it.
        """
        elsewhere: set[str] = set()
        for path in self._path.parent.glob(f"{self._collection}-*.json"):
            if path != self._path:
                elsewhere |= _read(path).keys()
        files = self.files()
        missing = files.keys() - set(present) - elsewhere
        return sorted(id_ for id_ in missing if any(_is_below(files[id_], scope) for scope in scopes))

    def update(self, *, added: Mapping[str, str], removed: Iterable[str] = ()) -> None:
        """Record what came, with its file, and what went."""
        files = {**self.files(), **added}
        for id_ in removed:
            files.pop(id_, None)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".new")
        record = {"tenant": self.tenant, "source_type": self.source_type, "root": str(self.root), "files": files}
        draft.write_text(json.dumps(record, sort_keys=True), encoding="utf-8")
        draft.replace(self._path)

    @property
    def _collection(self) -> str:
        return _digest(self.tenant, self.source_type)

    @property
    def _path(self) -> Path:
        return self.home / "ingested" / f"{self._collection}-{_digest(str(self.root))}.json"


def _is_below(file: str, scope: str) -> bool:
    return not scope or file == scope or file.startswith(f"{scope}/")


def _read(path: Path) -> dict[str, str]:
    try:
        return cast("dict[str, str]", json.loads(path.read_text(encoding="utf-8"))["files"])
    except FileNotFoundError:
        return {}


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
