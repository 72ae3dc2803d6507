"""Spools: what is on its way in or out, in nameless files of the home, which are gone when whoever reads them is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterable, Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from knotwork.errors import StoreUnavailable

PART_BYTES = 1024 * 1024  # written, or read, in one go


class Spool:
    """Bytes on disk, written once and then read. Whoever has it closes it."""

    def __init__(self, home: Path) -> None:
        """Raises: StoreUnavailable: the home cannot be written to."""
        with _disk_errors():
            self.file = cast("BinaryIO", TemporaryFile(dir=home))  # noqa: SIM115 - closed by `close`

    def close(self) -> None:
        self.file.close()

    @property
    def size_bytes(self) -> int:
        return os.fstat(self.file.fileno()).st_size

    async def fill(self, parts: AsyncIterable[bytes]) -> None:
        """Write all that comes.

        Raises:
            StoreUnavailable: the disk is full.
        """
        waiting = bytearray()
        async for part in parts:
            waiting += part
            if len(waiting) >= PART_BYTES:
                await asyncio.to_thread(self._write, bytes(waiting))
                waiting.clear()
        await asyncio.to_thread(self._write, bytes(waiting))

    async def parts(self) -> AsyncGenerator[bytes]:
        """All that was written, in parts."""
        at = 0
        while part := await self._read(at, PART_BYTES):
            at += len(part)
            yield part

    async def lines(self, start: int, size: int) -> AsyncGenerator[bytes]:
        """The lines of `size` bytes from `start` on, each with its end; several may be read at once."""
        at, end = start, start + size
        rest = b""
        while at < end and (part := await self._read(at, min(PART_BYTES, end - at))):
            at += len(part)
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield line + b"\n"
        if rest:
            yield rest

    async def _read(self, at: int, size: int) -> bytes:
        return await asyncio.to_thread(os.pread, self.file.fileno(), size, at)

    def _write(self, part: bytes) -> None:
        with _disk_errors():
            self.file.write(part)
            self.file.flush()


class Download(StreamingResponse):
    """A spool as an answer, closed when it is sent or the caller has gone."""

    def __init__(self, spool: Spool, *, media_type: str, file_name: str) -> None:
        headers = {
            "Content-Disposition": f'attachment; filename="{file_name}"',
            "Content-Length": str(spool.size_bytes),
            "Cache-Control": "no-store",
        }
        super().__init__(spool.parts(), headers=headers, media_type=media_type)
        self._spool = spool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._spool.close()


@contextmanager
def _disk_errors() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable("the home folder", error.strerror or str(error)) from error
