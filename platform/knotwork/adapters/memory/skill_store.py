"""SkillStore in memory."""

from __future__ import annotations

from knotwork.adapters.memory.database import MemoryDatabase, SkillGraphRow
from knotwork.domain.model import TenantId
from knotwork.domain.skill_graphs import Drawing, GraphVersion, StoredGraph
from knotwork.errors import UnknownTenant


class MemorySkillStore:
    """SkillStore over a MemoryDatabase."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._tenants = database.tenants

    async def put_graph(
        self, tenant: TenantId, name: str, *, version: str, declaration: str, drawing: Drawing
    ) -> tuple[GraphVersion, bool]:
        rows = self._tenants[tenant]
        if rows.settings is None:
            raise UnknownTenant(tenant)
        row = rows.skill_graphs.setdefault(name, SkillGraphRow())
        changed = row.version != version
        row.declarations.setdefault(version, declaration)
        if changed:
            row.version = version
            row.drawing = Drawing(tuple(drawing.nodes), tuple(drawing.edges))
        return _versions(name, row)[list(row.declarations).index(version)], changed

    async def graph(self, tenant: TenantId, name: str, version: str | None = None) -> StoredGraph | None:
        row = self._tenants[tenant].skill_graphs.get(name, SkillGraphRow())
        wanted = row.version if version is None else version
        found = (one for one in _versions(name, row) if one.version == wanted)
        return next((StoredGraph(one, row.declarations[one.version]) for one in found), None)

    async def graphs(self, tenant: TenantId, *, after: str = "", limit: int = 100) -> list[GraphVersion]:
        rows = sorted(self._tenants[tenant].skill_graphs.items())
        present = [one for name, row in rows if name > after for one in _versions(name, row) if one.is_current]
        return present[:limit]

    async def versions(self, tenant: TenantId, name: str) -> list[GraphVersion]:
        return _versions(name, self._tenants[tenant].skill_graphs.get(name, SkillGraphRow()))

    async def drawing(self, tenant: TenantId, name: str) -> Drawing:
        return self._tenants[tenant].skill_graphs.get(name, SkillGraphRow()).drawing

    async def delete_graph(self, tenant: TenantId, name: str) -> bool:
        return self._tenants[tenant].skill_graphs.pop(name, None) is not None


def _versions(name: str, row: SkillGraphRow) -> list[GraphVersion]:
    return [
        GraphVersion(name, version, number, version == row.version)
        for number, version in enumerate(row.declarations, start=1)
    ]
