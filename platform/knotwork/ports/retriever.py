"""Retrieval: anything with `retrieve` is a retriever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from knotwork.domain.model import Passage
from knotwork.domain.retrieval import Reader, RetrievalResult, RetrieveOptions


class Retriever(Protocol):
    """Query → passages, as one reader may see them."""

    async def retrieve(self, reader: Reader, query: str, options: RetrieveOptions) -> Sequence[Passage]:
        """The best passages, best first, ties by id; tenant, readers, filter and min_score hold before the cut.

        Raises:
            InvalidInput: the query is empty or too long.
            StoreUnavailable: a store that the mode cannot do without does not answer.
        """
        ...


@runtime_checkable
class MeteredRetriever(Protocol):
    """A retriever that says what its models counted; callers use this method where it exists."""

    async def retrieve_with_usage(self, reader: Reader, query: str, options: RetrieveOptions) -> RetrievalResult:
        """As `retrieve`, with the usage of this query."""
        ...
