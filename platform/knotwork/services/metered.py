"""Retrieval that is counted, and refused beyond a quota."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from knotwork.domain.retrieval import Mode, Reader, RetrievalResult, RetrieveOptions
from knotwork.ports.retriever import Retriever
from knotwork.services.retrieve import Retrieval
from knotwork.services.usage import UsageMeter


class HasId(Protocol):
    """A model, by the name under which its use is counted."""

    @property
    def id(self) -> str: ...


class MeteredRetrieval(Retrieval):
    """Leaves one usage record for each query that is answered."""

    def __init__(
        self, retrievers: Mapping[Mode, Retriever], *, meter: UsageMeter, models: Mapping[Mode, HasId], **options: Any
    ) -> None:
        """`models` says whose use each mode is; a mode that is not there asks none. The rest is as of `Retrieval`.

        Where one answer asked several models, its record names them all, each once, joined by `, `.
        """
        super().__init__(retrievers, **options)
        self._meter, self._models = meter, dict(models)

    async def query(self, reader: Reader, query: str, mode: Mode, options: RetrieveOptions) -> RetrievalResult:
        """As `Retrieval.query`.

        Raises:
            QuotaExceeded: the tenant has used up what it may.
        """
        self.require(mode)
        with self._meter.query(reader.tenant, mode.value) as record:
            result = await super().query(reader, query, mode, options)
            record.usage = result.usage
            asked = result.asked or (mode,)
            record.model = ", ".join(dict.fromkeys(self._models[one].id for one in asked if one in self._models))
        return result
