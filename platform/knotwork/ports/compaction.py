"""Compaction: a store that can rid its files of what was deleted from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Compacted:
    """What compacting one store did: the size of its files before and after."""

    store: str
    before_bytes: int
    after_bytes: int


class Compactable(Protocol):
    """An embedded store. One of your own is compacted by its own means."""

    async def compact(self) -> Compacted:
        """Write all that is stored into fresh files and remove the old ones, logs included.

        Callers see to it that nobody writes. A crash on the way leaves the store as it was or compacted. Reads wait or
        are refused for moments only.

        Raises:
            StoreUnavailable: the store does not answer, or has no room for a second copy of itself.
        """
        ...
