"""What those who carry a run out tell of it, and are told."""

from __future__ import annotations

from typing import Protocol

from knotwork.domain.catalogue import Run


class RunControl(Protocol):
    """The open runs, as the steps of indexing see them."""

    def report(self, run: Run, done: int, total: int) -> None:
        """The step under way has handled `done` of the run's `total` chunks."""
        ...

    def is_cancelled(self, run_id: str) -> bool:
        """Whether nobody wants the run any more."""
        ...

    def begin(self, run_id: str) -> None:
        """From here on the run changes what is stored of its source: it cannot be taken back, only completed."""
        ...

    def has_begun(self, run_id: str) -> bool:
        """Whether `begin` was called, or may have been by an earlier process."""
        ...
