"""The parser of files in a process of its own, so that a slow or hostile file delays only other files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, TypeVarTuple

from knotwork.adapters.parsing.registry import PARSER_VERSION, parse_bytes
from knotwork.errors import ModelFailed, UnsupportedDocument
from knotwork.ports.parser import ParsedDocument

Args = TypeVarTuple("Args")
Result = TypeVar("Result")


class Pool(Protocol):
    """Runs functions in worker processes."""

    async def run(self, function: Callable[[*Args], Result], *args: *Args, timeout_s: float | None = None) -> Result:
        """Call a module-level function in a worker.

        Raises:
            ModelFailed: it took too long, ended its process, or failed with an error that is not the platform's.
        """
        ...


class PooledParser:
    """Parser over `parse_bytes` in a worker pool. Whoever made the pool closes it."""

    id = f"files-{PARSER_VERSION}"

    def __init__(self, pool: Pool, *, timeout_s: float) -> None:
        """Read in `pool`, each document for at most `timeout_s` seconds."""
        self._pool, self._timeout_s = pool, timeout_s

    async def parse(self, data: bytes, *, name: str, media_type: str | None = None) -> ParsedDocument:
        """See `Parser`."""
        try:
            text, detected = await self._pool.run(parse_bytes, data, name, media_type, timeout_s=self._timeout_s)
        except ModelFailed as error:  # the pool's word for a call that took too long, ended its process, or failed
            raise UnsupportedDocument(f"{name!r} could not be read: {error}") from error
        return ParsedDocument(text, detected)
