"""Inbox over a folder: one file a request, written beside its place, synced, and renamed into it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import structlog
from pydantic import TypeAdapter

from knotwork.domain.catalogue import AcceptedRun, Run
from knotwork.domain.model import ParsedText, TenantId
from knotwork.errors import StoreUnavailable
from knotwork.ports.inbox import InboxEntry

T = TypeVar("T")

log = structlog.get_logger()

RUN, PARSED = TypeAdapter(Run), TypeAdapter(ParsedText)
KEPT, DRAFT, ASIDE = ".jsonl", ".draft", ".aside"
OWNER_ONLY: Final = 0o600  # a request holds a document


class FileInbox:
    """Inbox in a folder of its own. A file is JSON Lines: the tenant and the run, then the text if one came with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def open(self) -> None:
        """Make the folder, and see that it can be written.

        Raises:
            StoreUnavailable: it cannot.
        """

        def work() -> None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for draft in self._folder.glob(f"*{DRAFT}"):  # of a process that was killed: never acknowledged
                draft.unlink()
            _sync_folder(self._folder)
            if not os.access(self._folder, os.W_OK | os.X_OK):
                raise PermissionError(13, "it cannot be written")

        await self._in_thread(work)

    async def put(self, entries: Sequence[InboxEntry]) -> None:
        def work() -> None:
            written: list[tuple[Path, Path]] = []
            try:
                for entry in entries:
                    path = self._path(entry.accepted.run.id)
                    draft = path.with_suffix(DRAFT)
                    written.append((draft, path))
                    _write(draft, _lines(entry))
            except BaseException:
                for draft, _ in written:
                    with suppress(OSError):
                        draft.unlink()
                raise
            for draft, path in written:
                draft.replace(path)
            _sync_folder(self._folder)

        await self._in_thread(work)

    async def page(self, *, after: str | None = None, limit: int = 100) -> list[InboxEntry]:
        def work() -> list[InboxEntry]:
            found: list[InboxEntry] = []
            for path in sorted(self._folder.glob(f"*{KEPT}")):
                if after is not None and path.stem <= after:
                    continue
                try:
                    found.append(_entry(path.read_bytes()))
                except ValueError as error:
                    log.exception("inbox_unreadable", file=str(path), reason=str(error))
                    path.rename(path.with_suffix(ASIDE))
                if len(found) == limit:
                    break
            return found

        return await self._in_thread(work)

    async def remove(self, run_ids: Sequence[str]) -> None:
        def work() -> None:
            for run_id in run_ids:
                self._path(run_id).unlink(missing_ok=True)
            _sync_folder(self._folder)

        await self._in_thread(work)

    async def set_aside(self, run_ids: Sequence[str]) -> None:
        def work() -> None:
            for run_id in run_ids:
                with suppress(FileNotFoundError):
                    self._path(run_id).rename(self._path(run_id).with_suffix(ASIDE))
            _sync_folder(self._folder)

        await self._in_thread(work)

    def _path(self, run_id: str) -> Path:
        return self._folder / f"{run_id}{KEPT}"

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            # Shielded: a request that is given up in the middle must not leave a thread at work behind our back.
            return await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(work)))
        except OSError as error:
            raise StoreUnavailable(f"the inbox in {self._folder}", error.strerror or str(error)) from error


def _lines(entry: InboxEntry) -> Iterable[bytes]:
    run = json.loads(RUN.dump_json(entry.accepted.run))
    yield json.dumps({"tenant": entry.tenant, "run": run}).encode() + b"\n"
    if entry.accepted.parsed is not None:
        yield PARSED.dump_json(entry.accepted.parsed) + b"\n"


def _entry(data: bytes) -> InboxEntry:
    """Raises: ValueError: it is no request."""
    head, _, text = data.partition(b"\n")
    values = json.loads(head)
    run = RUN.validate_python(values["run"])
    parsed = PARSED.validate_json(text) if text.strip() else None
    return InboxEntry(TenantId(values["tenant"]), AcceptedRun(run, parsed))


def _write(path: Path, lines: Iterable[bytes]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
