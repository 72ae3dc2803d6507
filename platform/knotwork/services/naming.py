"""Which entity a name means: given alone, or standing in a question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from knotwork.domain.asked import place_of
from knotwork.domain.graph_views import EntityView
from knotwork.domain.ids import entity_id, split_entity_id
from knotwork.domain.model import EntityId
from knotwork.domain.normalise import clean_text, normalise_name
from knotwork.domain.question_names import longest_first, names_in
from knotwork.domain.retrieval import Reader
from knotwork.errors import AmbiguousName, NotFound
from knotwork.ports.graph_store import GraphStore
from knotwork.ports.vector_store import View


class Naming:
    """Finds entities by what people call them, among those that a view shows."""

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph

    async def entity(self, reader: Reader, name: str, *, view: View) -> EntityView:
        """The entity of this id or name, in any spelling.

        Raises:
            NotFound: no visible entity has it.
            AmbiguousName: several have it, of different types.
        """
        name = clean_text(name).strip()
        type_, _, rest = name.partition(":")
        ids = sorted({EntityId(name), entity_id(type_, rest) or EntityId(name)})
        if rest and (found := await self._graph.entities(reader.tenant, ids, view=view)):
            return next((one for one in found if one.id == name), found[0])
        normal = normalise_name(name)
        named = await self._graph.entities_named(reader.tenant, [normal], view=view) if normal else []
        if not named:
            raise NotFound("entity", name)
        if len(named) > 1:
            raise ambiguous(name, named)
        return named[0]

    async def in_question(self, reader: Reader, question: str, *, view: View) -> list[EntityView]:
        """The entities that a question names, in its order; of a name within a longer one only the longer.

        Where several types share a name, a type that stands before it (`the team Payments`, `team:payments`) decides.

        Raises:
            AmbiguousName: a name has several types, and the question does not say which is meant.
        """
        spans = names_in(question)
        by_name: defaultdict[str, list[EntityView]] = defaultdict(list)
        for one in await self._graph.entities_named(reader.tenant, [span.name for span in spans], view=view):
            by_name[split_entity_id(one.id)[1]].append(one)
        names = dict.fromkeys(span.name for span in longest_first(spans, by_name.keys()))
        return [_meant(question, name, by_name[name]) for name in names]


def ambiguous(name: str, candidates: Sequence[EntityView]) -> AmbiguousName:
    """The error that names the candidates, most mentioned first."""
    ordered = sorted(candidates, key=lambda one: (-one.mentions, one.id))
    return AmbiguousName(
        name,
        [
            {"id": one.id, "type": one.type, "name": one.name, "description": one.description, "mentions": one.mentions}
            for one in ordered
        ],
    )


def _meant(question: str, name: str, named: Sequence[EntityView]) -> EntityView:
    if len(named) == 1:
        return named[0]
    typed = [one for one in named if place_of(question, f"{normalise_name(one.type)} {name}") >= 0]
    if len(typed) != 1:
        raise ambiguous(name, named)
    return typed[0]
