"""Audit: what a graph store can tell, and mend, about its own rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from knotwork.domain.damage import Damage, StoredText
from knotwork.domain.model import TenantId


class GraphAudit(Protocol):
    """Compares merged things with evidence, evidence with its seals, and rows with their keys, a page at a time.

    What it finds while the tenant is written to may be half of a change; callers see to it that nobody writes. Every
    method raises StoreUnavailable when the store does not answer.
    """

    def damages(self, tenant: TenantId) -> AsyncIterator[Damage]:
        """Everything within the graph's rows of this tenant that does not agree, each once; none: all do.

        Of the rows of the tenant, that is those keyed or marked as its own. Sources' texts, the spans in them and the
        vector store are not looked at.
        """
        ...

    async def mend(self, tenant: TenantId, damages: Sequence[Damage]) -> None:
        """Mend what `damages` named, from evidence present.

        Things are merged again from all their evidence, or go; chunks whose evidence is not what was stored lose it and
        count as unread; chunks without a source go (unless `source` names one that should take them back); orphaned
        texts go; tenants follow keys. The points of all that changed follow as after any write. Kinds of damage that
        are none of the graph's are passed over.
        """
        ...

    def texts(self, tenant: TenantId) -> AsyncIterator[StoredText]:
        """Every property of every row of this tenant, as text: sources and runs with their texts, evidence, ids."""
        ...
