"""SkillStore: skill graphs of a tenant, in versions."""

from __future__ import annotations

from typing import Protocol

from knotwork.domain.model import TenantId
from knotwork.domain.skill_graphs import Drawing, GraphVersion, StoredGraph


class SkillStore(Protocol):
    """Every method raises StoreUnavailable when the store does not answer."""

    async def put_graph(
        self, tenant: TenantId, name: str, *, version: str, declaration: str, drawing: Drawing
    ) -> tuple[GraphVersion, bool]:
        """Make this the present version, with its drawing in place of the one before; all or nothing.

        The versions before are kept. A version that is known already keeps its number and becomes the present one
        again; the present one put again changes nothing.

        Args:
            tenant: Whose graph it is.
            name: The graph's.
            version: The hash of the declaration.
            declaration: Its text.
            drawing: What people see in the database; node ids are distinct, and edges join these nodes.
        Returns:
            The version, and whether anything changed.
        Raises:
            UnknownTenant: there is no such tenant.
        """
        ...

    async def graph(self, tenant: TenantId, name: str, version: str | None = None) -> StoredGraph | None:
        """A version of a graph, the present one unless named; None: there is none such."""
        ...

    async def graphs(self, tenant: TenantId, *, after: str = "", limit: int = 100) -> list[GraphVersion]:
        """The present version of each graph whose name comes after this one, by name in order of code points."""
        ...

    async def versions(self, tenant: TenantId, name: str) -> list[GraphVersion]:
        """All versions of a graph, by number; none: there is no such graph."""
        ...

    async def drawing(self, tenant: TenantId, name: str) -> Drawing:
        """The nodes and edges of the present version as stored, in the order put; empty: there is no such graph."""
        ...

    async def delete_graph(self, tenant: TenantId, name: str) -> bool:
        """Remove a graph with all its versions; whether there was one."""
        ...
