"""SkillStore over Neo4j 5.26 or later."""

from __future__ import annotations

from knotwork.adapters.neo4j.catalogue import TENANT_ID
from knotwork.adapters.neo4j.session import Neo4jSession, Row, Transaction
from knotwork.domain.ids import skill_row_id, storage_key
from knotwork.domain.model import TenantId
from knotwork.domain.skill_graphs import Drawing, DrawnEdge, DrawnNode, GraphVersion, StoredGraph
from knotwork.errors import UnknownTenant


class Neo4jSkillStore:
    """SkillStore over Neo4j. Whoever opened the driver closes it."""

    def __init__(self, session: Neo4jSession) -> None:
        self._session = session

    async def put_graph(
        self, tenant: TenantId, name: str, *, version: str, declaration: str, drawing: Drawing
    ) -> tuple[GraphVersion, bool]:
        key = _key(tenant, name)

        async def work(tx: Transaction) -> Row:
            rows = await tx.rows(
                "write/put_skill_graph",
                tenant_key=storage_key(tenant, TENANT_ID),
                key=key,
                version_key=_key(tenant, name, version),
                tenant=tenant,
                graph=name,
                version=version,
                declaration=declaration,
            )
            if not rows:
                raise UnknownTenant(tenant)
            if rows[0]["changed"]:
                await tx.rows("write/clear_skills", tenant=tenant, graph=name)
                await tx.rows_of("write/put_skills", "rows", _nodes(tenant, name, drawing))
                routes = _edges(tenant, name, drawing)
                await tx.rows_of("write/put_starts", "rows", [row for row in routes if row["from"] is None], key=key)
                await tx.rows_of("write/put_routes", "rows", [row for row in routes if row["from"] is not None])
            return rows[0]

        row = await self._session.write(work)
        return GraphVersion(name, version, row["number"]), row["changed"]

    async def graph(self, tenant: TenantId, name: str, version: str | None = None) -> StoredGraph | None:
        rows = await self._session.rows("read/skill_graph", key=_key(tenant, name), version=version)
        return StoredGraph(_version(name, rows[0]), rows[0]["declaration"]) if rows else None

    async def graphs(self, tenant: TenantId, *, after: str = "", limit: int = 100) -> list[GraphVersion]:
        rows = await self._session.rows("read/skill_graphs", tenant=tenant, after=after, limit=limit)
        return [_version(row["name"], row) for row in rows]

    async def versions(self, tenant: TenantId, name: str) -> list[GraphVersion]:
        rows = await self._session.rows("read/skill_versions", key=_key(tenant, name))
        return sorted((_version(name, row) for row in rows), key=lambda one: one.number)

    async def drawing(self, tenant: TenantId, name: str) -> Drawing:
        rows = await self._session.rows("read/skill_drawing", tenant=tenant, graph=name)
        rows.sort(key=lambda row: row["place"])
        edges = sorted((edge for row in rows for edge in row["edges"]), key=lambda edge: edge["place"])
        return Drawing(
            tuple(DrawnNode(row["id"], row["kind"], row["label"], row["description"]) for row in rows),
            tuple(DrawnEdge(edge["from"], edge["to"], edge["kind"], edge["label"]) for edge in edges),
        )

    async def delete_graph(self, tenant: TenantId, name: str) -> bool:
        async def work(tx: Transaction) -> bool:
            await tx.rows("write/clear_skills", tenant=tenant, graph=name)
            return bool((await tx.rows("write/delete_skill_graph", key=_key(tenant, name)))[0]["deleted"])

        return await self._session.write(work)


def _key(tenant: TenantId, name: str, *parts: str) -> str:
    return storage_key(tenant, skill_row_id(name, *parts))


def _version(name: str, row: Row) -> GraphVersion:
    return GraphVersion(name, row["version"], row["number"], row["is_current"])


def _nodes(tenant: TenantId, name: str, drawing: Drawing) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = [
        {
            "key": _key(tenant, name, node.id),
            "tenant": tenant,
            "graph": name,
            "place": place,
            "id": node.id,
            "kind": node.kind,
            "label": node.label,
            "description": node.description,
        }
        for place, node in enumerate(drawing.nodes)
    ]
    return sorted(rows, key=lambda row: str(row["key"]))


def _edges(tenant: TenantId, name: str, drawing: Drawing) -> list[dict[str, object]]:
    """Each has a key of its own: two nodes may be joined by several edges of one kind and label."""
    rows: list[dict[str, object]] = [
        {
            "key": _key(tenant, name, str(place)),
            "from": None if edge.from_id is None else _key(tenant, name, edge.from_id),
            "to": _key(tenant, name, edge.to_id),
            "place": place,
            "kind": edge.kind,
            "label": edge.label,
        }
        for place, edge in enumerate(drawing.edges)
    ]
    return sorted(rows, key=lambda row: str(row["key"]))
