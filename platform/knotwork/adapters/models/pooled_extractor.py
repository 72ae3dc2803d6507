"""The default extractor: rules over a small parser on this machine, without network or key."""

from __future__ import annotations

from knotwork.adapters.models.text import readable
from knotwork.adapters.models.workers import WorkerPool
from knotwork.ports.models import Extraction, ExtractionInput


class PackagedExtractor:
    """Extractor over `packaged_extractor`, in worker processes. Whoever made the pool closes it."""

    calls_model = False

    def __init__(self, pool: WorkerPool, *, extractor_id: str, timeout_s: float = 60.0) -> None:
        """See `start`."""
        self.id = extractor_id
        self._pool = pool
        self._timeout_s = timeout_s

    @classmethod
    async def start(cls, pool: WorkerPool, *, timeout_s: float = 60.0) -> PackagedExtractor:
        """Make an extractor that runs in `pool` and spends at most `timeout_s` seconds on a chunk.

        A worker tells the id: to import the rules takes over a second and 50 MB, which this process can do without.

        Raises:
            SetupFailed: the parser's model is not installed.
        """
        return cls(pool, extractor_id=await pool.run(_extractor_id), timeout_s=timeout_s)

    async def extract(self, chunk: ExtractionInput) -> Extraction:
        """See `Extractor`."""
        text, title, *headings = map(readable, (chunk.text, chunk.title, *chunk.headings))
        return Extraction(raw=await self._pool.run(_extract, text, title, tuple(headings), timeout_s=self._timeout_s))

    async def close(self) -> None:
        """Nothing to close."""


def _extractor_id() -> str:
    from knotwork.adapters.models.packaged_extractor import EXTRACTOR_ID

    return EXTRACTOR_ID


def _extract(text: str, title: str, headings: tuple[str, ...]) -> object:
    from knotwork.adapters.models.packaged_extractor import extract_rules

    return extract_rules(text, title, headings)
