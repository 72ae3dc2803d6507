"""UsageJournal in one file, replaced as a whole."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import structlog
from pydantic import TypeAdapter, ValidationError

from knotwork.ports.usage import UsageBatch

log = structlog.get_logger()

BATCHES = TypeAdapter(list[UsageBatch])


class FileUsageJournal:
    """UsageJournal at a path; there is no file while nothing waits."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def load(self) -> list[UsageBatch]:
        return await asyncio.to_thread(self._load)

    async def save(self, batches: Sequence[UsageBatch]) -> None:
        await asyncio.to_thread(self._save, list(batches))

    def _load(self) -> list[UsageBatch]:
        try:
            return BATCHES.validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return []
        except (OSError, ValidationError):
            log.exception("usage_journal_unreadable", path=str(self._path))
            return []

    def _save(self, batches: list[UsageBatch]) -> None:
        if not batches:
            self._path.unlink(missing_ok=True)
            return
        draft = self._path.with_suffix(".draft")
        with draft.open("wb") as file:
            file.write(BATCHES.dump_json(batches))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
