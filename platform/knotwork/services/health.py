"""Whether the parts of the platform answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from knotwork.domain.model import TenantId
from knotwork.errors import PlatformError, UnknownTenant
from knotwork.ports.catalogue import Catalogue
from knotwork.ports.vector_store import Collection, VectorStore, View

ANSWER_S = 3.0  # a part that takes longer counts as not answering
SEEN_S = 1.0  # how long what was seen is told again: anybody may ask, as often as they like
NOBODY = TenantId("-")  # names no tenant, so that the questions cost the same however much is stored


@dataclass(frozen=True, slots=True)
class PartHealth:
    """Whether a part answers, and in words what was seen."""

    ok: bool
    detail: str


class Health:
    """Asks each store something small. The models are named, not asked: a call may cost money."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        vectors: VectorStore,
        models: Callable[[], str],
        trouble: Callable[[], str | None] = lambda: None,
    ) -> None:
        """Build it.

        Args:
            catalogue: Of Neo4j.
            vectors: The vector store.
            models: What is said of the models.
            trouble: What is known to be wrong with Neo4j's process; said when Neo4j does not answer.
        """
        self._catalogue, self._vectors, self._models, self._trouble = catalogue, vectors, models, trouble
        self._asking = asyncio.Lock()
        self._seen: tuple[float, Mapping[str, PartHealth]] = (float("-inf"), {})

    async def check(self) -> Mapping[str, PartHealth]:
        """Every part by name, as it was at most a second ago."""
        async with self._asking:
            seen_at, parts = self._seen
            if time.monotonic() - seen_at > SEEN_S:
                parts = await self._check()
                self._seen = (time.monotonic(), parts)
            return parts

    async def _check(self) -> Mapping[str, PartHealth]:
        neo4j, vectors = await asyncio.gather(
            _answers(self._catalogue.tenant(NOBODY)),
            _answers(self._vectors.count(NOBODY, Collection.CHUNKS, view=View())),
        )
        if not neo4j.ok and (trouble := self._trouble()):
            neo4j = PartHealth(ok=False, detail=f"Neo4j does not answer: {trouble}")
        return {"neo4j": neo4j, "vectors": vectors, "models": PartHealth(ok=True, detail=self._models())}


async def _answers(question: Awaitable[object]) -> PartHealth:
    try:
        async with asyncio.timeout(ANSWER_S):
            await question
    except UnknownTenant:
        pass
    except TimeoutError:
        return PartHealth(ok=False, detail=f"no answer within {ANSWER_S:.0f} s; see `knotwork doctor`")
    except PlatformError as error:
        return PartHealth(ok=False, detail=str(error))
    return PartHealth(ok=True, detail="answers")
